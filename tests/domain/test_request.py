from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import Recipient
from notify_core.domain.lifecycle import Actor, ForbiddenMove
from notify_core.domain.request import (
    ManifestEntry,
    Request,
    carries,
    closed_by_producer,
    closing_due_at,
    finished,
    first_due_at,
    moved,
    next_check_at,
    no_later_than_expiry,
    rescheduled,
    retired,
    settled,
)
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState
from tests.builders import (
    DEADLINE,
    NOON,
    a_closed_request,
    a_queued_request,
    a_request,
    a_tombstone,
    an_entry,
    at,
    planned,
)

LATER = at(minutes=10)
OPEN = a_request()
WITHDRAWN = a_closed_request(RequestState.SUPERSEDED)
RETIRED = a_closed_request(RequestState.CANCELLED)
SETTLED = a_closed_request(RequestState.SETTLED)
OUTCOMES = [
    a_queued_request(state=state, closed_at=NOON)
    for state in (RequestState.NO_RECIPIENTS, RequestState.INVALID, RequestState.EXPIRED)
]


# ---------------------------------------------------------------- carrying


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (None, False),
        (a_queued_request(), False),
        (OPEN, True),
        (RETIRED, True),
        (WITHDRAWN, False),
        (SETTLED, False),
        (a_tombstone(), False),
        (a_tombstone(expires_at=DEADLINE), False),
        *((outcome, False) for outcome in OUTCOMES),
    ],
    ids=[
        "absent",
        "queued",
        "open",
        "retired",
        "withdrawn",
        "settled",
        "tombstone",
        "cancelled_when_it_arrived",
        "no_recipients",
        "invalid",
        "expired",
    ],
)
def test_a_request_carries_while_open_or_closed_by_retirement_only(request_: Request | None, *, expected: bool) -> None:
    assert carries(request_, LATER) is expected


@pytest.mark.parametrize("request_", [OPEN, RETIRED], ids=["open", "retired"])
def test_a_request_carries_until_just_before_it_expires(request_: Request) -> None:
    assert carries(request_, DEADLINE - timedelta(microseconds=1))
    assert not carries(request_, DEADLINE)
    assert not carries(request_, DEADLINE + timedelta(days=1))


def test_a_request_without_a_deadline_is_never_past_it() -> None:
    assert not a_tombstone().is_past(at(days=1_000))


@pytest.mark.parametrize(
    ("request_", "accepted", "is_retired", "withdrawn", "closed"),
    [
        (a_queued_request(), False, False, False, False),
        (OPEN, True, False, False, False),
        (SETTLED, True, False, False, True),
        (WITHDRAWN, True, False, True, True),
        (RETIRED, True, True, False, True),
        (a_tombstone(), False, False, False, True),
        *((outcome, False, False, False, True) for outcome in OUTCOMES),
    ],
    ids=["queued", "open", "settled", "withdrawn", "retired", "tombstone", "no_recipients", "invalid", "expired"],
)
def test_what_became_of_a_request_is_told_by_its_state_and_acceptance(
    request_: Request, *, accepted: bool, is_retired: bool, withdrawn: bool, closed: bool
) -> None:
    told = (request_.is_accepted, request_.is_retired, request_.is_withdrawn, request_.is_closed)
    assert told == (accepted, is_retired, withdrawn, closed)


# ---------------------------------------------------------------- moves


def test_a_withdrawal_supersedes_an_open_request_and_owes_its_follow_up() -> None:
    assert closed_by_producer(OPEN, RequestEvent.WITHDRAW, now=LATER) == replace(
        OPEN,
        state=RequestState.SUPERSEDED,
        reason=RequestReason.WITHDRAWN,
        caused_by=Actor.PRODUCER,
        version=2,
        closed_at=LATER,
        due_at=at(minutes=11),
    )


def test_a_replacement_supersedes_an_open_request_and_owes_its_follow_up() -> None:
    assert closed_by_producer(OPEN, RequestEvent.REPLACE, now=LATER) == replace(
        OPEN,
        state=RequestState.SUPERSEDED,
        reason=RequestReason.REPLACED,
        caused_by=Actor.REPLACEMENT,
        version=2,
        closed_at=LATER,
        due_at=at(minutes=11),
    )


def test_a_retirement_closes_an_open_request_and_owes_its_follow_up() -> None:
    assert retired(OPEN, now=LATER) == replace(
        OPEN,
        state=RequestState.CANCELLED,
        reason=RequestReason.DEFINITION_RETIRED,
        caused_by=Actor.RETIREMENT,
        version=2,
        closed_at=LATER,
        due_at=at(minutes=11),
    )


@pytest.mark.parametrize("due_at", [None, at(days=10)], ids=["nothing_owed", "a_receipt_owed"])
def test_settling_keeps_a_due_time_only_for_a_receipt(due_at: datetime | None) -> None:
    assert settled(OPEN, now=DEADLINE, due_at=due_at) == replace(
        OPEN,
        state=RequestState.SETTLED,
        caused_by=Actor.SWEEP,
        version=2,
        closed_at=DEADLINE,
        due_at=due_at,
    )


@pytest.mark.parametrize("request_", [WITHDRAWN, RETIRED, SETTLED, *OUTCOMES], ids=lambda request: request.state.value)
def test_a_closed_request_can_neither_be_withdrawn_replaced_retired_nor_settled(request_: Request) -> None:
    for move in (
        lambda: closed_by_producer(request_, RequestEvent.WITHDRAW, now=LATER),
        lambda: closed_by_producer(request_, RequestEvent.REPLACE, now=LATER),
        lambda: retired(request_, now=LATER),
        lambda: settled(request_, now=LATER, due_at=None),
    ):
        with pytest.raises(ForbiddenMove):
            move()


