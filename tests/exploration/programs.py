"""The real use cases as trees: a use case is deterministic given what the world answers it.

A point is a use case suspended at its next calls, after one sequence of answers. It is reached by running the code
itself; what was run before is looked up. So a state of the whole holds points instead of running code, states can be
compared and gone back to, and the code between two calls runs once.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from greenlet import getcurrent, greenlet

from notify_core.application.ports import Conflict, StoreUnavailable
from notify_core.domain.identifiers import ClaimId

T = TypeVar("T")

_SUSPENDED_MAX: Final = 3_000
"""Points whose code is kept suspended; any other is run again from its beginning when it goes on."""


_Path = tuple[tuple[int, int], ...]
"""Which task of a use case: the how manieth gather of its parent's, and which of its tasks."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One input or output of a use case."""

    port: str
    method: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The port and its method."""
        return f"{self.port}.{self.method}"


@dataclass(frozen=True, slots=True)
class Raised:
    """An answer that is an exception."""

    kind: type[Exception]

    def error(self) -> Exception:
        """A new exception of its kind."""
        return self.kind("explored")


CONFLICT: Final = Raised(Conflict)
UNAVAILABLE: Final = Raised(StoreUnavailable)


@dataclass(slots=True, eq=False)
class Point:
    """A use case after a sequence of answers: what it asks next (one call a task), or how it ended."""

    number: int
    program: "Program"
    came_from: "tuple[Point, int, Any, datetime] | None"
    histories: "Mapping[_Path, tuple[Hashable, ...]]"
    """What each of its tasks was answered. In which order they were answered between them makes no difference: tasks
    done at once share nothing but what they read before."""
    paths: "Mapping[int, _Path]"
    calls: Mapping[int, Call] = field(default_factory=dict[int, Call])
    is_over: bool = False
    outcome: Any = None
    read_clock: bool = False
    """Whether the code that led here from the point before looked at the time."""
    following: "dict[Hashable, Point]" = field(default_factory=dict[Hashable, "Point"])


@dataclass(frozen=True, slots=True)
class Program:
    """A use case and what it is started with; `begun_at` is when."""

    key: Hashable
    run: Callable[[], Any]
    claim: str
    begun_at: datetime


@dataclass(eq=False)
class _Task:
    """One of the things that a running use case does at once."""

    number: int
    path: _Path
    body: greenlet
    parent: "_Task | None"
    call: Call | None = None
    answer: Any = None
    value: Any = None
    failure: Exception | None = None
    is_over: bool = False
    waits_for: int = 0
    gathers: int = 0


class _Running:
    """A use case being run, suspended at its calls."""

    def __init__(self, runner: "Runner", program: Program) -> None:
        self.runner = runner
        self.program = program
        self.tasks: list[_Task] = []
        self.claims = 0
        self.now = program.begun_at
        self.read_clock = False
        self.root = self.make(program.run, None, ())
        self.current = self.root

    def make(self, run: Callable[[], Any], parent: _Task | None, path: _Path) -> _Task:
        def body() -> None:
            try:
                task.value = run()
            except Exception as failure:  # noqa: BLE001  (handed to whoever waits for it)
                task.failure = failure
            task.is_over = True

        task = _Task(len(self.tasks), path, greenlet(body, self.runner.hub), parent)
        self.tasks.append(task)
        return task

    def go_on(self, task: _Task) -> None:
        """Run a task to its next call, and whatever that sets going."""
        ready = [task]
        while ready:
            task = ready.pop(0)
            self.current = task
            self.runner.running = self
            before = len(self.tasks)
            task.body.switch()
            ready.extend(self.tasks[before:])
            if task.is_over and task.parent is not None:
                task.parent.waits_for -= 1
                if not task.parent.waits_for:
                    ready.append(task.parent)

    @property
    def calls(self) -> dict[int, Call]:
        return {task.number: task.call for task in self.tasks if task.call is not None and not task.is_over}


class Runner:
    """Runs use cases up to their next calls, and remembers every point that was reached."""

    def __init__(self, key_of: Callable[[Any], Hashable]) -> None:
        self.hub = getcurrent()
        self.running: _Running | None = None
        self.points: list[Point] = []
        self.runs = 0
        self._key_of = key_of
        self._roots: dict[Hashable, Point] = {}
        self._merged: dict[Hashable, Point] = {}
        self._suspended: OrderedDict[int, _Running] = OrderedDict()

    # ---------------------------------------------------------------- for the code that runs

    def ask(self, call: Call) -> Any:
        """Suspend the running task until its call is answered."""
        running = self._now_running()
        task = running.current
        task.call = call
        self.hub.switch()
        task.call = None
        if isinstance(task.answer, Raised):
            raise task.answer.error()
        return task.answer

    def now(self) -> datetime:
        """ports.Clock."""
        running = self._now_running()
        running.read_clock = True
        return running.now

    def new_claim_id(self) -> ClaimId:
        """A name that nothing else of the state has."""
        running = self._now_running()
        running.claims += 1
        return ClaimId(f"{running.program.claim}.{running.claims}")

    def gather(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """ports.Gather: the tasks' calls may be answered in any order; the first failure is raised after the last."""
        if len(tasks) <= 1:
            return [task() for task in tasks]
        running = self._now_running()
        parent = running.current
        parent.gathers += 1
        children = [
            running.make(task, parent, (*parent.path, (parent.gathers, place))) for place, task in enumerate(tasks)
        ]
        parent.waits_for = len(children)
        self.hub.switch()
        failure = next((child.failure for child in children if child.failure), None)
        if failure is not None:
            raise failure
        return [child.value for child in children]

    def _now_running(self) -> _Running:
        assert self.running is not None, "only a use case asks"
        return self.running

    # ---------------------------------------------------------------- for the explorer

    def begin(self, program: Program) -> Point:
        """The use case at its first calls."""
        found = self._roots.get(program.key) or self._roots.get((program.key, program.begun_at))
        if found is not None:
            return found
        running = _Running(self, program)
        running.go_on(running.root)
        point = self._point(program, None, running, {})
        self._roots[(program.key, program.begun_at) if point.read_clock else program.key] = point
        return point

    def follow(self, point: Point, task: int, answer: Any, now: datetime) -> Point:
        """The use case after one more answer."""
        key = (task, self._key_of(answer))
        found = point.following.get(key) or point.following.get((key, now))
        if found is not None:
            return found
        running = self._suspended.pop(point.number, None) or self._run_again(point)
        self._answer(running, task, answer, now)
        path = point.paths[task]
        told = (key[1], now if running.read_clock else None)
        histories = {**point.histories, path: (*point.histories.get(path, ()), told)}
        place = (point.program.key, point.program.begun_at, frozenset(histories.items()))
        next_point = self._merged.get(place)
        if next_point is None:
            next_point = self._point(point.program, (point, task, answer, now), running, histories)
            self._merged[place] = next_point
        point.following[(key, now) if running.read_clock else key] = next_point
        return next_point

    def _point(
        self,
        program: Program,
        came_from: tuple[Point, int, Any, datetime] | None,
        running: _Running,
        histories: Mapping[_Path, tuple[Hashable, ...]],
    ) -> Point:
        calls = running.calls
        paths = {number: running.tasks[number].path for number in calls}
        point = Point(len(self.points), program, came_from, histories, paths, calls, read_clock=running.read_clock)
        self.points.append(point)
        if running.root.is_over:
            point.is_over, point.outcome = True, running.root.failure or running.root.value
        else:
            self._suspended[point.number] = running
            if len(self._suspended) > _SUSPENDED_MAX:
                self._suspended.popitem(last=False)
        return point

    def _run_again(self, point: Point) -> _Running:
        steps: list[tuple[int, Any, datetime]] = []
        at = point
        while at.came_from is not None:
            before, task, answer, now = at.came_from
            steps.append((task, answer, now))
            at = before
        running = _Running(self, point.program)
        running.go_on(running.root)
        for task, answer, now in reversed(steps):
            self._answer(running, task, answer, now)
        self.runs += 1
        return running

    def _answer(self, running: _Running, task: int, answer: Any, now: datetime) -> None:
        running.now, running.read_clock = now, False
        chosen = running.tasks[task]
        assert chosen.call is not None, "only a call is answered"
        chosen.answer = answer
        running.go_on(chosen)
