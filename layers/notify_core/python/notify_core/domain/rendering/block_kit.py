"""Slack's limits on blocks: what it would refuse is a problem before anything is sent.

Source: Slack's reference of Block Kit; the limit over all blocks is undocumented, and taken below where posts were seen
to fail.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from notify_core.domain.problem import Path, Problem, ProblemCode, problem

BLOCKS_MAX: Final = 50
CHARACTERS_MAX: Final = 12_000
"""Of all texts in the blocks, with `BLOCK_CHARACTERS` for each block."""
BLOCK_CHARACTERS: Final = 20
MORE_CHARACTERS: Final = 100
"""Kept by a definition that folds, for the line that says how many more there are."""
_Place = tuple[object, str]
"""Where a part of a block stands: the type of what holds it, and the name it has there."""

_TEXT_TYPES: Final = frozenset({"plain_text", "mrkdwn"})
_TEXT_MAX: Final = 3_000
_TEXTS_MAX: Final[Mapping[_Place, int]] = {
    ("header", "text"): 150,
    ("section", "fields"): 2_000,
    ("button", "text"): 75,
    ("image", "title"): 2_000,
}
_STRINGS_MAX: Final[Mapping[str, int]] = {
    "action_id": 255,
    "alt_text": 2_000,
    "block_id": 255,
    "image_url": 3_000,
    "url": 3_000,
    "value": 2_000,
}
_ITEMS_MAX: Final[Mapping[_Place, int]] = {
    ("section", "fields"): 10,
    ("context", "elements"): 10,
    ("actions", "elements"): 25,
}


def blocks_max(*, folds: bool) -> int:
    """How many blocks a definition may have: one that folds keeps one for how many more there are."""
    return BLOCKS_MAX - folds


def check_blocks(blocks: Sequence[Mapping[str, Any]], field: str, *, folds: bool) -> Iterator[Problem]:
    """What Slack would refuse in rendered blocks."""
    most = blocks_max(folds=folds)
    if len(blocks) > most:
        yield problem((field,), ProblemCode.TOO_MANY, f"use at most {most} blocks")
    used = _characters(blocks) + BLOCK_CHARACTERS * len(blocks)
    room = CHARACTERS_MAX - (MORE_CHARACTERS if folds else 0)
    if used > room:
        yield problem((field,), ProblemCode.TOO_LONG, f"shorten the blocks to {room} characters in all, not {used}")
    for index, block in enumerate(blocks):
        yield from _check_object(block, (field, index))


def with_more(blocks: Sequence[Mapping[str, Any]], more: str) -> list[Mapping[str, Any]]:
    """The blocks, followed by a line that says how many more there are."""
    line = {"type": "context", "elements": [{"type": "mrkdwn", "text": more}]}
    return [*blocks[: BLOCKS_MAX - 1], line]


def _characters(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_characters, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return sum(map(_characters, cast("list[object]", value)))
    return 0


def _check_object(holder: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    kind = holder.get("type")
    for name, value in holder.items():
        if isinstance(value, str):
            if name in _STRINGS_MAX:
                yield from _check_length(value, _STRINGS_MAX[name], (*path, name))
        elif isinstance(value, dict):
            yield from _check_part(cast("dict[str, Any]", value), (kind, name), (*path, name))
        elif isinstance(value, list):
            yield from _check_items(cast("list[object]", value), (kind, name), (*path, name))


def _check_items(items: list[object], place: _Place, path: Path) -> Iterator[Problem]:
    most = _ITEMS_MAX.get(place, len(items))
    if len(items) > most:
        yield problem(path, ProblemCode.TOO_MANY, f"list at most {most} of them")
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield from _check_part(cast("dict[str, Any]", item), place, (*path, index))


def _check_part(part: dict[str, Any], place: _Place, path: Path) -> Iterator[Problem]:
    text = part.get("text")
    if isinstance(text, str) and part.get("type") in _TEXT_TYPES:
        yield from _check_length(text, _TEXTS_MAX.get(place, _TEXT_MAX), (*path, "text"))
    else:
        yield from _check_object(part, path)


def _check_length(text: str, most: int, path: Path) -> Iterator[Problem]:
    if not text.strip():
        yield problem(path, ProblemCode.EMPTY, "Slack refuses an empty text here; leave the block out, or fill it")
    elif len(text) > most:
        yield problem(path, ProblemCode.TOO_LONG, f"shorten it to {most} characters; it has {len(text)}")
