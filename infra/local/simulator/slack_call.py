"""A call of Slack's Web API: how it is read, whose it is, and its arguments in all their encodings."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from infra.local.simulator.wire import Request, as_object

PREFIX: Final = "/slack/api/"
PAGE_ITEMS: Final = 100
PAGE_ITEMS_MAX: Final = 999
Payload = dict[str, object]


class Refused(Exception):
    """Slack's `ok: false` with a code, and what it says besides."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.payload: Payload = {"ok": False, "error": code, **details}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A method called by the app of one workspace; reading an argument raises `Refused` where Slack can't."""

    method: str
    team: str
    arguments: Mapping[str, object]

    def text(self, name: str) -> str:
        """An argument as text; empty when absent."""
        value = self.arguments.get(name)
        return "" if value is None else str(value)

    def flag(self, name: str) -> bool:
        """A boolean argument, however it was encoded."""
        return self.text(name).lower() in ("1", "true")

    def structure(self, name: str, *, error: str) -> object:
        """An argument that may come as JSON or as JSON in a string; None when absent or empty."""
        value = self.arguments.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError as fault:
            raise Refused(error) from fault

    def microseconds(self, name: str) -> int | None:
        """A `ts` as microseconds."""
        seconds, _, fraction = self.text(name).partition(".")
        digits = seconds + fraction
        if digits and not (digits.isascii() and digits.isdecimal()):
            raise Refused(f"invalid_ts_{name}")
        return int(seconds or 0) * 1_000_000 + int(f"{fraction:0<6}"[:6]) if digits else None

    def limit(self) -> int:
        """How many items a page may hold."""
        text = self.text("limit") or "0"
        if not (text.isascii() and text.isdecimal()):
            raise Refused("invalid_limit")
        return min(int(text), PAGE_ITEMS_MAX) or PAGE_ITEMS

    def cursor(self, kind: str) -> int | None:
        """Where this page starts, as `next_cursor` named it."""
        text = self.text("cursor")
        if not text:
            return None
        try:
            name, _, value = urlsafe_b64decode(text).decode().partition(":")
            position = int(value)
        except ValueError as fault:
            raise Refused("invalid_cursor") from fault
        if name != kind:
            raise Refused("invalid_cursor")
        return position


def read_call(request: Request) -> Call:
    """The call in a request; any bot token is taken, and its second part is the workspace (`xoxb-acme-1`)."""
    arguments: dict[str, object] = dict(request.query)
    if request.headers.get("content-type", "").startswith("application/json"):
        arguments |= _read_json(request.body)
    else:
        arguments |= dict(parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True))
    token = str(arguments.pop("token", ""))
    kind, _, rest = (request.headers.get("authorization", "").removeprefix("Bearer ") or token).partition("-")
    if not kind:
        raise Refused("not_authed")
    if kind != "xoxb" or not rest:
        raise Refused("invalid_auth")
    method = request.path.removeprefix(PREFIX)
    return Call(method=method, team=rest.partition("-")[0], arguments=arguments)


def next_cursor(kind: str, position: int | None) -> Payload:
    """The `response_metadata` that leads to the next page; None: there is none."""
    cursor = "" if position is None else urlsafe_b64encode(f"{kind}:{position}".encode()).decode()
    return {"response_metadata": {"next_cursor": cursor}}


def _read_json(body: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(body or b"{}")
    except ValueError as fault:
        raise Refused("invalid_json") from fault
    arguments = as_object(value)
    if arguments is None:
        raise Refused("json_not_object")
    return arguments
