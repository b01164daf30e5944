"""The JSON of requests: in History, alone, withdrawn."""

from typing import Any

from notify_core.api.notice_shapes import recipient_json
from notify_core.api.refusal import problem_json
from notify_core.api.times import optional_timestamp, timestamp
from notify_core.application.ports import HistoryRow
from notify_core.application.read_request import RequestView
from notify_core.application.withdraw_request import TooLate, WithdrawalAnswer
from notify_core.domain.identifiers import Recipient
from notify_core.domain.notice import Notice
from notify_core.domain.request import Exclusion, Request


def history_json(row: HistoryRow | Request) -> dict[str, Any]:
    """A request as History lists it."""
    return {
        "request_id": row.request_id,
        "definition": row.definition,
        "definition_version": row.definition_version,
        "request_key": row.request_key,
        "replacement_key": row.replacement_key,
        "fold_key": row.fold_key,
        "state": row.state,
        "reason": row.reason,
        "published_at": optional_timestamp(row.published_at),
        "not_before": optional_timestamp(row.not_before),
        "expires_at": optional_timestamp(row.expires_at),
        "recorded_at": timestamp(row.recorded_at),
        "closed_at": optional_timestamp(row.closed_at),
        "differing_repeat_at": optional_timestamp(row.differing_repeat_at),
    }


def request_json(view: RequestView) -> dict[str, Any]:
    """A request with its problems, exclusions and notices."""
    return {
        **history_json(view.request),
        "problems": [problem_json(problem) for problem in view.request.problems],
        "exclusions": [exclusion_json(exclusion) for exclusion in view.request.exclusions],
        "notices": [_notice_json(notice, view) for notice in view.notices],
    }


def exclusion_json(exclusion: Exclusion) -> dict[str, str]:
    """Somebody named who is not told: `{"person": …, "reason": …}`."""
    return {exclusion.kind: exclusion.name, "reason": exclusion.reason}


def _notice_json(notice: Notice, view: RequestView) -> dict[str, Any]:
    return {
        "recipient": recipient_json(notice.recipient),
        "notice_id": view.notice_id(notice),
        "status": notice.status,
        "deliveries": [
            {"channel": item.channel, "state": item.state, "reason": item.reason} for item in notice.deliveries
        ],
    }


def withdrawal_json(answer: WithdrawalAnswer) -> dict[str, Any]:
    """What became of a withdrawal, recipient by recipient."""
    return {
        "result": answer.result,
        "request_id": answer.request_id,
        "state": answer.state,
        "recipients": [_stopped_json(recipient, told) for recipient, told in answer.recipients.items()],
    }


def _stopped_json(recipient: Recipient, told: TooLate | None) -> dict[str, Any]:
    return {
        "recipient": recipient_json(recipient),
        "result": "too_late" if told else "stopped",
        "channel": told.channel if told else None,
        "since": timestamp(told.since) if told else None,
    }
