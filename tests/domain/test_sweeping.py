from datetime import datetime, timedelta

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.notice import Delivery
from notify_core.domain.sweeping import evidence_at, evidence_ends_at, receipt_ends_at, wakes_at
from tests.builders import DEADLINE, NOON, a_delivery, at

CHECK = at(minutes=30)
SENDING = a_delivery(DeliveryState.SENDING)
SENDING_TEXT = a_delivery(DeliveryState.SENDING, Channel.TEXT)


def deferred(next_at: datetime | None) -> Delivery:
    return a_delivery(DeliveryState.DEFERRED, next_at=next_at)


@pytest.mark.parametrize(
    ("item", "expires_at", "wakes"),
    [
        (a_delivery(), DEADLINE, CHECK),
        (a_delivery(), at(minutes=20), at(minutes=20)),
        (a_delivery(), None, CHECK),
        (deferred(at(minutes=5)), DEADLINE, at(minutes=5, seconds=30)),
        (deferred(at(minutes=5)), at(minutes=4), at(minutes=4)),
        (deferred(at(minutes=5)), None, at(minutes=5, seconds=30)),
        (deferred(at(minutes=-5)), DEADLINE, at(seconds=30)),
        (deferred(None), DEADLINE, at(seconds=30)),
        (SENDING, DEADLINE, at(seconds=60)),
        (SENDING, at(seconds=10), at(seconds=60)),
        (a_delivery(DeliveryState.SENDING, claimed_at=at(minutes=-5)), DEADLINE, at(minutes=4)),
        (a_delivery(DeliveryState.SENDING, claimed_at=at(seconds=-60)), DEADLINE, at(seconds=30)),
        (SENDING_TEXT, DEADLINE, at(hours=24)),
        (a_delivery(DeliveryState.SENDING, Channel.TEXT, claimed_at=at(hours=-1)), DEADLINE, at(hours=23)),
        (SENDING_TEXT, at(hours=2), at(hours=2)),
        (SENDING_TEXT, at(seconds=5), at(seconds=30)),
        (a_delivery(DeliveryState.SENT, Channel.TEXT), DEADLINE, at(days=3)),
        (a_delivery(DeliveryState.SENT, Channel.TEXT), at(minutes=1), at(days=3)),
    ],
    ids=[
        "queued",
        "queued_until_its_deadline",
        "queued_without_a_deadline",
        "deferred",
        "deferred_until_its_deadline",
        "deferred_without_a_deadline",
        "deferred_and_late",
        "deferred_to_any_time",
        "sending",
        "sending_past_its_deadline",
        "sending_though_evidence_was_asked_for",
        "sending_while_evidence_is_asked_for",
        "text_sending",
        "text_sending_for_an_hour",
        "text_sending_until_its_deadline",
        "text_sending_for_its_lease_at_least",
        "sent",
        "sent_past_its_deadline",
    ],
)
def test_a_delivery_under_way_is_looked_at_when_something_may_be_owed(
    item: Delivery, expires_at: datetime | None, wakes: datetime
) -> None:
    assert wakes_at(item, check_at=CHECK, expires_at=expires_at, now=NOON) == wakes


@pytest.mark.parametrize(
    "state",
    [
        DeliveryState.DELIVERED,
        DeliveryState.BOUNCED,
        DeliveryState.FAILED,
        DeliveryState.CANCELLED,
        DeliveryState.EXPIRED,
        DeliveryState.SKIPPED,
        DeliveryState.UNAVAILABLE,
    ],
)
def test_nothing_is_owed_on_a_delivery_that_ended(state: DeliveryState) -> None:
    assert wakes_at(a_delivery(state), check_at=CHECK, expires_at=DEADLINE, now=NOON) is None


def test_silence_is_believed_thirty_seconds_after_the_lease() -> None:
    assert evidence_at(SENDING) == at(seconds=60)


def test_a_claim_without_a_time_counts_from_its_last_move() -> None:
    item = a_delivery(DeliveryState.SENDING, claimed_at=None, updated_at=at(minutes=1))
    assert evidence_at(item) == at(minutes=2)
    assert evidence_ends_at(item, None) == at(minutes=1, hours=24)


def test_a_receipt_is_waited_for_from_the_acceptance_of_its_send() -> None:
    item = a_delivery(DeliveryState.SENT, Channel.TEXT, updated_at=at(hours=1))
    assert receipt_ends_at(item) == at(hours=1) + timedelta(days=3)
