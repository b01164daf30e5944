"""Transactions over requests, heads and notices: all or none."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest
from pynamodb.exceptions import TransactWriteError

from notify_core.application.ports import Conflict, Head, NoticeKey, PutHead, PutNotice, PutRequest, Write
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, NoticeId, RequestId, WorkspaceId
from notify_core.domain.notice import Notice, claimed
from notify_core.domain.request import Request, closed_by_producer, rescheduled
from notify_core.domain.request_lifecycle import RequestEvent
from tests.conformance.backends import Stores
from tests.conformance.builders import ANA, INVOICE, a_notice, an_open_request, at


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A publication accepted over a preceding one: what stands, and what is to be written together."""

    preceding: Request
    head: Head
    notice: Notice
    new: Request
    superseded: Request
    moved_head: Head
    claimed: Notice

    @property
    def writes(self) -> list[Write]:
        return [
            PutRequest(new=self.new, was=None),
            PutHead(new=self.moved_head, was=self.head),
            PutRequest(new=self.superseded, was=self.preceding),
            PutNotice(new=self.claimed, was=self.notice),
        ]


@pytest.fixture
def replacement(stores: Stores, workspace: WorkspaceId) -> Replacement:
    preceding = an_open_request(workspace, "inv-42:1", replacement_key="inv-42")
    head = Head(
        workspace_id=workspace,
        definition=INVOICE,
        replacement_key="inv-42",
        current=preceding.request_id,
        current_published_at=preceding.published_at,
        version=1,
    )
    notice = a_notice(workspace)
    new = an_open_request(
        workspace, "inv-42:2", replacement_key="inv-42", published_at=at(5), replaces=preceding.request_id
    )
    stores.requests.put(preceding, None)
    stores.requests.put_head(head, None)
    stores.notices.put(notice, None)
    return Replacement(
        preceding=preceding,
        head=head,
        notice=notice,
        new=new,
        superseded=closed_by_producer(preceding, RequestEvent.REPLACE, now=at(6)),
        moved_head=replace(head, current=new.request_id, current_published_at=at(5), version=2),
        claimed=claimed(notice, Channel.CHAT, ClaimId("claim-1"), now=at(6)),
    )


def standing(stores: Stores, made: Replacement) -> tuple[object, ...]:
    workspace = made.new.workspace_id
    return (
        stores.requests.get(workspace, made.new.request_id),
        stores.requests.head(workspace, INVOICE, "inv-42"),
        stores.requests.get(workspace, made.preceding.request_id),
        stores.notices.get(NoticeKey(workspace_id=workspace, recipient=ANA, notice_id=made.notice.notice_id)),
    )


def test_all_writes_of_a_transaction_are_made(stores: Stores, replacement: Replacement) -> None:
    stores.requests.commit(replacement.writes)
    assert standing(stores, replacement) == (
        replacement.new,
        replacement.moved_head,
        replacement.superseded,
        replacement.claimed,
    )


def a_faster_new(stores: Stores, made: Replacement) -> tuple[object, ...]:
    tombstone = replace(made.new, manifest=(), data=None)
    stores.requests.put(tombstone, None)
    return tombstone, made.head, made.preceding, made.notice


def a_faster_head(stores: Stores, made: Replacement) -> tuple[object, ...]:
    withdrawn = replace(made.head, withdrawn_at=at(5), version=2)
    stores.requests.put_head(withdrawn, made.head)
    return None, withdrawn, made.preceding, made.notice


def a_faster_preceding(stores: Stores, made: Replacement) -> tuple[object, ...]:
    later = rescheduled(made.preceding, at(99))
    stores.requests.put(later, made.preceding)
    return None, made.head, later, made.notice


def a_faster_notice(stores: Stores, made: Replacement) -> tuple[object, ...]:
    other = claimed(made.notice, Channel.CHAT, ClaimId("claim-2"), now=at(5))
    stores.notices.put(other, made.notice)
    return None, made.head, made.preceding, other


