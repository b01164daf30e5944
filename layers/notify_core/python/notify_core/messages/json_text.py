"""Reading JSON strictly: what a JSON text can say and the platform can't keep is found, with its place."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from math import inf, isfinite
from typing import Any, Final, NoReturn, cast

from notify_core.domain.limits import JSON_DEPTH_MAX, NUMBER_DIGITS_MAX, PROBLEMS_MAX
from notify_core.domain.problem import Path, Problem, ProblemCode, problem

_DIGITS_READ_MAX: Final = 400
"""Longer numbers aren't even computed: reading them takes quadratic time."""
_NUMBER_LIMIT: Final = 10**NUMBER_DIGITS_MAX


class NotJson(ValueError):
    """A text isn't JSON; the message is a fact that quotes nothing of it."""


class _Ambiguous(dict[str, Any]):
    """An object in which a name stands twice."""

    repeated: frozenset[str] = frozenset()


def read_json(text: str) -> object:
    """The value of a JSON text.

    Raises:
        NotJson: it is empty, no JSON (NaN and Infinity are none), or nested without end.
    """
    if not text or text.isspace():
        raise NotJson("the body is empty")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer, parse_constant=_refuse_constant)
    except RecursionError:
        raise NotJson("the body is nested too deeply") from None
    except ValueError:
        raise NotJson("the body isn't JSON") from None


def repeated_names(value: object) -> frozenset[str]:
    """The names that stand twice in an object, as far as read_json made it."""
    return value.repeated if isinstance(value, _Ambiguous) else frozenset()


def find_faults(value: object) -> tuple[Problem, ...]:
    """What can't be kept of a JSON value, a hundred problems at most."""
    return tuple(islice(_faults(value, ()), PROBLEMS_MAX))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    ambiguous = _Ambiguous(fields)
    ambiguous.repeated = frozenset(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
    return ambiguous


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_READ_MAX else inf


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


def _faults(value: object, path: Path) -> Iterator[Problem]:
    match value:
        case str():
            if not _is_text(value):
                yield problem(path, ProblemCode.INVALID_TEXT, "send whole characters: half of a surrogate pair is none")
        case bool() | None:
            return
        case int() | float():
            if not isfinite(value) or (isinstance(value, int) and abs(value) >= _NUMBER_LIMIT):
                message = f"send numbers of more than {NUMBER_DIGITS_MAX} digits as text"
                yield problem(path, ProblemCode.OUT_OF_RANGE, message)
        case _ if len(path) >= JSON_DEPTH_MAX:
            yield problem(path, ProblemCode.TOO_DEEP, f"nest at most {JSON_DEPTH_MAX} levels")
        case dict():
            yield from _object_faults(cast("dict[str, object]", value), path)
        case list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from _faults(item, (*path, index))
        case _:  # JSON holds nothing else
            return


def _object_faults(fields: dict[str, object], path: Path) -> Iterator[Problem]:
    for name in sorted(repeated_names(fields)):
        yield problem((*path, name), ProblemCode.REPEATED_FIELD, "name every field only once")
    for name, item in fields.items():
        if not _is_text(name):
            yield problem((*path, name), ProblemCode.INVALID_TEXT, "name fields in whole characters")
        yield from _faults(item, (*path, name))


def _is_text(text: str) -> bool:
    """Whether it can be written as UTF-8: it holds no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
