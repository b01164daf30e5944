"""Dead letters: what ran out of receives costs an attempt, is tried again, and ends in the operators' list."""

import json
from typing import Any

import pytest

from notify_core.application.list_attention import AttentionQuery, list_attention
from notify_core.application.ports import Conflict, QueueName, StoreUnavailable
from notify_core.application.record_dead_message import record_dead_receipt, record_dead_task_message
from notify_core.application.record_dead_task import record_dead_task
from notify_core.application.tasks import AuditTask, DispatchTask, RetireTask, SweepTask, message_of
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import RequestId
from notify_core.domain.receipt import ReceiptOutcome
from tests.application.delivery import BUSY, LOST, accepted, deliver, item, moves, take, told
from tests.application.faulty import failing
from tests.application.test_receipts import receipt
from tests.application.world import ACME, OVERDUE, World


def die(world: World, task: DispatchTask) -> None:
    """The dispatch's message ran out of receives."""
    record_dead_task(task, world.ports)


# ---------------------------------------------------------------- dispatches


def test_a_dead_dispatch_costs_an_attempt_and_is_dispatched_again(world: World) -> None:
    (task,) = accepted(world, "ana")
    die(world, task)
    assert (told(world), item(world).attempts, take(world)) == ("queued", 1, [task])
    assert world.telemetry.counted("dead_letters_recorded", queue="chat") == 1
    deliver(world, [task])
    assert (told(world), item(world).attempts) == ("delivered", 2)


def test_a_dead_dispatch_of_a_notice_that_is_not_stored_is_charged_too(world: World) -> None:
    world.register_definition("chat")
    (task,) = accepted(world, "ana")
    assert not world.is_stored()
    die(world, task)
    assert (world.is_stored(), item(world).attempts, take(world)) == (True, 1, [task])


def test_a_delivery_whose_messages_all_die_is_exhausted_and_in_the_operators_list(world: World) -> None:
    (task,) = accepted(world, "ana")
    for _ in range(5):
        die(world, task)
        world.skip(minutes=1)
    assert (told(world), item(world).attempts) == ("failed(attempts_exhausted)", 5)
    assert moves(world) == ["queued -> failed by worker: attempts_exhausted"]
    assert len(take(world)) == 4
    page = list_attention(AttentionQuery(workspace_id=ACME, limit=10, reason="attempts_exhausted"), world.ports)
    assert page.failed == [(world.notice(), item(world))]


def test_a_message_that_no_function_can_handle_ends_exhausted_by_itself(world: World) -> None:
    """Five times six receives, and no provider was called."""
    healthy = world.ports
    world.ports = failing(healthy, "registry.channel_state", StoreUnavailable("poison"), times=None)
    world.publish("k1")
    world.advance(hours=3)
    assert (told(world), item(world).attempts, world.chat.calls) == ("failed(attempts_exhausted)", 5, 0)
    assert len(world.queues.dead) >= 5
    assert {type(failure) for failure in world.failures} == {StoreUnavailable}
    world.failures.clear()


def test_a_dead_dispatch_of_a_delivery_that_waits_costs_nothing_and_is_replaced(world: World) -> None:
    world.chat.faults = [BUSY]
    (task,) = accepted(world, "ana")
    deliver(world, [task])
    before = world.notice()
    die(world, task)
    assert (world.notice(), take(world)) == (before, [task])


def test_a_dead_dispatch_of_a_delivery_being_sent_is_left_to_the_evidence(world: World) -> None:
    """Scenario 1."""
    world.chat.faults = [LOST]
    (task,) = accepted(world, "ana")
    deliver(world, [task])
    before = world.notice()
    die(world, task)
    assert (told(world), world.notice(), take(world)) == ("sending", before, [])


@pytest.mark.parametrize("ended_by", ["delivery", "withdrawal"])
def test_a_dead_dispatch_of_a_delivery_that_ended_changes_nothing(world: World, ended_by: str) -> None:
    (task,) = accepted(world, "ana")
    if ended_by == "delivery":
        deliver(world, [task])
    else:
        world.withdraw(request_key="k1")
        world.run_only(QueueName.REQUESTS)
    before = world.notice()
    die(world, task)
    assert (world.notice(), take(world)) == (before, [])


def test_a_dead_dispatch_of_nothing_that_is_known_is_forgotten(world: World) -> None:
    (task,) = accepted(world, "ana")
    unknown = DispatchTask(
        workspace_id=ACME,
        recipient=task.recipient,
        notice_id=task.notice_id,
        request_id=RequestId("unknown"),
        channel=Channel.TEXT,
    )
    die(world, unknown)
    assert take(world, QueueName.TEXT) == []


def test_a_dead_dispatch_that_loses_its_race_looks_again(world: World) -> None:
    (task,) = accepted(world, "ana")
    record_dead_task(task, failing(world.ports, "notices.put", Conflict("another")))
    assert (item(world).attempts, take(world)) == (1, [task])


# ---------------------------------------------------------------- other tasks


@pytest.mark.parametrize(
    "task", [SweepTask(workspace_id=ACME, request_id=RequestId("r")), AuditTask(workspace_id=ACME)]
)
def test_a_dead_sweep_or_audit_is_forgotten_for_the_tables_bring_it_back(
    world: World, task: SweepTask | AuditTask
) -> None:
    record_dead_task(task, world.ports)
    assert world.waiting(QueueName.RECONCILE) == []


def test_a_dead_retirement_is_tried_again_in_a_quarter_of_an_hour(world: World) -> None:
    task = RetireTask(workspace_id=ACME, definition=OVERDUE, position={"shard": 1})
    record_dead_task(task, world.ports)
    assert world.waiting(QueueName.RECONCILE) == [(900.0, message_of(task).body)]


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    "body", ["", "{", "[]", '{"version": 1}', '{"version": 2, "task": "sweep"}', pytest.param("[" * 100_000, id="deep")]
)
def test_a_body_that_cannot_be_read_stays_where_it_is_and_is_counted(world: World, body: str) -> None:
    assert record_dead_task_message(body, QueueName.CHAT, world.ports) is False
    assert world.telemetry.counted("dead_letters_unreadable", queue="chat") == 1


def test_a_body_that_can_be_read_is_recorded(world: World) -> None:
    (task,) = accepted(world, "ana")
    assert record_dead_task_message(json.dumps(message_of(task).body), QueueName.CHAT, world.ports) is True
    assert item(world).attempts == 1


# ---------------------------------------------------------------- receipts


def test_a_dead_receipt_is_recorded_after_all(world: World) -> None:
    """The store was away for as long as its message lived; without it the text would be given up in three days."""
    world.register_definition("text")
    world.publish("k1")
    world.run()
    assert record_dead_receipt(receipt(world, ReceiptOutcome.DELIVERED), world.ports) is True
    assert told(world, channel=Channel.TEXT) == "delivered"
    assert world.telemetry.counted("dead_letters_recorded", queue="receipts") == 1


def test_a_dead_receipt_that_cannot_be_read_stays_where_it_is_and_is_counted(world: World) -> None:
    assert record_dead_receipt(None, world.ports) is False
    assert world.telemetry.counted("dead_letters_unreadable", queue="receipts") == 1


def test_a_dead_receipt_that_cannot_be_recorded_stays_too(world: World) -> None:
    world.register_definition("text")
    world.publish("k1")
    world.run()
    ports: Any = failing(world.ports, "notices.get", StoreUnavailable("down"))
    with pytest.raises(StoreUnavailable):
        record_dead_receipt(receipt(world), ports)
    assert told(world, channel=Channel.TEXT) == "sent"
