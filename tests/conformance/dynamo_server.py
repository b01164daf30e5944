"""A server that stands where DynamoDB would, keeps what it is asked, and answers or misbehaves as it is told."""

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar
from zlib import crc32

from botocore.config import Config

from infra.local.ports import HOST
from notify_core.adapters.dynamodb import CLIENT_CONFIG, TableNames, connect
from tests.conformance.backends import CALM, Stores, client_of

TABLES = TableNames(registry="registry", directory="directory", requests="requests", notices="notices")
MANY_TRIES = CLIENT_CONFIG.merge(CALM)
"""As often as in a function."""
ONE_TRY = MANY_TRIES.merge(Config(retries={"total_max_attempts": 1, "mode": "standard"}))
IMPATIENT = ONE_TRY.merge(Config(read_timeout=0.3))
"""A hanging server costs a test less time than it would cost a function."""

Answer = Callable[[BaseHTTPRequestHandler], None]


def refusal(code: str, status: int = 400, **more: Any) -> Answer:
    """An error as DynamoDB tells it."""
    return body(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "…", **more})


def cancelled(*codes: str) -> Answer:
    """A transaction cancelled, with a reason for each of its rows."""
    return refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


def body(status: int, content: object, *, missing_bytes: int = 0) -> Answer:
    sent = json.dumps(content).encode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/x-amz-json-1.0")
        handler.send_header("Content-Length", str(len(sent) + missing_bytes))
        handler.send_header("x-amz-crc32", str(crc32(sent)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(sent)

    return answer


def page_of_a_proxy(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(502)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(b"<html>Bad gateway</html>")


def reset(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def hang(handler: BaseHTTPRequestHandler) -> None:
    handler.rfile.read(1)


cut_short = body(200, {"Item": {}}, missing_bytes=10)


@dataclass(kw_only=True)
class Server:
    """What was asked, and the answers to come, the last one for ever."""

    answers: list[Answer]
    asked: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serving(server: Server) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version: ClassVar[str] = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            operation = self.headers["X-Amz-Target"].partition(".")[2]
            server.asked.append({"operation": operation, **json.loads(self.rfile.read(length))})
            self.close_connection = True
            answer = server.answers[0] if len(server.answers) == 1 else server.answers.pop(0)
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer((HOST, 0), Handler)
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://{HOST}:{httpd.server_port}"
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def stores_at(endpoint_url: str, config: Config) -> Stores:
    client = client_of("dynamodb", config, endpoint_url)
    stores = connect(TABLES, client)
    return Stores(
        registry=stores.registry, directory=stores.directory, requests=stores.requests, notices=stores.notices
    )
