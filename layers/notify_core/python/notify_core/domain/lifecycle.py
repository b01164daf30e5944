"""What a lifecycle is: a table of moves, asked one question at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)


class Actor(StrEnum):
    """Who moves something; recorded with every move."""

    PRODUCER = "producer"
    PROCESSOR = "processor"
    REPLACEMENT = "replacement"
    RETIREMENT = "retirement"
    WORKER = "worker"
    RECEIPT = "receipt"
    SWEEP = "sweep"
    OPERATOR = "operator"
    RECIPIENT = "recipient"


class ForbiddenMove(Exception):
    """An event was applied to a state that it can't move."""


@dataclass(frozen=True, slots=True)
class Move(Generic[State, Event]):
    """One line of a lifecycle: on `event`, by one of `by`, a thing goes from `source` to `target`."""

    event: Event
    source: State
    target: State
    by: tuple[Actor, ...]


@dataclass(frozen=True, slots=True)
class Lifecycle(Generic[State, Event]):
    """A table of moves; `reserved` states belong to the vocabulary, and nothing ever reaches them."""

    name: str
    moves: tuple[Move[State, Event], ...]
    initial: frozenset[State]
    reserved: frozenset[State] = frozenset()
    _actors: dict[tuple[Event, State, State], tuple[Actor, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the table by what a move is asked for."""
        actors = {(move.event, move.source, move.target): move.by for move in self.moves}
        object.__setattr__(self, "_actors", actors)

    def check(self, event: Event, source: State, target: State, *, by: Actor) -> None:
        """Raise ForbiddenMove unless the table has this move, by this actor."""
        if by not in self._actors.get((event, source, target), ()):
            raise ForbiddenMove(f"{self.name}: {event} by {by} may not move {source} to {target}")

    def leading_to(self, target: State) -> frozenset[State]:
        """The states that some move takes to the target: the from-state part of a write's condition."""
        return frozenset(move.source for move in self.moves if move.target == target)

    def states(self) -> frozenset[State]:
        """Every state in the table."""
        moving = {state for move in self.moves for state in (move.source, move.target)}
        return self.initial | self.reserved | moving

    def final(self) -> frozenset[State]:
        """The states that no move leaves."""
        return self.states() - {move.source for move in self.moves}

    def __iter__(self) -> Iterator[Move[State, Event]]:
        """The moves, in the table's order."""
        return iter(self.moves)
