"""A definition's templates, compiled once: every channel in every language."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, cast

from notify_core.domain.channel import Channel
from notify_core.domain.memo import Memo
from notify_core.domain.problem import Problem, field_path
from notify_core.domain.rendering.engine import ADDRESS, MARKUP, PLAIN, CannotRender, Engine

Templates = Mapping[Channel, Mapping[str, Any]]

TEMPLATE_FIELDS: Final[Mapping[Channel, Mapping[str, bool]]] = {
    Channel.CONSOLE: {"title": True, "body": True},
    Channel.CHAT: {"text": True, "blocks": False},
    Channel.TEXT: {"body": True},
    Channel.SLACK_SYSTEM: {"text": True, "blocks": False},
}
"""What a channel's templates consist of, and whether it has to be there."""

_SLACK: Final = frozenset({Channel.CHAT, Channel.SLACK_SYSTEM})
_ADDRESS_FIELDS: Final = frozenset({"image_url", "thumbnail_url", "title_url", "url", "video_url"})
"""Fields of Block Kit that Slack takes as they are, without reading markup."""
_MARKS: Final = ("{{", "{%", "{#")


@dataclass(frozen=True, slots=True)
class _Template:
    """Stands where a rendered text will."""

    name: str


@dataclass(frozen=True, slots=True)
class _Parts:
    """Stands where a list with rendered texts will."""

    parts: list[object]


@dataclass(frozen=True, slots=True)
class _NamedParts:
    """Stands where an object with rendered texts will."""

    parts: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One channel's templates in one language: their place in the definition, and what of them couldn't be read."""

    field: str
    parts: Mapping[str, object]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledTemplates:
    """All variants, by channel and language (lower case, empty for the default)."""

    engine: Engine
    variants: Mapping[tuple[Channel, str], Variant]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What couldn't be read."""
        return tuple(chain.from_iterable(variant.problems for variant in self.variants.values()))

    def variant(self, channel: Channel, locale: str | None) -> Variant:
        """The variant in the reader's language: exactly theirs, else a wider one, else the default."""
        wanted = (locale or "").lower()
        while wanted:
            if (found := self.variants.get((channel, wanted))) is not None:
                return found
            wanted = wanted.rpartition("-")[0]
        return self.variants[channel, ""]

    def render(self, variant: Variant, context: Mapping[str, Any]) -> dict[str, Any]:
        """The variant's parts with their texts; CannotRender with every problem in them."""
        problems = list(variant.problems)

        def text(template: _Template) -> str:
            try:
                return self.engine.render(template.name, context)
            except CannotRender as error:
                problems.extend(error.problems)
                return ""

        parts = {name: _filled(part, text) for name, part in variant.parts.items()}
        if problems:
            raise CannotRender(*problems)
        return parts


def compile_templates(templates: Templates) -> CompiledTemplates:
    """Compile templates that have the right shape; what can't be read is among the problems."""
    engine = Engine()
    variants: dict[tuple[Channel, str], Variant] = {}
    for channel, locale, field, template in _variants(templates):
        compiler = _Compiler(engine=engine, problems=[], is_slack=channel in _SLACK)
        parts = {name: compiler.compiled(part, f"{field}.{name}") for name, part in template.items()}
        variants[channel, locale] = Variant(field=field, parts=parts, problems=tuple(compiler.problems))
    return CompiledTemplates(engine=engine, variants=variants)


COMPILED: Final = Memo[Templates, CompiledTemplates](lambda definition: definition.templates, compile_templates)


def _variants(templates: Templates) -> Iterator[tuple[Channel, str, str, Mapping[str, Any]]]:
    for channel, template in templates.items():
        field = field_path("templates", channel.value)
        yield channel, "", field, {name: part for name, part in template.items() if name != "locales"}
        locales = cast("Mapping[str, Mapping[str, Any]]", template.get("locales") or {})
        for locale, translated in locales.items():
            yield channel, locale.lower(), field_path(field, "locales", locale), translated


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiler:
    """Replaces every text that holds a template, at any depth, by the compiled one."""

    engine: Engine
    problems: list[Problem]
    is_slack: bool

    def compiled(self, part: object, field: str) -> object:
        """The part of a template at a place; what holds no template stays the very same."""
        if isinstance(part, str):
            return self._text(part, field) if any(mark in part for mark in _MARKS) else part
        if isinstance(part, list):
            items = cast("list[object]", part)
            listed = [self.compiled(item, f"{field}.{index}") for index, item in enumerate(items)]
            return _Parts(listed) if any(map(_is_filled, listed)) else items
        if isinstance(part, dict):
            fields = cast("dict[str, object]", part)
            named = {key: self.compiled(item, f"{field}.{key}") for key, item in fields.items()}
            return _NamedParts(named) if any(map(_is_filled, named.values())) else fields
        return part

    def _text(self, source: str, field: str) -> object:
        slack_escaping = ADDRESS if field.rpartition(".")[2] in _ADDRESS_FIELDS else MARKUP
        try:
            return _Template(self.engine.add(field, source, slack_escaping if self.is_slack else PLAIN))
        except CannotRender as error:
            self.problems.extend(error.problems)
            return source


def _is_filled(part: object) -> bool:
    """Whether anything in it is still to be rendered."""
    return isinstance(part, (_Template, _Parts, _NamedParts))


def _filled(part: object, text: Callable[[_Template], str]) -> object:
    """The part with every template replaced by its text."""
    match part:
        case _Template():
            return text(part)
        case _Parts(parts):
            return [_filled(item, text) for item in parts]
        case _NamedParts(parts):
            return {name: _filled(item, text) for name, item in parts.items()}
        case _:
            return part
