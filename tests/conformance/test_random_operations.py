"""Memory, moto and the emulator give the same answers to any operations in any order, page by page.

Only a lag isn't compared, for neither moto nor the emulator has one, and none of them is asked to make a transaction
twice: DynamoDB remembers its token for ten minutes, moto doesn't.
"""

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from random import Random
from typing import Any

import pytest

from notify_core.adapters.memory import MemoryDatabase
from notify_core.application.ports import (
    Conflict,
    DirectoryStore,
    Head,
    NoticeKey,
    NoticeStore,
    Page,
    PutHead,
    PutNotice,
    PutRequest,
    ReadMark,
    RegistryStore,
    RequestStore,
    Write,
)
from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState
from notify_core.domain.delivery_lifecycle import UNSENT, DeliveryState
from notify_core.domain.directory import ChannelState
from notify_core.domain.identifiers import (
    ClaimId,
    DefinitionKey,
    NoticeId,
    PersonId,
    Recipient,
    RequestId,
    fold_id,
    generation_notice_id,
)
from notify_core.domain.ledger import Account, Ledger
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import (
    Ending,
    Notice,
    bounced,
    claimed,
    ended,
    exhausted,
    held,
    is_retryable,
    outcome_unknown,
    read,
    retried,
    with_result,
)
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.problem import Problem
from notify_core.domain.request import Request, closed_by_producer, rescheduled, retired, settled
from notify_core.domain.request_lifecycle import RequestEvent, RequestState
from notify_core.domain.send_result import Accepted, Delivered, Unavailable
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
from tests.conformance.tables import create_tables

RUNS, OPERATIONS = 8, 220
FOLD = fold_id(INVOICE, "order 7")
NAMES = ("ana", "bob", "-")
REQUEST_KEYS = ("k0", "k1", "k2", "k3", "k4", "k5")
NOTICE_IDS = ("k0", "k1", *(generation_notice_id(FOLD, number) for number in (1, 2, 3)))
GROUPS = ("a", "b", "c")
ENDING = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)


def answer(stores: Stores, ask: Callable[[Stores], Any]) -> object:
    """What an operation gives: its value, or that it conflicted."""
    try:
        return ask(stores)
    except Conflict:
        return Conflict


class Counted:
    """A store whose calls are counted by their name."""

    def __init__(self, store: object, calls: Counter[str]) -> None:
        self._store, self._calls = store, calls

    def __getattr__(self, name: str) -> Any:
        self._calls[f"{type(self._store).__name__.removeprefix('Memory')}.{name}"] += 1
        return getattr(self._store, name)


def counted(stores: Stores, calls: Counter[str]) -> Stores:
    wrapped: Mapping[str, Any] = {
        name: Counted(getattr(stores, name), calls) for name in ("registry", "directory", "requests", "notices")
    }
    return Stores(**wrapped)


