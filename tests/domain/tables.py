"""Lifecycle tables typed by hand, and what they are held against."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import product
from typing import TypeVar

from notify_core.domain.lifecycle import Actor, ForbiddenMove, Lifecycle

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)
Line = tuple[str, str, str, str]


def typed(table: str) -> set[Line]:
    """The lines `event, from, to, who …` of a typed table, one for each who."""
    lines = [line.split() for line in table.splitlines() if line.strip()]
    return {(event, source, target, who) for event, source, target, *actors in lines for who in actors}


def allowed(lifecycle: Lifecycle[State, Event], states: type[State], events: type[Event]) -> Iterator[Line]:
    """The lines that a lifecycle allows, of all that could be asked for."""
    for event, source, target, by in product(events, states, states, Actor):
        try:
            lifecycle.check(event, source, target, by=by)
        except ForbiddenMove:
            continue
        yield (event.value, source.value, target.value, by.value)
