"""What a set of runs has to have seen: every move of every lifecycle, every judge at work, every kind of fault."""

from collections.abc import Iterator, Mapping

from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE
from notify_core.domain.lifecycle import Lifecycle
from notify_core.domain.notice_lifecycle import NOTICE_LIFECYCLE
from notify_core.domain.request_lifecycle import REQUEST_LIFECYCLE
from tests.simulation.checkers import CHECKS
from tests.simulation.faults import FAULTS
from tests.simulation.outcome import Outcome

Move = tuple[str, str, str]
"""A kind of thing, an event, and from where to where."""

_OF_DEFINITIONS = (
    ("register", "absent -> active"),
    ("register", "active -> active"),
    ("register", "retired -> active"),
    ("retire", "active -> retired"),
)
_OF_CIRCUITS = (
    ("throttle", "closed -> closed"),
    ("open", "closed -> open"),
    ("probe", "open -> open"),
    ("throttle", "open -> open"),
    ("close", "open -> closed"),
)
NEVER_MADE: Mapping[Move, str] = {
    ("delivery", "skip", "queued -> skipped"): "a worker claims before it looks whom it may tell",
    ("delivery", "skip", "deferred -> skipped"): "a worker claims before it looks whom it may tell",
    ("delivery", "exhaust", "deferred -> failed"): "the message of a delivery that waits is no attempt",
    ("notice", "progress", "routed -> no_channel"): "what is skipped was claimed, so that its notice was delivering",
}
"""Moves that the tables allow and no use case asks for, with the reason."""


def moves() -> list[Move]:
    """Every move that somebody makes, in the order of the tables."""
    every = [
        *_of(REQUEST_LIFECYCLE),
        *_of(DELIVERY_LIFECYCLE),
        *_of(NOTICE_LIFECYCLE),
        *(("definition", *move) for move in _OF_DEFINITIONS),
        *(("circuit", *move) for move in _OF_CIRCUITS),
    ]
    return [move for move in every if move not in NEVER_MADE]


def impossible_moves(outcome: Outcome) -> list[Move]:
    """The moves that were made, though nothing is known to make them."""
    return [move for move in NEVER_MADE if outcome.moves[move]]


def _of(lifecycle: Lifecycle) -> Iterator[Move]:  # type: ignore[type-arg]
    return ((lifecycle.name, str(move.event), f"{move.source} -> {move.target}") for move in lifecycle.moves)


def missing_moves(outcome: Outcome) -> list[Move]:
    """The moves that nothing made."""
    return [move for move in moves() if not outcome.moves[move]]


def idle_judges(outcome: Outcome) -> list[str]:
    """The judges that were never asked."""
    return [check for check in CHECKS if not outcome.evaluated[check]]


def missing_faults(outcome: Outcome) -> list[str]:
    """The kinds of faults that never happened."""
    return [fault for fault in FAULTS if not outcome.faults[fault]]
