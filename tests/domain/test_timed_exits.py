"""Nothing waits for ever: each state that something can still leave has a moment at which it does, or owes nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.domain import limits
from notify_core.domain.acceptance import deferred, expired
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE, DeliveryState
from notify_core.domain.lifecycle import Actor, Lifecycle
from notify_core.domain.notice import Ending, ended, outcome_unknown, receipt_timed_out
from notify_core.domain.notice_lifecycle import NOTICE_LIFECYCLE, NoticeStatus
from notify_core.domain.request import Request, closed_by_producer, first_due_at, next_check_at, retired, settled
from notify_core.domain.request_lifecycle import REQUEST_LIFECYCLE, RequestEvent, RequestReason, RequestState
from notify_core.domain.sweeping import evidence_at, evidence_ends_at, receipt_ends_at, wakes_at
from tests.builders import (
    DEADLINE,
    NOON,
    a_delivery,
    a_notice,
    a_queued_request,
    a_request,
    an_entry,
    at,
)

OURS = {Actor.PROCESSOR, Actor.WORKER, Actor.SWEEP}
"""Who acts without being asked: what they still have to do must not wait for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """The move that ends a state when its time has come, and the limits that say when at the latest."""

    event: str
    target: str
    by: Actor = Actor.SWEEP
    limits: tuple[str, ...]


AT_THE_DEADLINE = ("EXPIRES_AFTER_SECONDS_MAX", "CHECK_SECONDS_MAX")
BY_EVIDENCE = ("LEASE_SECONDS", "EVIDENCE_PAUSE_SECONDS", "TEXT_EVIDENCE_SECONDS", "CHECK_SECONDS_MAX")
BY_RECEIPT = ("RECEIPT_TIMEOUT_SECONDS",)
EXITS: dict[str, dict[str, Exit]] = {
    "request": {
        "queued": Exit(event="expire", target="expired", limits=AT_THE_DEADLINE),
        "open": Exit(event="settle", target="settled", limits=(*AT_THE_DEADLINE, *BY_EVIDENCE)),
    },
    "delivery": {
        "queued": Exit(event="expire", target="expired", limits=AT_THE_DEADLINE),
        "deferred": Exit(event="expire", target="expired", limits=AT_THE_DEADLINE),
        "sending": Exit(event="lose", target="failed", limits=BY_EVIDENCE),
        "sent": Exit(event="time_out", target="failed", limits=BY_RECEIPT),
    },
    "notice": {
        "routed": Exit(event="expire", target="expired", limits=AT_THE_DEADLINE),
        "delivering": Exit(event="progress", target="failed", limits=(*BY_EVIDENCE, *BY_RECEIPT)),
    },
}
RESTS: dict[str, set[str]] = {
    "request": set(),
    "delivery": {"failed"},
    "notice": {"delivered", "partially_delivered", "failed", "no_channel"},
}
"""What can be left though nothing is owed in it: by an operator's retry, a late receipt, or a withdrawal."""
NEVER_STORED = {"request": set[str](), "delivery": set[str](), "notice": {"pending"}}
LIFECYCLES: list[Lifecycle[Any, Any]] = [REQUEST_LIFECYCLE, DELIVERY_LIFECYCLE, NOTICE_LIFECYCLE]


@pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda lifecycle: lifecycle.name)
def test_every_state_that_something_leaves_has_a_timed_exit_or_owes_nothing(lifecycle: Lifecycle[Any, Any]) -> None:
    name = lifecycle.name
    accounted_for = set(EXITS[name]) | RESTS[name] | NEVER_STORED[name]
    assert lifecycle.states() - lifecycle.final() == accounted_for


@pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda lifecycle: lifecycle.name)
def test_every_timed_exit_is_a_move_of_the_table_by_one_of_us(lifecycle: Lifecycle[Any, Any]) -> None:
    allowed = {(move.event, move.source, move.target): move.by for move in lifecycle}
    for source, way in EXITS[lifecycle.name].items():
        assert way.by in OURS
        assert way.by in allowed[way.event, source, way.target]


@pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda lifecycle: lifecycle.name)
def test_every_timed_exit_comes_within_ninety_five_days(lifecycle: Lifecycle[Any, Any]) -> None:
    for way in EXITS[lifecycle.name].values():
        longest = timedelta(seconds=sum(getattr(limits, name) for name in way.limits))
        assert timedelta(0) < longest < timedelta(days=95)


def test_nobody_of_us_has_anything_to_do_where_a_delivery_rests() -> None:
    leaving = {by for move in DELIVERY_LIFECYCLE if move.source in RESTS["delivery"] for by in move.by}
    assert leaving == {Actor.OPERATOR, Actor.RECEIPT}


