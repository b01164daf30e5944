"""A whole platform for the command line: its API on loopback over the memory stores, with tokens of the simulator."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from infra.local import web
from infra.local.simulator.client import SimulatorClient
from notify_core.api.cursors import Cursors
from notify_core.api.routing import Api, serve
from notify_core.application.ports import QueueName
from tests.api.client import Client
from tests.application.world import World

Reply = tuple[int, dict[str, str], str]


@dataclass
class Platform:
    """The world behind the API, and what the tests arrange at the gateway."""

    world: World
    simulator: SimulatorClient
    url: str = ""
    runs: bool = True
    """Whether every message is processed as soon as a call has sent it."""
    before: Callable[[], None] = lambda: None
    """Called before each call is served."""
    replies: list[Reply] = field(default_factory=list)
    """Answers of the gateway's own, given one a call before anything is served."""
    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def stack(self) -> dict[str, Any]:
        """What a file like `.local/stack.json` says of it."""
        return {"api_url": self.url, "simulator_url": self.simulator.url, "operator_token": self.operator_token()}

    def queued(self) -> list[dict[str, Any]]:
        """The messages that wait in the requests queue."""
        return [body for _, body in self.world.waiting(QueueName.REQUESTS)]

    def operator_token(self, **details: object) -> str:
        return self.simulator.token(sub="olga", scope="notify/operator", **details)

    def answer(self, method: str, target: str, authorization: str, body: bytes) -> Reply:
        """What API Gateway and the functions behind it answer."""
        self.calls.append((method, target))
        self.before()
        if self.replies:
            return self.replies.pop(0)
        claims = self._claims(authorization)
        if claims is None:
            return 401, {"content-type": "application/json"}, '{"message":"Unauthorized"}'
        url = urlsplit(target)
        try:
            route, parameters, routes = Client.route(method, url.path)
        except ValueError:
            return 404, {"content-type": "application/json"}, '{"message":"Not Found"}'
        event = {
            "routeKey": route,
            "pathParameters": {name: unquote(value) for name, value in parameters.items()},
            "queryStringParameters": dict(parse_qsl(url.query)),
            "requestContext": {"authorizer": {"jwt": {"claims": claims}}},
            "body": body.decode(),
        }
        api = Api(ports=self.world.ports, cursors=Cursors(lambda: b"a secret of the tests"))
        answer = serve(routes, event, api, "invocation-1")
        if self.runs:
            self.world.run()
        return answer["statusCode"], answer["headers"], answer.get("body", "")

    def _claims(self, authorization: str) -> dict[str, Any] | None:
        """The claims of a token that the issuer signed."""
        keys = KeySet.import_key_set(web.get(f"{self.simulator.url}/.well-known/jwks.json"))
        try:
            return jwt.decode(authorization.removeprefix("Bearer "), keys).claims
        except (JoseError, ValueError):
            return None


@contextmanager
def serving(simulator: SimulatorClient) -> Iterator[Platform]:
    """A platform at the time that it really is, for the command takes its times from the machine."""
    world = World()
    world.clock.at = datetime.now(tz=UTC)
    platform = Platform(world, simulator)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            authorization = self.headers.get("Authorization") or ""
            status, headers, text = platform.answer(self.command, self.path, authorization, self.rfile.read(length))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def do_PUT(self) -> None:
            self.do_GET()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    platform.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield platform
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it printed, each line without the spaces that only place it."""
        return [" ".join(line.split()) for line in self.out.splitlines() if line.strip()]

    @property
    def documents(self) -> list[Any]:
        """Its JSON, a document a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def document(self) -> Any:
        """Its only JSON document."""
        (found,) = self.documents
        return found
