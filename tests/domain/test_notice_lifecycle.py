from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE, DeliveryReason, DeliveryState
from notify_core.domain.lifecycle import Actor, ForbiddenMove
from notify_core.domain.notice import (
    Delivery,
    Ending,
    Notice,
    believes_receipt,
    bounced,
    claimed,
    ended,
    exhausted,
    held,
    is_retryable,
    outcome_unknown,
    proved_sent,
    proved_unsent,
    put_back,
    receipt_timed_out,
    retried,
    skipped,
    with_result,
)
from notify_core.domain.notice_lifecycle import (
    NOTICE_LIFECYCLE,
    NoticeEvent,
    NoticeStatus,
    derive_status,
    ends_expired,
)
from notify_core.domain.send_result import (
    Accepted,
    Delivered,
    Rejected,
    RejectionScope,
    SendResult,
    Unavailable,
)
from tests.builders import CLAIM, a_delivery, a_notice, at, console
from tests.domain.tables import allowed, typed

# ---------------------------------------------------------------- the table

MOVES = """
    create     pending              delivered            processor worker sweep
    create     pending              routed               processor worker sweep
    create     pending              no_channel           processor worker sweep
    progress   routed               delivering           worker sweep receipt
    progress   routed               delivered            worker sweep receipt
    progress   routed               partially_delivered  worker sweep receipt
    progress   routed               failed               worker sweep receipt
    progress   routed               no_channel           worker sweep receipt
    progress   delivering           routed               worker sweep receipt
    progress   delivering           delivered            worker sweep receipt
    progress   delivering           partially_delivered  worker sweep receipt
    progress   delivering           failed               worker sweep receipt
    progress   delivering           no_channel           worker sweep receipt
    expire     routed               expired              worker sweep
    expire     delivering           expired              worker sweep
    retry      failed               routed               operator
    retry      failed               delivering           operator
    retry      partially_delivered  routed               operator
    retry      partially_delivered  delivering           operator
    receive    partially_delivered  delivered            receipt
    receive    failed               delivered            receipt
    receive    failed               partially_delivered  receipt
    supersede  routed               superseded           producer replacement processor worker sweep
    supersede  delivering           superseded           producer replacement processor worker sweep
    supersede  delivered            superseded           producer replacement processor worker sweep
    supersede  partially_delivered  superseded           producer replacement processor worker sweep
    supersede  failed               superseded           producer replacement processor worker sweep
    supersede  no_channel           superseded           producer replacement processor worker sweep
"""


def test_these_moves_and_no_others_are_allowed() -> None:
    assert set(allowed(NOTICE_LIFECYCLE, NoticeStatus, NoticeEvent)) == typed(MOVES)


def test_a_notice_begins_pending() -> None:
    assert NOTICE_LIFECYCLE.initial == {"pending"}


def test_cancelled_is_reserved_and_never_assigned() -> None:
    assert NOTICE_LIFECYCLE.reserved == {"cancelled"}
    assert NOTICE_LIFECYCLE.leading_to(NoticeStatus.CANCELLED) == frozenset()


def test_the_statuses_are_those_of_the_design() -> None:
    assert NOTICE_LIFECYCLE.states() == {
        "pending", "routed", "delivering", "delivered", "partially_delivered", "failed", "no_channel",
        "superseded", "expired", "cancelled",
    }  # fmt: skip


def refuses(source: NoticeStatus, target: NoticeStatus) -> bool:
    """Whether no event, whoever brings it, moves a notice so."""
    for event, by in product(NoticeEvent, Actor):
        with pytest.raises(ForbiddenMove):
            NOTICE_LIFECYCLE.check(event, source, target, by=by)
    return True


def test_derivation_preserves_a_superseded_notice() -> None:
    assert refuses(NoticeStatus.SUPERSEDED, NoticeStatus.DELIVERED)


