"""The simulator's socket: HTTP/1.1 on loopback, a thread a connection, connections cut on purpose."""

import contextlib
import selectors
import socket
import struct
import sys
import threading
import time
import traceback
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Final, cast
from urllib.parse import parse_qsl

from infra.local.simulator.settings import Settings
from infra.local.simulator.simulator import Simulator
from infra.local.simulator.wire import Answer, Cut, Request, Silence, json_answer

HOST: Final = "127.0.0.1"
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class SimulatorServer(ThreadingHTTPServer):
    """The listening socket with its simulator; `stop` ends every thread."""

    request_queue_size = 128
    daemon_threads = False

    def __init__(self, *, port: int, state_dir: Path, settings: Settings, verbose: bool) -> None:
        super().__init__((HOST, port), _Handler)
        self.url = f"http://{HOST}:{self.server_port}"
        self.verbose = verbose
        self.stopping = threading.Event()
        self.simulator = Simulator(url=self.url, state_dir=state_dir, settings=settings)
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="simulator")

    def start(self) -> None:
        """Serves in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Closes every connection, the silent ones too, and waits for the threads behind them."""
        self.stopping.set()
        self.shutdown()
        self._thread.join()
        for connection in self._open.copy():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self.simulator.close()

    def server_bind(self) -> None:
        """Binds without asking the name service who 127.0.0.1 is, as http.server does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.socket.getsockname()[1]

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]
        """Remembers the connection, and handles it in its own thread."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        """Closes the connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Names an unexpected error, without the values in it; a client that left is none."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            print(f"simulator: {type(error).__name__}", file=sys.stderr)
            traceback.print_tb(error.__traceback__)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        began = time.monotonic()
        body = self._read_body()
        if body is None:
            return
        path, _, query = self.path.partition("?")
        request = Request(
            method=self.command,
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
        )
        outcome = self._reply_to(request)
        if self._owner.verbose:
            print(f"{self.command} {path} {outcome} {(time.monotonic() - began) * 1000:.1f} ms", flush=True)

    do_DELETE = do_GET = do_HEAD = do_PATCH = do_POST = do_PUT = _handle  # noqa: N815 - http.server's names

    def log_message(self, format: str, *_args: object) -> None:  # noqa: A002 - http.server's name
        """Says nothing: what http.server logs holds queries."""

    @property
    def _owner(self) -> SimulatorServer:
        return cast("SimulatorServer", self.server)

    def _read_body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self._refuse(HTTPStatus.LENGTH_REQUIRED)
        elif int(length) > BODY_BYTES_MAX:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif len(body := self.rfile.read(int(length))) == int(length):
            return body
        self.close_connection = True
        return None

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True  # what follows on it is an unread body
        self._answer(json_answer({"error": status.phrase}, status=status))

    def _reply_to(self, request: Request) -> str:
        try:
            reply = self._owner.simulator.respond(request)
        except Exception:
            self._answer(json_answer({"error": "the simulator itself failed"}, status=500))
            raise
        match reply:
            case Answer():
                self._owner.stopping.wait(self._owner.simulator.latency_seconds(request))
                self._answer(reply)
                return str(reply.status)
            case Cut():
                self._cut()
                if reply.then is not None and not self._owner.stopping.wait(reply.after_seconds):
                    reply.then()
                return "cut"
            case Silence():
                self._await_departure(reply.seconds)
                self._cut()
                return "silent"

    def _answer(self, answer: Answer) -> None:
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            *answer.headers,
            *((("Connection", "close"),) if self.close_connection else ()),
        ]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n{lines}\r\n"
        self.connection.sendall(head.encode() + (b"" if self.command == "HEAD" else answer.body))

    def _await_departure(self, seconds: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ)
            selector.select(seconds)

    def _cut(self) -> None:
        """Resets the connection: closed with nothing to linger for, and without a farewell before it."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.rfile.close()
        self.connection.close()
