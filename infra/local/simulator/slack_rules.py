"""What Slack refuses to post: Block Kit's limits and the shape of metadata.

Sources: Slack's reference of Block Kit and of `chat.postMessage`. The limit over all blocks isn't in it and
was taken from published measurements; the size of metadata isn't either, and is a guess on the safe side.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from infra.local.simulator.wire import as_list, as_object, to_json

TEXT_CHARACTERS_MAX: Final = 40_000
METADATA_BYTES_MAX: Final = 8 * 1024
BLOCKS_MAX: Final = 50
BLOCKS_CHARACTERS_MAX: Final = 12_000
"""All text in the blocks, and `BLOCK_CHARACTERS` for each block."""
BLOCK_CHARACTERS: Final = 20

_EVENT_TYPE = re.compile(r"[A-Za-z0-9_-]{1,255}")
"""With a full stop in it Slack posts the message and drops the metadata: refused here, so that it is seen."""

_Check = Callable[[str, object], Iterator[str]]
"""Says what is wrong with the value at a JSON pointer, worded like Slack's `response_metadata.messages`."""


def block_errors(blocks: list[object]) -> list[str]:
    """What is wrong with the blocks, each with its place."""
    return list(_MESSAGE_BLOCKS("/blocks", blocks))


def are_too_long(blocks: list[object]) -> bool:
    """Whether the blocks together hold more text than Slack takes (`msg_blocks_too_long`)."""
    return _text_characters(blocks) + BLOCK_CHARACTERS * len(blocks) > BLOCKS_CHARACTERS_MAX


def metadata_error(metadata: object) -> str | None:
    """Slack's error for this metadata; None when there is none."""
    given = as_object(metadata)
    if given is None or as_object(given.get("event_payload")) is None:
        return "invalid_metadata_format"
    event_type = given.get("event_type")
    if not isinstance(event_type, str) or not _EVENT_TYPE.fullmatch(event_type):
        return "invalid_metadata_format"
    return "metadata_too_large" if len(to_json(given)) > METADATA_BYTES_MAX else None


def _text_characters(value: object) -> int:
    if (items := as_list(value)) is not None:
        return sum(map(_text_characters, items))
    if (fields := as_object(value)) is not None:
        text = fields.get("text")
        return (len(text) if isinstance(text, str) else 0) + sum(map(_text_characters, fields.values()))
    return 0


def _anything(_at: str, _value: object) -> Iterator[str]:
    return iter(())


def _string(most: int, *, least: int = 1) -> _Check:
    def check(at: str, value: object) -> Iterator[str]:
        if not isinstance(value, str):
            yield f"must provide a string [json-pointer:{at}]"
        elif len(value) < least:
            yield f"must be more than {least - 1} characters [json-pointer:{at}]"
        elif len(value) > most:
            yield f"must be less than {most + 1} characters [json-pointer:{at}]"

    return check


def _one_of(*choices: str) -> _Check:
    def check(at: str, value: object) -> Iterator[str]:
        if value not in choices:
            yield f"must be one of {', '.join(choices)} [json-pointer:{at}]"

    return check


def _items(most: int, item: _Check, *, least: int = 1) -> _Check:
    def check(at: str, value: object) -> Iterator[str]:
        items = as_list(value)
        if items is None:
            yield f"must provide an array [json-pointer:{at}]"
            return
        if len(items) < least:
            yield f"no fewer than {least} items allowed [json-pointer:{at}]"
        if len(items) > most:
            yield f"no more than {most} items allowed [json-pointer:{at}]"
        for position, value_at in enumerate(items):
            yield from item(f"{at}/{position}", value_at)

    return check


def _fields(required: Mapping[str, _Check], optional: Mapping[str, _Check]) -> _Check:
    allowed = {"type": _anything, **required, **optional}

    def check(at: str, value: object) -> Iterator[str]:
        given = as_object(value)
        if given is None:
            yield f"must provide an object [json-pointer:{at}]"
            return
        for name in required.keys() - given.keys():
            yield f"missing required field: {name} [json-pointer:{at}]"
        for name, field in given.items():
            if name in allowed:
                yield from allowed[name](f"{at}/{name}", field)
            else:
                yield f"invalid additional property: {name} [json-pointer:{at}]"

    return check


def _by_type(checks: Mapping[str, _Check]) -> _Check:
    def check(at: str, value: object) -> Iterator[str]:
        given = as_object(value)
        kind = None if given is None else given.get("type")
        if isinstance(kind, str) and kind in checks:
            yield from checks[kind](at, value)
        else:
            yield f"unsupported type: {kind} [json-pointer:{at}/type]"

    return check


def _text(most: int, *types: str) -> _Check:
    return _fields(
        {"type": _one_of(*types or ("plain_text", "mrkdwn")), "text": _string(most)},
        {"emoji": _anything, "verbatim": _anything},
    )


def _section(at: str, value: object) -> Iterator[str]:
    given = as_object(value) or {}
    if "text" not in given and "fields" not in given:
        yield f"missing required field: text or fields [json-pointer:{at}]"
    yield from _fields(
        {},
        _NAMED
        | {
            "text": _text(3_000),
            "fields": _items(10, _text(2_000)),
            "accessory": _ELEMENT,
            "expand": _anything,
        },
    )(at, value)


_NAMED: Final[dict[str, _Check]] = {"block_id": _string(255)}
_IMAGE: Final = _fields(
    {"alt_text": _string(2_000)},
    {"image_url": _string(3_000), "slack_file": _anything, "title": _text(2_000, "plain_text")} | _NAMED,
)
_BUTTON: Final = _fields(
    {"text": _text(75, "plain_text")},
    {
        "action_id": _string(255),
        "url": _string(3_000),
        "value": _string(2_000),
        "style": _one_of("primary", "danger"),
        "confirm": _anything,
        "accessibility_label": _string(75),
    },
)
_OTHER_ELEMENTS: Final = (
    "checkboxes",
    "datepicker",
    "datetimepicker",
    "multi_static_select",
    "overflow",
    "radio_buttons",
    "static_select",
    "timepicker",
    "users_select",
    "workflow_button",
)
_ELEMENT: Final = _by_type(dict.fromkeys(_OTHER_ELEMENTS, _anything) | {"button": _BUTTON, "image": _IMAGE})
_CONTEXT_ELEMENT: Final = _by_type({"image": _IMAGE, "plain_text": _text(3_000), "mrkdwn": _text(3_000)})
_OTHER_BLOCKS: Final = ("rich_text", "file", "input", "video", "table", "context_actions")
_MESSAGE_BLOCKS: Final = _items(
    BLOCKS_MAX,
    _by_type(
        dict.fromkeys(_OTHER_BLOCKS, _anything)
        | {
            "divider": _fields({}, _NAMED),
            "header": _fields({"text": _text(150, "plain_text")}, _NAMED),
            "section": _section,
            "context": _fields({"elements": _items(10, _CONTEXT_ELEMENT)}, _NAMED),
            "actions": _fields({"elements": _items(25, _ELEMENT)}, _NAMED),
            "image": _IMAGE,
            "markdown": _fields({"text": _string(12_000)}, _NAMED),
        }
    ),
    least=0,
)