def test_an_expired_notice_is_not_routed_again() -> None:
    assert refuses(NoticeStatus.EXPIRED, NoticeStatus.ROUTED)


def test_a_delivered_notice_is_not_reopened() -> None:
    assert refuses(NoticeStatus.DELIVERED, NoticeStatus.ROUTED)
    assert refuses(NoticeStatus.DELIVERED, NoticeStatus.DELIVERING)


@pytest.mark.parametrize("status", [NoticeStatus.SUPERSEDED, NoticeStatus.EXPIRED, NoticeStatus.CANCELLED])
def test_nothing_leaves_an_explicit_status(status: NoticeStatus) -> None:
    assert all(refuses(status, target) for target in NoticeStatus)


# ---------------------------------------------------------------- the derived status
#
# Rows and columns are what two channels with a provider are; `absent` is a notice without that channel.
# r routed, g delivering, D delivered, P partially_delivered, F failed, N no_channel, 0 pending.

WITHOUT_CONSOLE = """
    absent       0 r r g g D F F N N N N
    queued       r r r g g g g r r r r r
    deferred     r r r g g g g r r r r r
    sending      g g g g g g g g g g g g
    sent         g g g g g g g g g g g g
    delivered    D g g g g D P P D D D D
    bounced      F g g g g P F F F F F F
    failed       F r r g g P F F F F F F
    cancelled    N r r g g D F F N N N N
    expired      N r r g g D F F N N N N
    skipped      N r r g g D F F N N N N
    unavailable  N r r g g D F F N N N N
"""
BESIDE_A_DELIVERED_CONSOLE = """
    absent       D r r g g D P P D D D D
    queued       r r r g g g g r r r r r
    deferred     r r r g g g g r r r r r
    sending      g g g g g g g g g g g g
    sent         g g g g g g g g g g g g
    delivered    D g g g g D P P D D D D
    bounced      P g g g g P P P P P P P
    failed       P r r g g P P P P P P P
    cancelled    D r r g g D P P D D D D
    expired      D r r g g D P P D D D D
    skipped      D r r g g D P P D D D D
    unavailable  D r r g g D P P D D D D
"""
STATUS_OF = {
    "0": NoticeStatus.PENDING,
    "r": NoticeStatus.ROUTED,
    "g": NoticeStatus.DELIVERING,
    "D": NoticeStatus.DELIVERED,
    "P": NoticeStatus.PARTIALLY_DELIVERED,
    "F": NoticeStatus.FAILED,
    "N": NoticeStatus.NO_CHANNEL,
}


def cells(matrix: str) -> dict[tuple[str, str], NoticeStatus]:
    rows = [line.split() for line in matrix.splitlines() if line.strip()]
    names = [name for name, *_ in rows]
    return {(name, column): STATUS_OF[cell] for name, *row in rows for column, cell in zip(names, row, strict=True)}


def pair(first: str, second: str) -> list[Delivery]:
    """Deliveries of two channels with a provider in these states."""
    states = {Channel.CHAT: first, Channel.TEXT: second}
    return [a_delivery(DeliveryState(state), channel) for channel, state in states.items() if state != "absent"]


@pytest.mark.parametrize(
    ("beside", "matrix"),
    [
        ([], WITHOUT_CONSOLE),
        ([console(DeliveryState.DELIVERED)], BESIDE_A_DELIVERED_CONSOLE),
    ],
    ids=["without_console", "beside_a_delivered_console"],
)
def test_every_combination_has_the_status_typed_by_hand(beside: list[Delivery], matrix: str) -> None:
    expected = cells(matrix)
    assert len(expected) == 12 * 12
    assert {key: derive_status([*beside, *pair(*key)]) for key in expected} == expected


def test_a_console_that_is_switched_off_counts_for_nothing() -> None:
    expected = cells(WITHOUT_CONSOLE) | {("absent", "absent"): NoticeStatus.NO_CHANNEL}
    off = console(DeliveryState.UNAVAILABLE)
    assert {key: derive_status([off, *pair(*key)]) for key in expected} == expected


