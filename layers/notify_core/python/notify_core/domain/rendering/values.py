"""Data as templates see it: fields, items and plain values, and nothing that Python adds to them.

The engine finds a Python object's methods where a field is missing, so a dict itself would let a template change the
data (`{{ order.clear() }}`) and would show a method for a missing field.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, cast

PYTHON_NAMES: Final = frozenset(name for name in dir(dict) if not name.startswith("_"))
"""Variables that would be found in any context, because a context is a dict: `items`, `values`, …"""
WHOLE: Final = "_data"
"""The variable through which those are looked up instead."""


class Items:
    """A JSON array."""

    __slots__ = ("_of",)

    def __init__(self, of: list[object]) -> None:
        self._of = of

    def __getitem__(self, index: int) -> object:
        return shown(self._of[index])

    def __len__(self) -> int:
        return len(self._of)

    def __str__(self) -> str:
        return text_of(self)


cast("Any", Sequence).register(Items)


class Fields:
    """A JSON object; where a field called `items` is missing, it reads as an empty list."""

    __slots__ = ("_of",)
    items: Final = Items([])
    """By this attribute the engine knows a mapping."""

    def __init__(self, of: dict[str, object]) -> None:
        self._of = of

    def __getitem__(self, name: str) -> object:
        return shown(self._of[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def __str__(self) -> str:
        return text_of(self)


class _Whole:
    """All variables of a context, to be looked up by name."""

    __slots__ = ("_of",)

    def __init__(self, of: Mapping[str, object]) -> None:
        self._of = of

    def __getitem__(self, name: str) -> object:
        return self._of[name]


def context_of(fields: Mapping[str, Any]) -> dict[str, object]:
    """The variables of a template, from a JSON object."""
    variables = {name: shown(value) for name, value in fields.items()}
    return {**variables, WHOLE: _Whole(variables)}


def shown(value: object) -> object:
    """A JSON value as templates see it."""
    if isinstance(value, dict):
        return Fields(cast("dict[str, object]", value))
    if isinstance(value, list):
        return Items(cast("list[object]", value))
    return value


def text_of(value: object) -> str:
    """A value as a reader expects it: nothing for null, `true`, arrays and objects as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (bool, list, dict, Items, Fields)):
        return json.dumps(value, ensure_ascii=False, default=attrgetter("_of"))
    return str(value)
