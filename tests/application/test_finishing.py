"""Finishing: what has ended for good is noted on the request, and settles without a look at two hundred notices."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from notify_core.application.ports import QueueName
from notify_core.application.retry_delivery import Retried, retry_delivery
from notify_core.application.sweep_request import sweep_request
from notify_core.application.tasks import DispatchTask, parse_task
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import ACTIVE, DELIVERY_LIFECYCLE, DeliveryReason, DeliveryState
from notify_core.domain.notice import has_ended_for_good
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled, Unavailable
from tests.application.damage import alter_notice
from tests.application.stale import Stale
from tests.application.steps import Steps
from tests.application.world import ACME, World, key_of
from tests.builders import a_delivery, a_notice

DOWN = Unavailable(reason="unreachable")
CHAT = Channel.CHAT


def told_by_chat(world: World, *faults: object) -> None:
    """Publish k1 over chat, and let the first look pass."""
    world.register_people("ana", "bob")
    world.register_definition("chat")
    world.chat.faults = list(faults)
    world.publish("k1", "ana", "bob")
    world.advance(minutes=20)


def sweep(world: World) -> list[str]:
    """Look at k1, which is due; the steps that were taken."""
    steps = Steps(world.ports)
    sweep_request(ACME, world.id_of("k1"), steps.ports)
    return steps.names()


# ---------------------------------------------------------------- what is over


@pytest.mark.parametrize("state", DeliveryState)
def test_what_has_ended_for_good_is_never_under_way_again(state: DeliveryState) -> None:
    reason = "channel_not_found" if state is DeliveryState.FAILED else None
    ended = has_ended_for_good(a_notice(replace(a_delivery(state), reason=reason)))
    targets = {move.target for move in DELIVERY_LIFECYCLE.moves if move.source is state}
    retried = {DeliveryState.QUEUED} if state is DeliveryState.FAILED else set()
    assert ended == (state not in ACTIVE)
    assert not ended or not (targets - retried) & ACTIVE


def test_what_ran_out_of_attempts_may_be_under_way_again() -> None:
    failed = a_delivery(DeliveryState.FAILED)
    assert failed.reason is DeliveryReason.ATTEMPTS_EXHAUSTED
    assert not has_ended_for_good(a_notice(failed))


# ---------------------------------------------------------------- settling


def test_a_finished_request_settles_without_a_look_at_its_notices() -> None:
    world = World()
    told_by_chat(world)
    assert world.request().is_finished
    world.skip(days=7)
    assert sweep(world) == ["requests.get", "registry.definition", "requests.put"]
    assert (world.request().state, world.request().due_at) == (RequestState.SETTLED, None)


def test_what_is_still_under_way_is_not_finished() -> None:
    world = World()
    world.text.silent = True
    world.register_people("ana")
    world.register_definition("text")
    world.publish("k1", "ana")
    world.advance(minutes=20)
    assert world.states() == {"text": "sent"}
    assert not world.request().is_finished


@pytest.mark.parametrize("notes", ["a retry", "a repeat that differs"])
def test_whatever_is_written_on_a_finished_request_has_it_looked_at_in_full(notes: str) -> None:
    world = World()
    told_by_chat(world, *[DOWN] * 10)
    assert world.request().is_finished
    if notes == "a retry":
        assert retry_delivery(key_of(world.notice()), CHAT, world.ports) == Retried()
    else:
        world.publish("k1", "ana", "bob", data={"number": "43"})
        world.run()
    assert not world.request().is_finished


def test_a_retry_whose_message_is_lost_is_expired_at_the_deadline_and_not_settled_over() -> None:
    world = World()
    told_by_chat(world, *[DOWN] * 10)
    assert retry_delivery(key_of(world.notice()), CHAT, world.ports) == Retried()
    world.queues.purge()
    world.skip(days=7)
    sweep(world)
    assert world.states() == {"chat": "expired"}
    assert world.request().state is RequestState.SETTLED


def test_a_delivery_that_the_audit_put_right_is_not_settled_over() -> None:
    """Damage had it noted as finished: the note is worth as little as the row that it was taken from."""
    world = World()
    told_by_chat(world, *[Throttled(retry_after=timedelta(hours=12))] * 4)
    assert world.states() == {"chat": "deferred"}
    waiting = world.notice().delivery(CHAT)
    for person in ("ana", "bob"):
        altered = world.notice(person)
        deliveries = tuple(replace(item, state=DeliveryState.DELIVERED) for item in altered.deliveries)
        alter_notice(world, person, deliveries=deliveries)
    world.queues.purge()
    world.advance(hours=26)
    assert world.request().is_finished
    world.audit()
    assert world.notice().delivery(CHAT) == waiting
    assert not world.request().is_finished
    world.chat.faults = []
    world.advance(hours=20)
    assert (world.states(), world.chat.reached != []) == ({"chat": "delivered"}, True)


# ---------------------------------------------------------------- old readings


def test_an_old_reading_of_a_delivery_that_was_retried_settles_nothing() -> None:
    """A sweep reads the request after the retry, and the notice as it was before it."""
    world = Stale()
    told_by_chat(world, *[DOWN] * 10)
    before = world.notice()
    assert retry_delivery(key_of(before), CHAT, world.ports) == Retried()
    world.queues.purge()
    world.skip(seconds=1)
    with world.showing("notices", key_of(before), before):
        sweep(world)
    assert len(world.waiting(QueueName.CHAT)) == 1
    assert not world.request().is_finished


def test_an_old_reading_that_has_no_notice_yet_sends_nothing_again() -> None:
    world = Stale()
    told_by_chat(world)
    world.publish("k2", "ana")
    world.run()
    world.skip(minutes=2)
    notice = world.notice(request_key="k2")
    with world.showing("notices", key_of(notice), None):
        sweep_request(ACME, world.id_of("k2"), world.ports)
    assert world.waiting(QueueName.CHAT) == []
    assert world.request("k2").is_finished


# ---------------------------------------------------------------- first claims


def dispatched(world: World) -> list[DispatchTask]:
    tasks = [parse_task(body) for _, body in world.waiting(QueueName.CHAT)]
    return [task for task in tasks if isinstance(task, DispatchTask)]


def test_only_a_notice_that_nobody_can_have_stored_is_claimed_without_a_look() -> None:
    world = World()
    world.register_people("ana")
    world.register_definition("chat")
    world.register_definition("console", "chat", key="in.both")
    world.register_definition("chat", "text", key="by.both")
    for definition in ("invoice.overdue", "in.both", "by.both"):
        world.publish(definition, "ana", definition=definition)
    world.run_only(QueueName.REQUESTS)
    assert [task.is_first for task in dispatched(world)] == [True, False, False]


def test_a_first_message_that_comes_twice_sends_once() -> None:
    world = World()
    world.register_people("ana")
    world.register_definition("chat")
    world.publish("k1", "ana")
    world.run_only(QueueName.REQUESTS)
    ((_, body),) = world.waiting(QueueName.CHAT)
    assert body["first"] is True
    world.queues.put(QueueName.CHAT, json.dumps(body))
    world.run()
    assert world.chat.calls == 1
    assert world.states() == {"chat": "delivered"}


def test_the_copy_of_a_first_message_that_waits_looks_again() -> None:
    world = World()
    world.register_people("ana")
    world.register_definition("chat")
    world.chat.faults = [DOWN]
    world.publish("k1", "ana")
    world.run()
    assert [task.is_first for task in dispatched(world)] == [False]
    world.advance(minutes=20)
    assert world.states() == {"chat": "delivered"}
