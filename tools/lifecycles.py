"""Writes docs/lifecycles.md: each lifecycle's diagram and table, from the tables that the code itself follows."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE
from notify_core.domain.lifecycle import Lifecycle
from notify_core.domain.notice_lifecycle import NOTICE_LIFECYCLE
from notify_core.domain.request_lifecycle import REQUEST_LIFECYCLE

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)

PAGE = Path(__file__).parents[1] / "docs" / "lifecycles.md"

HEAD = """\
# Lifecycles

Everything that happens here is a move in one of three tables: one line a move, with the event, where it leads from and
to, and who may bring it about. The same tables refuse any other move, give each write its condition, and made this page
(`python -m tools.lifecycles`; a test fails when it is out of date).

Nothing waits for ever: a sweep ends whatever is due, by the deadline of its request, by evidence, or by a timeout.
"""

REQUEST = """\
A publication gets exactly one outcome. Only an accepted request (`open`) moves on: it can be withdrawn or replaced
until it settles, which happens past its deadline once nothing is queued, deferred or being sent. Retiring a definition
closes its requests as `cancelled` and ends nothing: what is queued still goes out. An outcome stays, so a corrected
publication needs another request key.
"""

DELIVERY = """\
A delivery is one channel of one notice. Nothing is sent without a claim (`sending`), and a send whose result is unknown
stays claimed until evidence settles it; it is never repeated on a guess. A delivery whose channel is throttled or
refused is held without a claim. `skipped`, `unavailable` and the console's `delivered` are ends from the start. Back
from an end leads only an operator's retry of what ran out of attempts; a late receipt corrects what was given up.
"""

NOTICE = """\
A notice's status is derived from its deliveries, in the same write that moves one of them, so it is never out of date.
`superseded` and `expired` are explicit: whatever its deliveries still do, the notice stays so, readable and out of the
unread total. `pending` is what a notice without deliveries would be and is never stored.
"""


def render() -> str:
    """The whole page."""
    sections = (
        _section("Request", REQUEST, REQUEST_LIFECYCLE),
        _section("Delivery", DELIVERY, DELIVERY_LIFECYCLE),
        _section("Notice", NOTICE, NOTICE_LIFECYCLE),
    )
    return "\n".join((HEAD, *sections))


def _section(title: str, introduction: str, lifecycle: Lifecycle[State, Event]) -> str:
    lines = (
        f"## {title}",
        "",
        introduction,
        "```mermaid",
        "stateDiagram-v2",
        *_arrows(lifecycle),
        "```",
        "",
        *_ends(lifecycle),
        "| event | from | to | by |",
        "|---|---|---|---|",
        *(f"| {move.event} | {move.source} | {move.target} | {', '.join(move.by)} |" for move in lifecycle),
    )
    return "\n".join(lines) + "\n"


def _arrows(lifecycle: Lifecycle[State, Event]) -> Iterator[str]:
    """One arrow for each two states, labelled with all events that lead from the one to the other."""
    events: dict[tuple[State, State], list[Event]] = {}
    for move in lifecycle:
        events.setdefault((move.source, move.target), []).append(move.event)
    for state in sorted(lifecycle.initial):
        yield f"    [*] --> {state}"
    for (source, target), names in events.items():
        yield f"    {source} --> {target}: {', '.join(names)}"


def _ends(lifecycle: Lifecycle[State, Event]) -> Iterator[str]:
    ends = ", ".join(sorted(f"`{state}`" for state in lifecycle.final() - lifecycle.reserved))
    yield f"Nothing leaves {ends}."
    for state in sorted(lifecycle.reserved):
        yield f"`{state}` is reserved: nothing ever reaches it."
    yield ""


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
