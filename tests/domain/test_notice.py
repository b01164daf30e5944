from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import ClaimId, NoticeId, Recipient, RequestId
from notify_core.domain.lifecycle import Actor, ForbiddenMove
from notify_core.domain.notice import (
    ConsoleContent,
    Contributor,
    Delivery,
    Ending,
    Notice,
    TimelineEntry,
    What,
    believes_receipt,
    bounced,
    can_join,
    charged,
    claimed,
    created,
    ended,
    exhausted,
    first_notice,
    has_ended_for_good,
    held,
    is_retryable,
    joined,
    left,
    outcome_unknown,
    proved_sent,
    proved_unsent,
    put_back,
    read,
    receipt_timed_out,
    retried,
    skipped,
    with_result,
)
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.policy import POLICIES, backoff
from notify_core.domain.request import ManifestEntry, Planned
from notify_core.domain.send_result import (
    Accepted,
    Delivered,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)
from tests.builders import (
    ACME,
    ANA,
    CLAIM,
    CONTENT,
    DEADLINE,
    INVOICE,
    NOON,
    a_contributor,
    a_delivery,
    a_notice,
    a_queued_request,
    a_request,
    an_entry,
    at,
    console,
    planned,
)

LATER = at(minutes=2)
SENDING = a_delivery(DeliveryState.SENDING)
WITHDRAWN = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)
PAST_DEADLINE = Ending(status=NoticeStatus.EXPIRED, reason="age", by=Actor.SWEEP)


def line(
    channel: Channel | None, source: str | None, target: str, by: Actor, reason: str | None = None, at: datetime = LATER
) -> TimelineEntry:
    return TimelineEntry(at=at, channel=channel, source=source, target=target, by=by, reason=reason)


def after(notice: Notice, *lines: TimelineEntry, **changes: Any) -> Notice:
    """The notice one version on, with lines added to its timeline."""
    return replace(notice, version=notice.version + 1, timeline=(*notice.timeline, *lines), **changes)


def superseded(*deliveries: Delivery, reason: str = "withdrawn") -> Notice:
    """A notice whose request was withdrawn or replaced while one of its deliveries was being sent."""
    notice = a_notice(*(deliveries or (SENDING,)))
    told = line(None, "delivering", "superseded", Actor.PRODUCER, reason, at=NOON)
    return replace(notice, ended=NoticeStatus.SUPERSEDED, timeline=(*notice.timeline, told))


# ---------------------------------------------------------------- beginning


def test_the_first_value_follows_from_the_request_and_its_manifest() -> None:
    entry = an_entry("ana", Channel.CONSOLE, planned(Channel.TEXT, DeliveryState.SKIPPED, DeliveryReason.NO_ADDRESS))
    request = a_request("inv-42:1", entry, accepted_at=at(seconds=3), shard=4)
    assert first_notice(request, entry) == Notice(
        workspace_id=ACME,
        recipient=ANA,
        notice_id=NoticeId(request.request_id),
        definition=INVOICE,
        created_at=at(seconds=3),
        expires_at=DEADLINE,
        shard=4,
        contributors=(Contributor(request_id=request.request_id, published_at=NOON, joined_at=at(seconds=3)),),
        deliveries=(
            Delivery(channel=Channel.CONSOLE, state=DeliveryState.DELIVERED, updated_at=at(seconds=3)),
            Delivery(
                channel=Channel.TEXT,
                state=DeliveryState.SKIPPED,
                reason=DeliveryReason.NO_ADDRESS,
                updated_at=at(seconds=3),
            ),
        ),
        version=0,
        timeline=(line(None, None, "created", Actor.PROCESSOR, at=at(seconds=3)),),
    )


def test_a_generation_of_a_fold_begins_when_it_is_written() -> None:
    notice = first_notice(
        a_request(), an_entry(), notice=NoticeId("fold.000002"), begun_at=at(minutes=1), content=CONTENT
    )
    assert (notice.notice_id, notice.created_at, notice.content) == ("fold.000002", at(minutes=1), CONTENT)
    assert notice.contributors[0].joined_at == at(minutes=1)


def test_a_request_that_was_never_accepted_gives_nobody_a_notice() -> None:
    for request in (a_queued_request(), a_request(expires_at=None)):
        with pytest.raises(ValueError, match="never accepted"):
            first_notice(request, an_entry())


def test_the_first_value_is_stored_as_version_one_and_otherwise_as_it_is() -> None:
    first = first_notice(a_request(), an_entry())
    assert created(first) == replace(first, version=1)


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (an_entry("ana", Channel.CONSOLE), "delivered"),
        (an_entry("ana", Channel.CONSOLE, Channel.CHAT), "routed"),
        (an_entry("-", Channel.SLACK_SYSTEM), "routed"),
        (an_entry("ana", planned(Channel.TEXT, DeliveryState.SKIPPED)), "no_channel"),
    ],
    ids=["console", "chat", "headquarters", "nothing_to_send"],
)
def test_a_notice_is_never_pending_once_it_exists(entry: ManifestEntry, status: str) -> None:
    assert first_notice(a_request("inv-42:1", entry), entry).status == status


# ---------------------------------------------------------------- what is read off a notice


def test_an_explicit_status_is_shown_whatever_the_deliveries_are() -> None:
    for state in DeliveryState:
        notice = a_notice(console(), a_delivery(state), ended=NoticeStatus.SUPERSEDED)
        assert notice.status is NoticeStatus.SUPERSEDED


@pytest.mark.parametrize(
    ("notice", "is_unread"),
    [
        (a_notice(), True),
        (a_notice(read_at=LATER), False),
        (a_notice(ended=NoticeStatus.SUPERSEDED), False),
        (a_notice(ended=NoticeStatus.EXPIRED), False),
        (a_notice(a_delivery()), False),
        (a_notice(console(DeliveryState.UNAVAILABLE), a_delivery()), False),
    ],
    ids=["new", "read", "superseded", "expired", "without_console", "console_switched_off"],
)
def test_unread_are_the_live_notices_in_the_inbox_that_were_not_read(notice: Notice, *, is_unread: bool) -> None:
    assert notice.is_unread is is_unread


@pytest.mark.parametrize(
    ("notice", "failed_at"),
    [
        (a_notice(), None),
        (a_notice(a_delivery(DeliveryState.FAILED, updated_at=LATER)), LATER),
        (
            a_notice(
                a_delivery(DeliveryState.FAILED, updated_at=LATER),
                a_delivery(DeliveryState.FAILED, Channel.TEXT, updated_at=at(minutes=9)),
            ),
            LATER,
        ),
        (a_notice(a_delivery(DeliveryState.BOUNCED)), None),
        (a_notice(a_delivery(DeliveryState.FAILED), ended=NoticeStatus.SUPERSEDED), None),
    ],
    ids=["fine", "failed", "since_the_first_failure", "bounced", "ended"],
)
def test_a_failed_delivery_needs_attention_until_its_notice_ends(notice: Notice, failed_at: datetime | None) -> None:
    assert notice.failed_at == failed_at


