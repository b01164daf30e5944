"""Retiring: no more publications, the open requests closed as cancelled, and what they have to send still goes out."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from notify_core.application.ports import Conflict, QueueName
from notify_core.application.reconcile import reconcile
from notify_core.application.retire_definition import RetireRefusal, retire_definition
from notify_core.application.tasks import parse_task
from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState
from notify_core.domain.directory import WorkspaceStatus
from notify_core.domain.identifiers import DefinitionKey
from notify_core.domain.request import retired
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, OVERDUE, World

RETIRED = ("cancelled", "definition_retired", "retirement")
OPEN = ("open", None, "processor")


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def ending(world: World, request_key: str = "k1", **place: str) -> tuple[str, str | None, str | None]:
    row = world.request(request_key, **place)
    return row.state.value, row.reason and row.reason.value, row.caused_by and row.caused_by.value


def accept_only(world: World) -> None:
    world.run_only(QueueName.REQUESTS)


def retire_now(world: World) -> None:
    """Retire it and close what is open."""
    world.retire()
    world.run_only(QueueName.RECONCILE)


# ---------------------------------------------------------------- what it does


def test_open_requests_are_closed_and_notices_and_deliveries_left_as_they_are(world: World) -> None:
    world.publish("k1", "ana", "bob")
    accept_only(world)
    before = [world.notice(name) for name in ("ana", "bob")]
    world.skip(minutes=1)
    request = world.request()
    assert world.retire() == replace(
        world.ports.registry.definition_version(ACME, OVERDUE, 1),
        state=DefinitionState.RETIRED,
        retired_at=at(minutes=1),
        retired_version=1,
    )
    world.run_only(QueueName.RECONCILE)
    assert world.request() == retired(request, now=at(minutes=1))
    assert ending(world) == RETIRED
    assert [world.notice(name) for name in ("ana", "bob")] == before
    assert (world.unread("ana"), world.telemetry.counted("requests_retired")) == (1, 1)


def test_what_is_queued_still_goes_out(world: World) -> None:
    world.publish("k1")
    accept_only(world)
    retire_now(world)
    world.advance(minutes=5)
    assert (world.chat.calls, world.states()["chat"], world.unread()) == (1, "delivered", 1)
    assert world.request().due_at is None


def test_what_is_deferred_still_goes_out_until_its_deadline(world: World) -> None:
    for key, minutes in ("in.time", 30), ("too.late", 10):
        world.publish(key, deadline=at(minutes=minutes))
    world.chat.faults = [Throttled(retry_after=timedelta(minutes=12))]
    world.run()
    retire_now(world)
    world.advance(minutes=40)
    assert [ending(world, key) for key in ("in.time", "too.late")] == [RETIRED, RETIRED]
    assert (world.states("ana", "in.time")["chat"], world.states("ana", "too.late")["chat"]) == ("delivered", "expired")
    assert [world.request(key).due_at for key in ("in.time", "too.late")] == [None, None]


def test_the_loss_of_every_message_of_a_retired_request_is_made_good(world: World) -> None:
    """Scenario 22."""
    world.publish("k1")
    accept_only(world)
    retire_now(world)
    world.queues.purge()
    world.advance(minutes=5)
    assert (world.chat.calls, world.request().due_at) == (1, None)


def test_publications_after_it_are_invalid_until_it_is_registered_again(world: World) -> None:
    world.retire()
    world.publish("k1")
    world.run()
    assert [(item.field, item.code) for item in world.request().problems] == [("definition", "definition_retired")]
    assert world.register_again().version == 2
    world.publish("k2")
    world.run()
    assert (ending(world, "k1")[0], ending(world, "k2")) == ("invalid", OPEN)
    assert world.request("k2").definition_version == 2


def test_only_the_requests_of_the_definition_that_are_open_are_closed(world: World) -> None:
    world.register_definition(key="other")
    world.publish("other", definition="other")
    world.publish("invalid", data={})
    world.publish("waits", not_before=at(hours=1))
    world.publish("withdrawn")
    world.publish("settled", deadline=at(minutes=1))
    world.run()
    world.withdraw(request_key="withdrawn")
    world.advance(minutes=3)
    before = {row.request_key: row for row in world.database.requests}
    assert before["settled"].state is RequestState.SETTLED
    retire_now(world)
    assert {row.request_key: row for row in world.database.requests} == before
    world.advance(hours=1)
    assert [item.code for item in world.request("waits").problems] == ["definition_retired"]


def test_refused_in_a_suspended_workspace_and_where_nothing_is_registered(world: World) -> None:
    assert world.retire("unheard.of") is RetireRefusal.NOT_FOUND
    world.publish("k1")
    accept_only(world)
    world.register_workspace(status=WorkspaceStatus.SUSPENDED)
    before = world.ports.registry.definition(ACME, OVERDUE, consistent=True)
    assert world.retire() is RetireRefusal.WORKSPACE_SUSPENDED
    assert world.ports.registry.definition(ACME, OVERDUE, consistent=True) == before
    assert world.waiting(QueueName.RECONCILE) == []
    world.run()
    assert (ending(world), world.chat.calls) == (OPEN, 1)


def test_retiring_twice_closes_once_and_keeps_when_it_was_retired(world: World) -> None:
    world.publish("k1")
    world.run()
    first = world.retire()
    world.run()
    row = world.request()
    world.skip(minutes=1)
    assert world.retire() == first
    world.run()
    assert world.request() == row


def test_a_retirement_whose_message_failed_is_finished_by_repeating_it(world: World) -> None:
    world.publish("k1")
    accept_only(world)
    steps = Steps(world.ports)
    steps.interrupt(3, die)
    with pytest.raises(Died):
        retire_definition(ACME, DefinitionKey(OVERDUE), steps.ports)
    assert steps.names() == ["registry.workspace", "registry.definition", "registry.put_definition"]
    assert ending(world) == OPEN
    retire_now(world)
    assert ending(world) == RETIRED


def test_a_retirement_whose_message_is_lost_is_finished_by_each_requests_sweep(world: World) -> None:
    """Scenario 22."""
    world.publish("k1")
    world.run()
    world.retire()
    world.queues.purge()
    world.advance(minutes=3)
    assert ending(world) == RETIRED


def test_a_sweep_that_finds_a_lost_retirement_replaces_the_lost_message_too(world: World) -> None:
    """A deadline may come before the next sweep."""
    world.publish("k1", deadline=world.clock.now() + timedelta(seconds=120))
    accept_only(world)
    world.retire()
    world.queues.purge()
    world.skip(seconds=90)
    world.sweep()
    assert (ending(world), world.states()) == (RETIRED, {"console": "delivered", "chat": "delivered"})


def test_a_retirement_whose_message_is_lost_is_finished_by_the_nightly_audit(world: World) -> None:
    """A request that nothing is owed on until its deadline isn't swept before."""
    world.register_definition("console")
    world.publish("k1")
    world.advance(minutes=5)
    world.retire()
    world.queues.purge()
    world.advance(minutes=5)
    assert ending(world) == OPEN
    world.audit()
    assert ending(world) == RETIRED


