"""Bodies: the JSON of a call, and what it amounts to. Imports pydantic, so that routes without a body do without."""

from typing import Final, Literal, TypeVar, cast

from pydantic import Field

from notify_core.api.call import Call
from notify_core.api.refusal import Kind, Refusal, refusal
from notify_core.domain.limits import PAGE_ITEMS, PAGE_ITEMS_MAX
from notify_core.domain.problem import Problem
from notify_core.messages import NotJson, read_json
from notify_core.messages.fields import Body, Time, read_body
from notify_core.messages.json_text import find_faults

Value = TypeVar("Value")

BODY_BYTES_MAX: Final = 256 * 1024
"""The largest body read; as a message it stays below a queue's 1 MiB, however its characters are escaped."""


class ReadAllBody(Body):
    """Up to when everything is read."""

    up_to: Time


class RetryBody(Body):
    """Which failed deliveries are retried, and how many at most."""

    reason: Literal["attempts_exhausted"] = "attempts_exhausted"
    limit: int = Field(default=PAGE_ITEMS, ge=1, le=PAGE_ITEMS_MAX)


def json_of(call: Call) -> object:
    """The JSON value in the body.

    Raises:
        Refusal: it is too large, no JSON, or holds what can be written in JSON and not be kept.
    """
    if len(call.body) > BODY_BYTES_MAX:
        raise refusal(Kind.TOO_LARGE, "", "too_large", f"a body may have {BODY_BYTES_MAX} bytes at most")
    try:
        value = read_json(call.body.decode())
    except UnicodeDecodeError as error:
        raise refusal(Kind.BAD_REQUEST, "", "not_json", "the body isn't UTF-8") from error
    except NotJson as error:
        raise refusal(Kind.BAD_REQUEST, "", "not_json", str(error)) from error
    if faults := find_faults(value):
        raise Refusal(Kind.INVALID, *faults)
    return value


def accepted(parsed: Value | tuple[Problem, ...]) -> Value:
    """What a body amounts to; Refusal with everything that is wrong with it."""
    if isinstance(parsed, tuple):
        raise Refusal(Kind.INVALID, *cast("tuple[Problem, ...]", parsed))
    return parsed


def read_all_body(call: Call) -> ReadAllBody:
    """The body of `POST /v1/inbox/read_all`."""
    return accepted(read_body(ReadAllBody, json_of(call)))


def retry_body(call: Call) -> RetryBody:
    """The body of `POST …/deliveries/retry`."""
    return accepted(read_body(RetryBody, json_of(call)))