@pytest.mark.parametrize("state", DeliveryState)
def test_active_and_busy_are_told_by_the_deliveries(state: DeliveryState) -> None:
    busy = {"queued", "deferred", "sending"}
    notice = a_notice(console(), a_delivery(state))
    assert (notice.is_busy, notice.is_active) == (state in busy, state in busy | {"sent"})


def test_a_row_is_kept_for_ninety_days_past_its_deadline() -> None:
    assert a_notice().delete_at == DEADLINE + timedelta(days=90)


# ---------------------------------------------------------------- claiming


def test_a_claim_takes_the_delivery_under_its_id_from_now_on() -> None:
    notice = a_notice(console(), a_delivery(DeliveryState.DEFERRED, attempts=2))
    taken = a_delivery(
        DeliveryState.SENDING, attempts=2, claim_id=CLAIM, claimed_at=LATER, address="UANA", updated_at=LATER
    )
    assert claimed(notice, Channel.CHAT, CLAIM, now=LATER, address="UANA") == after(
        notice,
        line(Channel.CHAT, "deferred", "sending", Actor.WORKER),
        deliveries=(console(), taken),
    )


@pytest.mark.parametrize("state", sorted(set(DeliveryState) - {DeliveryState.QUEUED, DeliveryState.DEFERRED}))
def test_only_what_is_queued_or_deferred_can_be_claimed(state: DeliveryState) -> None:
    with pytest.raises(ForbiddenMove):
        claimed(a_notice(a_delivery(state)), Channel.CHAT, CLAIM, now=LATER)


def test_a_channel_that_the_notice_lacks_cannot_be_claimed() -> None:
    with pytest.raises(ValueError, match="no delivery over text"):
        claimed(a_notice(), Channel.TEXT, CLAIM, now=LATER)


@pytest.mark.parametrize(
    ("item", "is_claimable"),
    [
        (a_delivery(DeliveryState.QUEUED), True),
        (a_delivery(DeliveryState.DEFERRED, next_at=at(minutes=3)), False),
        (a_delivery(DeliveryState.DEFERRED, next_at=LATER), True),
        (a_delivery(DeliveryState.DEFERRED, next_at=None), True),
        (SENDING, False),
        (a_delivery(DeliveryState.FAILED), False),
    ],
    ids=["queued", "too_early", "on_time", "any_time", "claimed", "failed"],
)
def test_a_deferred_delivery_is_claimable_from_its_time_on(item: Delivery, *, is_claimable: bool) -> None:
    assert item.is_claimable(LATER) is is_claimable


def test_a_lease_lasts_thirty_seconds() -> None:
    assert not SENDING.lease_is_over(at(seconds=29.999))
    assert SENDING.lease_is_over(at(seconds=30))
    assert replace(SENDING, claimed_at=None).lease_is_over(NOON)


def test_a_delivery_is_claimed_by_the_claim_that_it_names() -> None:
    notice = a_notice(console(), SENDING)
    assert notice.is_claimed_by(Channel.CHAT, CLAIM)
    assert not notice.is_claimed_by(Channel.CHAT, ClaimId("claim-2"))
    assert not notice.is_claimed_by(Channel.TEXT, CLAIM)
    assert not a_notice(a_delivery(DeliveryState.SENT)).is_claimed_by(Channel.CHAT, CLAIM)


@pytest.mark.parametrize("item", [a_delivery(), a_delivery(DeliveryState.DEFERRED, attempts=3)], ids=["new", "tried"])
def test_a_delivery_held_for_its_channel_is_deferred_without_a_claim_or_an_attempt(item: Delivery) -> None:
    notice = a_notice(item)
    waiting = a_delivery(
        DeliveryState.DEFERRED,
        attempts=item.attempts,
        reason=DeliveryReason.THROTTLED,
        next_at=at(minutes=5),
        updated_at=LATER,
    )
    assert held(notice, Channel.CHAT, until=at(minutes=5), reason=DeliveryReason.THROTTLED, now=LATER) == after(
        notice,
        line(Channel.CHAT, item.state, "deferred", Actor.WORKER, "throttled"),
        deliveries=(waiting,),
    )


def test_a_delivery_being_sent_cannot_be_held() -> None:
    with pytest.raises(ForbiddenMove):
        held(a_notice(SENDING), Channel.CHAT, until=LATER, reason=DeliveryReason.THROTTLED, now=LATER)


def test_a_person_who_cannot_be_reached_any_more_is_skipped_with_the_reason() -> None:
    notice = a_notice(SENDING)
    assert skipped(notice, Channel.CHAT, DeliveryReason.PERSON_INACTIVE, now=LATER) == after(
        notice,
        line(Channel.CHAT, "sending", "skipped", Actor.WORKER, "person_inactive"),
        deliveries=(a_delivery(DeliveryState.SKIPPED, reason=DeliveryReason.PERSON_INACTIVE, updated_at=LATER),),
    )


# ---------------------------------------------------------------- results
#
# Each result on a delivery with one attempt behind it, of a notice that lives and of one withdrawn meanwhile.

TRIED = a_delivery(DeliveryState.SENDING, attempts=1)
CLAIMED = {"claim_id": CLAIM, "claimed_at": NOON}
CHAT_ID = a_notice().delivery_id(Channel.CHAT)
REACHED = [
    (
        Delivered(provider_id="p-9", provider_channel="D9"),
        a_delivery(DeliveryState.DELIVERED, attempts=2, provider_id="p-9", provider_channel="D9", **CLAIMED),
    ),
    (
        Accepted(provider_id="p-9"),
        a_delivery(DeliveryState.SENT, attempts=2, provider_id="p-9", **CLAIMED),
    ),
    (
        Rejected(reason="account_inactive", scope=RejectionScope.PERSON),
        a_delivery(DeliveryState.FAILED, attempts=2, reason="account_inactive"),
    ),
    (
        Rejected(reason="msg_too_long", scope=RejectionScope.CONTENT),
        a_delivery(DeliveryState.FAILED, attempts=2, reason="msg_too_long"),
    ),
]
NOT_SENT = [
    (
        Throttled(retry_after=timedelta(seconds=30)),
        a_delivery(DeliveryState.DEFERRED, attempts=1, reason="throttled", next_at=at(seconds=150)),
    ),
    (
        Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE),
        a_delivery(DeliveryState.DEFERRED, attempts=1, reason="circuit_open", next_at=LATER),
    ),
    (
        Unavailable(reason="internal_error"),
        a_delivery(
            DeliveryState.DEFERRED,
            attempts=2,
            failing_since=LATER,
            reason="internal_error",
            next_at=LATER + backoff(CHAT_ID, Channel.CHAT, 2),
        ),
    ),
]


