"""A provider on loopback that does exactly what a test tells it to, and counts what reached it."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from notify_core.application.ports import Outgoing
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, DeliveryId, NoticeId, Recipient, WorkspaceId

Behaviour = Callable[[socket.socket], None]


@dataclass(slots=True)
class Request:
    """What came over the wire."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Provider:
    """Plays one behaviour a request, the last one for ever; `requests` are what reached it."""

    url: str
    behaviours: list[Behaviour] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released whenever a connection has ended."""

    def does(self, *behaviours: Behaviour) -> None:
        self.behaviours = list(behaviours)

    def next(self) -> Behaviour:
        return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]


def answer(status: int, body: object, **headers: str) -> Behaviour:
    """An HTTP answer; `retry_after` becomes `Retry-After`, and a body that is no text is sent as JSON."""
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    fields = {"content_type": "application/json", "content_length": str(len(content)), **headers}
    lines = [f"HTTP/1.1 {status} X", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]

    def behave(connection: socket.socket) -> None:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + content)

    return behave


class Ended(OSError):
    """The provider ends the connection now."""


def reset(connection: socket.socket) -> None:
    """The connection is reset without an answer."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Ended


def close(_connection: socket.socket) -> None:
    """The connection ends without an answer."""
    raise Ended


def hang(connection: socket.socket) -> None:
    """Nothing is said until the client gives up."""
    connection.settimeout(10)
    connection.recv(1)


def cut(connection: socket.socket) -> None:
    """The answer stops in the middle."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{"ok": tr')
    raise Ended


def _read_request(stream) -> Request | None:  # noqa: ANN001  (a socket's file)
    head = stream.readline()
    if not head:
        return None
    headers: dict[str, str] = {}
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", "0")))
    return Request(path=head.split()[1].decode(), headers=headers, body=body)


def _serve(connection: socket.socket, provider: Provider) -> None:
    with suppress(OSError), connection, connection.makefile("rb") as stream:
        while (request := _read_request(stream)) is not None:
            provider.requests.append(request)
            provider.next()(connection)
            if request.headers.get("connection", "").lower() == "close":
                break
    provider.ended.release()


def accept(listener: socket.socket, provider: Provider) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        provider.connections += 1
        threading.Thread(target=_serve, args=(connection, provider), daemon=True).start()


def make_outgoing(**changes: object) -> Outgoing:
    fields: dict[str, object] = {
        "workspace_id": WorkspaceId("acme"),
        "recipient": Recipient("ana"),
        "notice_id": NoticeId("notice-1"),
        "channel": Channel.CHAT,
        "delivery_id": DeliveryId("delivery-1"),
        "claim_id": ClaimId("claim-1"),
        "address": "U0ANA",
        "text": "Invoice 42 is overdue",
    }
    return Outgoing(**{**fields, **changes})  # type: ignore[arg-type]


@dataclass
class SecretsInHand:
    """Secrets as a test has them; reading one that is an exception raises it."""

    values: dict[str, str | Exception]
    read_names: list[str] = field(default_factory=list)
    forgotten: list[tuple[str, str | None]] = field(default_factory=list)

    def read(self, name: str) -> str | None:
        self.read_names.append(name)
        value = self.values.get(name)
        if isinstance(value, Exception):
            raise value
        return value

    def forget(self, name: str, *, refused: str | None) -> None:
        self.forgotten.append((name, refused))


def make_secrets(**tokens: str | Exception) -> SecretsInHand:
    """Slack's secrets by the last part of their names."""
    return SecretsInHand({f"notify/slack/{name}": token for name, token in tokens.items()})
