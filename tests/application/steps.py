"""Every step that a use case takes towards a store or a queue: counted, and interrupted where a test wants to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from notify_core.application.ports import Page, Ports


class Died(BaseException):
    """The function ended here: nothing after it happened, no handler saw it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call, and how many rows it gave."""

    name: str
    rows: int


class Steps:
    """Stands between use cases and their ports; `interrupt` runs something just before the n-th step from now."""

    def __init__(self, ports: Ports) -> None:
        self.taken: list[Step] = []
        self.before_each: Callable[[], object] | None = None
        self._hook: Callable[[], object] | None = None
        self._left = 0
        self.ports = replace(
            ports,
            registry=_Watched(ports.registry, "registry", self),
            directory=_Watched(ports.directory, "directory", self),
            requests=_Watched(ports.requests, "requests", self),
            notices=_Watched(ports.notices, "notices", self),
            queues=_Watched(ports.queues, "queues", self),
        )

    def interrupt(self, number: int, hook: Callable[[], object]) -> None:
        """Run the hook once, before the n-th step from now (from 0)."""
        self._left, self._hook = number, hook

    @property
    def is_interrupted(self) -> bool:
        """Whether the hook has run: the use case takes more steps than it was to wait for."""
        return self._hook is None

    def forget(self) -> None:
        """Count from here on, and interrupt no more."""
        self.taken.clear()
        self._hook = None

    def reach(self) -> None:
        if self.before_each is not None:
            self.before_each()
        if self._hook is None:
            return
        self._left -= 1
        if self._left < 0:
            hook, self._hook = self._hook, None
            hook()

    def names(self) -> list[str]:
        return [step.name for step in self.taken]

    def rows(self) -> int:
        return sum(step.rows for step in self.taken)


class _Watched:
    def __init__(self, port: Any, name: str, steps: Steps) -> None:
        self._port, self._name, self._steps = port, name, steps

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._port, method)
        if not callable(call):
            return call
        name = f"{self._name}.{method}"
        if method == "generations":
            return lambda *args: self._read(call(*args), name)

        def made(*args: Any, **kwargs: Any) -> Any:
            self._steps.reach()
            value = call(*args, **kwargs)
            self._steps.taken.append(Step(name, _rows(value)))
            return value

        return made

    def _read(self, values: Iterator[Any], name: str) -> Iterator[Any]:
        """Each generation is a read of its own."""
        while True:
            self._steps.reach()
            value = next(values, None)
            self._steps.taken.append(Step(name, _rows(value)))
            if value is None:
                return
            yield value


def _rows(value: Any) -> int:
    match value:
        case None | int():
            return 0
        case Page():
            return len(value.items)
        case list() | tuple() | dict():
            return len(value)
        case _:
            return 1