def recorded(notice: Notice, item: Delivery) -> Notice:
    told = line(Channel.CHAT, "sending", item.state, Actor.WORKER, item.reason)
    return after(notice, told, deliveries=(replace(item, updated_at=LATER),))


@pytest.mark.parametrize(("result", "item"), [*REACHED, *NOT_SENT])
def test_a_result_is_recorded_on_a_live_notice_and_the_address_forgotten(result: SendResult, item: Delivery) -> None:
    notice = a_notice(replace(TRIED, address="UANA"))
    assert with_result(notice, Channel.CHAT, result, now=LATER) == recorded(notice, item)


@pytest.mark.parametrize(("result", "item"), REACHED)
def test_a_final_result_is_recorded_on_a_notice_that_ended_meanwhile(result: SendResult, item: Delivery) -> None:
    notice = superseded(TRIED)
    assert with_result(notice, Channel.CHAT, result, now=LATER) == recorded(notice, item)


@pytest.mark.parametrize("reason", ["withdrawn", "replaced"])
@pytest.mark.parametrize(("result", "item"), NOT_SENT)
def test_what_was_not_sent_is_cancelled_where_its_notice_ended_meanwhile(
    result: SendResult, item: Delivery, reason: str
) -> None:
    notice = superseded(TRIED, reason=reason)
    over = a_delivery(DeliveryState.CANCELLED, attempts=item.attempts, reason=reason)
    assert with_result(notice, Channel.CHAT, result, now=LATER) == recorded(notice, over)


@pytest.mark.parametrize("notice", [a_notice(TRIED), superseded(TRIED)], ids=["live", "superseded"])
def test_an_unknown_result_is_never_guessed(notice: Notice) -> None:
    assert with_result(notice, Channel.CHAT, Unknown(reason="timeout"), now=LATER) is None


def test_a_throttled_delivery_waits_as_long_as_its_channel_does() -> None:
    new = with_result(
        a_notice(TRIED), Channel.CHAT, Throttled(retry_after=timedelta(seconds=30)), now=LATER, until=at(hours=1)
    )
    assert new == recorded(
        a_notice(TRIED),
        a_delivery(DeliveryState.DEFERRED, attempts=1, reason="throttled", next_at=at(hours=1)),
    )


def test_the_last_attempt_exhausts_a_delivery() -> None:
    notice = a_notice(a_delivery(DeliveryState.SENDING, attempts=4))
    assert with_result(notice, Channel.CHAT, Unavailable(reason="internal_error"), now=LATER) == recorded(
        notice, a_delivery(DeliveryState.FAILED, attempts=5, reason="attempts_exhausted")
    )


@pytest.mark.parametrize(
    ("failing_since", "state"),
    [(None, "deferred"), (at(days=9, seconds=1), "deferred"), (at(days=9), "failed")],
    ids=["first_failure", "almost_a_day", "a_day"],
)
def test_a_delivery_is_given_up_a_day_after_its_first_failure_however_old_its_notice_is(
    failing_since: datetime | None, state: str
) -> None:
    notice = a_notice(a_delivery(DeliveryState.SENDING, failing_since=failing_since))
    refused = with_result(notice, Channel.CHAT, Unavailable(reason="x"), now=at(days=10))
    assert refused is not None
    assert refused.deliveries[0].state == state
    evidence = proved_unsent(notice, Channel.CHAT, now=at(days=10))
    assert evidence.deliveries[0].state == ("queued" if state == "deferred" else "failed")


def test_a_delivery_fails_since_the_first_failure_until_it_is_retried() -> None:
    notice = a_notice(SENDING)
    first = with_result(notice, Channel.CHAT, Unavailable(reason="x"), now=at(minutes=1))
    assert first is not None
    again = claimed(first, Channel.CHAT, CLAIM, now=at(minutes=5))
    second = with_result(again, Channel.CHAT, Unavailable(reason="x"), now=at(minutes=6))
    assert second is not None
    over = exhausted(second, Channel.CHAT, by=Actor.WORKER, now=at(minutes=7))
    versions = (notice, first, second, over, retried(over, Channel.CHAT, now=at(minutes=8)))
    assert [version.deliveries[0].failing_since for version in versions] == [
        None,
        at(minutes=1),
        at(minutes=1),
        None,
        None,
    ]


def test_a_channel_that_refuses_for_a_day_costs_a_delivery_no_attempt() -> None:
    notice = a_notice(a_delivery())
    revoked = Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
    for hour in range(24):
        taken = claimed(notice, Channel.CHAT, CLAIM, now=at(hours=hour))
        answered = with_result(taken, Channel.CHAT, revoked, now=at(hours=hour), until=at(hours=hour + 1))
        assert answered is not None
        notice = answered
    assert notice.deliveries == (
        a_delivery(
            DeliveryState.DEFERRED,
            attempts=0,
            reason="circuit_open",
            next_at=at(hours=24),
            updated_at=at(hours=23),
        ),
    )


@pytest.mark.parametrize("state", sorted(set(DeliveryState) - {DeliveryState.SENDING}))
@pytest.mark.parametrize(
    "result", [Accepted(provider_id="p"), Unavailable(reason="x"), Throttled(retry_after=timedelta(seconds=1))]
)
def test_a_result_cannot_be_recorded_on_a_delivery_that_is_not_being_sent(
    state: DeliveryState, result: SendResult
) -> None:
    with pytest.raises(ForbiddenMove):
        with_result(a_notice(a_delivery(state)), Channel.CHAT, result, now=LATER)


@pytest.mark.parametrize(("until", "next_at"), [(None, LATER), (at(minutes=9), at(minutes=9))], ids=["now", "then"])
def test_what_its_claimant_did_not_send_may_be_taken_at_once_or_at_the_time_told(
    until: datetime | None, next_at: datetime
) -> None:
    notice = a_notice(TRIED)
    assert put_back(notice, Channel.CHAT, now=LATER, until=until) == recorded(
        notice, a_delivery(DeliveryState.DEFERRED, attempts=1, reason=None, next_at=next_at)
    )


def test_what_its_claimant_did_not_send_is_cancelled_where_its_notice_ended_meanwhile() -> None:
    notice = superseded(TRIED)
    assert put_back(notice, Channel.CHAT, now=LATER) == recorded(
        notice, a_delivery(DeliveryState.CANCELLED, attempts=1, reason="withdrawn")
    )


