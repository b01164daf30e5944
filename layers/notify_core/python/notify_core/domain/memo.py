"""Remembering what is compiled from a definition: a pure function's value, kept for its next call."""

import json
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from notify_core.domain.definition import Definition

Source = TypeVar("Source")
Compiled = TypeVar("Compiled")
_KEPT_MAX: Final = 64


class Memo(Generic[Source, Compiled]):
    """Keeps the compiled form of the latest definitions' content.

    The content itself decides whether the form still fits, so a definition that isn't registered yet may share its
    version with another.
    """

    def __init__(self, source: Callable[[Definition], Source], compile_: Callable[[Source], Compiled]) -> None:
        self._source = source
        self._compile = compile_
        self._kept: dict[tuple[str, str, int], tuple[Source, Compiled]] = {}

    def of(self, definition: Definition) -> Compiled:
        """The compiled form of the definition's content."""
        key = (definition.workspace_id, definition.key, definition.version)
        source = self._source(definition)
        kept = self._kept.get(key)
        if kept is not None and kept[0] is source:
            return kept[1]
        compiled = kept[1] if kept is not None and _are_same(kept[0], source) else self._compile(source)
        self._kept[key] = (source, compiled)
        for oldest in list(self._kept)[:-_KEPT_MAX]:  # a list at once, and whatever other threads add or forget
            self._kept.pop(oldest, None)
        return compiled


def _are_same(first: object, second: object) -> bool:
    """Whether two are the same JSON; to Python, 1 is the same as true."""
    return first == second and json.dumps(first) == json.dumps(second)