class Comparison:
    """One workspace in each, every answer compared, whole; stale beliefs and double writes included."""

    def __init__(self, seed: int, memory: Stores, others: Mapping[str, Stores]) -> None:
        self.random = Random(seed)
        self.workspace = fresh_workspace()
        self.memory = memory
        self.others = others
        self.conflicts = 0
        self.requests: list[Request] = []
        self.heads: list[Head] = []
        self.notices: list[Notice] = []
        self.committed: list[list[Write]] = []
        self.writes = (
            self.put_request, self.put_request, self.put_notice, self.put_notice, self.put_head, self.commit,
            self.repair_request, self.repair_notice, self.mark_read, self.put_person, self.put_workspace,
            self.put_definition, self.put_channel_state, self.put_ledger,
        )  # fmt: skip
        self.reads = (
            self.read_requests, self.page_due, self.page_history, self.read_inbox, self.page_attention,
            self.read_notices, self.read_registry, self.read_directory,
        )  # fmt: skip

    def operate(self) -> None:
        """Do something, mostly a write."""
        self.random.choice(self.writes if self.random.random() < 0.65 else self.reads)()

    def both(self, ask: Callable[[Stores], Any]) -> Any:
        expected = answer(self.memory, ask)
        self.conflicts += expected is Conflict
        for name, stores in self.others.items():
            assert answer(stores, ask) == expected, name
        return expected

    def moment(self) -> datetime:
        return at(self.random.randint(0, 5))

    def limit(self) -> int:
        return self.random.randint(1, 4)

    def shard(self) -> int:
        return self.random.randint(0, 1)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def groups(self) -> tuple[str, ...]:
        return tuple(self.random.sample(GROUPS, self.random.randint(0, len(GROUPS))))

    def believed(self, written: Sequence[Any]) -> Any:
        """Any value that was ever written, the latest rather than others; sometimes nothing."""
        if not written or self.random.random() < 0.25:
            return None
        return self.random.choice(written[-8:] if self.random.random() < 0.8 else written)

    # ------------------------------------------------------------ writes

    def next_request(self) -> PutRequest:
        """A new publication, or the next version of any value that was ever written."""
        was, moment = self.believed(self.requests), self.moment()
        if was is None:
            key = self.random.choice(REQUEST_KEYS)
            new = a_request(self.workspace, key, recorded_at=moment, due_at=moment, shard=self.shard())
        else:
            new = self.random.choice(list(_request_moves(was, moment)))
        return PutRequest(new=new, was=was)

    def next_head(self) -> PutHead:
        was = self.believed(self.heads)
        if was is None:
            key = self.random.choice(("r0", "r1"))
            new = Head(workspace_id=self.workspace, definition=INVOICE, replacement_key=key, version=1)
        else:
            new = replace(was, withdrawn_at=self.moment(), version=was.version + 1)
        return PutHead(new=new, was=was)

    def next_notice(self) -> PutNotice:
        was, moment = self.believed(self.notices), self.moment()
        if was is None:
            new = a_notice(
                self.workspace,
                *self.random.choice([(Channel.CHAT,), (Channel.CONSOLE, Channel.CHAT), tuple(Channel)]),
                recipient=self.name(),
                at=moment,
                notice_id=NoticeId(self.random.choice(NOTICE_IDS)),
                shard=self.shard(),
            )
        else:
            new = self.random.choice(list(_notice_moves(was, moment)))
        return PutNotice(new=new, was=was)

    def put_request(self) -> None:
        write = self.next_request()
        if self.both(lambda stores: stores.requests.put(write.new, write.was)) is None:
            self.requests.append(write.new)

    def put_notice(self) -> None:
        write = self.next_notice()
        if self.both(lambda stores: stores.notices.put(write.new, write.was)) is None:
            self.notices.append(write.new)

    def put_head(self) -> None:
        write = self.next_head()
        if self.both(lambda stores: stores.requests.put_head(write.new, write.was)) is None:
            self.heads.append(write.new)

    def commit(self) -> None:
        drawn: list[Write] = [self.next_request(), self.next_head(), self.next_notice(), self.next_request()]
        wanted = self.random.sample(drawn, self.random.randint(1, len(drawn)))
        writes = list({_place(write): write for write in wanted}.values())
        if writes in self.committed:
            return
        if self.both(lambda stores: stores.requests.commit(writes)) is None:
            self.requests += [write.new for write in writes if isinstance(write, PutRequest)]
            self.heads += [write.new for write in writes if isinstance(write, PutHead)]
            self.notices += [write.new for write in writes if isinstance(write, PutNotice)]
            self.committed.append(writes)

    def repair_request(self) -> None:
        """Over what stands, or over what is only believed to."""
        was = self.believed(self.requests)
        if was is not None:
            state = self.random.choice(list(RequestState))
            new = replace(was, state=state, due_at=self.moment(), version=was.version + 1)
            if self.both(lambda stores: stores.requests.repair(new, was)) is None:
                self.requests.append(new)

    def repair_notice(self) -> None:
        was = self.believed(self.notices)
        if was is not None:
            ended_as = self.random.choice([None, NoticeStatus.SUPERSEDED, NoticeStatus.EXPIRED])
            read_at = self.random.choice([None, self.moment()])
            new = replace(was, ended=ended_as, read_at=read_at, version=was.version + 1)
            if self.both(lambda stores: stores.notices.repair(new, was)) is None:
                self.notices.append(new)

    def mark_read(self) -> None:
        mark, recipient = ReadMark(read_up_to=self.moment(), marked_at=self.moment()), Recipient(self.name())
        self.both(lambda stores: stores.notices.mark_read(self.workspace, recipient, mark))

    def put_person(self) -> None:
        person, version = PersonId(self.name()), self.random.randint(0, 2)
        was = self.memory.directory.people(self.workspace, [person]).get(person)
        believed = was if was is not None and (was.version == version or self.random.random() < 0.7) else None
        after = believed.version if believed is not None else version
        new = a_person(self.workspace, person, teams=self.groups(), roles=self.groups(), version=after + 1)
        self.both(lambda stores: stores.directory.put_person(new, believed))

    def put_workspace(self) -> None:
        version = self.random.randint(0, 2)
        was = a_workspace(self.workspace, version=version)
        new = a_workspace(self.workspace, name=self.name(), version=version + 1)
        self.both(lambda stores: stores.registry.put_workspace(new, was))

    def put_definition(self) -> None:
        key, version = DefinitionKey(f"d{self.name()}"), self.random.randint(0, 2)
        believes, state = self.random.choice(list(DefinitionState)), self.random.choice(list(DefinitionState))
        definition = a_definition(self.workspace, key=key, version=version, state=believes)
        retires = state is DefinitionState.RETIRED
        new = replace(definition, state=state, version=version if retires and version else version + 1)
        self.both(lambda stores: stores.registry.put_definition(new, definition if version else None))

    def put_channel_state(self) -> None:
        channel, version = self.random.choice(list(Channel)), self.random.randint(0, 2)
        was = ChannelState(workspace_id=self.workspace, channel=channel, version=version)
        opened = self.random.choice([None, self.moment()])
        new = replace(
            was,
            version=version + 1,
            blocked_until=self.random.choice([None, self.moment()]),
            open_since=opened,
            open_reason=None if opened is None else "token_revoked",
            probe_at=opened,
        )
        self.both(lambda stores: stores.registry.put_channel_state(new, was if version else None))

    def put_ledger(self) -> None:
        version = self.random.randint(0, 2)
        was = Ledger(workspace_id=self.workspace, taken_at=at(0), version=version)
        account = Account(count=self.random.randint(0, 5), mixed=self.random.getrandbits(176))
        new = Ledger(
            workspace_id=self.workspace,
            taken_at=self.moment(),
            accounts={"live 2026-11-30": account},
            lost=tuple(RequestId(name) for name in self.groups()),
            version=version + 1,
        )
        self.both(lambda stores: stores.registry.put_ledger(new, was if version else None))

    # ------------------------------------------------------------ reads

    def read_requests(self) -> None:
        asked = [a_request(self.workspace, key).request_id for key in (*REQUEST_KEYS, "none")]
        request, replacement_key = self.random.choice(asked), self.random.choice(("r0", "r1"))
        self.both(lambda stores: stores.requests.get(self.workspace, request))
        self.both(lambda stores: stores.requests.get(self.workspace, request, consistent=False))
        self.both(lambda stores: stores.requests.get_many(self.workspace, asked))
        self.both(lambda stores: stores.requests.get_many(self.workspace, asked, consistent=False))
        self.both(lambda stores: stores.requests.get_many(self.workspace, [request, request]))
        self.both(lambda stores: stores.requests.get_many(self.workspace, []))
        self.both(lambda stores: stores.requests.damaged(self.workspace, asked))
        self.both(lambda stores: stores.requests.head(self.workspace, INVOICE, replacement_key))

    def page_due(self) -> None:
        shard, until, limit = self.shard(), self.moment(), self.limit()

        def fetch(stores: Stores, position: Any) -> Page:
            return stores.requests.due(self.workspace, shard, until=until, position=position, limit=limit)

        self.both(lambda stores: _whole(stores, fetch))

    def page_history(self) -> None:
        shard, limit = self.shard(), self.limit()

        def fetch(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.requests.history(self.workspace, shard, before=before, limit=limit)

        def fetch_dead(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.requests.dead_lettered(self.workspace, shard, before=before, limit=limit)

        for each in (fetch, fetch_dead):
            self.both(partial(_pages, fetch=each, place_of=lambda row: (row.recorded_at, row.request_id)))

    def read_inbox(self) -> None:
        person, limit = Recipient(self.name()), self.limit()
        after = self.random.choice([None, self.moment()])

        def fetch(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.notices.inbox(self.workspace, person, before=before, limit=limit)

        self.both(lambda stores: _pages(stores, fetch, lambda notice: (notice.created_at, notice.notice_id)))
        self.both(lambda stores: stores.notices.unread_count(self.workspace, person, after=after, limit=limit))
        self.both(lambda stores: stores.notices.read_mark(self.workspace, person))
        self.both(lambda stores: list(stores.notices.generations(self.workspace, person, FOLD)))

    def page_attention(self) -> None:
        shard, limit = self.shard(), self.limit()

        def fetch(stores: Stores, before: Any) -> Sequence[Any]:
            return stores.notices.attention(self.workspace, shard, before=before, limit=limit)

        self.both(lambda stores: _pages(stores, fetch, _attention_place))

    def read_notices(self) -> None:
        notice = NoticeId(self.random.choice(NOTICE_IDS))
        keys = [NoticeKey(workspace_id=self.workspace, recipient=Recipient(name), notice_id=notice) for name in NAMES]
        self.both(lambda stores: stores.notices.get_many([*keys, *keys]))
        self.both(lambda stores: stores.notices.get_many(keys, consistent=False))
        self.both(lambda stores: stores.notices.get(keys[0]))
        self.both(lambda stores: stores.notices.damaged(keys))

    def read_registry(self) -> None:
        limit, version, channel = self.limit(), self.random.randint(1, 3), self.random.choice(list(Channel))
        key = DefinitionKey(f"d{self.name()}")

        def fetch(stores: Stores, position: Any) -> Page:
            return stores.registry.definitions(self.workspace, position, limit=limit)

        def fetch_all(stores: Stores, position: Any) -> Page:
            return stores.registry.workspaces(position, limit=limit)

        self.both(lambda stores: _whole(stores, fetch))
        self.both(lambda stores: _whole(stores, fetch_all))
        self.both(lambda stores: stores.registry.workspace(self.workspace))
        self.both(lambda stores: stores.registry.definition(self.workspace, key))
        self.both(lambda stores: stores.registry.definition(self.workspace, key, consistent=True))
        self.both(lambda stores: stores.registry.definition_version(self.workspace, key, version))
        self.both(lambda stores: stores.registry.channel_state(self.workspace, channel))
        self.both(lambda stores: stores.registry.ledger(self.workspace))

    def read_directory(self) -> None:
        people, group = [PersonId(person) for person in ("ana", "bob", "eve")], self.random.choice(GROUPS)
        self.both(lambda stores: stores.directory.team(self.workspace, group))
        self.both(lambda stores: stores.directory.role(self.workspace, group))
        self.both(lambda stores: stores.directory.people(self.workspace, people))


def _request_moves(was: Request, moment: datetime) -> Iterator[Request]:
    yield rescheduled(was, moment)
    yield rescheduled(was, None)
    if was.state is RequestState.QUEUED:
        yield replace(was, problems=(Problem(field="", code="dead_lettered", message="…"),), version=was.version + 1)
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
    if item.state is DeliveryState.SENDING:
        for result in (Delivered(provider_id="p"), Accepted(provider_id="p"), Unavailable(reason="down")):
            answered = with_result(was, Channel.CHAT, result, now=moment)
            assert answered is not None
            yield answered
        yield outcome_unknown(was, Channel.CHAT, now=moment)
    if item.state is DeliveryState.SENT:
        yield bounced(was, Channel.CHAT, "blocked", provider_id="p", now=moment)
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


def _whole(stores: Stores, fetch: Callable[[Stores, Any], Page]) -> list[Sequence[Any]]:
    """A whole list of pages; what a position looks like is each store's own matter."""
    found: list[Sequence[Any]] = []
    page = fetch(stores, None)
    while page.position is not None:
        found.append(page.items)
        page = fetch(stores, page.position)
    return [*found, page.items]


def methods_of_the_ports() -> set[str]:
    return {
        f"{port.__name__}.{name}"
        for port in (RegistryStore, DirectoryStore, RequestStore, NoticeStore)
        for name, _ in inspect.getmembers(port, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.timeout(600)
def test_memory_moto_and_the_emulator_answer_alike(emulated: Dynamo) -> None:
    calls: Counter[str] = Counter()
    conflicts = 0
    memory = counted(memory_stores(MemoryDatabase()), calls)
    with moto() as dynamo:
        # Tables of its own: a list of all workspaces shows those of other tests too.
        mine = Dynamo(client=emulated.client, tables=create_tables(emulated.client))
        others = {"moto": dynamo.stores(), "emulator": mine.stores()}
        for seed in range(RUNS):
            comparison = Comparison(seed, memory, others)
            for number in range(OPERATIONS):
                try:
                    comparison.operate()
                except BaseException as failure:
                    failure.add_note(f"operation {number} of seed {seed}")
                    raise
            conflicts += comparison.conflicts
    sys.stdout.write(
        f"{RUNS} runs of {OPERATIONS} operations: {calls.total()} calls of each of three stores, "
        f"{conflicts} of them conflicts\n{dict(calls.most_common())}\n"
    )
    assert methods_of_the_ports() - calls.keys() == set()
    assert conflicts > RUNS * OPERATIONS / 20
    assert calls.total() > 2 * RUNS * OPERATIONS