# ---------------------------------------------------------------- evidence


def swept(notice: Notice, item: Delivery) -> Notice:
    told = line(Channel.CHAT, notice.deliveries[0].state, item.state, Actor.SWEEP, item.reason)
    return after(notice, told, deliveries=(replace(item, updated_at=LATER),))


@pytest.mark.parametrize("notice", [a_notice(TRIED), superseded(TRIED)], ids=["live", "superseded"])
def test_evidence_that_it_was_sent_makes_it_delivered(notice: Notice) -> None:
    new = proved_sent(notice, Channel.CHAT, provider_id="p-9", provider_channel="D9", by=Actor.SWEEP, now=LATER)
    found = a_delivery(DeliveryState.DELIVERED, attempts=2, provider_id="p-9", provider_channel="D9", **CLAIMED)
    assert new == swept(notice, found)


def test_evidence_that_nothing_was_sent_queues_it_again_as_one_attempt() -> None:
    notice = a_notice(TRIED)
    assert proved_unsent(notice, Channel.CHAT, now=LATER) == swept(notice, a_delivery(attempts=2, failing_since=LATER))


def test_evidence_that_nothing_was_sent_cancels_it_where_its_notice_ended_meanwhile() -> None:
    notice = superseded(TRIED, reason="replaced")
    over = a_delivery(DeliveryState.CANCELLED, attempts=2, reason="replaced")
    assert proved_unsent(notice, Channel.CHAT, now=LATER) == swept(notice, over)


def test_a_send_that_is_lost_again_and_again_ends_exhausted() -> None:
    notice = a_notice(a_delivery())
    rounds = 0
    while notice.is_active:
        rounds += 1
        notice = claimed(notice, Channel.CHAT, CLAIM, now=at(minutes=rounds))
        notice = proved_unsent(notice, Channel.CHAT, now=at(minutes=rounds, seconds=30))
    assert rounds == 5
    assert notice.deliveries == (
        a_delivery(DeliveryState.FAILED, attempts=5, reason="attempts_exhausted", updated_at=at(minutes=5, seconds=30)),
    )


def test_a_send_that_no_evidence_settles_is_recorded_as_unknown() -> None:
    notice = a_notice(TRIED)
    lost = a_delivery(DeliveryState.FAILED, attempts=2, reason="outcome_unknown")
    assert outcome_unknown(notice, Channel.CHAT, now=LATER) == swept(notice, lost)


def test_a_receipt_that_never_came_is_recorded_and_is_no_attempt() -> None:
    notice = a_notice(a_delivery(DeliveryState.SENT))
    lost = a_delivery(DeliveryState.FAILED, attempts=1, reason="receipt_timeout", provider_id="p-1")
    assert receipt_timed_out(notice, Channel.CHAT, now=LATER) == swept(notice, lost)


# ---------------------------------------------------------------- receipts

UNKNOWN = a_delivery(DeliveryState.FAILED, attempts=1, reason=DeliveryReason.OUTCOME_UNKNOWN)
NO_RECEIPT = a_delivery(DeliveryState.FAILED, attempts=1, reason=DeliveryReason.RECEIPT_TIMEOUT, provider_id="p-1")
SENT = a_delivery(DeliveryState.SENT)
BELIEVERS = [(SENDING, 1), (SENT, 1), (UNKNOWN, 1), (NO_RECEIPT, 1)]
"""What believes a receipt, with its attempts after it: an early receipt stands for the answer that is still to come."""


def receive(notice: Notice, *, arrived: bool) -> Notice:
    """A notice after a receipt, which changes nothing where it isn't believed."""
    item = notice.delivery(Channel.CHAT)
    if item is None or not believes_receipt(item):
        return notice
    if arrived:
        return proved_sent(notice, Channel.CHAT, provider_id="p-9", provider_channel=None, by=Actor.RECEIPT, now=LATER)
    return bounced(notice, Channel.CHAT, "unreachable", provider_id="p-9", now=LATER)


@pytest.mark.parametrize("ended_as", [None, NoticeStatus.SUPERSEDED])
@pytest.mark.parametrize(("item", "attempts"), BELIEVERS, ids=["early", "expected", "late", "very_late"])
@pytest.mark.parametrize(
    ("arrived", "state", "reason"), [(True, "delivered", None), (False, "bounced", "unreachable")], ids=["yes", "no"]
)
def test_a_receipt_moves_what_was_sent_or_may_have_been(
    item: Delivery, attempts: int, *, arrived: bool, state: str, reason: str | None, ended_as: NoticeStatus | None
) -> None:
    notice = a_notice(item, ended=ended_as)
    told = replace(
        item,
        state=DeliveryState(state),
        reason=reason,
        attempts=attempts,
        provider_id="p-9",
        updated_at=LATER,
    )
    assert receive(notice, arrived=arrived) == after(
        notice, line(Channel.CHAT, item.state, state, Actor.RECEIPT, reason), deliveries=(told,)
    )


@pytest.mark.parametrize("state", sorted(set(DeliveryState) - {DeliveryState.SENDING, DeliveryState.SENT}))
def test_no_other_delivery_believes_a_receipt(state: DeliveryState) -> None:
    assert not believes_receipt(a_delivery(state))
    assert state is DeliveryState.FAILED or not believes_receipt(a_delivery(state, reason="outcome_unknown"))


def test_a_refused_or_exhausted_delivery_believes_no_receipt() -> None:
    assert not believes_receipt(a_delivery(DeliveryState.FAILED, reason="account_inactive"))
    assert not believes_receipt(a_delivery(DeliveryState.FAILED, reason=DeliveryReason.ATTEMPTS_EXHAUSTED))


@pytest.mark.parametrize(("item", "attempts"), BELIEVERS, ids=["early", "expected", "late", "very_late"])
@pytest.mark.parametrize("arrived", [True, False])
def test_a_receipt_that_comes_fifty_times_changes_nothing_after_the_first(
    item: Delivery, attempts: int, *, arrived: bool
) -> None:
    notice = once = receive(a_notice(item), arrived=arrived)
    for _ in range(49):
        notice = receive(notice, arrived=arrived)
    assert notice == once
    assert (notice.version, notice.deliveries[0].attempts) == (2, attempts)


def test_the_first_of_two_receipts_stands() -> None:
    notice = receive(a_notice(SENT), arrived=True)
    assert receive(notice, arrived=False) == notice


def test_the_workers_own_result_is_refused_after_an_early_receipt() -> None:
    notice = receive(a_notice(SENDING), arrived=True)
    with pytest.raises(ForbiddenMove):
        with_result(notice, Channel.CHAT, Accepted(provider_id="p-9"), now=LATER)


