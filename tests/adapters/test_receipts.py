import json
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest

from notify_core.adapters.sms import parse_receipt
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, NoticeId, Recipient, WorkspaceId
from notify_core.domain.receipt import Receipt, ReceiptOutcome, classify_event

CONTEXT = {
    "workspace_id": "acme",
    "recipient": "ana",
    "notice_id": "notice-1",
    "channel": "text",
    "claim_id": "claim-1",
}


def event(event_type: str = "TEXT_DELIVERED", *, is_final: bool = True, **changes: Any) -> dict[str, Any]:
    return {
        "eventType": event_type,
        "eventVersion": "1.0",
        "eventTimestamp": 1_796_032_800_250,
        "isFinal": is_final,
        "originationPhoneNumber": "+15550100",
        "destinationPhoneNumber": "+41790000001",
        "messageId": "m-1",
        "messageStatus": "DELIVERED",
        "messageStatusDescription": "Message has been accepted by phone",
        "context": CONTEXT,
    } | changes


def receipt(outcome: ReceiptOutcome = ReceiptOutcome.DELIVERED, reason: str | None = None) -> Receipt:
    return Receipt(
        workspace_id=WorkspaceId("acme"),
        recipient=Recipient("ana"),
        notice_id=NoticeId("notice-1"),
        channel=Channel.TEXT,
        claim_id=ClaimId("claim-1"),
        provider_id="m-1",
        outcome=outcome,
        reason=reason,
        at=datetime(2026, 11, 30, 10, 0, 0, 250_000, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "body",
    [
        event(),
        {"Type": "Notification", "TopicArn": "arn:aws:sns:…", "Message": json.dumps(event())},
        {"version": "0", "detail-type": "Text Message Delivery Status Updated", "detail": event()},
    ],
    ids=["bare", "SNS", "EventBridge"],
)
def test_a_receipt_is_read_out_of_its_envelope(body: dict[str, Any]) -> None:
    assert parse_receipt(body) == receipt()


def test_a_notification_whose_message_cannot_be_read_is_no_receipt() -> None:
    for message in ("no event", "[" * 100_000, None):
        assert parse_receipt({"Type": "Notification", "Message": message}) is None


PROGRESS, DELIVERED, BOUNCED = ReceiptOutcome.PROGRESS, ReceiptOutcome.DELIVERED, ReceiptOutcome.BOUNCED

EVENTS: list[tuple[str, bool, ReceiptOutcome, str | None]] = [
    ("TEXT_QUEUED", False, PROGRESS, None),
    ("TEXT_PENDING", False, PROGRESS, None),
    ("TEXT_SENT", False, PROGRESS, None),
    ("TEXT_SENT", True, PROGRESS, None),
    ("TEXT_SUCCESSFUL", False, DELIVERED, None),
    ("TEXT_SUCCESSFUL", True, DELIVERED, None),
    ("TEXT_DELIVERED", False, DELIVERED, None),
    ("TEXT_DELIVERED", True, DELIVERED, None),
    ("TEXT_INVALID", True, BOUNCED, "invalid"),
    ("TEXT_INVALID", False, PROGRESS, None),
    ("TEXT_INVALID_MESSAGE", True, BOUNCED, "invalid_message"),
    ("TEXT_INVALID_MESSAGE", False, PROGRESS, None),
    ("TEXT_UNREACHABLE", True, BOUNCED, "unreachable"),
    ("TEXT_UNREACHABLE", False, PROGRESS, None),
    ("TEXT_CARRIER_UNREACHABLE", True, BOUNCED, "carrier_unreachable"),
    ("TEXT_CARRIER_UNREACHABLE", False, PROGRESS, None),
    ("TEXT_BLOCKED", True, BOUNCED, "blocked"),
    ("TEXT_BLOCKED", False, PROGRESS, None),
    ("TEXT_CARRIER_BLOCKED", True, BOUNCED, "carrier_blocked"),
    ("TEXT_CARRIER_BLOCKED", False, PROGRESS, None),
    ("TEXT_SPAM", True, BOUNCED, "spam"),
    ("TEXT_SPAM", False, PROGRESS, None),
    ("TEXT_UNKNOWN", True, BOUNCED, "unknown"),
    ("TEXT_UNKNOWN", False, PROGRESS, None),
    ("TEXT_TTL_EXPIRED", True, BOUNCED, "ttl_expired"),
    ("TEXT_TTL_EXPIRED", False, PROGRESS, None),
    ("TEXT_PROTECT_BLOCKED", True, BOUNCED, "protect_blocked"),
    ("TEXT_PROTECT_BLOCKED", False, PROGRESS, None),
    ("TEXT_OF_TOMORROW", True, PROGRESS, None),
]


@pytest.mark.parametrize(("event_type", "is_final", "outcome", "reason"), EVENTS)
def test_each_event_has_its_outcome(
    event_type: str,
    is_final: bool,
    outcome: ReceiptOutcome,
    reason: str | None,
) -> None:
    assert classify_event(event_type, is_final=is_final) == (outcome, reason)
    assert parse_receipt(event(event_type, is_final=is_final)) == receipt(outcome, reason)


def test_what_the_receipts_say_together_depends_neither_on_their_order_nor_on_repetition() -> None:
    events = [("TEXT_PENDING", False), ("TEXT_UNREACHABLE", False), ("TEXT_SENT", False), ("TEXT_SUCCESSFUL", True)]
    for order in permutations(events + events[:1]):
        told = [classify_event(event_type, is_final=final)[0] for event_type, final in order]
        assert [outcome for outcome in told if outcome is not PROGRESS] == [DELIVERED]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"Type": "Notification", "Message": "not JSON"},
        {"Type": "Notification", "Message": "[]"},
        {"Type": "Notification"},
        {"Type": "SubscriptionConfirmation", "Message": json.dumps(event())},
        {"detail": "text"},
        {"eventType": "TEXT_DELIVERED"},
        event(context=None),
        event(context={"campaign": "spring"}),
        event(context={**CONTEXT, "claim_id": 7}),
        event(context={**CONTEXT, "channel": "chat"}),
        event("VOICE_COMPLETED"),
        event(eventType=None),
        event(messageId=None),
        event(eventTimestamp=None),
        event(eventTimestamp=True),
        event(eventTimestamp=10**30),
    ],
    ids=range(17),
)
def test_what_is_no_event_of_a_text_of_ours_is_no_receipt(body: dict[str, Any]) -> None:
    assert parse_receipt(body) is None
