"""Sixteen threads at one row: on memory and on the emulator, moto being no judge of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TypeVar

import pytest

from notify_core.application.ports import Conflict, Head, NoticeKey, PutHead, PutRequest, ReadMark
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, WorkspaceId
from notify_core.domain.notice import Notice, claimed, held
from notify_core.domain.request import Request, rescheduled
from tests.conformance.backends import Dynamo, Stores, memory_stores
from tests.conformance.builders import ANA, INVOICE, a_notice, an_open_request, at, first_value

T = TypeVar("T")
WRITERS = 16
ROUNDS = 5


@pytest.fixture(params=["memory", "emulator"])
def stores(request: pytest.FixtureRequest) -> Stores:
    if request.param == "memory":
        return memory_stores()
    emulated: Dynamo = request.getfixturevalue("emulated")
    return emulated.stores()


def winners(write: Callable[[int], T]) -> list[T]:
    """What the writers that didn't conflict wrote, all having begun at once."""
    barrier = Barrier(WRITERS)

    def attempt(number: int) -> T | None:
        barrier.wait()
        try:
            return write(number)
        except Conflict:
            return None

    with ThreadPoolExecutor(WRITERS) as pool:
        return [written for written in pool.map(attempt, range(WRITERS)) if written is not None]


def test_one_writer_wins_each_version_of_a_request(stores: Stores, workspace: WorkspaceId) -> None:
    current: Request | None = None
    first = an_open_request(workspace)
    for _ in range(ROUNDS):

        def write(number: int, was: Request | None = current) -> Request:
            new = replace(first, due_at=at(number)) if was is None else rescheduled(was, at(number))
            stores.requests.put(new, was)
            return new

        (current,) = winners(write)
        assert stores.requests.get(workspace, first.request_id) == current
    assert current is not None
    assert current.version == ROUNDS


def test_one_claim_wins_a_delivery_that_nobody_stored_before(stores: Stores, workspace: WorkspaceId) -> None:
    first = first_value(workspace, Channel.CHAT)

    def claim(number: int) -> Notice:
        new = claimed(first, Channel.CHAT, ClaimId(f"claim-{number}"), now=at(1))
        stores.notices.put(new, first)
        return new

    (won,) = winners(claim)
    key = NoticeKey(workspace_id=workspace, recipient=ANA, notice_id=first.notice_id)
    assert stores.notices.get(key) == won


def test_every_writer_gets_through_when_it_reads_again(stores: Stores, workspace: WorkspaceId) -> None:
    notice = a_notice(workspace, Channel.CHAT)
    key = NoticeKey(workspace_id=workspace, recipient=ANA, notice_id=notice.notice_id)
    stores.notices.put(notice, None)

    def insist(number: int) -> int:
        while True:
            was = stores.notices.get(key)
            assert was is not None
            try:
                stores.notices.put(held(was, Channel.CHAT, until=at(9), reason=str(number), now=at(1)), was)
            except Conflict:
                continue
            return number

    assert winners(insist) == list(range(WRITERS))
    last = stores.notices.get(key)
    assert last is not None
    assert last.version == 1 + WRITERS
    assert sorted(int(line.reason or -1) for line in last.timeline[1:]) == list(range(WRITERS))


def test_one_transaction_wins_a_head(stores: Stores, workspace: WorkspaceId) -> None:
    first = Head(workspace_id=workspace, definition=INVOICE, replacement_key="k", version=1)

    def replace_it(number: int) -> tuple[Head, Request]:
        request = an_open_request(workspace, f"k{number}")
        head = replace(first, current=request.request_id)
        stores.requests.commit([PutRequest(new=request, was=None), PutHead(new=head, was=None)])
        return head, request

    ((head, request),) = winners(replace_it)
    assert stores.requests.head(workspace, INVOICE, "k") == head
    asked = [an_open_request(workspace, f"k{number}").request_id for number in range(WRITERS)]
    assert stores.requests.get_many(workspace, asked) == {request.request_id: request}


def test_the_furthest_read_mark_stays(stores: Stores, workspace: WorkspaceId) -> None:
    def mark(number: int) -> int:
        stores.notices.mark_read(workspace, ANA, ReadMark(read_up_to=at(number), marked_at=at(number)))
        return number

    assert winners(mark) == list(range(WRITERS))
    assert stores.notices.read_mark(workspace, ANA) == ReadMark(read_up_to=at(WRITERS - 1), marked_at=at(WRITERS - 1))