# ---------------------------------------------------------------- ending

QUEUED_TEXT = a_delivery(DeliveryState.QUEUED, Channel.TEXT)


def stopped(item: Delivery, state: DeliveryState, reason: str) -> Delivery:
    return replace(item, state=state, reason=reason, updated_at=LATER, claim_id=None, claimed_at=None, next_at=None)


def test_a_withdrawal_cancels_what_is_unsent_and_marks_the_notice() -> None:
    waiting = a_delivery(DeliveryState.DEFERRED)
    notice = a_notice(console(), waiting, QUEUED_TEXT)
    assert ended(notice, WITHDRAWN, now=LATER) == after(
        notice,
        line(Channel.CHAT, "deferred", "cancelled", Actor.PRODUCER, "withdrawn"),
        line(Channel.TEXT, "queued", "cancelled", Actor.PRODUCER, "withdrawn"),
        line(None, "routed", "superseded", Actor.PRODUCER, "withdrawn"),
        deliveries=(
            console(),
            stopped(waiting, DeliveryState.CANCELLED, "withdrawn"),
            stopped(QUEUED_TEXT, DeliveryState.CANCELLED, "withdrawn"),
        ),
        ended=NoticeStatus.SUPERSEDED,
    )


@pytest.mark.parametrize(
    "item",
    [SENDING, SENT, a_delivery(DeliveryState.DELIVERED), a_delivery(DeliveryState.BOUNCED), UNKNOWN],
    ids=lambda item: item.state,
)
def test_a_withdrawal_recalls_nothing_that_left(item: Delivery) -> None:
    notice = a_notice(item)
    assert ended(notice, WITHDRAWN, now=LATER) == after(
        notice,
        line(None, notice.status, "superseded", Actor.PRODUCER, "withdrawn"),
        ended=NoticeStatus.SUPERSEDED,
    )


def test_a_withdrawal_repeated_changes_nothing() -> None:
    once = ended(a_notice(), WITHDRAWN, now=LATER)
    assert once is not None
    assert ended(once, WITHDRAWN, now=at(minutes=9)) is None


@pytest.mark.parametrize("ending", [WITHDRAWN, PAST_DEADLINE], ids=["withdrawn", "past_deadline"])
@pytest.mark.parametrize("status", [NoticeStatus.SUPERSEDED, NoticeStatus.EXPIRED])
def test_a_notice_that_ended_stays_as_it_ended(ending: Ending, status: NoticeStatus) -> None:
    notice = a_notice(a_delivery(DeliveryState.EXPIRED), ended=status)
    assert ended(notice, ending, now=LATER) is None


def test_a_claim_that_nobody_carries_is_released_by_its_worker_with_the_end_of_its_notice() -> None:
    notice = a_notice(SENDING, QUEUED_TEXT)
    replaced = Ending(status=NoticeStatus.SUPERSEDED, reason="replaced", by=Actor.REPLACEMENT)
    assert ended(notice, replaced, now=LATER, claim_of=Channel.CHAT) == after(
        notice,
        line(Channel.CHAT, "sending", "cancelled", Actor.WORKER, "replaced"),
        line(Channel.TEXT, "queued", "cancelled", Actor.REPLACEMENT, "replaced"),
        line(None, "delivering", "superseded", Actor.REPLACEMENT, "replaced"),
        deliveries=(
            stopped(SENDING, DeliveryState.CANCELLED, "replaced"),
            stopped(QUEUED_TEXT, DeliveryState.CANCELLED, "replaced"),
        ),
        ended=NoticeStatus.SUPERSEDED,
    )


def test_a_claim_is_released_on_a_notice_that_ended_before() -> None:
    notice = superseded()
    assert ended(notice, WITHDRAWN, now=LATER, claim_of=Channel.CHAT) == after(
        notice,
        line(Channel.CHAT, "sending", "cancelled", Actor.WORKER, "withdrawn"),
        deliveries=(stopped(SENDING, DeliveryState.CANCELLED, "withdrawn"),),
    )


def test_a_claim_found_past_the_deadline_is_released_and_ends_its_notice() -> None:
    notice = a_notice(SENDING)
    by_worker = replace(PAST_DEADLINE, by=Actor.WORKER)
    assert ended(notice, by_worker, now=LATER, claim_of=Channel.CHAT) == after(
        notice,
        line(Channel.CHAT, "sending", "expired", Actor.WORKER, "age"),
        line(None, None, "expired", Actor.WORKER, "age"),
        deliveries=(stopped(SENDING, DeliveryState.EXPIRED, "age"),),
        ended=NoticeStatus.EXPIRED,
    )


def test_the_deadline_ends_what_is_unsent_and_a_notice_that_reached_nobody() -> None:
    notice = a_notice(a_delivery(), QUEUED_TEXT)
    assert ended(notice, PAST_DEADLINE, now=LATER) == after(
        notice,
        line(Channel.CHAT, "queued", "expired", Actor.SWEEP, "age"),
        line(Channel.TEXT, "queued", "expired", Actor.SWEEP, "age"),
        line(None, None, "expired", Actor.SWEEP, "age"),
        deliveries=(
            stopped(a_delivery(), DeliveryState.EXPIRED, "age"),
            stopped(QUEUED_TEXT, DeliveryState.EXPIRED, "age"),
        ),
        ended=NoticeStatus.EXPIRED,
    )


