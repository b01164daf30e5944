"""Virtual time and a seeded scheduler: one thread, and a choice at every input or output.

A process is a greenlet. Whatever reaches the world calls `pause` first, so that any other process may run before it. A
crashed process is never resumed: no `finally` of its own runs, as none does in a function that dies.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any, TypeVar, cast

from greenlet import getcurrent, greenlet

T = TypeVar("T")


@dataclass(eq=False)
class Process:
    """A running function, or one of several things that it does at once."""

    name: str
    run: greenlet
    parent: "Process | None"
    dies_at: datetime | None = None
    on_end: "Callable[[Any], None] | None" = None
    on_death: "Callable[[], None] | None" = None
    ended: bool = False
    dead: bool = False
    value: Any = None
    failure: Exception | None = None
    waits_for: int = 0
    wakes_at: datetime | None = None

    @property
    def root(self) -> "Process":
        """The invocation that it belongs to."""
        return self if self.parent is None else self.parent.root

    @property
    def is_dead(self) -> bool:
        """Whether its invocation has died."""
        return self.root.dead


@dataclass(order=True)
class _Timer:
    at: datetime
    number: int
    act: Callable[[], None] = field(compare=False)


class Kernel:
    """The scheduler: everything that happens is decided by the seed."""

    def __init__(self, seed: int, now: datetime, *, record: bool = False) -> None:
        self.random = Random(seed)
        self.at = now
        self.steps = 0
        self.history: list[str] | None = [] if record else None
        self._ready: list[Process] = []
        self._timers: list[_Timer] = []
        self._numbers = count()
        self._hub = getcurrent()
        self._current: Process | None = None
        self._kept: list[greenlet] = []

    # ---------------------------------------------------------------- for the world

    def now(self) -> datetime:
        """ports.Clock."""
        return self.at

    def tell(self, line: str) -> None:
        """Add a line to the readable history, where one is kept."""
        if self.history is not None:
            who = self._current.root.name if self._current else "-"
            self.history.append(f"{self.at:%m-%d %H:%M:%S.%f} {who:24} {line}")

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
        dies_at = None if seconds is None else self.at + timedelta(seconds=seconds)
        process = self._make(name, run, None)
        process.dies_at, process.on_end, process.on_death = dies_at, on_end, on_death
        return process

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        self.call_at(self.at + timedelta(seconds=seconds), act)

    def call_at(self, at: datetime, act: Callable[[], None]) -> None:
        """Do something at a time."""
        heapq.heappush(self._timers, _Timer(max(at, self.at), next(self._numbers), act))

    # ---------------------------------------------------------------- for processes

    @property
    def current(self) -> Process:
        """The process that is running."""
        assert self._current is not None, "only a process reaches the world"
        return self._current

    def pause(self) -> None:
        """Let anybody else run first."""
        self._hub.switch()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        process = self.current
        process.waits_for += 1

        def wake() -> None:
            process.waits_for -= 1
            if not process.waits_for:
                self._ready.append(process)

        self._ready.remove(process)
        self.after(seconds, wake)
        self._hub.switch()

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """ports.Gather: the tasks interleave like everything else; the first failure is raised once all have ended."""
        if len(tasks) <= 1:
            return [task() for task in tasks]
        parent = self.current
        children = [self._make(parent.name, task, parent) for task in tasks]
        parent.waits_for += len(children)
        self._ready.remove(parent)
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
        while self.at <= until:
            while self._timers and self._timers[0].at <= self.at:
                heapq.heappop(self._timers).act()
            if self._ready:
                self._step(self._ready[int(self.random.random() * len(self._ready))])
            elif self._timers and self._timers[0].at <= until:
                self.at = self._timers[0].at
            else:
                self.at = until
                return

    def _step(self, process: Process) -> None:
        self.steps += 1
        self.at += timedelta(microseconds=int(self.random.random() * 4000))
        root = process.root
        if root.dies_at is not None and self.at >= root.dies_at:
            self.tell("TIMED OUT")
            self._bury(root)
            return
        self._current = process
        process.run.switch()
        self._current = None
        if process.ended and not process.is_dead:
            self._finish(process)

    def _finish(self, process: Process) -> None:
        self._ready.remove(process)
        parent = process.parent
        if parent is not None:
            parent.waits_for -= 1
            if not parent.waits_for:
                self._ready.append(parent)
        elif process.on_end is not None:
            process.on_end(process.failure or process.value)

    def _bury(self, root: Process) -> None:
        root.dead = True
        buried = [process for process in self._ready if process.root is root]
        self._ready = [process for process in self._ready if process.root is not root]
        self._kept.extend(process.run for process in buried)
        if root.on_death is not None:
            root.on_death()

    def _make(self, name: str, run: Callable[[], Any], parent: Process | None) -> Process:
        def body() -> None:
            try:
                process.value = run()
            except Exception as failure:  # noqa: BLE001  (handed to whoever waits for it)
                process.failure = failure
            process.ended = True

        process = Process(name, greenlet(body, self._hub), parent)
        self._ready.append(process)
        return process
