"""What each channel shows: a definition's templates filled with a publication's data, within the channel's limits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.limits import (
    CHAT_CHARACTERS_MAX,
    CONSOLE_BYTES_MAX,
    TEXT_SEGMENTS_MAX,
    TITLE_CHARACTERS_MAX,
)
from notify_core.domain.notice import ConsoleContent
from notify_core.domain.problem import Problem, ProblemCode, problem
from notify_core.domain.rendering.block_kit import check_blocks, with_more
from notify_core.domain.rendering.compiled import COMPILED
from notify_core.domain.rendering.engine import CannotRender
from notify_core.domain.segments import count_segments, normalise
from notify_core.domain.slack_text import cut


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContent:
    """What Slack is sent: `text` is the fallback, both are escaped."""

    text: str
    blocks: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextContent:
    """A text message, and the number of parts it is sent in and paid for."""

    body: str
    segments: int


Content = ConsoleContent | ChatContent | TextContent


def render(
    definition: Definition,
    channel: Channel,
    data: Mapping[str, Any],
    name: str,
    locale: str | None,
    others: int = 0,
) -> Content:
    """What a person of this name and language is shown; a `slack_system` alert has no recipient to name.

    With `others`, that many more requests are folded into the notice: chat and text say so, within their limits (the
    inbox shows its count by itself).

    Raises:
        CannotRender: with everything that is wrong with it.
    """
    compiled = COMPILED.of(definition)
    variant = compiled.variant(channel, locale)
    parts = compiled.render(variant, data if channel is Channel.SLACK_SYSTEM else {**data, "recipient": {"name": name}})
    match channel:
        case Channel.CONSOLE:
            return _console(parts, variant.field, definition.category)
        case Channel.CHAT | Channel.SLACK_SYSTEM:
            return _chat(parts, variant.field, others, folds=definition.fold_within is not None)
        case Channel.TEXT:
            return _text(parts, variant.field, others)


# ---------------------------------------------------------------- console


def _console(parts: Mapping[str, Any], field: str, category: str) -> ConsoleContent:
    """Plain text: the inbox renders it as such, so nothing in it is escaped."""
    content = ConsoleContent(title=" ".join(parts["title"].split()), body=parts["body"].strip(), category=category)
    _refuse(_check_console(content, field))
    return content


def _check_console(content: ConsoleContent, field: str) -> Iterator[Problem]:
    if not content.title:
        yield _empty(f"{field}.title")
    if len(content.title) > TITLE_CHARACTERS_MAX:
        yield _too_long(f"{field}.title", TITLE_CHARACTERS_MAX, len(content.title), "characters")
    size = len((content.title + content.body).encode())
    if size > CONSOLE_BYTES_MAX:
        yield _too_long(f"{field}.body", CONSOLE_BYTES_MAX, size, "bytes together with the title")


# ---------------------------------------------------------------- Slack


def _chat(parts: Mapping[str, Any], field: str, others: int, *, folds: bool) -> ChatContent:
    content = ChatContent(text=parts["text"].strip(), blocks=parts.get("blocks"))
    _refuse(_check_chat(content, field, folds=folds))
    if not others:
        return content
    more = _more(others)
    text = cut(content.text, CHAT_CHARACTERS_MAX - len(more) - 1)
    return ChatContent(
        text=f"{text} {more}", blocks=None if content.blocks is None else with_more(content.blocks, more)
    )


def _check_chat(content: ChatContent, field: str, *, folds: bool) -> Iterator[Problem]:
    if not content.text:
        yield _empty(f"{field}.text")
    if len(content.text) > CHAT_CHARACTERS_MAX:
        yield _too_long(f"{field}.text", CHAT_CHARACTERS_MAX, len(content.text), "characters")
    if content.blocks is not None:
        yield from check_blocks(content.blocks, f"{field}.blocks", folds=folds)


# ---------------------------------------------------------------- text messages


def _text(parts: Mapping[str, Any], field: str, others: int) -> TextContent:
    body = normalise(parts["body"])
    _refuse(_check_text(body, f"{field}.body"))
    if others:
        body = _shortened(body, f" {_more(others)}")
    return TextContent(body=body, segments=count_segments(body))


def _check_text(body: str, field: str) -> Iterator[Problem]:
    if not body:
        yield _empty(field)
    if (segments := count_segments(body)) > TEXT_SEGMENTS_MAX:
        yield _too_long(field, TEXT_SEGMENTS_MAX, segments, "parts; characters outside GSM-7 make parts shorter")


def _shortened(body: str, end: str) -> str:
    """The body with another end, as long as a text message may be."""
    while count_segments(body + end) > TEXT_SEGMENTS_MAX:
        body = body[:-1]
    return body.rstrip() + end


# ---------------------------------------------------------------- problems


def _more(others: int) -> str:
    return f"(and {others} more)"


def _refuse(problems: Iterator[Problem]) -> None:
    found = tuple(problems)
    if found:
        raise CannotRender(*found)


def _empty(field: str) -> Problem:
    return problem(field, ProblemCode.EMPTY, "it comes out empty; send the data that fills it")


def _too_long(field: str, most: int, length: int, unit: str) -> Problem:
    message = f"shorten it to {most} {unit}; it comes out with {length}"
    return problem(field, ProblemCode.TOO_LONG, message)
