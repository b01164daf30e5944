"""A call as API Gateway hands it over (HTTP API, payload 2.0), and what is answered."""

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: `route` is the route as registered (`GET /v1/inbox`), the path parameters are decoded."""

    route: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    claims: Mapping[str, str]
    body: bytes

    def asked(self, parameter: str) -> str | None:
        """A query parameter's value; one without a value is as good as none."""
        return self.query.get(parameter) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is answered: `body` is JSON, None for an empty one."""

    status: int
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def read_call(event: Mapping[str, Any]) -> Call:
    """The call in an event."""
    context: Mapping[str, Any] = event["requestContext"]
    query: Mapping[str, str] = event.get("queryStringParameters") or {}
    authorizer: Mapping[str, Any] = context.get("authorizer") or {}
    token: Mapping[str, Any] = authorizer.get("jwt") or {}
    return Call(
        route=event["routeKey"],
        path=event.get("pathParameters") or {},
        query=query,
        claims=token.get("claims") or {},
        body=_body(event),
    )


def _body(event: Mapping[str, Any]) -> bytes:
    text: str = event.get("body") or ""
    return b64decode(text) if event.get("isBase64Encoded") else text.encode(errors="surrogatepass")


def gateway_answer(answer: Answer) -> dict[str, Any]:
    """The answer in the form that API Gateway takes."""
    headers = {"cache-control": "no-store", **answer.headers}
    if answer.body is None:
        return {"statusCode": answer.status, "headers": headers}
    headers.setdefault("content-type", "application/json")
    return {
        "statusCode": answer.status,
        "headers": headers,
        "body": json.dumps(answer.body, ensure_ascii=False, separators=(",", ":")),
    }
