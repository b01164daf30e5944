"""The filters, tests and functions that a template names: the engine looks for them only when it comes to them."""

import re
from collections.abc import Iterator
from typing import Final

from minijinja import Environment, TemplateError

_QUOTED: Final = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_TEXT: Final = re.compile(_QUOTED, re.DOTALL)
_RAW: Final = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}", re.DOTALL)
_PART: Final = re.compile(
    r"\{#.*?#\}"
    rf"|\{{\{{(?P<shown>(?:{_QUOTED}|(?!\}}\}})[^'\"])*)\}}\}}"
    rf"|\{{%(?P<done>(?:{_QUOTED}|(?!%\}})[^'\"])*)%\}}",
    re.DOTALL,
)
_FILTER: Final = re.compile(r"\|\s*([A-Za-z_]\w*)|^[-+]?\s*filter\s+([A-Za-z_]\w*)", re.ASCII)
_TEST: Final = re.compile(r"(?<![\w.])is\s+(?:not\s+)?([A-Za-z_]\w*)", re.ASCII)
_CALLED: Final = re.compile(r"(?<![\w.|])(?<!\|\s)([A-Za-z_]\w*)\s*\(", re.ASCII)


def unknown_words(source: str, engine: Environment) -> Iterator[str]:
    """What a template that can be read names and the engine doesn't have, as `filter upperr`; each once."""
    found: dict[str, None] = {}
    for code in _code(source):
        found |= dict.fromkeys(f"filter {first or second}" for first, second in _FILTER.findall(code))
        found |= dict.fromkeys(f"test {name}" for name in _TEST.findall(code))
        called = set(_CALLED.findall(code)) & engine.undeclared_variables_in_str(source)
        found |= dict.fromkeys(f"function {name}" for name in sorted(called))
    return (word for word in found if _is_unknown(word, engine))


def _code(source: str) -> Iterator[str]:
    """What stands within the marks, without the texts in it."""
    for part in _PART.finditer(_RAW.sub("", source)):
        yield _TEXT.sub("''", part["shown"] or part["done"] or "")


_ASKED: Final = {"filter": "0|{}", "test": "0 is {}", "function": "{}()"}


def _is_unknown(word: str, engine: Environment) -> bool:
    kind, _, name = word.partition(" ")
    try:
        engine.eval_expr(_ASKED[kind].format(name))
    except TemplateError as error:
        return error.kind == f"Unknown{kind.capitalize()}"
    return False
