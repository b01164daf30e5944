"""A request as a table, and how far its deliveries have come."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType

from notify_cli.api import Json
from notify_cli.explaining import at_second
from notify_cli.output import facts, table
from notify_cli.sentences import DEAD_LETTERED

BUSY: Final = frozenset({"queued", "deferred", "sending"})
"""The deliveries for which something is still to be done."""
RECIPIENTS_SHOWN: Final = 20
"""While it is watched; one more is only counted."""


def because(thing: Json) -> str:
    """A state with its reason."""
    state = thing["state"]
    return f"{state} ({thing['reason']})" if thing["reason"] else str(state)


def is_dead_lettered(request: Json) -> bool:
    """Whether it could not be processed and waits for an operator."""
    return request["state"] == "queued" and any(item["code"] == DEAD_LETTERED for item in request["problems"])


def is_quiet(request: Json) -> bool:
    """Whether nothing of it is left to be done: it has its outcome, and nothing is queued, deferred or sending."""
    busy = any(item["state"] in BUSY for notice in request["notices"] for item in notice["deliveries"])
    return not busy and (request["state"] != "queued" or is_dead_lettered(request))


def progress(request: Json) -> str:
    """How many deliveries are in which state, by channel."""
    found: dict[str, Counter[str]] = {}
    for notice in request["notices"]:
        for item in notice["deliveries"]:
            found.setdefault(item["channel"], Counter())[because(item)] += 1
    return "; ".join(f"{channel}: {_counts(states)}" for channel, states in found.items())


def _counts(states: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(states.items()))


def request_tables(request: Json, *, notices_max: int | None = None) -> list[RenderableType]:
    """A request with its problems, exclusions and notices; with a maximum only so many notices."""
    shown: list[RenderableType] = [facts(f"Request {request['request_id']}", _facts(request))]
    if request["problems"]:
        shown.append(problems_table(request["problems"]))
    if request["exclusions"]:
        shown.append(exclusions_table(request["exclusions"]))
    if request["notices"]:
        shown.append(_notices_table(request["notices"], notices_max))
    return shown


def _facts(request: Json) -> Mapping[str, Any]:
    version = request["definition_version"]
    names = ("published_at", "not_before", "expires_at", "recorded_at", "closed_at", "differing_repeat_at")
    return {
        "state": because(request),
        "definition": request["definition"] + (f" (version {version})" if version else ""),
        "request key": request["request_key"],
        "replacement key": request["replacement_key"],
        "fold key": request["fold_key"],
        **{name.removesuffix("_at").replace("_", " "): request[name] and at_second(request[name]) for name in names},
        "recipients": len(request["notices"]) or None,
        "deliveries": progress(request) or None,
    }


def problems_table(problems: Iterable[Json]) -> RenderableType:
    """What has to be corrected."""
    rows = [(item["field"] or "-", item["code"], item["message"]) for item in problems]
    return table(("field", "problem", "what to do"), rows)


def exclusions_table(exclusions: Iterable[Json]) -> RenderableType:
    """Who was named and is not told."""
    rows = [(kind, name, item["reason"]) for item in exclusions for kind, name in item.items() if kind != "reason"]
    return table(("excluded", "name", "reason"), rows)


def _notices_table(notices: Sequence[Json], limit: int | None) -> RenderableType:
    shown = notices[:limit]
    rows = [(recipient(item), item["status"], deliveries(item), item["notice_id"]) for item in shown]
    if left := len(notices) - len(shown):
        rows.append((f"and {left} more", "", "", ""))
    return table(("recipient", "status", "deliveries", "notice"), rows)


def recipient(item: Json) -> str:
    """Whom something is for: a person, or the headquarters."""
    return "-" if item["recipient"] is None else str(item["recipient"])


def deliveries(notice: Json) -> str:
    """A notice's deliveries on a line."""
    return ", ".join(f"{item['channel']} {because(item)}" for item in notice["deliveries"])
