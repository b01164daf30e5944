"""Virtual time and a seeded scheduler: one thread, and a choice at every input or output.

A process is a greenlet. Whatever reaches the world calls `pause` first, so that any other process may run before it. A
dead process is never resumed: no `finally` of its own runs, as none does in a function that dies.

Everything that could have gone otherwise is asked of `choose`, `chance`, `draw`, `pick` and `latency`: a subclass that
answers them from somewhere else than the seed explores other histories.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, TypeVar, cast

from greenlet import getcurrent, greenlet

from notify_core.adapters.memory import gather as in_turn

T = TypeVar("T")

STEP_MICROSECONDS_MAX = 4_000
"""What one call to the world takes at most, when nobody else runs beside it."""


@dataclass(eq=False, slots=True)
class Process:
    """A running function, or one of several things that it does at once; `root` is the invocation it belongs to."""

    name: str
    task: Callable[[], Any]
    run: greenlet
    parent: "Process | None"
    dies_at: datetime | None = None
    on_end: "Callable[[Any], None] | None" = None
    on_death: "Callable[[], None] | None" = None
    ended: bool = False
    dead: bool = False
    died_at: datetime | None = None
    value: Any = None
    failure: Exception | None = None
    waits_for: int = 0
    slot: int = -1
    """Its place among those that are ready; -1 when it isn't."""
    root: "Process" = field(init=False, repr=False)
    members: "dict[Process, None]" = field(default_factory=dict["Process", None], repr=False)
    """Of an invocation: everything that it does and hasn't ended, itself included."""

    def __post_init__(self) -> None:
        self.root = self if self.parent is None else self.parent.root

    @property
    def is_dead(self) -> bool:
        """Whether its invocation has died."""
        return self.root.dead


