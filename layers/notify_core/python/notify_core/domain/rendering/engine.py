"""The template engine, fenced in: bounded work and output, nothing but its own values, one way to escape each text.

Source: minijinja, whose fuel counts instructions and built text, and whose finalizer sees every value that is shown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

from minijinja import Environment, TemplateError, pass_state, safe

from notify_core.domain.limits import TEMPLATE_FUEL, VALUE_CHARACTERS_MAX
from notify_core.domain.problem import Problem, ProblemCode, problem
from notify_core.domain.rendering.values import PYTHON_NAMES, WHOLE, context_of, text_of
from notify_core.domain.slack_text import escape

PLAIN, MARKUP, ADDRESS = "plain", "markup", "address"
"""How values are escaped: not at all, as Slack's markup, or as a part of a web address."""

_GLOBALS: Final = frozenset({"namespace", "range"})
_UNSAFE_FILTERS: Final = ("e", "escape", "safe")
"""They declare a text to be markup already."""
_ADDRESS_SAFE: Final = "!#$%&'()*+,/:;=?@[]~"
_QUOTED_CHARACTERS_MAX: Final = 100
_UNDEFINED: Final = re.compile(r"`(.+)` is undefined")
_OWN_WORDS: Final = frozenset({"UnknownFilter", "UnknownFunction", "UnknownMethod", "UnknownTest"})
"""Kinds of errors whose detail quotes the template only, never a value."""


class CannotRender(Exception):
    """A text can't be made; `problems` name the template and the remedy."""

    def __init__(self, *problems: Problem) -> None:
        """Name everything that has to be corrected."""
        super().__init__(*problems)
        self.problems = problems


class _TooMuch(Exception):
    """The values shown are longer than any text may be."""


class Engine:
    """The compiled templates of one definition, by their place in it."""

    def __init__(self) -> None:
        self._sources: dict[str, bytes] = {}
        self._environment = Environment(
            undefined_behavior="strict",
            finalizer=_finalize,
            auto_escape_callback=_auto_escape,
            path_join_callback=_nowhere,
            fuel=TEMPLATE_FUEL,
            pycompat=False,
        )
        for name in self._environment.globals.keys() - _GLOBALS:
            self._environment.remove_global(name)
        for name in _UNSAFE_FILTERS:
            self._environment.remove_filter(name)

    def add(self, field: str, source: str, escaping: str) -> str:
        """Compile a template and name it; CannotRender where it can't be read."""
        name = f"{escaping}:{len(self._sources)}:{field}"  # two fields' places may read alike
        try:
            hidden = self._environment.undeclared_variables_in_str(source) & PYTHON_NAMES
            source = "".join(f"{{% set {each} = {WHOLE}.{each} %}}" for each in sorted(hidden)) + source
            self._environment.add_template(name, source)
        except TemplateError as error:
            message = f"line {error.line}: {(error.detail or error.kind)[:_QUOTED_CHARACTERS_MAX]}"
            raise CannotRender(problem(field, ProblemCode.INVALID_TEMPLATE, message)) from None
        self._sources[name] = source.encode()
        return name

    def unknown_words(self, source: str) -> Sequence[str]:
        """The filters, tests and functions in a template that the engine doesn't have."""
        from notify_core.domain.rendering.words import unknown_words  # noqa: PLC0415  (for definitions only)

        return list(unknown_words(source, self._environment))

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """A template's text in a context; CannotRender says what is wrong without quoting a value."""
        field = name.split(":", 2)[2]
        try:
            return self._environment.render_template(name, **context_of(context))
        except TemplateError as error:
            raise CannotRender(self._explain(name, field, error)) from None
        except _TooMuch:
            message = f"it shows more than {VALUE_CHARACTERS_MAX} characters of values; show fewer or shorter ones"
            raise CannotRender(problem(field, ProblemCode.TOO_LONG, message)) from None
        except (AttributeError, TypeError):
            message = "it calls a value like a function; use filters instead"
            raise CannotRender(problem(field, ProblemCode.TEMPLATE_ERROR, message)) from None

    def _explain(self, name: str, field: str, error: TemplateError) -> Problem:
        detail = (error.detail or "").replace(f"{WHOLE}.", "")
        if error.kind == "UndefinedError":
            named = _UNDEFINED.search(detail)
            variable = named[1] if named else self._source(name, error.range)
            message = f"{variable[:_QUOTED_CHARACTERS_MAX]} isn't in the data: send it, or say what to show without it"
            return problem(field, ProblemCode.UNDEFINED_VARIABLE, message)
        if error.kind == "OutOfFuel":
            message = "it takes too many steps; shorten its loops"
            return problem(field, ProblemCode.TEMPLATE_TOO_EXPENSIVE, message)
        if error.kind == "TemplateNotFound":
            detail = "a template stands alone, and can't include another"
        elif error.kind not in _OWN_WORDS or not detail:
            detail = f"the data doesn't fit the template ({error.kind})"
        return problem(field, ProblemCode.TEMPLATE_ERROR, f"line {error.line}: {detail[:_QUOTED_CHARACTERS_MAX]}")

    def _source(self, name: str, span: tuple[int, int] | None) -> str:
        """What stands in a template between two of its bytes."""
        if span is None:
            return "a value"
        first, last = span
        return self._sources[name][first:last].decode()


# ---------------------------------------------------------------- what the engine asks


def _nowhere(_wanted: str, _wanting: str) -> str:
    """Where templates lead that one wants to include: they stand alone, each with an escaping of its own."""
    return ""


def _auto_escape(name: str) -> str | None:
    """Marks what macros and set blocks give as markup already, where values are escaped as such.

    As `html`, the engine would escape by itself what a filter joins to it: Slack shows `&#x27;` as it is.
    """
    return MARKUP if name.startswith(MARKUP) else None


class _State(Protocol):
    """What the engine tells of the rendering under way."""

    @property
    def name(self) -> str:
        """The template's name."""
        ...

    def get_temp(self, name: str, default: int) -> int:
        """What was kept until the rendering ends."""
        ...

    def set_temp(self, name: str, value: int) -> int:
        """Keep something until the rendering ends."""
        ...


@pass_state
def _finalize(state: _State, value: object) -> str:
    """The text of a value, escaped for where its template stands, and counted."""
    text = _ESCAPES[state.name.partition(":")[0]](value)
    length = state.get_temp("length", 0) + len(text)
    if length > VALUE_CHARACTERS_MAX:
        raise _TooMuch
    state.set_temp("length", length)
    return text


def _markup(value: object) -> str:
    return value if hasattr(value, "__html__") and isinstance(value, str) else safe(escape(text_of(value)))


def _address(value: object) -> str:
    """A value within an address: what separates its parts stays, what can't stand in one is percent-encoded."""
    return quote(text_of(value), safe=_ADDRESS_SAFE)


_ESCAPES: Final[Mapping[str, Callable[[object], str]]] = {PLAIN: text_of, MARKUP: _markup, ADDRESS: _address}
