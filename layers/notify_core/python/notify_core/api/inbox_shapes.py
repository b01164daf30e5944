"""The JSON of an inbox."""

from typing import Any

from notify_core.api.times import optional_timestamp, timestamp
from notify_core.application.ports import ReadMark
from notify_core.application.read_inbox import read_at
from notify_core.domain.notice import Notice


def inbox_json(notice: Notice, mark: ReadMark | None) -> dict[str, Any]:
    """A notice as its recipient sees it; `count` is how many requests it stands for."""
    content = notice.content
    standing = sum(item.left_at is None for item in notice.contributors)
    return {
        "notice_id": notice.notice_id,
        "definition": notice.definition,
        "category": content.category if content else "",
        "title": content.title if content else "",
        "body": content.body if content else "",
        "count": max(standing, 1),
        "status": notice.status,
        "at": timestamp(notice.created_at),
        "read_at": optional_timestamp(read_at(notice, mark)),
    }
