"""Connections that outlive a call: a handshake costs more than the rest of a send, here and on the wire."""

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from select import POLLIN, poll
from ssl import SSLContext, create_default_context
from threading import Lock
from urllib.error import URLError
from urllib.parse import urlsplit
from weakref import finalize

from notify_core.domain.limits import CONNECT_TIMEOUT_SECONDS, CONNECTION_IDLE_SECONDS_MAX


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
        """Nothing is connected yet. `bundle` is a file with the certificates to trust; without it, the system's are."""
        server = urlsplit(base_url)
        self._host = server.netloc
        self._context = _trust(bundle) if server.scheme == "https" else None
        self._timeout_seconds = timeout_seconds
        self._connect_seconds = min(connect_seconds, timeout_seconds)
        self._idle_seconds_max = idle_seconds_max
        self._monotonic = monotonic
        self._lock = Lock()
        self._idle: list[tuple[HTTPConnection, float]] = []
        finalize(self, _close_all, self._idle)

    def call(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        """Make one call, whatever its answer.

        Raises:
            URLError: no connection came about, and nothing was sent.
            OSError, HTTPException: it may have been sent.
        """
        connection = self._take() or self._connected()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append((connection, self._monotonic()))
        return answer, content

    def close(self) -> None:
        """End those that are idle; the next call makes a new one."""
        with self._lock:
            _close_all(self._idle)

    def _take(self) -> HTTPConnection | None:
        """The connection used last, if it was used just now and its server hasn't ended it."""
        with self._lock:
            while self._idle:
                connection, used_at = self._idle.pop()
                if self._monotonic() <= used_at + self._idle_seconds_max and not _is_ended(connection):
                    return connection
                connection.close()
        return None

    def _connected(self) -> HTTPConnection:
        connection = _connection(self._host, self._connect_seconds, self._context)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise URLError(error) from error
        connection.sock.settimeout(self._timeout_seconds)
        return connection


@lru_cache
def _trust(bundle: str | None) -> SSLContext:
    """Whom to trust: read once a process, at the CPU of twenty calls."""
    context = create_default_context(cafile=bundle)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _connection(host: str, connect_seconds: float, context: SSLContext | None) -> HTTPConnection:
    if context is None:
        return HTTPConnection(host, timeout=connect_seconds)
    return HTTPSConnection(host, timeout=connect_seconds, context=context)


def _close_all(idle: list[tuple[HTTPConnection, float]]) -> None:
    while idle:
        idle.pop()[0].close()


def _is_ended(connection: HTTPConnection) -> bool:
    """Whether anything came that nobody asked for: the end of the connection, or nothing that could be trusted."""
    poller = poll()  # select takes no descriptor beyond 1,023
    poller.register(connection.sock, POLLIN)
    return bool(poller.poll(0))
