"""A caller of the API: builds the gateway's events, and holds every answer against the document."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from notify_core.api import inbox, operators
from notify_core.api.routing import Api, Routes, serve
from tests.api import contract

OPERATOR = {"scope": "openid notify/operator", "sub": "olga", "iss": "https://issuer.example"}


def inbox_of(person: str, workspace: str = "acme") -> dict[str, str]:
    """The claims of a person's token."""
    return {"scope": "notify/inbox", "sub": person, "workspace_id": workspace}


@dataclass(frozen=True)
class Answered:
    """What came back; `body` is the decoded JSON, None for an empty one."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Each problem's field and code."""
        return [(item["field"], item["code"]) for item in self.body["errors"]]


@dataclass
class Client:
    """Calls one API with one token, through the function that serves the route."""

    api: Api
    claims: Mapping[str, str] | None = field(default_factory=lambda: dict(OPERATOR))

    def get(self, path: str, **query: str) -> Answered:
        return self.call("GET", path, query=query)

    def put(self, path: str, body: object) -> Answered:
        return self.call("PUT", path, body)

    def post(self, path: str, body: object = None, **query: str) -> Answered:
        return self.call("POST", path, body, query=query)

    def delete(self, path: str) -> Answered:
        return self.call("DELETE", path)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        raw: str | None = None,
        **changes: object,
    ) -> Answered:
        """Make a call; `raw` is a body as text, `changes` go into the event as they are."""
        route, parameters, routes = self.route(method, path)
        event = {
            "version": "2.0",
            "routeKey": route,
            "rawPath": path,
            "headers": {"content-type": "application/json"},
            "requestContext": {
                "requestId": "JKJaXmPLvHcESHA=",
                "authorizer": {"jwt": {"claims": self.claims, "scopes": None}},
            },
            "pathParameters": parameters,
            "isBase64Encoded": False,
        }
        if query:
            event["queryStringParameters"] = dict(query)
        if raw is not None or body is not None:
            event["body"] = raw if raw is not None else json.dumps(body)
        answer = serve(routes, {**event, **changes}, self.api, "invocation-1")
        text = answer.get("body")
        contract.check_answer(route, answer["statusCode"], answer["headers"], text)
        return Answered(answer["statusCode"], None if text is None else json.loads(text), answer["headers"])

    @staticmethod
    def route(method: str, path: str) -> tuple[str, dict[str, str], Routes]:
        """What the gateway matches a path to, an exact route first."""
        found = []
        for routes in (operators.ROUTES, inbox.ROUTES):
            for key in routes.by_key:
                known, template = key.split()
                match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), path)
                if known == method and match:
                    found.append((len(match.groupdict()), key, match.groupdict(), routes))
        _, key, parameters, routes = min(found, key=lambda item: item[0])
        return key, parameters, routes


def base64(text: str) -> str:
    """A body as the gateway hands over what it takes for binary."""
    return b64encode(text.encode()).decode()