def die() -> None:
    raise Died


# ---------------------------------------------------------------- registered again


@pytest.mark.parametrize("when", ["before it is closed", "while it is closed"])
def test_registering_it_again_at_once_does_not_save_what_was_retired(world: World, when: str) -> None:
    for number in range(150):
        world.publish(f"k{number}")
    accept_only(world)
    world.retire()
    if when == "while it is closed":
        close_with_a_ticking_clock(world, seconds_each=0.22)
        assert {ending(world, f"k{number}") for number in range(150)} == {RETIRED, OPEN}
    world.register_again()
    world.publish("new")
    accept_only(world)
    world.run_only(QueueName.RECONCILE)
    assert {ending(world, f"k{number}") for number in range(150)} == {RETIRED}
    assert ending(world, "new") == OPEN


def test_registering_it_again_keeps_sweeps_and_audits_closing_what_was_retired(world: World) -> None:
    world.publish("swept")
    world.run()
    world.retire()
    world.queues.purge()
    world.register_again()
    world.publish("new")
    world.advance(minutes=3)
    assert (ending(world, "swept"), ending(world, "new")) == (RETIRED, OPEN)


def test_an_acceptance_that_began_before_the_retirement_ends_retired_though_registered_again(world: World) -> None:
    def retire_and_register() -> None:
        world.ports, stepped = plain, world.ports
        world.retire()
        world.queues.purge()
        world.register_again()
        world.ports = stepped

    plain, steps = world.ports, Steps(world.ports)
    commit = 0
    for commit in range(100):  # the step after which it is recorded
        steps.interrupt(commit, retire_and_register)
        world.ports = steps.ports
        world.publish(f"k{commit}")
        steps.taken.clear()
        accept_only(world)
        if steps.names()[-1:] and steps.names().index("requests.put") < commit:
            break
    assert ending(world, f"k{commit}") == RETIRED


