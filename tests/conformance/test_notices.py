from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from notify_core.adapters.dynamodb.text import index_key
from notify_core.application.ports import Conflict, NoticeKey, ReadMark, StoreUnavailable
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import (
    HQ,
    ClaimId,
    NoticeId,
    Recipient,
    RequestId,
    WorkspaceId,
    fold_id,
    generation_notice_id,
)
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONTRIBUTORS_MAX, TIMELINE_MAX
from notify_core.domain.notice import (
    ConsoleContent,
    Contributor,
    Delivery,
    Ending,
    Notice,
    TimelineEntry,
    claimed,
    ended,
    exhausted,
    held,
    outcome_unknown,
    read,
    retried,
    with_result,
)
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.send_result import Accepted, Delivered, Throttled
from tests.conformance.backends import Dynamo, Stores
from tests.conformance.builders import ANA, INVOICE, NOON, a_notice, at, defaults_of, first_value

CLAIM, OTHER_CLAIM = ClaimId("claim-1"), ClaimId("claim-2")
WITHDRAWN = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)


def key_of(notice: Notice) -> NoticeKey:
    return NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)


def failing(notice: Notice, seconds: float) -> Notice:
    """The notice's next version but one, its chat delivery failed at a moment."""
    taken = claimed(notice, Channel.CHAT, CLAIM, now=at(seconds))
    return outcome_unknown(taken, Channel.CHAT, now=at(seconds))


def a_full_notice(workspace: WorkspaceId) -> Notice:
    """A notice with every field set, as no single use case would."""
    return Notice(
        workspace_id=workspace,
        recipient=ANA,
        notice_id=NoticeId("n-1"),
        definition=INVOICE,
        created_at=NOON,
        expires_at=at(3600),
        version=9,
        shard=4,
        ended=NoticeStatus.EXPIRED,
        content=ConsoleContent(title="É🎈 \ud800", body="", category="Ads & more"),
        read_at=at(7.000_001),
        contributors=tuple(
            Contributor(
                request_id=RequestId(f"r-{number}"),
                published_at=at(number - 0.5),
                joined_at=at(number),
                left_at=at(60) if number % 2 else None,
            )
            for number in range(CONTRIBUTORS_MAX)
        ),
        deliveries=(
            Delivery(channel=Channel.CONSOLE, state=DeliveryState.DELIVERED, updated_at=NOON),
            Delivery(
                channel=Channel.CHAT,
                state=DeliveryState.FAILED,
                reason="a provider's “code”",
                attempts=5,
                failing_since=at(0.5),
                claim_id=CLAIM,
                claimed_at=at(1),
                address="U012ABCDEFG",
                next_at=at(2),
                provider_id="1796040000.000100",
                provider_channel="D012ABCDEFG",
                updated_at=at(3),
            ),
            Delivery(channel=Channel.TEXT, state=DeliveryState.SENT, provider_id="", updated_at=at(-1)),
        ),
        timeline=tuple(
            TimelineEntry(
                at=at(number - 1),
                channel=Channel.TEXT if number % 2 else None,
                source="queued" if number % 3 else None,
                target="sending" if number % 2 else "folded",
                by=Actor.WORKER,
                reason="r-12" if number % 2 else None,
            )
            for number in range(TIMELINE_MAX)
        ),
    )


def test_notice_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    full = a_full_notice(workspace)
    bare = replace(
        a_full_notice(workspace),
        notice_id=NoticeId("n-2"),
        ended=None,
        content=None,
        read_at=None,
        deliveries=(),
        contributors=(),
        timeline=(),
        version=1,
        shard=0,
    )
    hq = replace(a_notice(workspace, Channel.SLACK_SYSTEM), recipient=HQ)
    for notice in (full, bare, hq):
        stores.notices.put(notice, None)
        assert stores.notices.get(key_of(notice)) == notice
        assert stores.notices.get_many([key_of(notice)]) == {key_of(notice): notice}


def test_the_full_notice_leaves_nothing_at_its_default(workspace: WorkspaceId) -> None:
    """A field added to the domain is in no row until the full notice has it."""
    full = a_full_notice(workspace)
    delivery, contributor = full.deliveries[1], full.contributors[-1]
    assert defaults_of(full) == {"unknown"}
    assert [defaults_of(part) for part in (delivery, contributor, full.timeline[-1])] == [set(), set(), set()]


