"""Remembering what was compiled: never for other content, never without bound."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from notify_core.domain.memo import Memo
from tests.builders import a_definition


class Compiler:
    """Counts what it compiles."""

    def __init__(self) -> None:
        self.compiled: list[str] = []
        self.memo = Memo[list[str], str](lambda definition: [definition.title], self._compile)

    def _compile(self, source: list[str]) -> str:
        (title,) = source
        self.compiled.append(title)
        return title.upper()


class Interrupted(str):
    """A key that lets another thread take its turn, once, when it is looked up."""

    __slots__ = ()
    turns: ClassVar[list[Callable[[], object]]] = []

    def __hash__(self) -> int:
        while self.turns:
            self.turns.pop()()
        return super().__hash__()


def test_the_same_content_is_compiled_once() -> None:
    compiler = Compiler()
    definitions = [a_definition(title="Due"), a_definition(title="Due"), a_definition(title="Due")]
    assert [compiler.memo.of(definition) for definition in definitions] == ["DUE", "DUE", "DUE"]
    assert compiler.compiled == ["Due"]


def test_other_content_under_the_same_version_is_compiled_anew() -> None:
    compiler = Compiler()
    first, second = a_definition(title="Due", version=0), a_definition(title="Paid", version=0)
    assert [compiler.memo.of(each) for each in (first, second, first)] == ["DUE", "PAID", "DUE"]


@pytest.mark.parametrize(("first", "second"), [(True, 1), (1, True), (0, False), (1, 1.0)])
def test_content_that_only_python_takes_for_the_same_is_compiled_anew(first: object, second: object) -> None:
    memo = Memo[Mapping[str, Any], str](lambda definition: definition.schema, json.dumps)
    definitions = [a_definition(schema={"properties": {"paid": {"const": value}}}) for value in (first, second)]
    assert [memo.of(each) for each in definitions] == [json.dumps(each.schema) for each in definitions]


def test_the_very_same_content_is_not_compared() -> None:
    """A batch asks ten times with one definition."""

    class Watched(dict[str, Any]):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Watched.compared += 1
            return super().__eq__(other)

        __hash__ = None  # type: ignore[assignment]

    memo = Memo[Mapping[str, Any], str](lambda definition: definition.schema, json.dumps)
    for definition in (a_definition(schema=Watched()), a_definition(schema=Watched())):
        for _ in range(10):
            memo.of(definition)
    assert Watched.compared == 1


def test_the_oldest_is_forgotten_first() -> None:
    compiler = Compiler()
    for version in range(65):
        compiler.memo.of(a_definition(version=version))
    compiler.memo.of(a_definition(version=64))
    assert len(compiler.compiled) == 65
    compiler.memo.of(a_definition(version=0))
    assert len(compiler.compiled) == 66


def test_threads_never_keep_more_than_fits() -> None:
    memo = Memo[list[str], str](lambda definition: [definition.title], "".join)
    definitions = [a_definition(version=version) for version in range(80)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: [memo.of(definitions[(number * 7 + i) % 80]) for i in range(400)], range(16)))
    assert len(memo._kept) <= 64  # noqa: SLF001  (nothing else shows it)


def test_two_threads_may_forget_the_same_definition() -> None:
    compiler = Compiler()
    compiler.memo.of(a_definition(key=Interrupted("invoice.oldest")))
    for version in range(63):
        compiler.memo.of(a_definition(version=version))
    Interrupted.turns.append(lambda: compiler.memo.of(a_definition(version=63)))
    assert compiler.memo.of(a_definition(version=64, title="Due")) == "DUE"
    assert not Interrupted.turns