def test_a_new_version_alone_retires_nothing(world: World) -> None:
    world.publish("k1")
    world.run()
    world.register_definition(title="New")
    world.advance(hours=1)
    assert (ending(world), world.audit().differences) == (OPEN, [])


# ---------------------------------------------------------------- many


def close_with_a_ticking_clock(world: World, *, seconds_each: float, seconds: float = 50) -> Steps:
    """One call of the function, each step taking so long, with so much time before it is ended."""
    steps = Steps(world.ports)
    steps.before_each = partial(world.clock.advance, timedelta(seconds=seconds_each))
    item = next(item for item in world.queues.waiting if item.queue is QueueName.RECONCILE)
    world.queues.take(item)
    until = world.clock.now() + timedelta(seconds=seconds)
    reconcile(parse_task(json.loads(item.body)), steps.ports, until=until)
    assert world.clock.now() < until
    return steps


def test_ten_thousand_open_requests_are_closed_in_pages_each_call_in_its_time(world: World) -> None:
    world.register_definition(key="other")
    world.register_workspace(shards=3)
    world.publish("k0")
    world.publish("mine.not", definition="other")
    accept_only(world)
    template = world.request("k0")
    for number in range(1, 10_000):
        key = f"k{number}"
        row = replace(
            template,
            request_key=key,
            request_id=world.id_of(key),
            shard=number % 3,
            recorded_at=at(seconds=-number),
        )
        world.ports.requests.put(row, None)
    world.retire()
    calls = 0
    while world.waiting(QueueName.RECONCILE):
        steps = close_with_a_ticking_clock(world, seconds_each=0.01)
        assert len(steps.taken) < 5_000
        assert max(step.rows for step in steps.taken) <= 100
        calls += 1
    assert 4 < calls < 20
    assert [row.request_key for row in world.database.requests if row.state is RequestState.OPEN] == ["mine.not"]
    assert {row.caused_by for row in world.database.requests if row.state is RequestState.CANCELLED} == {"retirement"}


def test_a_request_that_keeps_moving_is_closed_all_the_same(world: World) -> None:
    world.register_definition("console")
    world.publish("k1")
    accept_only(world)
    world.ports = replace(world.ports, requests=Moving(world.ports.requests, times=3))
    retire_now(world)
    assert ending(world) == RETIRED


class Moving:
    """A store in which somebody else writes a request just before each of our first writes."""

    def __init__(self, store: Any, *, times: int) -> None:
        self._store, self._times = store, times

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def put(self, new: Any, was: Any) -> None:
        if self._times:
            self._times -= 1
            row = self._store.get(new.workspace_id, new.request_id)
            self._store.put(replace(row, version=row.version + 1), row)
        self._store.put(new, was)


# ---------------------------------------------------------------- races with acceptance


@pytest.mark.parametrize("channels", [("console", "chat"), ("console",), ("chat",)])
def test_a_retirement_between_any_two_steps_of_an_acceptance_ends_the_same(channels: tuple[str, ...]) -> None:
    """It is invalid, having come after; or accepted and closed, its notices going out."""
    number, outcomes = 0, list[str]()
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition(*channels)
        plain, steps = world.ports, Steps(world.ports)
        steps.interrupt(number, partial(retire_with, world, plain))
        world.ports = steps.ports
        world.publish("k1")
        accept_only(world)
        if not steps.is_interrupted:
            break
        world.ports = plain
        world.advance(minutes=5)
        state = world.request().state.value
        outcomes.append(state)
        told = state != "invalid"
        assert state == "invalid" or ending(world) == RETIRED, number
        assert world.chat.calls == (told and "chat" in channels), number
        assert world.unread() == (told and "console" in channels), number
        assert world.audit().differences == [], number
        number += 1
    assert set(outcomes) == {"invalid", "cancelled"}
    assert outcomes == sorted(outcomes, reverse=True)


