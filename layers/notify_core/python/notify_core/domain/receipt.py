"""Receipts: what the SMS service says, after it accepted a text, about what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, NoticeId, Recipient, WorkspaceId


class ReceiptOutcome(StrEnum):
    """What a receipt tells: nothing yet, or its final word, so that order and repetition change nothing."""

    PROGRESS = "progress"
    DELIVERED = "delivered"
    BOUNCED = "bounced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One event about one claim of one delivery; `reason` says why it bounced."""

    workspace_id: WorkspaceId
    recipient: Recipient
    notice_id: NoticeId
    channel: Channel
    claim_id: ClaimId
    provider_id: str
    outcome: ReceiptOutcome
    reason: str | None
    at: datetime


ARRIVALS: Final = frozenset({"TEXT_SUCCESSFUL", "TEXT_DELIVERED"})
"""The carrier took it, or the phone has it: which of the two is the last word depends on the country."""

FAILURES: Final[Mapping[str, str]] = {
    "TEXT_INVALID": "invalid",
    "TEXT_INVALID_MESSAGE": "invalid_message",
    "TEXT_UNREACHABLE": "unreachable",
    "TEXT_CARRIER_UNREACHABLE": "carrier_unreachable",
    "TEXT_BLOCKED": "blocked",
    "TEXT_CARRIER_BLOCKED": "carrier_blocked",
    "TEXT_SPAM": "spam",
    "TEXT_UNKNOWN": "unknown",
    "TEXT_TTL_EXPIRED": "ttl_expired",
    "TEXT_PROTECT_BLOCKED": "protect_blocked",
}
"""Each event type of failure with the reason that is recorded."""


def classify_event(event_type: str, *, is_final: bool) -> tuple[ReceiptOutcome, str | None]:
    """What an event amounts to, with the reason of a bounce.

    A failure that isn't final may still be followed by an arrival: it is progress, as is an unknown type.
    """
    if event_type in ARRIVALS:
        return ReceiptOutcome.DELIVERED, None
    if is_final and event_type in FAILURES:
        return ReceiptOutcome.BOUNCED, FAILURES[event_type]
    return ReceiptOutcome.PROGRESS, None