def test_an_alert_to_the_headquarters_has_the_status_of_its_one_delivery() -> None:
    expected = {state: cells(WITHOUT_CONSOLE)["absent", state] for state in DeliveryState}
    assert {state: derive_status([a_delivery(state, Channel.SLACK_SYSTEM)]) for state in DeliveryState} == expected


def of(**states: str) -> list[Delivery]:
    return [a_delivery(DeliveryState(state), Channel(channel)) for channel, state in states.items()]


@pytest.mark.parametrize(
    ("before", "source", "after", "target"),
    [
        ({}, "pending", {"console": "delivered", "chat": "skipped"}, "delivered"),
        ({}, "pending", {"console": "delivered", "chat": "queued"}, "routed"),
        ({}, "pending", {"slack_system": "queued"}, "routed"),
        ({"chat": "queued"}, "routed", {"chat": "sending"}, "delivering"),
        ({"chat": "sending"}, "delivering", {"chat": "delivered"}, "delivered"),
        (
            {"chat": "sending", "text": "delivered"},
            "delivering",
            {"chat": "failed", "text": "delivered"},
            "partially_delivered",
        ),
        ({"chat": "sending", "text": "bounced"}, "delivering", {"chat": "failed", "text": "bounced"}, "failed"),
        ({"chat": "queued"}, "routed", {"chat": "skipped"}, "no_channel"),
        ({"chat": "failed"}, "failed", {"chat": "queued"}, "routed"),
    ],
    ids=[
        "console_is_delivered_at_creation",
        "creation_queues_a_channel",
        "creation_queues_an_alert",
        "a_consumer_claims",
        "the_channel_succeeds",
        "a_channel_fails_while_another_delivered",
        "every_attempt_fails",
        "the_remaining_queued_channel_is_skipped",
        "an_exhausted_delivery_is_retried",
    ],
)
def test_each_derived_transition_of_the_seed(
    before: dict[str, str], source: str, after: dict[str, str], target: str
) -> None:
    assert (derive_status(of(**before)), derive_status(of(**after))) == (source, target)


# ---------------------------------------------------------------- the expired rule

EXPIRED = a_delivery(DeliveryState.EXPIRED)
LETS_IT_EXPIRE = [
    a_delivery(DeliveryState.EXPIRED, Channel.TEXT),
    a_delivery(DeliveryState.CANCELLED, Channel.TEXT),
    a_delivery(DeliveryState.SKIPPED, Channel.TEXT),
    a_delivery(DeliveryState.UNAVAILABLE, Channel.TEXT),
    a_delivery(DeliveryState.FAILED, Channel.TEXT, reason=DeliveryReason.ATTEMPTS_EXHAUSTED),
    a_delivery(DeliveryState.FAILED, Channel.TEXT, reason="DESTINATION_PHONE_NUMBER_OPTED_OUT"),
]
KEEPS_IT = [
    a_delivery(DeliveryState.QUEUED, Channel.TEXT),
    a_delivery(DeliveryState.DEFERRED, Channel.TEXT),
    a_delivery(DeliveryState.SENDING, Channel.TEXT),
    a_delivery(DeliveryState.SENT, Channel.TEXT),
    a_delivery(DeliveryState.DELIVERED, Channel.TEXT),
    a_delivery(DeliveryState.BOUNCED, Channel.TEXT),
    a_delivery(DeliveryState.FAILED, Channel.TEXT, reason=DeliveryReason.OUTCOME_UNKNOWN),
    a_delivery(DeliveryState.FAILED, Channel.TEXT, reason=DeliveryReason.RECEIPT_TIMEOUT),
]


def test_the_cases_of_the_expired_rule_name_every_state() -> None:
    assert {item.state for item in LETS_IT_EXPIRE + KEEPS_IT} == set(DeliveryState)


