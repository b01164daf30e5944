"""Connections that outlive a call: a handshake costs more than the rest of a send, here and on the wire."""

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http.client import HTTP_PORT, HTTPS_PORT, HTTPConnection, HTTPResponse
from select import POLLIN, poll
from socket import IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, getaddrinfo, socket
from ssl import SSLContext, SSLSocket, create_default_context
from threading import Lock
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit
from weakref import finalize

from notify_core.domain.limits import CONNECT_TIMEOUT_SECONDS, CONNECTION_IDLE_SECONDS_MAX

_WITHOUT_CONTENT: Final = frozenset({204, 304})
_FINAL: Final = 200


class KeptConnections:
    """Connections to one server, each for one call at a time and the next ones soon after.

    One that was idle for longer is dropped: it may have died while the function was frozen, and what is sent over it
    would be unknown though nothing left.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout_seconds: float,
        connect_seconds: float = CONNECT_TIMEOUT_SECONDS,
        idle_seconds_max: float = CONNECTION_IDLE_SECONDS_MAX,
        bundle: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is connected yet. `bundle` is a file with the certificates to trust; without it, the system's are.

        Raises:
            OSError: there are no certificates in the file.
        """
        server = urlsplit(base_url)
        self._host = server.netloc.rpartition("@")[2].lower()
        self._context = trust(bundle) if server.scheme == "https" else None
        self._timeout_seconds = timeout_seconds
        self._connect_seconds = min(connect_seconds, timeout_seconds)
        self._idle_seconds_max = idle_seconds_max
        self._monotonic = monotonic
        self._lock = Lock()
        self._idle: list[tuple[_Connection, float]] = []
        finalize(self, _close_all, self._idle)

    def call(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        """Make one call, whatever its answer.

        Raises:
            URLError: no connection came about, and nothing was sent.
            Exception: it may have been sent.
        """
        kept = self._take()
        connection = kept or self._connected()
        try:
            connection.request(method, path, body, headers)
            connection.flush()
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            if kept is not None:
                self.close()  # the others have been idle as long: whoever tries again gets a new one
            raise
        if answer.will_close or answer.status < _FINAL or answer.status in _WITHOUT_CONTENT:
            connection.close()  # what may still come would be taken for the next call's answer
        else:
            with self._lock:
                self._idle.append((connection, self._monotonic()))
        return answer, content

    def close(self) -> None:
        """End those that are idle; the next call makes a new one."""
        with self._lock:
            _close_all(self._idle)

    def _take(self) -> "_Connection | None":
        """The connection used last, if it was used just now and its server hasn't ended it."""
        with self._lock:
            while self._idle:
                connection, used_at = self._idle.pop()
                if self._monotonic() <= used_at + self._idle_seconds_max and not _is_ended(connection):
                    return connection
                connection.close()
        return None

    def _connected(self) -> "_Connection":
        connection = _Connection(self._host, is_secure=self._context is not None)
        try:
            connection.sock = _connect(connection.host, connection.port, self._connect_seconds)
            if self._context is not None:
                connection.sock = self._context.wrap_socket(connection.sock, server_hostname=connection.host)
        except OSError as error:
            connection.close()
            raise URLError(error) from error
        connection.sock.settimeout(self._timeout_seconds)
        return connection


class _Connection(HTTPConnection):
    """Is given its socket, and sends a request's head and body together: apart they are two records and two packets."""

    def __init__(self, host: str, *, is_secure: bool) -> None:
        self.default_port = HTTPS_PORT if is_secure else HTTP_PORT
        super().__init__(host)
        self._written: list[bytes] = []

    def send(self, data: Any) -> None:  # noqa: ANN401  (whatever a request is written in: bytes, here)
        self._written.append(data)

    def flush(self) -> None:
        """Send what was written."""
        written = b"".join(self._written)
        self._written.clear()
        super().send(written)


@lru_cache
def trust(bundle: str | None) -> SSLContext:
    """Whom to trust, by a file or else the system's: read once a process, at the CPU of twenty calls.

    Raises:
        OSError: there are no certificates in the file.
    """
    context = create_default_context(cafile=bundle)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _connect(host: str, port: int, seconds: float) -> socket:
    """A connection to the first of a name's addresses that takes one, within the time for all of them.

    Each has half of what is left, the last one all of it. Looking the name up can't be bounded, and isn't in the time.
    """
    addresses = getaddrinfo(host, port, type=SOCK_STREAM)
    until = time.monotonic() + seconds
    fault = OSError("a name without an address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses, start=1):
        tried: socket | None = None
        try:
            tried = socket(family, kind, protocol)
            tried.settimeout(_within((until - time.monotonic()) / (1 if number == len(addresses) else 2)))
            tried.connect(address)
            tried.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            tried.settimeout(_within(until - time.monotonic()))  # what is left, for the handshake
        except OSError as error:
            if tried is not None:
                tried.close()
            fault = error
        else:
            return tried
    raise fault


def _within(seconds: float) -> float:
    """A socket's timeout; zero would be none at all."""
    return max(seconds, 0.001)


def _close_all(idle: "list[tuple[_Connection, float]]") -> None:
    while idle:
        idle.pop()[0].close()


def _is_ended(connection: "_Connection") -> bool:
    """Whether anything came that nobody asked for: the end of the connection, or nothing that could be trusted."""
    if isinstance(connection.sock, SSLSocket) and connection.sock.pending():
        return True
    poller = poll()  # select takes no descriptor beyond 1,023
    poller.register(connection.sock, POLLIN)
    return bool(poller.poll(0))