def test_a_notice_is_of_its_workspace_and_recipient(stores: Stores, workspace: WorkspaceId) -> None:
    notice = a_notice(workspace)
    stores.notices.put(notice, None)
    assert stores.notices.get(replace(key_of(notice), workspace_id=WorkspaceId(f"{workspace}x"))) is None
    assert stores.notices.get(replace(key_of(notice), recipient=Recipient("bob"))) is None
    assert stores.notices.get(replace(key_of(notice), notice_id=NoticeId("other"))) is None


def test_those_of_many_notices_that_are_stored_are_found(stores: Stores, workspace: WorkspaceId) -> None:
    notices = [a_notice(workspace, recipient=f"p{number}") for number in range(102)]
    for notice in notices:
        stores.notices.put(notice, None)
    asked = [
        NoticeKey(workspace_id=workspace, recipient=ANA, notice_id=NoticeId("none")),
        *(key_of(notice) for notice in notices),
        key_of(notices[0]),
    ]
    expected = {key_of(notice): notice for notice in notices}
    assert stores.notices.get_many(asked) == expected
    assert stores.notices.get_many(asked, consistent=False) == expected
    assert stores.notices.get_many([]) == {}


def test_second_claim_of_a_delivery_loses(stores: Stores, workspace: WorkspaceId) -> None:
    """Whether the notice was stored before, or the claim creates it."""
    stored = a_notice(workspace, Channel.CONSOLE, Channel.CHAT)
    stores.notices.put(stored, None)
    for was in (stored, first_value(workspace, Channel.CHAT, recipient="bob")):
        won = claimed(was, Channel.CHAT, CLAIM, now=at(1))
        stores.notices.put(won, was)
        with pytest.raises(Conflict):
            stores.notices.put(claimed(was, Channel.CHAT, OTHER_CLAIM, now=at(1)), was)
        assert stores.notices.get(key_of(was)) == won


def test_a_finish_loses_to_whoever_moved_the_notice_meanwhile(stores: Stores, workspace: WorkspaceId) -> None:
    was = first_value(workspace, Channel.CHAT)
    mine = claimed(was, Channel.CHAT, CLAIM, now=at(1))
    stores.notices.put(mine, was)
    superseded = ended(mine, WITHDRAWN, now=at(2))
    assert superseded is not None
    stores.notices.put(superseded, mine)
    finished = with_result(mine, Channel.CHAT, Delivered(provider_id="1"), now=at(3))
    assert finished is not None
    with pytest.raises(Conflict):
        stores.notices.put(finished, mine)
    assert stores.notices.get(key_of(was)) == superseded


def test_a_delivery_is_not_moved_from_a_state_that_the_lifecycle_does_not_lead_from(
    stores: Stores, workspace: WorkspaceId
) -> None:
    first = a_notice(workspace, Channel.CHAT, Channel.TEXT)
    sending = claimed(first, Channel.CHAT, CLAIM, now=at(1))
    delivered = with_result(sending, Channel.CHAT, Delivered(provider_id="1"), now=at(2))
    assert delivered is not None
    stores.notices.put(first, None)
    stores.notices.put(sending, first)
    stores.notices.put(delivered, sending)

    # The right version, with another idea of what it says.
    mistaken = replace(delivered, deliveries=first.deliveries)
    with pytest.raises(Conflict):
        stores.notices.put(claimed(mistaken, Channel.CHAT, OTHER_CLAIM, now=at(3)), mistaken)
    assert stores.notices.get(key_of(first)) == delivered
    # Of two deliveries only the one that moves is guarded by its state.
    stores.notices.put(claimed(mistaken, Channel.TEXT, OTHER_CLAIM, now=at(3)), mistaken)


