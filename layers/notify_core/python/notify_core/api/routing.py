"""Serving a call: one route of a table, after the token, the path and the query were checked."""

import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from notify_core.api.access import Scope, check_scope
from notify_core.api.call import Answer, Call, gateway_answer, read_call
from notify_core.api.cursors import Cursors
from notify_core.api.refusal import Kind, Refusal, details, refusal
from notify_core.application.ports import Conflict, Ports, StoreUnavailable, Telemetry
from notify_core.application.refusals import Invalid, NotFound
from notify_core.domain.identifiers import HQ, is_identifier
from notify_core.domain.problem import Problem, field_path

RETRY_AFTER_SECONDS: Final = 2
FRAMES_LOGGED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """What serving a call needs of the world."""

    ports: Ports
    cursors: Cursors


@dataclass(frozen=True, slots=True)
class Route:
    """One route: as the gateway names it, what serves it, and the query parameters that it knows."""

    key: str
    serve: Callable[[Call, Api], Answer]
    query: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of one function, all for tokens of one scope."""

    scope: Scope
    by_key: Mapping[str, Route]


def routes(scope: Scope, table: Iterable[Route]) -> Routes:
    """The table of a function's routes."""
    return Routes(scope, {route.key: route for route in table})


def serve(table: Routes, event: Mapping[str, Any], api: Api, invocation_id: str) -> dict[str, Any]:
    """Answer a call from API Gateway; whatever is wrong with it is a problem document, never an exception."""
    call = read_call(event)
    route = table.by_key.get(call.route)
    try:
        answer = _serve(table, route, call, api)
    except Exception as error:  # noqa: BLE001  (the last line of defence: recorded, and answered without internals)
        answer = _refused(_as_refusal(error, api.ports.telemetry), invocation_id)
    api.ports.telemetry.info(route.serve.__name__ if route else "route_not_found", status=answer.status)
    return gateway_answer(answer)


def _serve(table: Routes, route: Route | None, call: Call, api: Api) -> Answer:
    check_scope(call.claims, table.scope)
    if route is None:
        raise refusal(Kind.NOT_FOUND, "", "route_not_found", "there is no such route")
    _check_path(call)
    _check_query(call, route)
    return route.serve(call, api)


# ---------------------------------------------------------------- checking

_FIELDS: Final = {"ws": "workspace_id", "person": "person", "key": "definition", "recipient": "recipient"}
"""The path parameters that are identifiers, and what they are called everywhere else."""


def _check_path(call: Call) -> None:
    problems = [
        Problem(
            field=field,
            code="invalid_identifier",
            message="1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit",
        )
        for name, field in _FIELDS.items()
        if name in call.path and not (is_identifier(call.path[name]) or _is_hq(name, call.path[name]))
    ]
    if problems:
        raise Refusal(Kind.INVALID, *problems)


def _is_hq(name: str, value: str) -> bool:
    return name == "recipient" and value == HQ


def _check_query(call: Call, route: Route) -> None:
    """A misspelt filter would otherwise show everything."""
    known = ", ".join(route.query) or "none"
    unknown = [
        Problem(field=field_path(name), code="unknown_parameter", message=f"this route's query parameters are: {known}")
        for name in sorted(call.query.keys() - set(route.query))
    ]
    if unknown:
        raise Refusal(Kind.INVALID, *unknown)


# ---------------------------------------------------------------- refusing


def _refused(refused: Refusal, invocation_id: str) -> Answer:
    headers = {"content-type": "application/problem+json"}
    if refused.kind is Kind.UNAVAILABLE:
        headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    return Answer(status=refused.kind.status, body=details(refused, invocation_id), headers=headers)


def _as_refusal(error: Exception, telemetry: Telemetry) -> Refusal:
    match error:
        case Refusal():
            return error
        case Invalid():
            return Refusal(Kind.INVALID, *error.problems)
        case NotFound():
            return refusal(Kind.NOT_FOUND, error.field, error.code, error.message)
        case Conflict():
            return refusal(
                Kind.REFUSED, "", "conflict", "others kept changing the same thing at the same time; try again"
            )
        case StoreUnavailable():
            _record("call_unavailable", error, telemetry)
            return refusal(Kind.UNAVAILABLE, "", "unavailable", "a store can't be reached; try again")
        case _:
            _record("call_failed", error, telemetry)
            return refusal(
                Kind.INTERNAL, "", "internal", "our fault, and recorded; name the instance when you report it"
            )


def _record(event: str, error: Exception, telemetry: Telemetry) -> None:
    """Log where it went wrong; an error's own text may quote content, so it stays out."""
    frames = traceback.extract_tb(error.__traceback__, limit=-FRAMES_LOGGED)
    where = "~".join(f"{PurePath(frame.filename).stem}:{frame.lineno}" for frame in reversed(frames))
    telemetry.alarm(event, error=type(error).__name__, where=where)
