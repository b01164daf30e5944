import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.guard import NoticeGuard, RequestGuard, guard_notice, guard_request
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import (
    Ending,
    Notice,
    claimed,
    created,
    ended,
    first_notice,
    held,
    joined,
    proved_sent,
    read,
    retried,
    skipped,
)
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import Request, closed_by_producer, rescheduled, retired, settled
from notify_core.domain.request_lifecycle import RequestEvent, RequestState
from tests.builders import (
    CLAIM,
    NOON,
    a_delivery,
    a_notice,
    a_queued_request,
    a_request,
    a_tombstone,
    an_entry,
    at,
    console,
)

OPEN = a_request(version=7)


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize("was", [None, a_queued_request(version=0)], ids=["nothing_read", "never_stored"])
def test_a_first_version_may_replace_nothing(was: Request | None) -> None:
    assert guard_request(a_tombstone(), was) == RequestGuard(version=None, states=frozenset())


@pytest.mark.parametrize(
    ("new", "states"),
    [
        (closed_by_producer(OPEN, RequestEvent.WITHDRAW, now=NOON), {"open"}),
        (closed_by_producer(OPEN, RequestEvent.REPLACE, now=NOON), {"open"}),
        (settled(OPEN, now=NOON, due_at=None), {"open"}),
        (retired(OPEN, now=NOON), {"open", "queued"}),
        (rescheduled(OPEN, at(hours=1)), {"open"}),
    ],
    ids=["withdrawn", "replaced", "settled", "retired", "rescheduled"],
)
def test_a_request_is_written_over_the_version_read_and_a_state_that_leads_there(
    new: Request, states: set[str]
) -> None:
    assert guard_request(new, OPEN) == RequestGuard(version=7, states=frozenset(map(RequestState, states)))


# ---------------------------------------------------------------- notices

STORED = a_notice(console(), a_delivery(), a_delivery(DeliveryState.FAILED, Channel.TEXT), version=4)


def guarding(new: Notice | None, was: Notice = STORED) -> dict[str, set[str]]:
    assert new is not None
    guard = guard_notice(new, was)
    assert guard.version == was.version
    return {channel: set(states) for channel, states in guard.states.items()}


def test_a_first_value_and_a_claim_that_creates_the_notice_may_replace_nothing() -> None:
    first = first_notice(a_request(), an_entry())
    nothing = NoticeGuard(version=None, states={})
    assert guard_notice(created(first), None) == nothing
    assert guard_notice(claimed(first, Channel.CHAT, CLAIM, now=NOON), first) == nothing


def test_a_claim_may_take_what_is_queued_or_deferred() -> None:
    assert guarding(claimed(STORED, Channel.CHAT, CLAIM, now=NOON)) == {"chat": {"queued", "deferred"}}


def test_a_retry_may_take_what_failed_and_a_delivery_requeued_is_under_the_same_guard() -> None:
    assert guarding(retried(STORED, Channel.TEXT, now=NOON)) == {"text": {"sending", "failed"}}


def test_a_delivery_may_end_from_wherever_its_end_is_reached() -> None:
    sent = a_notice(a_delivery(DeliveryState.SENT))
    arrived = proved_sent(sent, Channel.CHAT, provider_id="p", provider_channel=None, by=Actor.RECEIPT, now=NOON)
    assert guarding(arrived, sent) == {"chat": {"sending", "sent", "failed"}}
    gone = skipped(STORED, Channel.CHAT, DeliveryReason.PERSON_GONE, now=NOON)
    assert guarding(gone) == {"chat": {"queued", "deferred", "sending"}}


def test_every_delivery_that_moves_is_guarded() -> None:
    two = a_notice(console(), a_delivery(), a_delivery(DeliveryState.DEFERRED, Channel.TEXT))
    ending = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)
    cancellable = {"queued", "deferred", "sending"}
    assert guarding(ended(two, ending, now=NOON), two) == {"chat": cancellable, "text": cancellable}


@pytest.mark.parametrize(
    "new",
    [read(STORED, now=NOON), joined(STORED, a_request("inv-43:1"), None, now=NOON)],
    ids=["read", "joined"],
)
def test_what_moves_no_delivery_is_guarded_by_the_version_alone(new: Notice) -> None:
    assert guarding(new) == {}


def test_a_delivery_held_again_is_guarded_by_the_version_alone() -> None:
    waiting = a_notice(a_delivery(DeliveryState.DEFERRED))
    again = held(waiting, Channel.CHAT, until=at(hours=1), reason=DeliveryReason.THROTTLED, now=NOON)
    assert guarding(again, waiting) == {}
