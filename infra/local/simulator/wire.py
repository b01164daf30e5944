"""What crosses a socket: a request as it came, and the three ways to reply to it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request, read to its end; the names of `headers` are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An ordinary HTTP answer."""

    status: int = 200
    body: bytes
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The connection is reset without an answer; `then` runs `after_seconds` later."""

    then: Callable[[], object] | None = None
    after_seconds: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Nothing is said for so long, or until the client leaves; then the connection is reset."""

    seconds: float


Reply = Answer | Cut | Silence


def json_answer(value: object, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """The value as an answer."""
    return Answer(status=status, body=to_json(value), headers=headers)


def broken_answer(status: int) -> Answer:
    """What a gateway in front of a provider says when the provider failed: not JSON."""
    return Answer(status=status, body=b"<html><body>The server failed.</body></html>", content_type="text/html")


def to_json(value: object) -> bytes:
    """The value as compact ASCII JSON, which any text survives."""
    return json.dumps(value, separators=(",", ":")).encode()


def as_object(value: object) -> dict[str, object] | None:
    """The value if it is a JSON object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """The value if it is a JSON list."""
    return cast("list[object]", value) if isinstance(value, list) else None
