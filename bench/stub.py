"""AWS and Slack on loopback, in a process of their own: cheap answers in the real form, over TLS as the real ones.

Reads answer from rows that were written before; writes are remembered while the rows are being laid, and accepted and
forgotten after that, so that the same batch can be worked off again and again. Nothing is checked: what is measured is
the process that calls. `POST /_stub/settings` takes `remembers`, and per service (`dynamodb`, `sqs`, `secretsmanager`,
`slack`) how many milliseconds an answer takes.
"""

import asyncio
import json
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zlib
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from botocore.httpsession import get_cert_path
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST: Final = "127.0.0.1"
_HEADERS_BYTES: Final = 40
_SERVICES: Final = {
    "AmazonSQS": "sqs",
    "secretsmanager": "secretsmanager",
    "PinpointSMSVoiceV2": "pinpoint-sms-voice-v2",
}
_FIRST_EQUALITY: Final = re.compile(r"(\S+) = (:\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a stub was asked: calls by service and operation, and what came in for Slack, TCP's headers included."""

    calls: Mapping[str, int]
    slack_messages: int
    slack_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A running stub: its address, and the certificate that its clients have to trust."""

    url: str
    bundle: Path
    """The certificates that a client trusts in the cloud, which take their time to read, and the stub's."""

    def set(self, **settings: object) -> "Told":
        """Change what it remembers, or how long its answers take; what it was asked since the last time."""
        context = ssl.create_default_context(cafile=str(self.bundle))
        request = urllib.request.Request(f"{self.url}/_stub/settings", json.dumps(settings).encode(), method="POST")
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            return Told(**json.load(answer))


@contextmanager
def running() -> Generator[Stub]:
    """A stub that ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle.pem"
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.stub", folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield Stub(url=f"https://{HOST}:{port}", bundle=bundle)
        finally:
            process.terminate()
            process.wait()


# ---------------------------------------------------------------- in its own process


@dataclass(slots=True)
class Service:
    """What is answered, and how slowly."""

    remembers: bool = True
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])
    rows: dict[str, dict[tuple[str, str], Any]] = field(default_factory=dict[str, dict[tuple[str, str], Any]])
    calls: Counter[str] = field(default_factory=Counter[str])
    messages: int = 0
    slack_bytes: int = 0
    """What came in over the connections to Slack that have ended."""
    slack_sockets: set[Any] = field(default_factory=set[Any])

    def answer(self, target: str, path: str, body: bytes) -> tuple[str, object]:
        """The service that was called, and what it answers."""
        if path == "/_stub/settings":
            return "stub", self._set(json.loads(body))
        if path.startswith("/slack/"):
            self.calls["slack chat.postMessage"] += 1
            self.messages += 1
            return "slack", {"ok": True, "channel": "D0123456789", "ts": f"1796040001.{self.messages:06d}"}
        family, _, operation = target.partition(".")
        params = json.loads(body)
        service = _SERVICES.get(family, "dynamodb")
        self.calls[f"{service} {operation}"] += 1
        match service:
            case "sqs":
                return service, self._sqs(operation, params)
            case "secretsmanager":
                return service, {"Name": params["SecretId"], "SecretString": "xoxb-stub-1"}
            case "pinpoint-sms-voice-v2":
                return service, {"MessageId": "00000000-0000-0000-0000-000000000000"}
            case _:
                return service, self._dynamodb(operation, params)

    def _set(self, settings: Mapping[str, Any]) -> object:
        self.remembers = settings.get("remembers", self.remembers)
        self.milliseconds |= {name: value for name, value in settings.items() if name != "remembers"}
        calls, self.calls = self.calls, Counter()
        return {
            "calls": calls,
            "slack_messages": self.messages,
            "slack_bytes": self.slack_bytes + sum(map(_received_bytes, self.slack_sockets)),
        }

    def _sqs(self, operation: str, params: Mapping[str, Any]) -> object:
        if operation == "SendMessageBatch":
            sent = [
                {"Id": entry["Id"], "MessageId": entry["Id"], "MD5OfMessageBody": ""} for entry in params["Entries"]
            ]
            return {"Successful": sent}
        if operation == "GetQueueAttributes":
            return {"Attributes": dict.fromkeys(params["AttributeNames"], "0")}
        return {}

    def _dynamodb(self, operation: str, params: Mapping[str, Any]) -> object:
        match operation:
            case "PutItem":
                self._put(params)
            case "TransactWriteItems":
                for action in params["TransactItems"]:
                    if "Put" in action:
                        self._put(action["Put"])
            case "GetItem":
                found = self.rows.get(params["TableName"], {}).get(_key(params["Key"]))
                return {} if found is None else {"Item": found}
            case "BatchGetItem":
                answers = {
                    table: [row for key in asked["Keys"] if (row := self.rows.get(table, {}).get(_key(key)))]
                    for table, asked in params["RequestItems"].items()
                }
                return {"Responses": answers, "UnprocessedKeys": {}}
            case "Query":
                return self._query(params)
            case _:
                raise ValueError(f"the stub doesn't answer {operation}")
        return {}

    def _put(self, params: Mapping[str, Any]) -> None:
        if self.remembers:
            self.rows.setdefault(params["TableName"], {})[_key(params["Item"])] = params["Item"]

    def _query(self, params: Mapping[str, Any]) -> object:
        """Every row under the hash key, whatever else is asked of it."""
        name, value = _FIRST_EQUALITY.findall(params["KeyConditionExpression"].replace("(", " ").replace(")", " "))[0]
        name = params.get("ExpressionAttributeNames", {}).get(name, name)
        wanted = params["ExpressionAttributeValues"][value]
        found = [row for row in self.rows.get(params["TableName"], {}).values() if row.get(name) == wanted]
        found = found[: params.get("Limit", len(found))]
        return {"Items": found, "Count": len(found), "ScannedCount": len(found)}


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["pk"]["S"], item.get("sk", {}).get("S", "")


def _received_bytes(connection: Any) -> int:  # noqa: ANN401  (asyncio's view of a socket)
    """All that came in over a connection, its handshake included, as Linux counts it."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 144)
    received_bytes, _, segments = struct.unpack_from("<QII", told, 128)
    return int(received_bytes + segments * _HEADERS_BYTES)


async def _serve(service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            kind, answer = service.answer(headers.get("x-amz-target", ""), head[0].split(" ")[1], body)
            if kind == "slack":
                service.slack_sockets.add(connection)
            content = json.dumps(answer).encode()
            if seconds := service.milliseconds.get(kind, 0) / 1000:
                await asyncio.sleep(seconds)
            closes = headers.get("connection", "").lower() == "close"
            writer.write(_head(kind, content, closes=closes) + content)
            await writer.drain()
            if closes:
                break
    if connection in service.slack_sockets:
        service.slack_sockets.remove(connection)
        service.slack_bytes += _received_bytes(connection)
    writer.close()


def _head(kind: str, content: bytes, *, closes: bool) -> bytes:
    json_type = {"slack": "application/json", "stub": "application/json"}.get(kind, "application/x-amz-json-1.0")
    lines = [
        "HTTP/1.1 200 OK",
        f"Content-Type: {json_type}",
        f"Content-Length: {len(content)}",
        "x-amzn-RequestId: 00000000-0000-0000-0000-000000000000",
        *([f"x-amz-crc32: {zlib.crc32(content)}"] if kind == "dynamodb" else []),
        f"Connection: {'close' if closes else 'keep-alive'}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _certify(folder: Path) -> ssl.SSLContext:
    """A certificate for loopback, of a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(tz=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "certificate.pem").write_bytes(pem)
    (folder / "bundle.pem").write_bytes(Path(str(get_cert_path(verify=True))).read_bytes() + pem)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


async def _main(folder: Path) -> None:
    service = Service()
    server = await asyncio.start_server(
        lambda reader, writer: _serve(service, reader, writer),
        HOST,
        0,
        ssl=_certify(folder),
        backlog=128,
        limit=2**22,
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main(Path(sys.argv[1])))
