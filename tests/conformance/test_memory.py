"""What the memory adapters add for tests and the simulation: staleness, and the rest of the world."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from notify_core.adapters.memory import (
    FixedClock,
    MemoryDatabase,
    MemoryQueues,
    MemoryTelemetry,
    SequentialClaimIds,
    gather,
    memory_ports,
)
from notify_core.application.ports import Message, NoticeKey, QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import exhausted, retried
from notify_core.domain.request import rescheduled, settled
from tests.conformance.backends import memory_stores
from tests.conformance.builders import INVOICE, NOON, a_definition, a_notice, an_open_request, at

ACME = WorkspaceId("acme")


@dataclass(kw_only=True)
class EverythingLags:
    """Every reader named still sees each row as it stood before its last write."""

    readers: frozenset[str]
    before: dict[str, dict[Hashable, object]] = field(default_factory=dict)

    def wrote(self, table: str, key: Hashable, before: object | None) -> None:
        self.before.setdefault(table, {})[key] = before

    def answers(self, reader: str) -> Mapping[Any, Any]:
        table = {"due": "requests", "history": "requests", "attention": "notices"}.get(reader, reader)
        return self.before.get(table, {}) if reader in self.readers else {}


def test_eventual_reads_answer_what_stood_before() -> None:
    stores = memory_stores(MemoryDatabase(EverythingLags(readers=frozenset({"requests", "definitions", "notices"}))))
    first = an_open_request(ACME)
    second = rescheduled(first, at(99))
    stores.requests.put(first, None)
    assert stores.requests.get(ACME, first.request_id, consistent=False) is None
    assert stores.requests.get(ACME, first.request_id) == first
    stores.requests.put(second, first)
    assert stores.requests.get_many(ACME, [first.request_id], consistent=False) == {first.request_id: first}
    assert stores.requests.get_many(ACME, [first.request_id]) == {first.request_id: second}

    definition = a_definition(ACME)
    stores.registry.put_definition(definition, None)
    assert stores.registry.definition(ACME, INVOICE) is None
    assert stores.registry.definition(ACME, INVOICE, consistent=True) == definition

    notice = a_notice(ACME)
    key = NoticeKey(workspace_id=ACME, recipient=notice.recipient, notice_id=notice.notice_id)
    stores.notices.put(notice, None)
    assert stores.notices.get_many([key], consistent=False) == {}
    assert stores.notices.get_many([key]) == {key: notice}


def test_lagging_indexes_show_what_stood_before_in_its_old_place() -> None:
    lag = EverythingLags(readers=frozenset({"due", "history"}))
    stores = memory_stores(MemoryDatabase(lag))
    steady = an_open_request(ACME, "steady", due_at=at(2))
    first = an_open_request(ACME, due_at=at(1))
    stores.requests.put(steady, None)
    stores.requests.put(first, None)
    assert stores.requests.due(ACME, 0, until=at(60), limit=9).items == []
    assert stores.requests.history(ACME, 0, before=None, limit=9) == []

    lag.before.clear()
    ended = settled(first, now=at(5), due_at=None)
    stores.requests.put(ended, first)
    due = stores.requests.due(ACME, 0, until=at(60), limit=9).items
    assert [(row.request_id, row.state) for row in due] == [
        (first.request_id, "open"),
        (steady.request_id, "open"),
    ]
    assert {row.state for row in stores.requests.history(ACME, 0, before=None, limit=9)} == {"open"}
    assert stores.requests.due(ACME, 0, until=at(1), limit=9).items == due[:1]


def test_a_lagging_attention_list_hides_what_it_does_not_know_and_drops_what_is_over() -> None:
    lag = EverythingLags(readers=frozenset({"attention"}))
    stores = memory_stores(MemoryDatabase(lag))
    failed = exhausted(a_notice(ACME), Channel.CHAT, by=Actor.WORKER, now=at(1))
    stores.notices.put(replace(failed, version=1), None)
    assert stores.notices.attention(ACME, 0, before=None, limit=9) == []
    lag.before.clear()
    assert stores.notices.attention(ACME, 0, before=None, limit=9) == [replace(failed, version=1)]
    stores.notices.put(retried(replace(failed, version=1), Channel.CHAT, now=at(2)), replace(failed, version=1))
    assert stores.notices.attention(ACME, 0, before=None, limit=9) == []


def test_queues_keep_messages_until_they_are_taken() -> None:
    queues = MemoryQueues()
    messages = [Message(body={"n": number}, group=ACME) for number in range(3)]
    queues.send(QueueName.CHAT, messages[:2])
    queues.send(QueueName.CHAT, messages[2:])
    assert [queues.backlog(queue) for queue in (QueueName.CHAT, QueueName.TEXT)] == [3, 0]
    assert queues.take(QueueName.CHAT) == messages
    assert queues.take(QueueName.CHAT) == []


def test_gather_finishes_every_task_and_raises_the_first_failure() -> None:
    done: list[int] = []

    def task(number: int) -> int:
        done.append(number)
        if number % 2:
            raise LookupError(number)
        return number

    assert gather([]) == []
    assert gather([lambda: task(0), lambda: task(2)]) == [0, 2]
    with pytest.raises(LookupError, match="1"):
        gather([lambda number=number: task(number) for number in (1, 3, 4)])
    assert done == [0, 2, 1, 3, 4]


def test_ports_in_memory_are_deterministic() -> None:
    clock = FixedClock(NOON)
    ports = memory_ports(clock)
    assert clock.advance(timedelta(seconds=5)) == ports.clock.now() == at(5)
    assert [ports.new_claim_id(), ports.new_claim_id()] == ["claim-1", "claim-2"]
    assert SequentialClaimIds()() == "claim-1"
    ports.requests.put(an_open_request(ACME), None)
    assert ports.requests.get(ACME, an_open_request(ACME).request_id) == an_open_request(ACME)


def test_telemetry_tells_what_it_was_told() -> None:
    telemetry = MemoryTelemetry()
    telemetry.count("sent", channel="chat", workspace="a")
    telemetry.count("sent", 2, channel="chat", workspace="b")
    telemetry.count("sent", channel="text")
    telemetry.observe("wait", 1.5, channel="chat")
    telemetry.info("claimed", request="r", attempts=1)
    telemetry.alarm("lost", request="r")
    assert telemetry.counted("sent") == 4
    assert telemetry.counted("sent", channel="chat") == 3
    assert telemetry.counted("sent", channel="chat", workspace="b") == 2
    assert telemetry.counted("received") == 0
    assert telemetry.durations == [("wait", 1.5)]
    assert telemetry.events == [("claimed", {"request": "r", "attempts": 1})]
    assert telemetry.alarms == [("lost", {"request": "r"})]
