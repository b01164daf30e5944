"""Where the product meets the world: every call that leaves it is numbered here, and one may go wrong.

AWS calls are met below the client (its HTTP session), so that whatever the product asks of AWS is numbered by itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from notify_core.adapters.memory import FixedClock
from tests.application.steps import Died

T = TypeVar("T")

CALL_TAKES = timedelta(milliseconds=2)


class HarnessFailed(BaseException):
    """The test itself went wrong, where the code under test would take it for a fault of the world."""


class Side(StrEnum):
    """What goes wrong with a call."""

    DIED_BEFORE = "died before"
    """The process ends before the effect."""
    DIED_AFTER = "died after"
    """The process ends after the effect, before its answer."""
    REQUEST_LOST = "request lost"
    """No effect and no answer, however often the client tries."""
    ANSWER_LOST = "answer lost"
    """The effect, and no answer, however often the client tries."""
    ANSWER_LOST_ONCE = "answer lost once"
    """The effect, no answer, and the client's own second try goes through."""


READ_SIDES = (Side.DIED_BEFORE, Side.REQUEST_LOST)
"""A read has no effect: dead after it is dead before the next call."""
SEND_SIDES = (Side.DIED_BEFORE, Side.DIED_AFTER, Side.REQUEST_LOST, Side.ANSWER_LOST)
"""A provider is called once: nobody tries again by himself."""


@dataclass(frozen=True, slots=True)
class Call:
    """A numbered call, and what may go wrong with it."""

    label: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """The call that goes wrong, and how."""

    number: int
    side: Side


@dataclass(slots=True)
class Invocation:
    """A function's run; once dead, nothing of it reaches the world any more."""

    name: str
    is_dead: bool = False


Choose = Callable[[int, Call], Side | None]
"""Says of a numbered call what goes wrong with it, until something has."""


def nothing(number: int, call: Call) -> None:
    """Nothing goes wrong."""


class Boundary:
    """Numbers the calls, and makes one of them go wrong."""

    def __init__(self, clock: FixedClock, choose: Choose, tell: Callable[[str], None]) -> None:
        self.calls: list[Call] = []
        self.fault: Fault | None = None
        """What went wrong."""
        self.after_effect: Callable[[], None] = lambda: None
        """Called after every call that may have changed something, before anybody hears of it."""
        self._clock = clock
        self._choose = choose
        self._tell = tell
        self._running: list[Invocation] = []
        self._failing: object = None
        """What identifies the call that goes wrong, over all its tries."""

    @contextmanager
    def running(self, name: str) -> Iterator[Invocation]:
        """A function runs; another may run meanwhile, within."""
        self._running.append(Invocation(name))
        try:
            yield self._running[-1]
        finally:
            self._running.pop()

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """Calls of the test's own."""
        running, self._running = self._running, []
        try:
            yield
        finally:
            self._running = running

    def call(
        self,
        label: str,
        sides: tuple[Side, ...],
        effect: Callable[[], T],
        lose: Callable[[], T],
        *,
        takes: timedelta = CALL_TAKES,
        identity: object = None,
    ) -> T:
        """Make a call: `lose` gives or raises what the caller gets where no answer comes, after `takes`.

        Calls of one identity are the tries of one call.
        """
        if not self._running:
            return effect()
        invocation = self._running[-1]
        if invocation.is_dead:
            raise Died
        side = self._side(label, sides, identity)
        self._clock.advance(CALL_TAKES)
        self._tell(f"{invocation.name:10} {label}{f'  !!! {side}' if side else ''}")
        if side is Side.DIED_BEFORE:
            invocation.is_dead = True
            raise Died
        try:
            value = None if side is Side.REQUEST_LOST else effect()
            if sides != READ_SIDES:
                self.after_effect()
        except Exception as error:
            raise HarnessFailed from error
        if side is Side.DIED_AFTER:
            invocation.is_dead = True
            raise Died
        if side is not None:
            self._clock.advance(takes)
            return lose()
        assert value is not None
        return value

    def _side(self, label: str, sides: tuple[Side, ...], identity: object) -> Side | None:
        if self.fault is not None:
            is_again = identity is not None and identity == self._failing
            return self.fault.side if is_again and self.fault.side is not Side.ANSWER_LOST_ONCE else None
        call = Call(label, sides)
        self.calls.append(call)
        side = self._choose(len(self.calls) - 1, call)
        if side is not None:
            self.fault, self._failing = Fault(len(self.calls) - 1, side), identity
        return side
