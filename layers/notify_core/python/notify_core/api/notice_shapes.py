"""The JSON of notices, as operators see them."""

from typing import Any

from notify_core.api.times import optional_timestamp, timestamp
from notify_core.application.read_inbox import read_at
from notify_core.application.read_notice import NoticeView
from notify_core.domain.identifiers import HQ, Recipient
from notify_core.domain.notice import Delivery, Notice, TimelineEntry


def recipient_json(recipient: Recipient) -> str | None:
    """A person, or null for the headquarters."""
    return None if recipient == HQ else recipient


def notice_json(view: NoticeView) -> dict[str, Any]:
    """A notice with its deliveries, the requests behind it and its newest moves, oldest first."""
    notice = view.notice
    return {
        "recipient": recipient_json(notice.recipient),
        "notice_id": notice.notice_id,
        "request_id": notice.owner,
        "status": notice.status,
        "created_at": timestamp(notice.created_at),
        "read_at": optional_timestamp(read_at(notice, view.mark)),
        "contributors": [
            {
                "request_id": item.request_id,
                "state": view.requests[item.request_id].state if item.request_id in view.requests else None,
            }
            for item in notice.contributors
        ],
        "deliveries": [_delivery_json(notice, item) for item in notice.deliveries],
        "timeline": [_line_json(entry) for entry in notice.timeline],
    }


def _delivery_json(notice: Notice, item: Delivery) -> dict[str, Any]:
    return {
        "delivery_id": notice.delivery_id(item.channel),
        "channel": item.channel,
        "state": item.state,
        "reason": item.reason,
        "attempts": item.attempts,
        "provider_id": item.provider_id,
        "next_at": optional_timestamp(item.next_at),
        "updated_at": timestamp(item.updated_at),
    }


def _line_json(entry: TimelineEntry) -> dict[str, Any]:
    return {
        "at": timestamp(entry.at),
        "channel": entry.channel,
        "from": entry.source,
        "to": entry.target,
        "by": entry.by,
        "reason": entry.reason,
    }


def attention_json(notice: Notice, item: Delivery) -> dict[str, Any]:
    """A failed delivery, as the attention list has it."""
    return {
        "recipient": recipient_json(notice.recipient),
        "notice_id": notice.notice_id,
        "request_id": notice.owner,
        "channel": item.channel,
        "state": item.state,
        "reason": item.reason,
        "failed_at": timestamp(item.updated_at),
    }