@pytest.mark.parametrize("faster", [a_faster_new, a_faster_head, a_faster_preceding, a_faster_notice])
def test_no_write_of_a_transaction_is_made_when_one_conflicts(
    stores: Stores, replacement: Replacement, faster: Callable[[Stores, Replacement], tuple[object, ...]]
) -> None:
    expected = faster(stores, replacement)
    with pytest.raises(Conflict):
        stores.requests.commit(replacement.writes)
    assert standing(stores, replacement) == expected


def test_a_transaction_that_conflicted_can_be_made_once_it_no_longer_does(
    stores: Stores, replacement: Replacement, workspace: WorkspaceId
) -> None:
    missing = an_open_request(workspace, "missing")
    later = PutRequest(new=rescheduled(missing, at(99)), was=missing)
    with pytest.raises(Conflict):
        stores.requests.commit([*replacement.writes, later])
    stores.requests.put(missing, None)
    stores.requests.commit([*replacement.writes, later])
    assert standing(stores, replacement)[0] == replacement.new
    assert stores.requests.get(workspace, missing.request_id) == later.new


def test_a_transaction_repeated_after_its_answer_was_lost_is_not_made_twice(
    stores: Stores, replacement: Replacement
) -> None:
    """DynamoDB remembers its token for ten minutes and says yes; whoever doesn't, says Conflict."""
    stores.requests.commit(replacement.writes)
    later = rescheduled(replacement.new, at(99))
    stores.requests.put(later, replacement.new)
    with suppress(Conflict):
        stores.requests.commit(replacement.writes)
    assert standing(stores, replacement) == (
        later,
        replacement.moved_head,
        replacement.superseded,
        replacement.claimed,
    )


def test_another_transaction_over_the_same_rows_is_another_one(stores: Stores, replacement: Replacement) -> None:
    """Whatever a store remembers of the first must not make it believe the second."""
    stores.requests.commit(replacement.writes)
    other = replace(replacement.new, data={"number": "43"})
    with pytest.raises(Conflict):
        stores.requests.commit([PutRequest(new=other, was=None), *replacement.writes[1:]])
    again = replace(replacement.moved_head, withdrawn_at=at(9), version=3)
    stores.requests.commit([PutHead(new=again, was=replacement.moved_head)])
    assert standing(stores, replacement)[:2] == (replacement.new, again)


def test_a_transaction_that_names_a_row_twice_is_a_mistake_and_makes_nothing(
    stores: Stores, replacement: Replacement
) -> None:
    twice = [*replacement.writes, PutRequest(new=rescheduled(replacement.preceding, at(9)), was=replacement.preceding)]
    with pytest.raises((ValueError, TransactWriteError)):
        stores.requests.commit(twice)
    assert stores.requests.get(replacement.new.workspace_id, replacement.new.request_id) is None


def test_a_transaction_creates_a_head_only_where_there_is_none(stores: Stores, workspace: WorkspaceId) -> None:
    first = Head(workspace_id=workspace, definition=INVOICE, replacement_key="k", version=1)
    absent = replace(first, version=0)
    stores.requests.commit([PutHead(new=replace(first, current=RequestId("a")), was=absent)])
    with pytest.raises(Conflict):
        stores.requests.commit([PutHead(new=replace(first, current=RequestId("b")), was=absent)])
    assert stores.requests.head(workspace, INVOICE, "k") == replace(first, current=RequestId("a"))


def test_a_transaction_shows_in_the_indexes_of_all_that_it_wrote(
    stores: Stores, replacement: Replacement, workspace: WorkspaceId
) -> None:
    stores.requests.commit(replacement.writes)
    due = stores.requests.due(workspace, 0, until=at(3600), limit=9).items
    assert [(row.request_id, row.due_at) for row in due] == [
        (replacement.superseded.request_id, at(66)),
        (replacement.new.request_id, at(90)),
    ]
    assert replacement.claimed.notice_id == NoticeId(replacement.preceding.request_id)