@pytest.mark.parametrize(
    ("beside", "status"),
    [
        (console(), "delivered"),
        (a_delivery(DeliveryState.DELIVERED, Channel.TEXT), "delivered"),
        (a_delivery(DeliveryState.SENT, Channel.TEXT), "delivering"),
        (a_delivery(DeliveryState.SENDING, Channel.TEXT), "delivering"),
        (a_delivery(DeliveryState.BOUNCED, Channel.TEXT), "failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.channel}-{value.state}",
)
def test_the_deadline_leaves_the_status_of_what_may_have_reached_somebody(beside: Delivery, status: str) -> None:
    notice = a_notice(a_delivery(), beside)
    new = ended(notice, PAST_DEADLINE, now=LATER)
    assert new == after(
        notice,
        line(Channel.CHAT, "queued", "expired", Actor.SWEEP, "age"),
        deliveries=(stopped(a_delivery(), DeliveryState.EXPIRED, "age"), beside),
    )
    assert new.status == status


def test_the_deadline_changes_nothing_where_nothing_is_unsent() -> None:
    assert ended(a_notice(console(), SENDING), PAST_DEADLINE, now=LATER) is None


def test_whichever_write_leaves_nothing_to_do_past_the_deadline_ends_the_notice() -> None:
    over = a_delivery(DeliveryState.EXPIRED, Channel.TEXT, reason="deadline")
    notice = a_notice(SENDING, over)
    refused = Rejected(reason="account_inactive", scope=RejectionScope.PERSON)
    assert with_result(notice, Channel.CHAT, refused, now=LATER) == after(
        notice,
        line(Channel.CHAT, "sending", "failed", Actor.WORKER, "account_inactive"),
        line(None, None, "expired", Actor.WORKER, "deadline"),
        deliveries=(
            a_delivery(DeliveryState.FAILED, attempts=1, reason="account_inactive", updated_at=LATER),
            over,
        ),
        ended=NoticeStatus.EXPIRED,
    )


# ---------------------------------------------------------------- attempts and retries


def test_a_dead_letter_costs_a_queued_delivery_an_attempt() -> None:
    notice = a_notice(a_delivery(attempts=1))
    assert charged(notice, Channel.CHAT) == after(notice, deliveries=(a_delivery(attempts=2),))


def test_the_last_dead_letter_exhausts_a_delivery() -> None:
    notice = a_notice(a_delivery(attempts=4))
    assert exhausted(notice, Channel.CHAT, by=Actor.WORKER, now=LATER) == after(
        notice,
        line(Channel.CHAT, "queued", "failed", Actor.WORKER, "attempts_exhausted"),
        deliveries=(a_delivery(DeliveryState.FAILED, attempts=5, reason="attempts_exhausted", updated_at=LATER),),
    )


def test_a_retry_queues_an_exhausted_delivery_with_all_its_attempts_before_it() -> None:
    notice = a_notice(console(), a_delivery(DeliveryState.FAILED))
    assert retried(notice, Channel.CHAT, now=LATER) == after(
        notice,
        line(Channel.CHAT, "failed", "queued", Actor.OPERATOR),
        deliveries=(console(), a_delivery(updated_at=LATER)),
    )


def test_a_retry_pressed_twice_is_refused_the_second_time() -> None:
    once = retried(a_notice(a_delivery(DeliveryState.FAILED)), Channel.CHAT, now=LATER)
    with pytest.raises(ForbiddenMove):
        retried(once, Channel.CHAT, now=LATER)


@pytest.mark.parametrize("state", sorted(set(DeliveryState) - {DeliveryState.FAILED}))
def test_only_a_failed_delivery_can_be_retried(state: DeliveryState) -> None:
    assert not is_retryable(a_delivery(state, reason=DeliveryReason.ATTEMPTS_EXHAUSTED))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("attempts_exhausted", True), ("outcome_unknown", False), ("receipt_timeout", False), ("account_inactive", False)],
)
def test_only_what_ran_out_of_attempts_can_be_retried(reason: str, *, expected: bool) -> None:
    assert is_retryable(a_delivery(DeliveryState.FAILED, reason=reason)) is expected


# ---------------------------------------------------------------- folding

HOUR = timedelta(hours=1)


def joins(notice: Notice, entry: ManifestEntry | None = None, **asked: Any) -> bool:
    return can_join(
        notice, entry or an_entry(), **{"accepted_at": at(minutes=30), "within": HOUR, "is_read": False, **asked}
    )


def test_a_request_joins_a_live_notice_within_the_window() -> None:
    assert joins(a_notice())


@pytest.mark.parametrize(
    ("accepted_at", "expected"),
    [
        (NOON, True),
        (at(minutes=-1), True),
        (at(minutes=60, microseconds=-1), True),
        (at(minutes=60), False),
        (at(minutes=61), False),
    ],
    ids=["equal_times", "accepted_before_it_began", "just_before_the_edge", "at_the_edge", "after_it"],
)
def test_the_window_ends_exactly_when_it_says(accepted_at: datetime, *, expected: bool) -> None:
    assert joins(a_notice(), accepted_at=accepted_at) is expected


def test_a_notice_that_was_read_is_not_added_to() -> None:
    assert not joins(a_notice(), is_read=True)


@pytest.mark.parametrize(
    ("notice", "expected"),
    [
        (a_notice(console(), a_delivery()), True),
        (a_notice(console(), SENDING), True),
        (a_notice(console(), a_delivery(DeliveryState.DELIVERED)), True),
        (a_notice(console(), a_delivery(DeliveryState.BOUNCED)), False),
        (a_notice(console(DeliveryState.UNAVAILABLE), a_delivery(DeliveryState.BOUNCED)), False),
        (a_notice(console(DeliveryState.UNAVAILABLE), a_delivery(DeliveryState.SKIPPED)), False),
        (a_notice(ended=NoticeStatus.SUPERSEDED), False),
        (a_notice(ended=NoticeStatus.EXPIRED), False),
    ],
    ids=["routed", "delivering", "delivered", "partially_delivered", "failed", "no_channel", "superseded", "expired"],
)
def test_only_a_notice_that_lives_and_is_not_spoilt_is_added_to(notice: Notice, *, expected: bool) -> None:
    assert joins(notice) is expected


def test_a_notice_holds_fifty_contributors() -> None:
    fifty = tuple(a_contributor(f"request-{number}") for number in range(50))
    assert joins(a_notice(contributors=fifty[:49]))
    assert not joins(a_notice(contributors=fifty))


def test_other_channels_than_the_notices_begin_the_next_one() -> None:
    assert not joins(a_notice(), an_entry("ana", Channel.CONSOLE, Channel.CHAT, Channel.TEXT))
    assert not joins(a_notice(), an_entry("ana", Channel.CONSOLE))
    assert joins(a_notice(), an_entry("ana", Channel.CHAT, Channel.CONSOLE))


_SKIPPED = planned(Channel.CHAT, DeliveryState.SKIPPED, DeliveryReason.OPTED_OUT)


@pytest.mark.parametrize(
    ("item", "chat", "expected"),
    [
        (a_delivery(DeliveryState.CANCELLED), _SKIPPED, False),
        (a_delivery(DeliveryState.EXPIRED), _SKIPPED, False),
        (a_delivery(DeliveryState.SKIPPED), Channel.CHAT, False),
        (a_delivery(DeliveryState.SKIPPED), _SKIPPED, True),
        (a_delivery(DeliveryState.UNAVAILABLE), Channel.CHAT, False),
        (a_delivery(DeliveryState.UNAVAILABLE), _SKIPPED, True),
        (a_delivery(), _SKIPPED, True),
    ],
    ids=lambda value: value.state if isinstance(value, Delivery | Planned) else None,
)
def test_a_channel_whose_message_would_never_come_begins_the_next_notice(
    item: Delivery, chat: Channel | Planned, *, expected: bool
) -> None:
    assert joins(a_notice(console(), item), an_entry("ana", Channel.CONSOLE, chat)) is expected