def test_a_notice_leaves_its_rest_only_by_a_retry_a_late_receipt_or_a_withdrawal() -> None:
    leaving = {move.event for move in NOTICE_LIFECYCLE if move.source in RESTS["notice"]}
    assert leaving == {"retry", "receive", "supersede"}


# ---------------------------------------------------------------- requests: due_at names the moment


@pytest.mark.parametrize(
    "request_",
    [
        deferred(a_queued_request(not_before=at(minutes=5)), now=NOON),
        deferred(a_queued_request(not_before=at(days=5)), now=NOON),
        a_request(),
        closed_by_producer(a_request(), RequestEvent.WITHDRAW, now=NOON),
        closed_by_producer(a_request(), RequestEvent.REPLACE, now=NOON),
        retired(a_request(), now=NOON),
    ],
    ids=["waiting_for_a_near_time", "waiting_for_a_far_time", "open", "withdrawn", "replaced", "retired"],
)
def test_a_request_on_which_anything_may_be_owed_is_due_by_its_deadline(request_: Request) -> None:
    assert request_.due_at is not None
    assert NOON < request_.due_at <= DEADLINE


def test_an_accepted_request_is_due_by_its_deadline_whatever_it_sends() -> None:
    for entry in (an_entry("ana", Channel.CONSOLE), an_entry("ana", Channel.CHAT)):
        assert first_due_at((entry,), is_folded=False, now=NOON, expires_at=DEADLINE) <= DEADLINE


@pytest.mark.parametrize("age", [timedelta(0), timedelta(hours=3), timedelta(days=90)])
def test_a_request_with_work_under_way_is_looked_at_again_within_an_hour(age: timedelta) -> None:
    now = NOON + age
    assert now < next_check_at(a_request(), now=now) <= now + timedelta(hours=1)


def test_a_queued_request_expires_by_a_sweep() -> None:
    over = expired(a_queued_request(), RequestReason.AGE, by=Actor.SWEEP, now=DEADLINE)
    assert (over.state, over.due_at) == (RequestState.EXPIRED, None)


def test_an_open_request_settles_by_a_sweep() -> None:
    over = settled(a_request(), now=DEADLINE, due_at=None)
    assert (over.state, over.due_at) == (RequestState.SETTLED, None)


# ---------------------------------------------------------------- deliveries: a sweep wakes, and has a way out

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("state", "channel", "latest"),
    [
        (DeliveryState.QUEUED, Channel.CHAT, DEADLINE),
        (DeliveryState.DEFERRED, Channel.CHAT, DEADLINE),
        (DeliveryState.SENDING, Channel.CHAT, DEADLINE),
        (DeliveryState.SENDING, Channel.TEXT, NOON + DAY),
        (DeliveryState.SENT, Channel.TEXT, NOON + 3 * DAY),
    ],
)
def test_a_sweep_wakes_for_every_delivery_under_way(state: DeliveryState, channel: Channel, latest: datetime) -> None:
    item = a_delivery(state, channel, next_at=at(days=6) if state is DeliveryState.DEFERRED else None)
    at_ = wakes_at(item, check_at=at(hours=1), expires_at=DEADLINE, now=NOON)
    assert at_ is not None
    assert NOON < at_ <= latest


PAST_DEADLINE = Ending(status=NoticeStatus.EXPIRED, reason="age", by=Actor.SWEEP)


@pytest.mark.parametrize("state", [DeliveryState.QUEUED, DeliveryState.DEFERRED])
def test_the_deadline_ends_what_is_unsent(state: DeliveryState) -> None:
    over = ended(a_notice(a_delivery(state)), PAST_DEADLINE, now=DEADLINE)
    assert over is not None
    assert (over.is_active, over.status) == (False, "expired")


def test_a_send_of_which_no_evidence_is_found_ends_as_unknown() -> None:
    chat, text = a_delivery(DeliveryState.SENDING), a_delivery(DeliveryState.SENDING, Channel.TEXT)
    assert evidence_at(chat) == at(minutes=1)
    assert evidence_ends_at(text, None) == at(hours=24)
    for item in (chat, text):
        over = outcome_unknown(a_notice(item), item.channel, now=at(days=2))
        assert (over.is_active, over.status) == (False, "failed")


def test_an_acceptance_of_which_no_receipt_comes_ends() -> None:
    item = a_delivery(DeliveryState.SENT, Channel.TEXT)
    assert receipt_ends_at(item) == at(days=3)
    over = receipt_timed_out(a_notice(item), Channel.TEXT, now=at(days=3))
    assert (over.is_active, over.status) == (False, "failed")
