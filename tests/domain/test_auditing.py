from dataclasses import replace

import pytest

from notify_core.domain.auditing import righted, state_amounted_to
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import ClaimId, WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import TIMELINE_MAX
from notify_core.domain.notice import Ending, Notice, claimed, created, ended, first_notice, held, put_back, read
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.problem import Problem
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState
from tests.conformance.builders import NOON, a_request, accepted, an_entry, at

WORKSPACE = WorkspaceId("acme")
ENTRY = an_entry("ana", Channel.CONSOLE, Channel.CHAT)
CHAT_ONLY = an_entry("ana", Channel.CHAT)
PROBLEM = Problem(field="data", code="required", message="name it")
R, S = RequestReason, RequestState


def a_row(*, is_accepted: bool, is_closed: bool, reason: RequestReason | None, problems: bool = False) -> Request:
    return replace(
        a_request(WORKSPACE),
        accepted_at=NOON if is_accepted else None,
        closed_at=at(60) if is_closed else None,
        reason=reason,
        problems=(PROBLEM,) if problems else (),
    )


STATES = [
    (a_row(is_accepted=False, is_closed=False, reason=None), S.QUEUED),
    (a_row(is_accepted=False, is_closed=False, reason=None, problems=True), S.QUEUED),
    (a_row(is_accepted=True, is_closed=False, reason=None), S.OPEN),
    (a_row(is_accepted=True, is_closed=True, reason=None), S.SETTLED),
    (a_row(is_accepted=True, is_closed=True, reason=R.WITHDRAWN), S.SUPERSEDED),
    (a_row(is_accepted=True, is_closed=True, reason=R.REPLACED), S.SUPERSEDED),
    (a_row(is_accepted=True, is_closed=True, reason=R.DEFINITION_RETIRED), S.CANCELLED),
    (a_row(is_accepted=False, is_closed=True, reason=R.WITHDRAWN), S.CANCELLED),
    (a_row(is_accepted=False, is_closed=True, reason=R.REPLACED_BEFORE_ACCEPTANCE), S.CANCELLED),
    (a_row(is_accepted=False, is_closed=True, reason=R.DEADLINE), S.EXPIRED),
    (a_row(is_accepted=False, is_closed=True, reason=R.AGE), S.EXPIRED),
    (a_row(is_accepted=False, is_closed=True, reason=None, problems=True), S.INVALID),
    (a_row(is_accepted=False, is_closed=True, reason=None), S.NO_RECIPIENTS),
]


@pytest.mark.parametrize(("request_", "state"), STATES)
def test_the_rest_of_a_request_tells_its_state(request_: Request, state: RequestState) -> None:
    assert state_amounted_to(request_) is state


def test_every_state_and_every_reason_of_a_request_is_told() -> None:
    assert {state for _, state in STATES} == set(RequestState)
    assert {row.reason for row, _ in STATES} == {None, *RequestReason}


OPEN = accepted(a_request(WORKSPACE, version=0), ENTRY)
WITHDRAWN = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)


def a_stored_notice() -> Notice:
    return created(first_notice(OPEN, ENTRY))


def moved_on(notice: Notice, times: int) -> Notice:
    """Claimed and put back so often, which fills its timeline."""
    for number in range(times):
        taken = claimed(notice, Channel.CHAT, ClaimId("c"), now=at(number))
        notice = put_back(taken, Channel.CHAT, now=at(number))
    return notice


def altered(notice: Notice, channel: Channel, state: DeliveryState) -> Notice:
    deliveries = tuple(replace(item, state=state) if item.channel is channel else item for item in notice.deliveries)
    return replace(notice, deliveries=deliveries)


def test_a_notice_that_moved_as_it_tells_is_right() -> None:
    notice = a_stored_notice()
    superseded = ended(notice, WITHDRAWN, now=at(1))
    aged = Ending(status=NoticeStatus.EXPIRED, reason="age", by=Actor.SWEEP)
    expired = ended(notice, aged, now=at(1))
    waiting = held(notice, Channel.CHAT, until=at(9), reason=DeliveryReason.THROTTLED, now=at(1))
    waiting_on = held(waiting, Channel.CHAT, until=at(99), reason=DeliveryReason.THROTTLED, now=at(9))
    for item in (notice, superseded, expired, waiting, waiting_on, read(notice, now=at(1)), moved_on(notice, 40)):
        assert item is not None
        assert righted(item, OPEN, ENTRY) == item


def test_the_last_line_of_a_channel_tells_its_state() -> None:
    notice = claimed(a_stored_notice(), Channel.CHAT, ClaimId("c"), now=at(1))
    for state in set(DeliveryState) - {DeliveryState.SENDING}:
        assert righted(altered(notice, Channel.CHAT, state), OPEN, ENTRY) == notice


def test_the_manifest_tells_the_state_of_a_channel_that_never_moved() -> None:
    notice = a_stored_notice()
    for state in set(DeliveryState) - {DeliveryState.QUEUED}:
        assert righted(altered(notice, Channel.CHAT, state), OPEN, ENTRY) == notice


def test_another_contributors_manifest_tells_nothing() -> None:
    other = accepted(a_request(WORKSPACE, "other", version=0), ENTRY)
    notice = altered(a_stored_notice(), Channel.CHAT, DeliveryState.SKIPPED)
    assert righted(notice, other, ENTRY) == notice


def test_what_moved_before_the_lines_kept_is_believed() -> None:
    full = moved_on(a_stored_notice(), TIMELINE_MAX)
    other = altered(full, Channel.CONSOLE, DeliveryState.SKIPPED)
    assert righted(other, OPEN, ENTRY) == other
    gone = replace(full, ended=NoticeStatus.SUPERSEDED)
    assert righted(gone, OPEN, ENTRY) == gone


def test_the_timeline_tells_an_explicit_status() -> None:
    notice = a_stored_notice()
    superseded = ended(notice, WITHDRAWN, now=at(1))
    assert superseded is not None
    assert righted(replace(superseded, ended=None), OPEN, ENTRY) == superseded
    assert righted(replace(superseded, ended=NoticeStatus.EXPIRED), OPEN, ENTRY) == superseded
    assert righted(replace(notice, ended=NoticeStatus.SUPERSEDED), OPEN, ENTRY) == notice
    assert righted(replace(notice, ended=NoticeStatus.CANCELLED), OPEN, ENTRY) == notice


def test_deliveries_that_expired_tell_that_their_notice_did() -> None:
    aged = Ending(status=NoticeStatus.EXPIRED, reason="age", by=Actor.SWEEP)
    expired = ended(created(first_notice(OPEN, CHAT_ONLY)), aged, now=at(1))
    assert expired is not None
    untold = replace(expired, ended=None, timeline=expired.timeline[:-1])
    assert righted(untold, OPEN, CHAT_ONLY) == replace(untold, ended=NoticeStatus.EXPIRED)
