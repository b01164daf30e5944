"""Checking a definition when it is registered, so that what can't work never waits for a publication to show it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, islice
from typing import Any, cast

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.identifiers import is_identifier
from notify_core.domain.limits import (
    DAY_SECONDS,
    EXPIRES_AFTER_SECONDS_MAX,
    EXPIRES_AFTER_SECONDS_MIN,
    FOLD_WITHIN_SECONDS_MAX,
    FOLD_WITHIN_SECONDS_MIN,
    PROBLEMS_MAX,
    TEMPLATE_CHARACTERS_MAX,
    TEMPLATES_BYTES_MAX,
    TITLE_CHARACTERS_MAX,
)
from notify_core.domain.locales import is_locale
from notify_core.domain.problem import Problem, ProblemCode, field_path, problem
from notify_core.domain.rendering.block_kit import blocks_max
from notify_core.domain.rendering.compiled import TEMPLATE_FIELDS, compile_templates
from notify_core.domain.rendering.engine import Engine
from notify_core.domain.schema import check_schema


def check_definition(definition: Definition) -> tuple[Problem, ...]:
    """Everything that is wrong with a definition whose fields have the right types."""
    problems = chain(
        _check_names(definition),
        _check_channels(definition),
        check_schema(definition.schema),
        _check_templates(definition),
        _check_durations(definition),
    )
    return tuple(islice(problems, PROBLEMS_MAX))


# ---------------------------------------------------------------- names, channels, times


def _check_names(definition: Definition) -> Iterator[Problem]:
    if not definition.title.strip():
        yield problem("title", ProblemCode.EMPTY, "say what the notification is about")
    elif len(definition.title) > TITLE_CHARACTERS_MAX:
        yield problem("title", ProblemCode.TOO_LONG, f"use at most {TITLE_CHARACTERS_MAX} characters")
    if not is_identifier(definition.category):
        message = "1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit"
        yield problem("category", ProblemCode.INVALID_IDENTIFIER, message)


def _check_channels(definition: Definition) -> Iterator[Problem]:
    channels = definition.channels
    if not channels:
        yield problem("channels", ProblemCode.TOO_FEW, "name at least one channel")
    if len(set(channels)) < len(channels):
        yield problem("channels", ProblemCode.NOT_UNIQUE, "name every channel only once")
    if Channel.SLACK_SYSTEM in channels and not definition.is_hq_alert:
        message = "slack_system stands alone: it tells the headquarters, the other channels tell people"
        yield problem("channels", ProblemCode.NOT_ALLOWED, message)


def _check_durations(definition: Definition) -> Iterator[Problem]:
    yield from _check_duration(
        "expires_after", definition.expires_after, EXPIRES_AFTER_SECONDS_MIN, EXPIRES_AFTER_SECONDS_MAX
    )
    if definition.fold_within is None:
        return
    yield from _check_duration("fold.within", definition.fold_within, FOLD_WITHIN_SECONDS_MIN, FOLD_WITHIN_SECONDS_MAX)
    if definition.is_hq_alert:
        yield problem("fold", ProblemCode.NOT_ALLOWED, "an alert to the headquarters doesn't fold; leave it out")


def _check_duration(field: str, length: timedelta, least_seconds: int, most_seconds: int) -> Iterator[Problem]:
    if not least_seconds <= length.total_seconds() <= most_seconds:
        message = f"use PT{least_seconds // 60}M to P{most_seconds // DAY_SECONDS}D"
        yield problem(field, ProblemCode.OUT_OF_RANGE, message)


# ---------------------------------------------------------------- templates


def _check_templates(definition: Definition) -> Iterator[Problem]:
    if len(json.dumps(definition.templates)) > TEMPLATES_BYTES_MAX:
        yield problem("templates", ProblemCode.TOO_LARGE, f"shorten them to {TEMPLATES_BYTES_MAX} bytes in all")
        return
    problems = list(_check_shapes(definition))
    yield from problems or compile_templates(definition.templates).problems or _check_words(definition)


def _check_shapes(definition: Definition) -> Iterator[Problem]:
    for channel in dict.fromkeys(definition.channels):
        if channel not in definition.templates:
            message = f"add the templates of {channel.value}, or take it off the channels"
            yield problem(f"templates.{channel.value}", ProblemCode.REQUIRED, message)
    for channel, template in definition.templates.items():
        field = f"templates.{channel.value}"
        if channel not in definition.channels:
            message = "remove it, or add it to the channels"
            yield problem(field, ProblemCode.UNKNOWN_FIELD, message)
            continue
        shape = _Shape(TEMPLATE_FIELDS[channel], blocks_max(folds=definition.fold_within is not None))
        yield from shape.check(template, field, has_locales=True)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a channel's templates have to look like."""

    fields: Mapping[str, bool]
    blocks_max: int

    def check(self, template: Mapping[str, Any], field: str, *, has_locales: bool) -> Iterator[Problem]:
        """What is wrong with the templates of one language; only the default has others beside it."""
        for name in template:
            if name not in self.fields and not (has_locales and name == "locales"):
                message = f"remove it; the fields are {', '.join(self.fields)}"
                yield problem(field_path(field, name), ProblemCode.UNKNOWN_FIELD, message)
        for name, required in self.fields.items():
            part = template.get(name)
            at = f"{field}.{name}"
            if name not in template and required:
                yield problem(at, ProblemCode.REQUIRED, "add this template")
            elif required:
                yield from _check_text(part, at)
            elif part is not None:
                yield from self._check_blocks(part, at)
        if has_locales and template.get("locales") is not None:
            yield from self._check_locales(template["locales"], f"{field}.locales")

    def _check_blocks(self, blocks: object, field: str) -> Iterator[Problem]:
        if not isinstance(blocks, list):
            yield problem(field, ProblemCode.TYPE, "list Block Kit blocks, or use null")
            return
        items = cast("list[object]", blocks)
        if not 0 < len(items) <= self.blocks_max:
            yield problem(field, ProblemCode.OUT_OF_RANGE, f"list 1 to {self.blocks_max} blocks, or use null")
        for index, block in enumerate(items):
            is_object = isinstance(block, dict)
            if not is_object or not isinstance(cast("dict[str, object]", block).get("type"), str):
                yield problem(f"{field}.{index}", ProblemCode.TYPE, "write a block: an object with its type")
            for at, text in _texts(block, f"{field}.{index}"):
                yield from _check_length(text, at)

    def _check_locales(self, locales: object, field: str) -> Iterator[Problem]:
        if not isinstance(locales, dict):
            yield problem(field, ProblemCode.TYPE, 'write an object of languages, as {"fr": {…}}')
            return
        seen: set[str] = set()
        for locale, template in cast("dict[str, object]", locales).items():
            at = field_path(field, locale)
            if not is_locale(locale):
                yield problem(at, ProblemCode.FORMAT, "name a language as in fr or fr-CA")
            elif locale.lower() in seen:
                yield problem(at, ProblemCode.NOT_UNIQUE, "this language is there already, written differently")
            elif not isinstance(template, dict):
                yield problem(at, ProblemCode.TYPE, "write the templates of this language as an object")
            else:
                yield from self.check(cast("dict[str, Any]", template), at, has_locales=False)
            seen.add(locale.lower())


