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
_BLANKS_OF_PIPE: Final = re.compile(r"\|\s+")
_FILTER: Final = re.compile(r"\|([A-Za-z_]\w*)", re.ASCII)
_FILTER_BLOCK: Final = re.compile(r"^[-+]?\s*filter\s+([A-Za-z_]\w*)", re.ASCII)
_MACRO: Final = re.compile(r"^[-+]?\s*macro\s+([A-Za-z_]\w*)", re.ASCII)
_TEST: Final = re.compile(r"(?<![\w.])is\s+(?:not\s+)?([A-Za-z_]\w*)", re.ASCII)
_CALLED: Final = re.compile(r"(?<![\w.|])([A-Za-z_]\w*)\s*\(", re.ASCII)


def unknown_words(source: str, engine: Environment) -> Iterator[str]:
    """What a template that can be read names and the engine doesn't have, as `filter upperr`; each once."""
    found: dict[str, None] = {}
    called: dict[str, None] = {}
    macros: set[str] = set()
    for shown, done in _code(source):
        macros.update(_MACRO.findall(done))
        names = [*_FILTER.findall(shown + done), *_FILTER_BLOCK.findall(done)]
        found |= dict.fromkeys(f"filter {name}" for name in names)
        found |= dict.fromkeys(f"test {name}" for name in _TEST.findall(shown + done))
        called |= dict.fromkeys(_CALLED.findall(shown + done))
    if called:
        unset = engine.undeclared_variables_in_str(source) - macros
        found |= dict.fromkeys(f"function {name}" for name in called if name in unset)
    return (word for word in found if _is_unknown(word, engine))


def _code(source: str) -> Iterator[tuple[str, str]]:
    """What is shown, or else done, within each of the marks, without the texts in it."""
    for part in _PART.finditer(_RAW.sub("", source)):
        shown, done = (_BLANKS_OF_PIPE.sub("|", _TEXT.sub("''", part[kind] or "")) for kind in ("shown", "done"))
        yield shown, done


_ASKED: Final = {"filter": "0|{}", "test": "0 is {}", "function": "{}()"}


def _is_unknown(word: str, engine: Environment) -> bool:
    kind, _, name = word.partition(" ")
    try:
        engine.eval_expr(_ASKED[kind].format(name))
    except TemplateError as error:
        return error.kind == f"Unknown{kind.capitalize()}"
    return False
