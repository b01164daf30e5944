"""Remembering what was compiled: never for other content, never without bound."""

from notify_core.domain.memo import Memo
from tests.builders import a_definition


class Compiler:
    """Counts what it compiles."""

    def __init__(self) -> None:
        self.compiled: list[str] = []
        self.memo = Memo[str, str](lambda definition: definition.title, self._compile)

    def _compile(self, source: str) -> str:
        self.compiled.append(source)
        return source.upper()


def test_the_same_content_is_compiled_once() -> None:
    compiler = Compiler()
    definitions = [a_definition(title="Due"), a_definition(title="Due"), a_definition(title="Due")]
    assert [compiler.memo.of(definition) for definition in definitions] == ["DUE", "DUE", "DUE"]
    assert compiler.compiled == ["Due"]


def test_other_content_under_the_same_version_is_compiled_anew() -> None:
    compiler = Compiler()
    first, second = a_definition(title="Due", version=0), a_definition(title="Paid", version=0)
    assert [compiler.memo.of(each) for each in (first, second, first)] == ["DUE", "PAID", "DUE"]


def test_the_oldest_is_forgotten_first() -> None:
    compiler = Compiler()
    for version in range(65):
        compiler.memo.of(a_definition(version=version))
    compiler.memo.of(a_definition(version=64))
    assert len(compiler.compiled) == 65
    compiler.memo.of(a_definition(version=0))
    assert len(compiler.compiled) == 66