@pytest.mark.parametrize(
    ("reason", "expected"), [("attempts_exhausted", False), ("outcome_unknown", True), ("account_inactive", True)]
)
def test_an_exhausted_channel_begins_the_next_notice(reason: str, *, expected: bool) -> None:
    failed = a_delivery(DeliveryState.FAILED, Channel.TEXT, reason=reason)
    entry = an_entry("ana", Channel.CONSOLE, Channel.TEXT, Channel.CHAT)
    assert joins(a_notice(console(), failed, a_delivery()), entry) is expected


def test_a_contributor_adds_its_content_and_deadline_and_no_delivery() -> None:
    notice = a_notice(console(), a_delivery(DeliveryState.DELIVERED))
    request = a_request("inv-43:1", expires_at=at(days=9), published_at=at(seconds=1))
    newer = replace(CONTENT, title="Invoice 43")
    assert joined(notice, request, newer, now=LATER) == after(
        notice,
        line(None, None, "folded", Actor.PROCESSOR, request.request_id),
        contributors=(
            a_contributor(),
            Contributor(request_id=request.request_id, published_at=at(seconds=1), joined_at=LATER),
        ),
        expires_at=at(days=9),
        content=newer,
    )


def test_a_contributor_published_before_the_others_stands_before_them_and_shows_nothing() -> None:
    request = a_request("inv-43:1", published_at=at(hours=-1))
    older = Contributor(request_id=request.request_id, published_at=at(hours=-1), joined_at=LATER)
    new = joined(a_notice(), request, replace(CONTENT, title="Invoice 43"), now=LATER)
    assert (new.contributors, new.content, new.owner) == ((older, a_contributor()), CONTENT, request.request_id)


def test_a_contributor_published_before_one_that_left_is_shown() -> None:
    gone = a_notice(contributors=(a_contributor(left_at=LATER),))
    shows = replace(CONTENT, title="Invoice 43")
    assert joined(gone, a_request("inv-43:1", published_at=at(hours=-1)), shows, now=LATER).content == shows


def test_a_contributor_without_content_of_its_own_or_with_an_earlier_deadline_takes_nothing_away() -> None:
    new = joined(a_notice(), a_request("inv-43:1", expires_at=at(hours=1)), None, now=LATER)
    assert (new.content, new.expires_at) == (CONTENT, DEADLINE)


def test_a_request_that_was_never_accepted_cannot_join() -> None:
    with pytest.raises(ValueError, match="never accepted"):
        joined(a_notice(), a_queued_request(expires_at=None), None, now=LATER)


# ---------------------------------------------------------------- handing over

THREE = tuple(a_contributor(name) for name in ("request-1", "request-2", "request-3"))


def test_a_notice_is_handed_over_when_its_owner_leaves() -> None:
    notice = a_notice(contributors=THREE)
    newer = ConsoleContent(title="Invoice 43", body="…", category="billing")
    new = left(notice, {RequestId("request-1")}, newer, by=Actor.PRODUCER, reason="withdrawn", now=LATER)
    assert new == after(
        notice,
        line(None, None, "handed_over", Actor.PRODUCER, "withdrawn"),
        contributors=(a_contributor("request-1", left_at=LATER), *THREE[1:]),
        content=newer,
    )
    assert (notice.owner, new.owner) == ("request-1", "request-2")
    assert (notice.count, new.count) == (3, 2)


def test_leaving_again_changes_nothing() -> None:
    notice = a_notice(contributors=(a_contributor("request-1", left_at=NOON), a_contributor("request-2")))
    leaving = {RequestId("request-1")}
    assert left(notice, leaving, CONTENT, by=Actor.SWEEP, reason="age", now=LATER) is None
    assert left(notice, leaving, None, by=Actor.SWEEP, reason="age", now=LATER) is None


def test_leaving_again_shows_what_is_newer_now() -> None:
    notice = a_notice(contributors=(a_contributor("request-1", left_at=NOON), a_contributor("request-2")))
    newer = replace(CONTENT, title="Invoice 43")
    assert left(notice, {RequestId("request-1")}, newer, by=Actor.SWEEP, reason="age", now=LATER) == after(
        notice, line(None, None, "handed_over", Actor.SWEEP, "age"), content=newer
    )


def test_leaving_keeps_the_time_of_those_who_left_before() -> None:
    notice = a_notice(contributors=(a_contributor("request-1", left_at=NOON), *THREE[1:]))
    leaving = {RequestId("request-1"), RequestId("request-2")}
    new = left(notice, leaving, None, by=Actor.SWEEP, reason="age", now=LATER)
    assert new is not None
    assert [item.left_at for item in new.contributors] == [NOON, LATER, None]


def test_a_notice_that_all_have_left_belongs_to_the_newest_and_counts_all() -> None:
    gone = tuple(replace(item, left_at=NOON) for item in THREE)
    notice = a_notice(contributors=gone)
    assert (notice.owner, notice.count) == ("request-3", 3)


def test_a_notice_tells_who_contributes_and_who_left() -> None:
    notice = a_notice(contributors=(a_contributor("request-1", left_at=NOON), a_contributor("request-2")))
    assert [notice.has_contributor(RequestId(name)) for name in ("request-1", "request-2", "request-3")] == [
        True,
        True,
        False,
    ]
    assert [notice.has_left(RequestId(name)) for name in ("request-1", "request-2", "request-3")] == [
        True,
        False,
        False,
    ]


# ---------------------------------------------------------------- reading, the timeline


@pytest.mark.parametrize("ended_as", [None, NoticeStatus.SUPERSEDED, NoticeStatus.EXPIRED])
def test_reading_changes_nothing_but_that_it_was_read(ended_as: NoticeStatus | None) -> None:
    notice = a_notice(ended=ended_as)
    assert read(notice, now=LATER) == after(notice, line(None, None, "read", Actor.RECIPIENT), read_at=LATER)


def test_the_timeline_keeps_the_newest_thirty_lines() -> None:
    notice = a_notice(a_delivery())
    for minute in range(1, 41, 2):
        notice = claimed(notice, Channel.CHAT, CLAIM, now=at(minutes=minute))
        notice = put_back(notice, Channel.CHAT, now=at(minutes=minute + 1))
    assert [entry.at for entry in notice.timeline] == [at(minutes=minute) for minute in range(11, 41)]
    assert notice.version == 41


