"""The JSON of a preview."""

import json
from collections.abc import Iterator
from typing import Any, Final

from notify_core.api.notice_shapes import recipient_json
from notify_core.api.refusal import problem_json
from notify_core.api.request_shapes import exclusion_json
from notify_core.application.preview_request import Preview
from notify_core.domain.notice import ConsoleContent
from notify_core.domain.rendering import ChatContent, Content, TextContent
from notify_core.domain.request import ManifestEntry, Planned

CONTENT_BYTES_MAX: Final = 4 * 1024 * 1024
"""How much text a preview shows; with its second encoding by Lambda it stays below 6 MB."""


def preview_json(preview: Preview) -> dict[str, Any]:
    """What publishing would do; beyond the most that an answer can hold, the last recipients' texts are left out."""
    return {
        "state": preview.state,
        "problems": [problem_json(problem) for problem in preview.problems],
        "exclusions": [exclusion_json(exclusion) for exclusion in preview.exclusions],
        "recipients": list(_recipients_json(preview)),
        "replaces": preview.replaces,
        "folds": [{"recipient": recipient_json(recipient), "notice_id": notice} for recipient, notice in preview.folds],
    }


def _recipients_json(preview: Preview) -> Iterator[dict[str, Any]]:
    shown_bytes = 0
    for entry in preview.manifest:
        channels = _channels_json(entry, preview)
        shown_bytes += len(json.dumps(channels, ensure_ascii=False).encode())
        if shown_bytes > CONTENT_BYTES_MAX:
            channels = [{**channel, "content": None} for channel in channels]
        yield {"recipient": recipient_json(entry.recipient), "channels": channels}


def _channels_json(entry: ManifestEntry, preview: Preview) -> list[dict[str, Any]]:
    contents = preview.contents
    return [_channel_json(planned, contents.get((entry.recipient, planned.channel))) for planned in entry.plan]


def _channel_json(planned: Planned, content: Content | None) -> dict[str, Any]:
    return {
        "channel": planned.channel,
        "state": planned.state,
        "reason": planned.reason,
        "content": None if content is None else _content_json(content),
        "segments": content.segments if isinstance(content, TextContent) else None,
    }


def _content_json(content: Content) -> dict[str, Any]:
    match content:
        case ConsoleContent():
            return {"title": content.title, "body": content.body}
        case ChatContent():
            return {"text": content.text, "blocks": content.blocks}
        case TextContent():
            return {"body": content.body}
