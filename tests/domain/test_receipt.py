import pytest

from notify_core.domain.receipt import ReceiptOutcome, classify_event

BOUNCES = {
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


@pytest.mark.parametrize("is_final", [True, False])
@pytest.mark.parametrize("event_type", ["TEXT_SUCCESSFUL", "TEXT_DELIVERED"])
def test_an_arrival_is_delivered_final_or_not(event_type: str, *, is_final: bool) -> None:
    assert classify_event(event_type, is_final=is_final) == (ReceiptOutcome.DELIVERED, None)


@pytest.mark.parametrize(("event_type", "reason"), BOUNCES.items())
def test_a_final_failure_bounces_and_another_may_still_arrive(event_type: str, reason: str) -> None:
    assert classify_event(event_type, is_final=True) == (ReceiptOutcome.BOUNCED, reason)
    assert classify_event(event_type, is_final=False) == (ReceiptOutcome.PROGRESS, None)


@pytest.mark.parametrize("event_type", ["TEXT_QUEUED", "TEXT_SENT", "TEXT_PENDING", "SOMETHING_NEW"])
def test_whatever_else_happens_is_progress(event_type: str) -> None:
    assert classify_event(event_type, is_final=True) == (ReceiptOutcome.PROGRESS, None)