class Kernel:
    """The scheduler: everything that happens is decided by the seed."""

    def __init__(self, seed: int, now: datetime, *, record: bool = False) -> None:
        self.random = Random(seed)
        self.at = now
        self.steps = 0
        self.timeouts = 0
        self.is_calm = False
        """Whether an invocation that runs alone may do what it does at once one after the other."""
        self.history: list[str] | None = [] if record else None
        self._ready: list[Process] = []
        self._timers: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = count()
        self._hub = getcurrent()
        self._current: Process | None = None
        self._stops_at = now
        self._idle: list[greenlet] = []
        """Those that have ended what they ran, and can run something else."""
        self._kept: list[greenlet] = []
        """The dead are kept: one that is collected would run its `finally`s."""

    # ---------------------------------------------------------------- what could go otherwise

    def choose(self, ready: Sequence[Process]) -> Process:
        """Which of those that can run is next."""
        return ready[int(self.random.random() * len(ready))]

    def chance(self, likelihood: float, what: str) -> bool:
        """Whether something of this likelihood happens now."""
        return self.random.random() < likelihood

    def draw(self, what: str) -> float:
        """How much of something, from 0 to 1 (excluded): most often how long it takes."""
        return self.random.random()

    def pick(self, options: Sequence[T], what: str) -> T:
        """Which of several things happens."""
        return options[int(self.random.random() * len(options))]

    def latency(self, running: int) -> timedelta:
        """How much time a step takes while so many processes run: beside each other, not one after the other."""
        return timedelta(microseconds=int(self.random.random() * STEP_MICROSECONDS_MAX / running))

    # ---------------------------------------------------------------- for the world

    def now(self) -> datetime:
        """ports.Clock."""
        return self.at

    def tell(self, line: str) -> None:
        """Add a line to the readable history, where one is kept."""
        if self.history is not None:
            who = self._current.root.name if self._current else ""
            self.history.append(f"{self.at:%m-%d %H:%M:%S}.{self.at.microsecond // 1000:03} {who:16} {line}")

    def spawn(
        self,
        name: str,
        run: Callable[[], Any],
        *,
        seconds: float | None = None,
        on_end: Callable[[Any], None] | None = None,
        on_death: Callable[[], None] | None = None,
    ) -> Process:
        """Start a process; it dies after so many seconds at the latest."""
        process = self._make(name, run, None)
        process.dies_at = None if seconds is None else self.at + timedelta(seconds=seconds)
        process.on_end, process.on_death = on_end, on_death
        return process

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        heappush(self._timers, (self.at + timedelta(seconds=seconds), next(self._numbers), act))

    def call_at(self, at: datetime, act: Callable[[], None]) -> None:
        """Do something at a time."""
        heappush(self._timers, (max(at, self.at), next(self._numbers), act))

    # ---------------------------------------------------------------- for processes

    @property
    def running(self) -> Process | None:
        """The process that is running; None between them, where late writes land."""
        return self._current

    @property
    def current(self) -> Process:
        """The process that is running."""
        assert self._current is not None, "only a process reaches the world"
        return self._current

    def pause(self) -> None:
        """Let anybody else run first; where nobody else can, and nothing is due, only time passes."""
        if len(self._ready) == 1 and self._current is not None:
            at = self.at + self.latency(1)
            dies_at = self._current.root.dies_at
            if at < self._stops_at and (not self._timers or at < self._timers[0][0]) and (not dies_at or at < dies_at):
                self.at = at
                self.steps += 1
                return
        self._hub.switch()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        process = self.current
        process.waits_for += 1

        def wake() -> None:
            process.waits_for -= 1
            if not process.waits_for and not process.root.dead:
                self._resume(process)

        self._suspend(process)
        self.after(seconds, wake)
        self._hub.switch()

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """ports.Gather: all tasks interleave like everything else; the first failure is raised once all have ended."""
        if len(tasks) <= 1:
            return [task() for task in tasks]
        if self.is_calm and len(self._ready) == 1:
            return in_turn(tasks)
        parent = self.current
        children = [self._make(parent.name, task, parent) for task in tasks]
        parent.waits_for += len(children)
        self._suspend(parent)
        self._hub.switch()
        failure = next((child.failure for child in children if child.failure), None)
        if failure is not None:
            raise failure
        return [cast("T", child.value) for child in children]

    def die(self) -> None:
        """The running invocation dies here: nothing of it is ever resumed."""
        self._bury(self.current.root)
        self._hub.switch()

    # ---------------------------------------------------------------- running

    def run(self, until: datetime) -> None:
        """Run until a time; what is ready then goes on with the next call."""
        ready, timers = self._ready, self._timers
        self._stops_at = until
        while self.at <= until:
            while timers and timers[0][0] <= self.at:
                heappop(timers)[2]()
            if ready:
                self._step(self.choose(ready))
            elif timers and timers[0][0] <= until:
                self.at = timers[0][0]
            else:
                self.at = until
                return

    def _step(self, process: Process) -> None:
        self.steps += 1
        self.at += self.latency(len(self._ready))
        root = process.root
        if root.dies_at is not None and self.at >= root.dies_at:
            self._current = process
            self.tell("!! TIMES OUT")
            self._current = None
            self.timeouts += 1
            self._bury(root)
            return
        self._current = process
        process.run.switch(process)
        self._current = None
        if process.ended and not root.dead:
            self._finish(process)

    def _finish(self, process: Process) -> None:
        self._suspend(process)
        self._idle.append(process.run)
        parent = process.parent
        if parent is not None:
            del process.root.members[process]
            parent.waits_for -= 1
            if not parent.waits_for:
                self._resume(parent)
        elif process.on_end is not None:
            process.on_end(process.failure or process.value)

    def _resume(self, process: Process) -> None:
        process.slot = len(self._ready)
        self._ready.append(process)

    def _suspend(self, process: Process) -> None:
        """Take it from those that are ready; the last of them takes its place."""
        last = self._ready.pop()
        if last is not process:
            self._ready[process.slot] = last
            last.slot = process.slot
        process.slot = -1

    def _bury(self, root: Process) -> None:
        root.dead, root.died_at = True, self.at
        for process in root.members:
            if process.slot >= 0:
                self._suspend(process)
            self._kept.append(process.run)
        root.members.clear()
        if root.on_death is not None:
            root.on_death()

    def _make(self, name: str, run: Callable[[], Any], parent: Process | None) -> Process:
        process = Process(name, run, self._idle.pop() if self._idle else greenlet(self._work, self._hub), parent)
        process.root.members[process] = None
        self._resume(process)
        return process

    def _work(self, process: Process) -> None:
        """Run one process after the other, each when it is switched to for the first time."""
        while True:
            try:
                process.value = process.task()
            except Exception as failure:  # noqa: BLE001  (handed to whoever waits for it)
                process.failure = failure
            process.ended = True
            process = self._hub.switch()
