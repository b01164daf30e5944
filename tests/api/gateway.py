"""The gateway in front of the functions, as a WSGI application: routes, tokens and events like API Gateway's."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from notify_core.api import operators
from notify_core.api.routing import Api, serve
from tests.api.client import OPERATOR, Client, inbox_of

TOKEN = "the only good one"


class Gateway:
    """Serves an API to whoever has the token: an operator, and ana's inbox."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def __call__(self, environ: Mapping[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
        status, headers, body = self._answer(environ)
        start(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [body.encode()]

    def _answer(self, environ: Mapping[str, Any]) -> tuple[int, Mapping[str, str], str]:
        try:
            path = environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
            route, parameters, routes = Client.route(environ["REQUEST_METHOD"], path)
        except ValueError:
            return 404, {"content-type": "application/json"}, '{"message":"Not Found"}'
        if environ.get("HTTP_AUTHORIZATION") != f"Bearer {TOKEN}":
            return 401, {"content-type": "application/json"}, '{"message":"Unauthorized"}'
        claims = OPERATOR if routes is operators.ROUTES else inbox_of("ana")
        event = {
            "routeKey": route,
            "pathParameters": parameters,
            "queryStringParameters": _query(environ),
            "requestContext": {"authorizer": {"jwt": {"claims": claims}}},
            "body": b64encode(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))).decode(),
            "isBase64Encoded": True,
        }
        answer = serve(routes, event, self._api, "invocation-1")
        return answer["statusCode"], answer["headers"], answer.get("body", "")


def _query(environ: Mapping[str, Any]) -> Mapping[str, str]:
    """The parameters, the values of one joined by commas."""
    query: dict[str, str] = {}
    for name, value in parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True):
        query[name] = f"{query[name]},{value}" if name in query else value
    return query