def test_a_notice_expires_when_its_only_delivery_did() -> None:
    assert ends_expired([EXPIRED])


@pytest.mark.parametrize("other", LETS_IT_EXPIRE, ids=lambda item: f"{item.state}-{item.reason}")
def test_a_notice_expires_beside_what_certainly_reached_nobody(other: Delivery) -> None:
    assert ends_expired([EXPIRED, other])


@pytest.mark.parametrize("other", KEEPS_IT, ids=lambda item: f"{item.state}-{item.reason}")
def test_a_notice_does_not_expire_beside_what_is_owed_or_may_have_reached_somebody(other: Delivery) -> None:
    assert not ends_expired([EXPIRED, other])


def test_a_notice_in_the_inbox_does_not_expire() -> None:
    assert not ends_expired([console(), EXPIRED])


def test_a_notice_does_not_expire_without_a_delivery_that_did() -> None:
    others = [state for state in DeliveryState if state is not DeliveryState.EXPIRED]
    assert not any(ends_expired(pair(*states)) for states in product(others, others))


# ---------------------------------------------------------------- what the functions on a notice do with it
#
# Every notice of up to two channels and a console is followed through every function, from its creation to wherever
# that leads, with the first and the last of its attempts: 0 stands for none yet, 4 for one less than the most.

BEGINNINGS = ([], [console()])
RESULTS: list[SendResult] = [
    Accepted(provider_id="p"),
    Delivered(provider_id="p"),
    Unavailable(reason="unavailable"),
    Rejected(reason="gone", scope=RejectionScope.PERSON),
]
WITHDRAWN = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)
PAST_DEADLINE = Ending(status=NoticeStatus.EXPIRED, reason="age", by=Actor.SWEEP)
Step = tuple[Notice, Notice]


def steps_of_unsent(notice: Notice, channel: Channel) -> Iterator[Notice]:
    yield claimed(notice, channel, CLAIM, now=at(minutes=2))
    yield held(notice, channel, until=at(minutes=5), reason="throttled", now=at(minutes=2))
    yield skipped(notice, channel, DeliveryReason.PERSON_GONE, now=at(minutes=2))
    yield exhausted(notice, channel, by=Actor.WORKER, now=at(minutes=2))


def steps_of_sending(notice: Notice, channel: Channel) -> Iterator[Notice | None]:
    for result in RESULTS:
        yield with_result(notice, channel, result, now=at(minutes=2))
    yield put_back(notice, channel, now=at(minutes=2))
    yield skipped(notice, channel, DeliveryReason.PERSON_GONE, now=at(minutes=2))
    for ending in (WITHDRAWN, PAST_DEADLINE):
        yield ended(notice, ending, now=at(minutes=2), claim_of=channel)
    yield proved_sent(notice, channel, provider_id="p", provider_channel=None, by=Actor.SWEEP, now=at(minutes=2))
    yield proved_unsent(notice, channel, now=at(minutes=2))
    yield outcome_unknown(notice, channel, now=at(minutes=2))


def steps_of_receipts(notice: Notice, channel: Channel) -> Iterator[Notice]:
    yield proved_sent(notice, channel, provider_id="p", provider_channel=None, by=Actor.RECEIPT, now=at(minutes=2))
    yield bounced(notice, channel, "unreachable", provider_id="p", now=at(minutes=2))


def steps(notice: Notice) -> Iterator[Notice | None]:
    """What every function that may be called on a notice makes of it."""
    yield ended(notice, WITHDRAWN, now=at(minutes=2))
    yield ended(notice, PAST_DEADLINE, now=at(minutes=2))
    for item in notice.deliveries:
        if item.state in {DeliveryState.QUEUED, DeliveryState.DEFERRED}:
            yield from steps_of_unsent(notice, item.channel)
        if item.state is DeliveryState.SENDING:
            yield from steps_of_sending(notice, item.channel)
        if item.state is DeliveryState.SENT:
            yield receipt_timed_out(notice, item.channel, now=at(minutes=2))
        if believes_receipt(item):
            yield from steps_of_receipts(notice, item.channel)
        if is_retryable(item) and notice.ended is None:
            yield retried(notice, item.channel, now=at(minutes=2))


