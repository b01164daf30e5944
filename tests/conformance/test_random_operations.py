"""Memory and moto give the same answers to any operations in any order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from notify_core.adapters.memory import MemoryDatabase
from notify_core.application.ports import (
    Conflict,
    Head,
    NoticeKey,
    PutHead,
    PutNotice,
    PutRequest,
    ReadMark,
    Write,
)
from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState
from notify_core.domain.delivery_lifecycle import UNSENT, DeliveryState
from notify_core.domain.identifiers import (
    ClaimId,
    DefinitionKey,
    NoticeId,
    PersonId,
    Recipient,
    fold_id,
    generation_notice_id,
)
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import Ending, Notice, claimed, ended, exhausted, held, is_retryable, read, retried
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import Request, closed_by_producer, rescheduled, retired, settled
from notify_core.domain.request_lifecycle import RequestEvent, RequestState
from tests.conformance.backends import Dynamo, Stores, fresh_workspace, memory_stores, moto
from tests.conformance.builders import (
    INVOICE,
    a_definition,
    a_notice,
    a_person,
    a_request,
    a_workspace,
    accepted,
    at,
)

FOLD = fold_id(INVOICE, "order 7")
seconds = st.integers(0, 5)
limits = st.integers(1, 4)
names = st.sampled_from(["ana", "bob", "-"])
request_keys = st.sampled_from(["k0", "k1", "k2", "k3"])
replacement_keys = st.sampled_from(["r0", "r1"])
groups = st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(tuple)
notice_ids = st.sampled_from(["k0", "k1", *(generation_notice_id(FOLD, number) for number in (1, 2, 3))])
ENDING = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)


def answer(stores: Stores, ask: Callable[[Stores], Any]) -> object:
    """What an operation gives: its value, or that it conflicted."""
    try:
        found = ask(stores)
    except Conflict:
        return Conflict
    return found


class Comparison(RuleBasedStateMachine):
    """One workspace in both, every answer compared, whole; stale beliefs and double writes included."""

    dynamo: Dynamo

    def __init__(self) -> None:
        super().__init__()
        self.workspace = fresh_workspace()
        self.memory = memory_stores(MemoryDatabase())
        self.other = self.dynamo.stores()
        self.requests: list[Request] = []
        self.heads: list[Head] = []
        self.notices: list[Notice] = []

    def both(self, ask: Callable[[Stores], Any]) -> Any:
        expected = answer(self.memory, ask)
        assert answer(self.other, ask) == expected
        return expected

    # ------------------------------------------------------------ writes

    def next_request(self, data: st.DataObject) -> PutRequest:
        """A new publication, or the next version of any value that was ever written."""
        was = data.draw(st.none() | st.sampled_from(self.requests)) if self.requests else None
        moment = at(data.draw(seconds))
        if was is None:
            new = a_request(
                self.workspace,
                data.draw(request_keys),
                recorded_at=moment,
                due_at=moment,
                shard=data.draw(st.integers(0, 1)),
            )
        else:
            new = data.draw(st.sampled_from(list(_request_moves(was, moment))))
        return PutRequest(new=new, was=was)

    def next_head(self, data: st.DataObject) -> PutHead:
        was = data.draw(st.none() | st.sampled_from(self.heads)) if self.heads else None
        if was is None:
            new = Head(
                workspace_id=self.workspace,
                definition=INVOICE,
                replacement_key=data.draw(replacement_keys),
                version=1,
            )
        else:
            new = replace(was, withdrawn_at=at(data.draw(seconds)), version=was.version + 1)
        return PutHead(new=new, was=was)

    def next_notice(self, data: st.DataObject) -> PutNotice:
        was = data.draw(st.none() | st.sampled_from(self.notices)) if self.notices else None
        moment = at(data.draw(seconds))
        if was is None:
            channels = data.draw(st.sampled_from([(Channel.CHAT,), (Channel.CONSOLE, Channel.CHAT)]))
            new = a_notice(
                self.workspace,
                *channels,
                recipient=data.draw(names),
                at=moment,
                notice_id=NoticeId(data.draw(notice_ids)),
                shard=data.draw(st.integers(0, 1)),
            )
        else:
            new = data.draw(st.sampled_from(list(_notice_moves(was, moment))))
        return PutNotice(new=new, was=was)

    @rule(data=st.data())
    def put_request(self, data: st.DataObject) -> None:
        write = self.next_request(data)
        if self.both(lambda stores: stores.requests.put(write.new, write.was)) is None:
            self.requests.append(write.new)

    @rule(data=st.data())
    def put_notice(self, data: st.DataObject) -> None:
        write = self.next_notice(data)
        if self.both(lambda stores: stores.notices.put(write.new, write.was)) is None:
            self.notices.append(write.new)

    @rule(data=st.data())
    def put_head(self, data: st.DataObject) -> None:
        write = self.next_head(data)
        if self.both(lambda stores: stores.requests.put_head(write.new, write.was)) is None:
            self.heads.append(write.new)

    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        drawn = [self.next_request(data), self.next_head(data), self.next_notice(data), self.next_request(data)]
        writes: list[Write] = list({_place(write): write for write in drawn}.values())
        if self.both(lambda stores: stores.requests.commit(writes)) is None:
            self.requests += [write.new for write in writes if isinstance(write, PutRequest)]
            self.heads += [write.new for write in writes if isinstance(write, PutHead)]
            self.notices += [write.new for write in writes if isinstance(write, PutNotice)]

    @rule(recipient=names, moment=seconds)
    def mark_read(self, recipient: str, moment: int) -> None:
        mark = ReadMark(read_up_to=at(moment), marked_at=at(moment + 1))
        self.both(lambda stores: stores.notices.mark_read(self.workspace, Recipient(recipient), mark))

    @rule(person=names, teams=groups, roles=groups, was_version=st.integers(0, 2))
    def put_person(self, person: str, teams: tuple[str, ...], roles: tuple[str, ...], was_version: int) -> None:
        was = self.memory.directory.people(self.workspace, [PersonId(person)]).get(PersonId(person))
        believed = was if was is not None and was.version == was_version else None
        new = a_person(self.workspace, person, teams=teams, roles=roles, version=was_version + 1)
        self.both(lambda stores: stores.directory.put_person(new, believed))

    @rule(version=st.integers(0, 2), name=names)
    def put_workspace(self, version: int, name: str) -> None:
        was = a_workspace(self.workspace, version=version)
        new = a_workspace(self.workspace, name=name, version=version + 1)
        self.both(lambda stores: stores.registry.put_workspace(new, was))

    @rule(
        key=names,
        version=st.integers(0, 2),
        believes=st.sampled_from(DefinitionState),
        state=st.sampled_from(DefinitionState),
    )
    def put_definition(self, key: str, version: int, believes: DefinitionState, state: DefinitionState) -> None:
        definition = a_definition(self.workspace, key=DefinitionKey(f"d{key}"), version=version, state=believes)
        retires = state is DefinitionState.RETIRED
        new = replace(definition, state=state, version=version if retires and version else version + 1)
        self.both(lambda stores: stores.registry.put_definition(new, definition if version else None))

    # ------------------------------------------------------------ reads

    @rule(key=request_keys, replacement_key=replacement_keys)
    def read_requests(self, key: str, replacement_key: str) -> None:
        asked = [a_request(self.workspace, other).request_id for other in ("k0", "k1", "k2", "none")]
        request = a_request(self.workspace, key).request_id
        self.both(lambda stores: stores.requests.get(self.workspace, request))
        self.both(lambda stores: stores.requests.get_many(self.workspace, asked, consistent=False))
        self.both(lambda stores: stores.requests.head(self.workspace, INVOICE, replacement_key))

    @rule(shard=st.integers(0, 1), until=seconds, limit=limits)
    def page_due(self, shard: int, until: int, limit: int) -> None:
        def pages(stores: Stores) -> list[object]:
            found: list[object] = []
            page = stores.requests.due(self.workspace, shard, until=at(until), limit=limit)
            while True:
                found.append(page.items)
                if page.position is None:
                    return found
                page = stores.requests.due(self.workspace, shard, until=at(until), position=page.position, limit=limit)

        self.both(pages)

    @rule(shard=st.integers(0, 1), limit=limits)
    def page_history(self, shard: int, limit: int) -> None:
        def fetch(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.requests.history(self.workspace, shard, before=before, limit=limit)

        self.both(lambda stores: _pages(stores, fetch, lambda row: (row.recorded_at, row.request_id)))

    @rule(recipient=names, limit=limits, after=st.none() | seconds)
    def read_inbox(self, recipient: str, limit: int, after: int | None) -> None:
        person = Recipient(recipient)

        def fetch(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.notices.inbox(self.workspace, person, before=before, limit=limit)

        self.both(lambda stores: _pages(stores, fetch, lambda notice: (notice.created_at, notice.notice_id)))
        moment = None if after is None else at(after)
        self.both(lambda stores: stores.notices.unread_count(self.workspace, person, after=moment, limit=limit))
        self.both(lambda stores: stores.notices.read_mark(self.workspace, person))
        self.both(lambda stores: list(stores.notices.generations(self.workspace, person, FOLD)))

    @rule(shard=st.integers(0, 1), limit=limits)
    def page_attention(self, shard: int, limit: int) -> None:
        def fetch(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.notices.attention(self.workspace, shard, before=before, limit=limit)

        self.both(lambda stores: _pages(stores, fetch, _attention_place))

    @rule(notice=notice_ids)
    def read_notices(self, notice: str) -> None:
        keys = [
            NoticeKey(workspace_id=self.workspace, recipient=Recipient(name), notice_id=NoticeId(notice))
            for name in ("ana", "bob", "-")
        ]
        self.both(lambda stores: stores.notices.get_many(keys))
        self.both(lambda stores: stores.notices.get(keys[0]))

    @rule(group=st.sampled_from(["a", "b", "c"]), limit=limits, version=st.integers(1, 3))
    def read_registry_and_directory(self, group: str, limit: int, version: int) -> None:
        people = [PersonId(person) for person in ("ana", "bob", "eve")]
        self.both(lambda stores: stores.directory.team(self.workspace, group))
        self.both(lambda stores: stores.directory.role(self.workspace, group))
        self.both(lambda stores: stores.directory.people(self.workspace, people))
        self.both(lambda stores: stores.registry.workspace(self.workspace))
        self.both(lambda stores: stores.registry.definitions(self.workspace, limit=limit))
        self.both(lambda stores: stores.registry.definition(self.workspace, DefinitionKey("dana")))
        self.both(lambda stores: stores.registry.definition_version(self.workspace, DefinitionKey("dana"), version))


def _request_moves(was: Request, moment: datetime) -> Iterator[Request]:
    yield rescheduled(was, moment)
    yield rescheduled(was, None)
    if was.state is RequestState.QUEUED:
        yield accepted(was, now=moment)
    if was.state is RequestState.OPEN:
        yield closed_by_producer(was, RequestEvent.WITHDRAW, now=moment)
        yield settled(was, now=moment, due_at=None)
        yield retired(was, now=moment)


def _notice_moves(was: Notice, moment: datetime) -> Iterator[Notice]:
    item = was.delivery(Channel.CHAT)
    assert item is not None
    yield read(was, now=moment)
    if item.state in UNSENT:
        yield claimed(was, Channel.CHAT, ClaimId("claim-1"), now=moment)
        yield held(was, Channel.CHAT, until=moment, reason="throttled", now=moment)
        yield exhausted(was, Channel.CHAT, by=Actor.WORKER, now=moment)
    if item.state is DeliveryState.FAILED and is_retryable(item):
        yield retried(was, Channel.CHAT, now=moment)
    superseded = ended(was, ENDING, now=moment)
    if superseded is not None:
        yield superseded


def _place(write: Write) -> object:
    match write:
        case PutRequest(new=request):
            return request.request_id
        case PutHead(new=head):
            return head.replacement_key
        case PutNotice(new=notice):
            return notice.recipient, notice.notice_id


def _attention_place(notice: Notice) -> tuple[datetime, NoticeKey]:
    assert notice.failed_at is not None
    return notice.failed_at, NoticeKey(
        workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id
    )


def _pages(
    stores: Stores, fetch: Callable[[Stores, Any], Sequence[Any]], place_of: Callable[[Any], Any]
) -> list[list[Any]]:
    """A whole list, page by page."""
    found: list[list[Any]] = []
    before = None
    while page := list(fetch(stores, before)):
        found.append(page)
        before = place_of(page[-1])
    return found


@pytest.mark.timeout(300)
def test_memory_and_moto_answer_alike() -> None:
    with moto() as dynamo:
        machine = type("Compared", (Comparison,), {"dynamo": dynamo})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=25,
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