def _check_text(part: object, field: str) -> Iterator[Problem]:
    if not isinstance(part, str):
        yield problem(field, ProblemCode.TYPE, "write the template as text")
    elif not part.strip():
        yield problem(field, ProblemCode.EMPTY, "write a template that shows something")
    else:
        yield from _check_length(part, field)


def _check_words(definition: Definition) -> Iterator[Problem]:
    """What no publication could show: the engine looks for a filter only once it comes to it."""
    engine = Engine()
    for channel, template in definition.templates.items():
        for field, text in _texts(template, f"templates.{channel.value}"):
            for word in engine.unknown_words(text):
                yield problem(field, ProblemCode.INVALID_TEMPLATE, f"there is no {word}")


def _texts(part: object, field: str) -> Iterator[tuple[str, str]]:
    """All texts within a part, with their places: each may be a template."""
    if isinstance(part, str):
        yield field, part
    elif isinstance(part, dict):
        for name, item in cast("dict[str, object]", part).items():
            yield from _texts(item, field_path(field, name))
    elif isinstance(part, list):
        for index, item in enumerate(cast("list[object]", part)):
            yield from _texts(item, field_path(field, index))


def _check_length(text: str, field: str) -> Iterator[Problem]:
    if len(text) > TEMPLATE_CHARACTERS_MAX:
        message = f"shorten the template to {TEMPLATE_CHARACTERS_MAX} characters"
        yield problem(field, ProblemCode.TOO_LONG, message)