def retire_with(world: World, plain: Any) -> None:
    world.ports, stepped = plain, world.ports
    retire_now(world)
    world.ports = stepped


def withdraw(world: World) -> None:
    world.withdraw(request_key="k1")
    world.run_only(QueueName.REQUESTS)


def sweep(world: World) -> None:
    world.skip(seconds=90)
    world.sweep_only()


EVENTS: dict[str, Callable[[World], None]] = {
    "withdrawal": withdraw,
    "sweep": sweep,
    "claim": lambda world: world.run_only(QueueName.CHAT),
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_retirement_meets_a_withdrawal_a_sweep_or_a_claim_at_any_step(event: str) -> None:
    """Whichever is first decides; nothing is told twice, and nothing is left owing."""
    outcomes = set[tuple[str, int]]()
    number = 0
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition()
        world.publish("k1")
        accept_only(world)
        plain, steps = world.ports, Steps(world.ports)

        def interfere(world: World = world, plain: Any = plain) -> None:
            world.ports, stepped = plain, world.ports
            EVENTS[event](world)
            world.ports = stepped

        steps.interrupt(number, interfere)
        world.ports = steps.ports
        world.retire()
        item = next(item for item in world.queues.waiting if item.queue is QueueName.RECONCILE)
        world.process(world.queues.take(item))
        world.ports = plain
        if not steps.is_interrupted:
            break
        world.advance(minutes=5)
        outcomes.add((world.request().state.value, world.chat.calls))
        assert world.request().due_at is None, number
        assert world.failures == [], number
        number += 1
    assert number > 5
    assert outcomes == ({("superseded", 0), ("cancelled", 1)} if event == "withdrawal" else {("cancelled", 1)})


def test_a_retirement_that_keeps_losing_its_race_says_so(world: World) -> None:
    class Contended:
        def __getattr__(self, method: str) -> Any:
            return getattr(registry, method)

        def put_definition(self, *_: object) -> None:
            raise Conflict

    registry = world.ports.registry
    contended = replace(world.ports, registry=Contended())
    with pytest.raises(Conflict):
        retire_definition(ACME, DefinitionKey(OVERDUE), contended)


@pytest.mark.parametrize("adds", [{}, {"fold_key": "f"}])
def test_an_acceptance_that_died_and_was_retired_before_it_is_resumed_still_goes_out(adds: dict[str, str]) -> None:
    """Scenarios 20 and 22: a sweep of the closed request is the whole of its resume."""
    number, resumed = 0, 0
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition(fold_within=timedelta(hours=1) if adds else None)
        steps = Steps(world.ports)
        steps.interrupt(number, die)
        world.ports = steps.ports
        world.publish("k1", **adds)
        world.run_only(QueueName.REQUESTS)
        world.ports = world.plain
        if not steps.is_interrupted:
            break
        retire_now(world)
        world.queues.purge()
        world.advance(minutes=5)
        is_recorded = world.has("k1")
        assert not is_recorded or ending(world) == RETIRED, number
        assert (world.unread(), world.chat.calls) == (is_recorded, is_recorded), number
        assert world.audit().differences == [], number
        resumed += is_recorded
        number += 1
    assert resumed > 4


def test_what_it_folded_into_goes_on_carrying(world: World) -> None:
    world.register_definition(fold_within=timedelta(hours=1))
    world.publish("k1", fold_key="f")
    accept_only(world)
    retire_now(world)
    world.queues.purge()
    world.advance(minutes=5)
    (notice,) = world.folded()
    assert (notice.ended, world.unread(), world.chat.calls) == (None, 1, 1)
    assert notice.delivery(Channel.CHAT) is not None
