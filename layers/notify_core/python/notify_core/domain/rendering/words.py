"""The filters, tests and functions that a template names: the engine looks for them only when it comes to them."""

import re
from collections.abc import Iterator
from functools import reduce
from typing import Final

from minijinja import Environment, TemplateError

_QUOTED: Final = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_TEXT: Final = re.compile(_QUOTED, re.DOTALL)
_LITERALS_MAX: Final = 3
"""How many objects are followed into one another; a template for people hardly writes down one."""
_SHOWN: Final = reduce(lambda inner, _: rf"(?:{_QUOTED}|[^'\"{{}}]|\{{{inner}\}})*", range(_LITERALS_MAX + 1), "")
"""What stands between a mark's braces: two that close end it only where they close no object."""
_PART: Final = re.compile(
    r"\{#.*?#\}"
    r"|\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}"
    rf"|\{{\{{(?P<shown>{_SHOWN})\}}\}}"
    rf"|\{{%(?P<done>(?:{_QUOTED}|(?!%\}})[^'\"])*)%\}}",
    re.DOTALL,
)
_BLANKS: Final = re.compile(r"([|.])\s+|(?<!\s)\s+(?=\.)")
"""What may stand around pipes and dots."""
_NAME: Final = r"[^\W\d]\w*"
_DOTTED: Final = rf"({_NAME}(?:\.{_NAME})*)"
_FILTER: Final = re.compile(rf"\|{_DOTTED}")
_FILTER_BLOCK: Final = re.compile(rf"^[-+]?\s*filter\s+{_DOTTED}")
_PASSED: Final = re.compile(
    rf"{_QUOTED}"
    r"|(?:\||^[-+]?\s*filter\s)\s*(?:"
    rf"map\s*\(\s*(?P<filter>{_QUOTED})"
    rf"|(?:select|reject)\s*\(\s*(?P<test>{_QUOTED})"
    rf"|(?:select|reject)attr\s*\((?:\s*{_QUOTED}\s*|[^,()'\"]*),\s*(?P<test_of>{_QUOTED})"
    r")\s*[,)]",
    re.DOTALL,
)
"""A filter or a test that another filter is given by its name; or a text, in which none is."""
_MACRO: Final = re.compile(rf"^[-+]?\s*macro\s+({_NAME})")
_TEST: Final = re.compile(rf"(?<![\w.])is\s+(?:not\s+)?{_DOTTED}")
_CALLED: Final = re.compile(rf"(?<![\w.|])({_NAME})\s*\(")


def unknown_words(source: str, engine: Environment) -> Iterator[str]:
    """What a template that can be read names and the engine doesn't have, as `filter upperr`; each once."""
    found: dict[str, None] = {}
    called: dict[str, None] = {}
    macros: set[str] = set()
    for shown, done, passed in _code(source):
        macros.update(_MACRO.findall(done))
        names = [*_FILTER.findall(shown + done), *_FILTER_BLOCK.findall(done)]
        found |= dict.fromkeys(f"filter {name}" for name in names)
        found |= dict.fromkeys(f"test {name}" for name in _TEST.findall(shown + done))
        found |= dict.fromkeys(passed)
        called |= dict.fromkeys(_CALLED.findall(shown + done))
    if called:
        unset = engine.undeclared_variables_in_str(source) - macros
        found |= dict.fromkeys(f"function {name}" for name in called if name in unset)
    return (word for word in found if _is_unknown(word, engine))


def _code(source: str) -> Iterator[tuple[str, str, list[str]]]:
    """What is shown, or else done, within each of the marks, without the texts in it; and the words passed as such."""
    for part in _PART.finditer(source):
        shown, done = (_BLANKS.sub(r"\1", _TEXT.sub("''", part[kind] or "")) for kind in ("shown", "done"))
        yield shown, done, list(_passed(part["shown"] or part["done"] or ""))


def _passed(code: str) -> Iterator[str]:
    for found in _PASSED.finditer(code):
        kind = "filter" if found["filter"] else "test"
        name = (found["filter"] or found["test"] or found["test_of"] or "")[1:-1]
        if re.fullmatch(_DOTTED, name):
            yield f"{kind} {name}"


_ASKED: Final = {"filter": "0|{}", "test": "0 is {}", "function": "{}()"}


def _is_unknown(word: str, engine: Environment) -> bool:
    kind, _, name = word.partition(" ")
    try:
        engine.eval_expr(_ASKED[kind].format(name))
    except TemplateError as error:
        return error.kind == f"Unknown{kind.capitalize()}"
    return False
