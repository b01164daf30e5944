"""Ports of which one call is watched: before its effect, where it may fail, and after it, where its answer is lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

from notify_core.application.ports import Ports

Look = Callable[..., object]
"""What is shown a call's arguments; whatever it raises, the caller gets."""


def _nothing(*_: Any, **__: Any) -> None:
    pass


def watched(ports: Ports, name: str, before: Look = _nothing, after: Look = _nothing) -> Ports:
    """The ports, whose calls of this name (`requests.put`) are shown to `before`, made, and shown to `after`."""
    port, _, method = name.partition(".")
    call = getattr(getattr(ports, port), method)

    def made(*args: Any, **kwargs: Any) -> Any:
        before(*args, **kwargs)
        value = call(*args, **kwargs)
        after(*args, **kwargs)
        return value

    return replace(ports, **{port: _Port(getattr(ports, port), {method: made})})


def failing(ports: Ports, name: str, error: Exception, *, times: int | None = 1) -> Ports:
    """The ports, whose calls of this name fail so many times, None for always."""
    return watched(ports, name, before=_raising(error, times))


def losing(ports: Ports, name: str, error: Exception, *, times: int = 1) -> Ports:
    """The ports, whose calls of this name have their effect and are answered by a failure, so many times."""
    return watched(ports, name, after=_raising(error, times))


def _raising(error: Exception, times: int | None) -> Look:
    errors: Iterator[Exception] = repeat(error) if times is None else iter([error] * times)

    def look(*_: Any, **__: Any) -> None:
        found = next(errors, None)
        if found is not None:
            raise found

    return look


class _Port:
    def __init__(self, port: Any, methods: dict[str, Callable[..., Any]]) -> None:
        self._port, self._methods = port, methods

    def __getattr__(self, method: str) -> Any:
        return self._methods.get(method) or getattr(self._port, method)
