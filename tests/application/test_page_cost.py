"""Scenario 27: however much there is, a read is a page and an operation takes the same few steps."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from notify_core.adapters.memory import FixedClock, MemoryDatabase, MemoryQueues
from notify_core.application.accept_request import accept_request
from notify_core.application.list_attention import AttentionQuery, list_attention
from notify_core.application.mark_read import mark_all_read, mark_read
from notify_core.application.ports import NoticeKey, Ports
from notify_core.application.read_history import HistoryQuery, read_history
from notify_core.application.read_inbox import Unread, count_unread, read_inbox
from notify_core.application.read_notice import read_notice
from notify_core.application.read_request import read_request
from notify_core.application.sweep_due import sweep_due
from notify_core.application.sweep_request import sweep_request
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import NoticeId, Recipient, RequestId
from notify_core.domain.notice import Notice
from notify_core.domain.request import Publication, Request, Withdrawal
from notify_core.domain.request_lifecycle import RequestState
from notify_core.messages.publications import parse_message
from tests.application.steps import Steps
from tests.application.world import ACME, NOON, OVERDUE, World, key_of

ANA = Recipient("ana")
FEW, MANY = 300, 30_000
PAGE = 50


def fill(database: MemoryDatabase, request: Request, notice: Notice, number: int) -> None:
    """Lay so many requests, and as many notices of ana's, beneath the newest."""
    failed = tuple(
        replace(item, state=DeliveryState.FAILED, reason="attempts_exhausted") if item.channel.is_sent else item
        for item in notice.deliveries
    )
    for index in range(number):
        before = timedelta(seconds=index + 1)
        identity = f"{index:022d}"
        row = replace(
            request, request_id=RequestId(identity), request_key=identity, recorded_at=request.recorded_at - before
        )
        database.requests.put((ACME, row.request_id), row)
        item = replace(
            notice,
            notice_id=NoticeId(identity),
            created_at=notice.created_at - before,
            deliveries=failed if index % 3 else notice.deliveries,
        )
        database.notices.put(key_of(item), item)


def a_world(number: int) -> World:
    world = World()
    world.register_people("ana")
    world.register_definition()
    world.publish("newest")
    world.run()
    fill(world.database, world.request("newest"), world.inbox()[0], number)
    world.skip(minutes=2)
    return world


@pytest.fixture(scope="module")
def many() -> World:
    """Never written to by a test."""
    return a_world(MANY)


def withdraw(world: World, ports: Ports) -> object:
    withdrawal = Withdrawal(workspace_id=ACME, definition=OVERDUE, withdrawn_at=NOON, request_key="newest")
    return withdraw_request(withdrawal, ports)


def accept(world: World, ports: Ports) -> object:
    publication = parse_message(json.dumps(world.publication("another")))
    assert isinstance(publication, Publication)
    return accept_request(publication, ports)


def newest(world: World) -> NoticeKey:
    return NoticeKey(workspace_id=ACME, recipient=ANA, notice_id=NoticeId(world.id_of("newest")))


READING: dict[str, Callable[[World, Ports], object]] = {
    "history": lambda _, ports: read_history(HistoryQuery(workspace_id=ACME, limit=PAGE), ports),
    "inbox": lambda _, ports: read_inbox(ACME, ANA, ports, before=None, limit=PAGE),
    "unread": lambda _, ports: count_unread(ACME, ANA, ports),
    "attention": lambda _, ports: list_attention(AttentionQuery(workspace_id=ACME, limit=PAGE), ports),
    "request": lambda world, ports: read_request(ACME, world.id_of("newest"), ports),
    "notice": lambda world, ports: read_notice(newest(world), ports),
}
WRITING: dict[str, Callable[[World, Ports], object]] = {
    "sweep": lambda world, ports: sweep_request(ACME, world.id_of("newest"), ports),
    "read": lambda world, ports: mark_read(newest(world), ports),
    "read all": lambda world, ports: mark_all_read(ACME, ANA, world.clock.now(), ports),
    "accept": accept,
    "withdraw": withdraw,
}


def costs(world: World, operations: Mapping[str, Callable[[World, Ports], object]]) -> dict[str, tuple[int, int]]:
    """The steps that each operation takes towards the stores, and the rows that it gets from them."""
    found: dict[str, tuple[int, int]] = {}
    for name, operation in operations.items():
        steps = Steps(world.ports)
        operation(world, steps.ports)
        found[name] = len(steps.taken), steps.rows()
    return found


READING_COSTS = {
    "history": (2, 52),
    "inbox": (2, 51),
    "unread": (2, 0),
    "attention": (2, 52),
    "request": (2, 2),
    "notice": (3, 2),
}
WRITING_COSTS = {
    "sweep": (4, 3),
    "read": (3, 1),
    "read all": (1, 0),
    "accept": (10, 6),
    "withdraw": (5, 3),
}


def test_a_read_takes_the_same_steps_and_rows_however_much_there_is(many: World) -> None:
    assert costs(a_world(FEW), READING) == READING_COSTS
    assert costs(many, READING) == READING_COSTS


def test_an_operation_takes_the_same_steps_and_rows_however_much_there_is() -> None:
    assert costs(a_world(FEW), WRITING) == WRITING_COSTS
    assert costs(a_world(10 * FEW), WRITING) == WRITING_COSTS


def test_a_rare_state_is_looked_for_in_a_bounded_part_of_the_history(many: World) -> None:
    steps = Steps(many.ports)
    page = read_history(HistoryQuery(workspace_id=ACME, limit=PAGE, state=RequestState.EXPIRED), steps.ports)
    assert (page.rows, page.before is not None) == ([], True)
    assert steps.rows() < 5_000


@pytest.mark.parametrize(
    ("number", "unread"),
    [
        (5, Unread(count=6, is_more=False)),
        (999, Unread(count=1_000, is_more=False)),
        (1_000, Unread(count=1_000, is_more=True)),
    ],
)
def test_the_unread_total_is_exact_up_to_a_thousand(number: int, unread: Unread) -> None:
    assert count_unread(ACME, ANA, a_world(number).ports) == unread


def test_the_minutes_sweep_sends_what_is_due_in_pages_up_to_its_room(many: World) -> None:
    later = FixedClock(many.clock.now() + timedelta(hours=2))
    steps = Steps(replace(many.ports, clock=later, queues=MemoryQueues()))
    assert sweep_due(steps.ports, until=later.now() + timedelta(seconds=50)) == 10_000
    assert max(step.rows for step in steps.taken) == 100