def test_a_move_by_the_wrong_actor_is_refused() -> None:
    with pytest.raises(ForbiddenMove):
        moved(OPEN, RequestEvent.SETTLE, RequestState.SETTLED, by=Actor.PRODUCER, now=LATER)


def test_waiting_leaves_a_request_live() -> None:
    waiting = moved(a_queued_request(), RequestEvent.DEFER, RequestState.QUEUED, by=Actor.PROCESSOR, now=LATER)
    assert (waiting.version, waiting.closed_at, waiting.delete_at) == (2, None, None)


def test_rescheduling_changes_the_due_time_and_the_version_alone() -> None:
    assert rescheduled(OPEN, LATER) == replace(OPEN, due_at=LATER, version=2)


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("request_", "delete_at"),
    [
        (a_queued_request(), None),
        (OPEN, None),
        (WITHDRAWN, LATER + timedelta(days=90)),
        (SETTLED, LATER + timedelta(days=90)),
        (a_tombstone(), NOON + timedelta(days=90)),
        (RETIRED, DEADLINE + timedelta(days=90)),
    ],
    ids=["queued", "open", "withdrawn", "settled", "tombstone", "retired"],
)
def test_a_row_is_kept_for_ninety_days_after_it_stopped_mattering(
    request_: Request, delete_at: datetime | None
) -> None:
    assert request_.delete_at == delete_at


def test_the_follow_up_of_a_closed_request_is_repeated_after_a_minute() -> None:
    assert closing_due_at(NOON) == at(minutes=1)


@pytest.mark.parametrize(
    ("entry", "expires_at", "due_at"),
    [
        (an_entry("ana", Channel.CONSOLE, Channel.CHAT), DEADLINE, at(seconds=90)),
        (an_entry("-", Channel.SLACK_SYSTEM), DEADLINE, at(seconds=90)),
        (an_entry("ana", Channel.CHAT), at(seconds=60), at(seconds=60)),
        (an_entry("ana", Channel.CONSOLE), DEADLINE, at(seconds=90)),
        (an_entry("ana", planned(Channel.CONSOLE, DeliveryState.UNAVAILABLE)), DEADLINE, DEADLINE),
        (an_entry("ana", planned(Channel.CHAT, DeliveryState.SKIPPED)), DEADLINE, DEADLINE),
    ],
    ids=["chat", "headquarters", "deadline_is_sooner", "console_alone", "console_off", "nothing_to_send"],
)
def test_an_accepted_request_is_looked_at_soon_where_something_follows_its_commit(
    entry: ManifestEntry, expires_at: datetime, due_at: datetime
) -> None:
    nothing = an_entry("ben", planned(Channel.CHAT, DeliveryState.SKIPPED))
    assert first_due_at((nothing, entry), is_folded=False, now=NOON, expires_at=expires_at) == due_at


def test_a_folded_request_is_looked_at_soon_though_nothing_is_sent_or_shown() -> None:
    nothing = an_entry("ben", planned(Channel.CHAT, DeliveryState.SKIPPED))
    assert first_due_at((nothing,), is_folded=True, now=NOON, expires_at=DEADLINE) == at(seconds=90)


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (timedelta(0), timedelta(seconds=90)),
        (timedelta(seconds=90), timedelta(seconds=90)),
        (timedelta(seconds=180), timedelta(seconds=180)),
        (timedelta(minutes=20), timedelta(minutes=20)),
        (timedelta(hours=1), timedelta(hours=1)),
        (timedelta(days=3), timedelta(hours=1)),
        (timedelta(seconds=-5), timedelta(seconds=90)),
    ],
    ids=["new", "first_check", "second", "later", "an_hour", "days", "clocks_that_differ"],
)
def test_the_age_of_a_request_doubles_from_look_to_look_up_to_an_hour(age: timedelta, wait: timedelta) -> None:
    assert next_check_at(OPEN, now=NOON + age) == NOON + age + wait


def test_a_request_not_accepted_yet_is_as_old_as_its_row() -> None:
    row = a_queued_request(recorded_at=at(minutes=-4))
    assert next_check_at(row, now=NOON) == at(minutes=4)
    assert next_check_at(a_request(recorded_at=at(days=-3)), now=at(minutes=5)) == at(minutes=10)


def test_a_request_that_waits_is_looked_at_when_it_expires_at_the_latest() -> None:
    row = a_queued_request()
    assert no_later_than_expiry(row, LATER) == LATER
    assert no_later_than_expiry(row, DEADLINE + timedelta(seconds=30)) == DEADLINE
    assert no_later_than_expiry(a_tombstone(), LATER) == LATER


def test_a_recipient_has_one_line_of_the_manifest() -> None:
    request = a_request("inv-42:1", an_entry("ana"), an_entry("ben", Channel.CONSOLE))
    assert request.entry(Recipient("ben")) == an_entry("ben", Channel.CONSOLE)
    assert request.entry(Recipient("eve")) is None


def test_a_line_of_the_manifest_names_its_channels_whatever_their_state() -> None:
    entry = an_entry("ana", Channel.CONSOLE, planned(Channel.TEXT, DeliveryState.UNAVAILABLE))
    assert entry.channels == {Channel.CONSOLE, Channel.TEXT}


def test_a_request_is_finished_until_its_next_write() -> None:
    done = finished(OPEN, LATER)
    assert done == replace(OPEN, version=2, due_at=LATER, finished_version=2)
    assert done.is_finished
    assert not rescheduled(done, LATER).is_finished
    assert not OPEN.is_finished