def reduced(notice: Notice) -> Notice:
    """The notice without what tells two of them apart and changes no step."""
    deliveries = tuple(
        replace(
            item,
            attempts=4 if item.attempts else 0,
            next_at=None,
            provider_id=None,
            updated_at=at(),
            reason=item.reason if item.state is DeliveryState.FAILED else None,
        )
        for item in notice.deliveries
    )
    return replace(notice, version=1, deliveries=deliveries, timeline=a_notice().timeline)


@pytest.fixture(scope="module")
def every_step() -> list[Step]:
    """Every notice that can come about, with each of its next versions."""
    fresh = [
        a_notice(*beside, *(replace(item, attempts=attempts) for item in pair(*states)))
        for beside, states, attempts in product(BEGINNINGS, product(["absent", "queued"], repeat=2), (0, 4))
        if beside or states != ("absent", "absent")
    ]
    found = {reduced(notice) for notice in fresh}
    todo, taken = list(found), []
    while todo:
        notice = todo.pop()
        for after in steps(notice):
            if after is None:
                continue
            taken.append((notice, after))
            if reduced(after) not in found:
                found.add(reduced(after))
                todo.append(reduced(after))
    return taken


def lines_added(before: Notice, after: Notice) -> Iterator[tuple[str, str, Actor]]:
    added = after.timeline[len(before.timeline) :]
    return ((line.source or "", line.target, line.by) for line in added if line.channel is not None)


def test_every_step_is_one_version(every_step: list[Step]) -> None:
    assert len(every_step) > 1_000
    assert {after.version - before.version for before, after in every_step} == {1}


def test_every_status_that_comes_about_is_reached_by_a_move_of_the_table(every_step: list[Step]) -> None:
    table = {(move.source, move.target) for move in NOTICE_LIFECYCLE if move.event != "create"}
    seen = {(before.status, after.status) for before, after in every_step if before.status is not after.status}
    assert seen == table


def test_every_status_is_moved_by_one_of_the_actors_of_its_move(every_step: list[Step]) -> None:
    table = {(move.source, move.target, by) for move in NOTICE_LIFECYCLE for by in move.by}
    seen = {
        (before.status, after.status, after.timeline[-1].by)
        for before, after in every_step
        if before.status is not after.status
    }
    assert seen <= table


def test_every_move_of_a_delivery_comes_about_and_is_told_in_the_timeline(every_step: list[Step]) -> None:
    table = {(move.source, move.target) for move in DELIVERY_LIFECYCLE}
    seen = {(source, target) for step in every_step for source, target, _ in lines_added(*step)}
    assert seen == table


def test_what_is_superseded_or_expired_stays_so_whatever_its_deliveries_do(every_step: list[Step]) -> None:
    ends = [(before.ended, after.ended) for before, after in every_step if before.ended is not None]
    assert {before for before, _ in ends} == {NoticeStatus.SUPERSEDED}
    assert all(before is after for before, after in ends)


def test_nothing_of_an_expired_notice_is_ever_owed_again(every_step: list[Step]) -> None:
    expired = [after for _, after in every_step if after.ended is NoticeStatus.EXPIRED]
    assert expired
    assert not any(notice.is_active for notice in expired)


def test_a_retry_is_the_only_step_from_an_end_back_to_the_queue(every_step: list[Step]) -> None:
    def is_over(notice: Notice) -> bool:
        return not notice.is_active

    reopened = {after.timeline[-1].by for before, after in every_step if is_over(before) and not is_over(after)}
    assert reopened == {Actor.OPERATOR}