def test_a_delivery_that_waits_again_is_written_over_itself(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_notice(workspace)
    waiting = held(first, Channel.CHAT, until=at(30), reason="throttled", now=at(1))
    again = held(waiting, Channel.CHAT, until=at(60), reason="throttled", now=at(31))
    stores.notices.put(first, None)
    stores.notices.put(waiting, first)
    stores.notices.put(again, waiting)
    assert stores.notices.get(key_of(first)) == again


# ---------------------------------------------------------------- generations


def test_generations_come_newest_first(stores: Stores, workspace: WorkspaceId) -> None:
    fold, other = fold_id(INVOICE, "order 7"), fold_id(INVOICE, "order 8")
    generations = [
        a_notice(workspace, Channel.CONSOLE, notice_id=generation_notice_id(fold, number), at=at(-number))
        for number in range(1, 12)
    ]
    aside = [
        a_notice(workspace, Channel.CONSOLE, notice_id=generation_notice_id(other, 99)),
        a_notice(workspace, Channel.CONSOLE, notice_id=NoticeId(fold)),
        a_notice(workspace, Channel.CONSOLE, notice_id=generation_notice_id(fold, 98), recipient="bob"),
        a_notice(WorkspaceId(f"{workspace}x"), Channel.CONSOLE, notice_id=generation_notice_id(fold, 97)),
    ]
    for notice in (*generations, *aside):
        stores.notices.put(notice, None)
    assert list(stores.notices.generations(workspace, ANA, fold)) == generations[::-1]
    assert next(iter(stores.notices.generations(workspace, ANA, fold))) == generations[-1]
    assert list(stores.notices.generations(workspace, ANA, fold_id(INVOICE, "order 9"))) == []


# ---------------------------------------------------------------- read marks and the unread total


def test_read_mark_only_moves_forward(stores: Stores, workspace: WorkspaceId) -> None:
    first = ReadMark(read_up_to=at(10.000_001), marked_at=at(11))
    assert stores.notices.read_mark(workspace, ANA) is None
    stores.notices.mark_read(workspace, ANA, first)
    assert stores.notices.read_mark(workspace, ANA) == first
    stores.notices.mark_read(workspace, ANA, ReadMark(read_up_to=at(10), marked_at=at(12)))
    stores.notices.mark_read(workspace, ANA, ReadMark(read_up_to=at(10.000_001), marked_at=at(13)))
    assert stores.notices.read_mark(workspace, ANA) == first
    later = ReadMark(read_up_to=at(10.000_002), marked_at=at(14))
    stores.notices.mark_read(workspace, ANA, later)
    assert stores.notices.read_mark(workspace, ANA) == later
    assert stores.notices.read_mark(workspace, Recipient("bob")) is None
    assert stores.notices.read_mark(WorkspaceId(f"{workspace}x"), ANA) is None


def test_unread_total_counts_what_is_later_than_a_moment(stores: Stores, workspace: WorkspaceId) -> None:
    for number in range(6):
        stores.notices.put(a_notice(workspace, Channel.CONSOLE, request_key=f"k{number}", at=at(number // 2)), None)
    stores.notices.put(a_notice(workspace, Channel.CHAT, request_key="chat"), None)
    stores.notices.put(a_notice(workspace, Channel.CONSOLE, recipient="bob"), None)

    def count(after: float | None, limit: int = 10) -> int:
        moment = None if after is None else at(after)
        return stores.notices.unread_count(workspace, ANA, after=moment, limit=limit)

    assert [count(None), count(-1), count(0), count(0.5), count(1), count(2)] == [6, 6, 4, 4, 2, 0]
    assert [count(None, limit) for limit in (1, 5, 6, 7)] == [1, 5, 6, 6]
    assert stores.notices.unread_count(workspace, Recipient("eve"), after=None, limit=9) == 0


def test_unread_total_is_right_at_once_after_every_write(stores: Stores, workspace: WorkspaceId) -> None:
    notices = [a_notice(workspace, Channel.CONSOLE, request_key=f"k{number}") for number in range(3)]
    totals = []

    def write(new: Notice | None, was: Notice | None) -> None:
        assert new is not None
        stores.notices.put(new, was)
        totals.append(stores.notices.unread_count(workspace, ANA, after=None, limit=10))

    for notice in notices:
        write(notice, None)
    write(read(notices[0], now=at(1)), notices[0])
    write(ended(notices[1], WITHDRAWN, now=at(2)), notices[1])
    write(ended(read(notices[0], now=at(1)), WITHDRAWN, now=at(3)), read(notices[0], now=at(1)))
    write(replace(notices[2], ended=NoticeStatus.EXPIRED, version=2), notices[2])
    assert totals == [1, 2, 3, 2, 1, 1, 0]


# ---------------------------------------------------------------- inbox


def test_inbox_shows_console_notices_newest_first_read_ended_or_not(stores: Stores, workspace: WorkspaceId) -> None:
    notices = [
        a_notice(workspace, Channel.CONSOLE, Channel.CHAT, request_key=f"k{number}", at=at(number // 3))
        for number in range(8)
    ]
    shown = list(notices)
    shown[1] = read(notices[1], now=at(20))
    shown[4] = ended(notices[4], WITHDRAWN, now=at(21)) or notices[4]
    shown[6] = claimed(notices[6], Channel.CHAT, CLAIM, now=at(22))
    for first, last in zip(notices, shown, strict=True):
        stores.notices.put(first, None)
        if last != first:
            stores.notices.put(last, first)
    stores.notices.put(a_notice(workspace, Channel.CHAT, request_key="chat", at=at(1)), None)
    stores.notices.put(a_notice(workspace, Channel.CONSOLE, recipient="bob", at=at(1)), None)
    stores.notices.mark_read(workspace, ANA, ReadMark(read_up_to=at(1), marked_at=at(30)))

    expected = sorted(shown, key=lambda notice: (notice.created_at, notice.notice_id), reverse=True)
    assert stores.notices.inbox(workspace, ANA, before=None, limit=100) == expected
    assert stores.notices.inbox(workspace, Recipient("eve"), before=None, limit=100) == []

    paged: list[Notice] = []
    before = None
    while True:
        page = stores.notices.inbox(workspace, ANA, before=before, limit=3)
        paged += page
        if len(page) < 3:
            break
        before = (page[-1].created_at, page[-1].notice_id)
    assert paged == expected


@pytest.mark.parametrize("is_read", [False, True])
def test_every_page_of_an_inbox_is_full_but_the_last(stores: Stores, workspace: WorkspaceId, is_read: bool) -> None:
    notices = [a_notice(workspace, Channel.CONSOLE, request_key=f"k{number}", at=at(-number)) for number in range(7)]
    if is_read:
        notices = [replace(read(notice, now=at(9)), version=1) for notice in notices]
    for notice in notices:
        stores.notices.put(notice, None)
    place = None
    pages = []
    for _ in range(3):
        pages.append(stores.notices.inbox(workspace, ANA, before=place, limit=3))
        place = (pages[-1][-1].created_at, pages[-1][-1].notice_id)
    assert pages == [notices[:3], notices[3:6], notices[6:]]


def test_inbox_begins_strictly_before_any_place(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_notice(workspace, Channel.CONSOLE, at=at(5))
    stores.notices.put(first, None)

    def before(seconds: float, notice: str) -> list[Notice]:
        place = (at(seconds), NoticeId(notice))
        return list(stores.notices.inbox(workspace, ANA, before=place, limit=5))

    assert before(5, first.notice_id) == []
    assert before(5, "0") == []
    assert before(4, "zz") == []
    assert before(5, first.notice_id + "0") == [first]
    assert before(5.000_001, "0") == [first]


# ---------------------------------------------------------------- attention


def test_attention_lists_failed_notices_the_latest_first(stores: Stores, workspace: WorkspaceId) -> None:
    places = [("ana", 3), ("ana-b", 3), ("ana.b", 3), ("bob", 1), ("-", 2)]
    failed = {}
    for recipient, seconds in places:
        first = a_notice(workspace, Channel.CHAT, recipient=recipient)
        failed[recipient] = replace(failing(first, seconds), version=1)
        stores.notices.put(failed[recipient], None)
    stores.notices.put(a_notice(workspace, Channel.CHAT, recipient="well"), None)
    stores.notices.put(replace(failed["bob"], recipient=Recipient("elsewhere"), shard=1), None)

    expected = [failed[name] for name in ("ana.b", "ana-b", "ana", "-", "bob")]
    assert stores.notices.attention(workspace, 0, before=None, limit=10) == expected
    assert stores.notices.attention(workspace, 0, before=None, limit=2) == expected[:2]
    place = (at(3), key_of(expected[1]))
    assert stores.notices.attention(workspace, 0, before=place, limit=2) == expected[2:4]
    assert stores.notices.attention(workspace, 0, before=(at(1), key_of(failed["bob"])), limit=2) == []
    assert [item.recipient for item in stores.notices.attention(workspace, 1, before=None, limit=2)] == ["elsewhere"]


def test_a_notice_leaves_the_attention_list_when_it_is_retried_or_ends(stores: Stores, workspace: WorkspaceId) -> None:
    listed = []

    def write(new: Notice | None, was: Notice | None) -> Notice:
        assert new is not None
        stores.notices.put(new, was)
        listed.append(len(stores.notices.attention(workspace, 0, before=None, limit=10)))
        return new

    first = write(a_notice(workspace, Channel.CHAT, Channel.TEXT), None)
    failed = write(exhausted(first, Channel.CHAT, by=Actor.WORKER, now=at(1)), first)
    assert failed.delivery(Channel.CHAT) == Delivery(
        channel=Channel.CHAT,
        state=DeliveryState.FAILED,
        reason=DeliveryReason.ATTEMPTS_EXHAUSTED,
        attempts=1,
        updated_at=at(1),
    )
    again = write(retried(failed, Channel.CHAT, now=at(2)), failed)
    failed_again = write(exhausted(again, Channel.CHAT, by=Actor.WORKER, now=at(3)), again)
    write(ended(failed_again, WITHDRAWN, now=at(4)), failed_again)
    assert listed == [0, 1, 0, 1, 0]


def test_attention_leaves_out_what_only_its_index_still_shows(dynamo: Dynamo, workspace: WorkspaceId) -> None:
    """Rows that say one thing to the index and another themselves, as a lagging index would."""
    stores = dynamo.stores()
    for number in range(5):
        well = a_notice(workspace, Channel.CHAT, recipient=f"well{number}")
        stores.notices.put(well, None)
        raw = dynamo.raw_notice(workspace, well.recipient, well.notice_id)
        listed = {"attention_shard": {"S": f"{workspace}#0"}, "failed_at": {"S": index_key(at(number), "x")}}
        dynamo.client.put_item(TableName=dynamo.tables.notices, Item={**raw, **listed})
    failed = [
        replace(failing(a_notice(workspace, Channel.CHAT, recipient=name), seconds), version=1)
        for name, seconds in (("ana", 2), ("bob", 0))
    ]
    for notice in failed:
        stores.notices.put(notice, None)
    assert stores.notices.attention(workspace, 0, before=None, limit=2) == failed
    assert stores.notices.attention(workspace, 0, before=None, limit=9) == failed


# ---------------------------------------------------------------- the row itself


def test_a_notice_may_be_deleted_ninety_days_after_its_deadline(dynamo: Dynamo, workspace: WorkspaceId) -> None:
    notice = a_notice(workspace, expires_at=NOON + timedelta(days=1))
    dynamo.stores().notices.put(notice, None)
    raw = dynamo.raw_notice(workspace, ANA, notice.notice_id)
    # 2026-11-30T12:00:00Z is 1_796_040_000.
    assert raw["delete_at"] == {"N": str(1_796_040_000 + 86_400 + 7_776_000)}


def test_attributes_of_a_newer_version_are_kept(dynamo: Dynamo, workspace: WorkspaceId) -> None:
    stores = dynamo.stores()
    first = a_notice(workspace)
    stores.notices.put(first, None)
    newer = {"colour": {"S": ""}, "ranks": {"M": {"a": {"BOOL": False}}}}
    raw = {**dynamo.raw_notice(workspace, ANA, first.notice_id), **newer}
    dynamo.client.put_item(TableName=dynamo.tables.notices, Item=raw)

    found = stores.notices.get(key_of(first))
    assert found == replace(first, unknown=newer)
    assert found is not None
    taken = claimed(found, Channel.CHAT, CLAIM, now=at(1))
    stores.notices.put(taken, found)
    assert stores.notices.get_many([key_of(first)]) == {key_of(first): taken}
    raw = dynamo.raw_notice(workspace, ANA, first.notice_id)
    assert {name: raw[name] for name in newer} == newer


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("chat", "dancing"),
        ("ended", "burnt"),
        ("deliveries", '{"Z":{"u":0}}'),
        ("timeline", '[[0,"Z",0,"q","w"]]'),
        ("timeline", '[[0,0,0,"q","?"]]'),
    ],
)
def test_a_value_that_only_a_newer_version_knows_is_left_for_it(
    dynamo: Dynamo, workspace: WorkspaceId, attribute: str, value: str
) -> None:
    stores = dynamo.stores()
    first = a_notice(workspace)
    stores.notices.put(first, None)
    raw = {**dynamo.raw_notice(workspace, ANA, first.notice_id), attribute: {"S": value}}
    dynamo.client.put_item(TableName=dynamo.tables.notices, Item=raw)
    with pytest.raises(StoreUnavailable, match="this version knows"):
        stores.notices.get(key_of(first))
    with pytest.raises(StoreUnavailable, match="this version knows"):
        stores.notices.get_many([key_of(first)])
    assert dynamo.raw_notice(workspace, ANA, first.notice_id) == raw


def test_every_version_of_a_life_over_two_channels_comes_back(stores: Stores, workspace: WorkspaceId) -> None:
    results = {
        2: Throttled(retry_after=timedelta(seconds=9)),
        4: Accepted(provider_id="m-1"),
        12: Delivered(provider_id="1.2", provider_channel="D1"),
    }
    versions = [first_value(workspace, Channel.CHAT, Channel.TEXT)]
    for seconds, channel in ((1, Channel.CHAT), (3, Channel.TEXT), (11, Channel.CHAT)):
        taken = claimed(versions[-1], channel, ClaimId(f"claim-{seconds}"), now=at(seconds))
        recorded = with_result(taken, channel, results[seconds + 1], now=at(seconds + 1))
        assert recorded is not None
        versions += [taken, recorded]
    for was, new in pairwise(versions):
        stores.notices.put(new, was)
        assert stores.notices.get(key_of(new)) == new