def test_waiting_on_is_one_line_of_the_timeline_for_each_reason() -> None:
    notice = a_notice(a_delivery())
    for minute, reason in enumerate(("throttled", "throttled", "throttled", "circuit_open", "circuit_open"), start=1):
        notice = held(notice, Channel.CHAT, until=at(hours=1), reason=reason, now=at(minutes=minute))
    assert notice.version == 6
    assert notice.timeline[1:] == (
        line(Channel.CHAT, "queued", "deferred", Actor.WORKER, "throttled", at=at(minutes=1)),
        line(Channel.CHAT, "deferred", "deferred", Actor.WORKER, "throttled", at=at(minutes=3)),
        line(Channel.CHAT, "deferred", "deferred", Actor.WORKER, "circuit_open", at=at(minutes=5)),
    )


def test_every_line_tells_when_who_and_why() -> None:
    notice = claimed(a_notice(a_delivery()), Channel.CHAT, CLAIM, now=at(seconds=1))
    waiting = with_result(notice, Channel.CHAT, Unavailable(reason="internal_error"), now=at(seconds=2))
    assert waiting is not None
    withdrawn = ended(waiting, WITHDRAWN, now=at(seconds=3))
    assert withdrawn is not None
    assert withdrawn.timeline == (
        line(None, None, "created", Actor.PROCESSOR, at=NOON),
        line(Channel.CHAT, "queued", "sending", Actor.WORKER, at=at(seconds=1)),
        line(Channel.CHAT, "sending", "deferred", Actor.WORKER, "internal_error", at=at(seconds=2)),
        line(Channel.CHAT, "deferred", "cancelled", Actor.PRODUCER, "withdrawn", at=at(seconds=3)),
        line(None, "routed", "superseded", Actor.PRODUCER, "withdrawn", at=at(seconds=3)),
    )


def test_the_lines_about_the_notice_itself_are_of_a_closed_list() -> None:
    assert set(What) == {"created", "folded", "handed_over", "superseded", "expired", "read"}


def test_a_delivery_is_told_by_its_channel_and_its_notice() -> None:
    notice = a_notice()
    ids = {
        notice.delivery_id(Channel.CHAT),
        notice.delivery_id(Channel.TEXT),
        replace(notice, recipient=Recipient("ben")).delivery_id(Channel.CHAT),
        replace(notice, notice_id=NoticeId("request-2")).delivery_id(Channel.CHAT),
    }
    assert len(ids) == 4


def test_attributes_of_a_newer_version_are_kept_through_every_step() -> None:
    notice = a_notice(a_delivery(), unknown={"added_later": 1})
    taken = claimed(notice, Channel.CHAT, CLAIM, now=LATER)
    sent = with_result(taken, Channel.CHAT, Delivered(provider_id="p"), now=LATER)
    assert sent is not None
    assert read(sent, now=LATER).unknown == {"added_later": 1}


def test_every_channel_with_a_provider_has_a_policy() -> None:
    assert set(POLICIES) == {channel for channel in Channel if channel.is_sent}


# ---------------------------------------------------------------- what is forgotten, and what isn't known any more

FAILING = {"attempts": 2, "failing_since": at(hours=-1)}


@pytest.mark.parametrize(
    "result",
    [
        Throttled(retry_after=timedelta(seconds=30)),
        Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE),
    ],
    ids=["throttled", "refused"],
)
def test_an_answer_about_the_channel_says_nothing_of_how_long_a_delivery_has_been_failing(result: SendResult) -> None:
    notice = a_notice(a_delivery(DeliveryState.SENDING, **FAILING))
    after = with_result(notice, Channel.CHAT, result, now=NOON)
    assert after is not None
    assert (after.deliveries[0].attempts, after.deliveries[0].failing_since) == (2, None)


def test_a_delivery_that_waits_for_its_channel_isnt_failing() -> None:
    notice = a_notice(a_delivery(DeliveryState.DEFERRED, **FAILING))
    after = held(notice, Channel.CHAT, until=at(minutes=5), reason=DeliveryReason.THROTTLED, now=NOON)
    assert (after.deliveries[0].attempts, after.deliveries[0].failing_since) == (2, None)


def test_a_delivery_can_be_held_whose_timeline_was_never_begun() -> None:
    notice = a_notice(a_delivery(), timeline=())
    after = held(notice, Channel.CHAT, until=at(minutes=5), reason=DeliveryReason.THROTTLED, now=NOON)
    assert [line.target for line in after.timeline] == ["deferred"]


def test_a_retry_forgets_the_claim_the_time_and_the_failing_of_before() -> None:
    tried = a_delivery(
        DeliveryState.FAILED, claim_id=CLAIM, claimed_at=NOON, next_at=at(minutes=1), failing_since=at(hours=-1)
    )
    after = retried(a_notice(tried), Channel.CHAT, now=at(hours=1))
    assert after.deliveries == (a_delivery(updated_at=at(hours=1)),)


def test_what_is_released_on_a_notice_whose_end_is_no_longer_told_counts_as_withdrawn() -> None:
    notice = a_notice(a_delivery(DeliveryState.SENDING), ended=NoticeStatus.SUPERSEDED)
    after = put_back(notice, Channel.CHAT, now=NOON)
    assert (after.deliveries[0].state, after.deliveries[0].reason) == (DeliveryState.CANCELLED, "withdrawn")


def test_a_notice_expires_by_whoever_made_the_last_move_and_when() -> None:
    notice = a_notice(a_delivery())
    claim = claimed(notice, Channel.CHAT, CLAIM, now=at(hours=1))
    ending = Ending(status=NoticeStatus.EXPIRED, reason="age", by=Actor.SWEEP)
    after = ended(claim, ending, now=at(hours=2), claim_of=Channel.CHAT)
    assert after is not None
    assert [(line.target, line.at, line.by) for line in after.timeline[-2:]] == [
        ("expired", at(hours=2), Actor.WORKER),
        ("expired", at(hours=2), Actor.WORKER),
    ]


# ---------------------------------------------------------------- ended for good


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        (DeliveryState.QUEUED, None, False),
        (DeliveryState.DEFERRED, "unavailable", False),
        (DeliveryState.SENDING, None, False),
        (DeliveryState.SENT, None, False),
        (DeliveryState.FAILED, DeliveryReason.ATTEMPTS_EXHAUSTED, False),
        (DeliveryState.FAILED, DeliveryReason.OUTCOME_UNKNOWN, True),
        (DeliveryState.FAILED, "user_not_found", True),
        (DeliveryState.DELIVERED, None, True),
        (DeliveryState.BOUNCED, "unreachable", True),
        (DeliveryState.CANCELLED, DeliveryReason.WITHDRAWN, True),
        (DeliveryState.SKIPPED, DeliveryReason.NO_ADDRESS, True),
    ],
)
def test_a_delivery_has_ended_for_good_when_nothing_starts_it_again(
    state: DeliveryState, reason: str | None, *, expected: bool
) -> None:
    assert has_ended_for_good(a_notice(console(), a_delivery(state, reason=reason))) is expected
