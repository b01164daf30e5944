"""Resuming: a publication that comes again has done what is still owed, and nothing else."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.ports import Conflict, QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.limits import RECEIVES_MAX
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled
from tests.application.faulty import failing
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, World

KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "folded": ({"fold_within": timedelta(hours=1)}, {"fold_key": "f"}),
    "replacing": ({"replace_previous": True}, {"replacement_key": "r"}),
}
"""What a definition and a publication of it add."""


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def die() -> None:
    raise Died


def a_world(kind: str = "plain") -> World:
    world = World()
    world.register_people("ana", "bob")
    world.register_definition(**KINDS[kind][0])
    return world


def publish(world: World, kind: str = "plain", **changes: Any) -> str:
    """The body of a publication of k1, laid into the queue."""
    body = json.dumps(world.publication("k1", "ana", "bob", **KINDS[kind][1], **changes))
    world.queues.put(QueueName.REQUESTS, body)
    return body


def died_at_step(kind: str, number: int) -> World | None:
    """A world whose acceptance of k1 died before its n-th step; None where it takes fewer."""
    world = a_world(kind)
    plain, steps = world.ports, Steps(world.ports)
    steps.interrupt(number, die)
    world.ports = steps.ports
    publish(world, kind)
    world.run_only(QueueName.REQUESTS)
    world.ports = plain
    return world if steps.is_interrupted else None


def assert_told_once(world: World, number: int) -> None:
    row = world.request()
    assert (row.state, row.closed_at, row.differing_repeat_at) == (RequestState.OPEN, None, None), number
    assert len(list(world.database.notices)) == 2, number
    assert (world.unread("ana"), world.unread("bob")) == (1, 1), number
    assert sorted(world.chat.times().values()) == [1, 1], number
    assert (world.failures, world.queues.dead) == ([], []), number
    assert world.audit().differences == [], number


# ---------------------------------------------------------------- after a crash


@pytest.mark.parametrize("kind", KINDS)
def test_an_acceptance_that_died_before_any_step_is_finished_by_its_own_message(kind: str) -> None:
    """Scenario 20."""
    number = 0
    while (world := died_at_step(kind, number)) is not None:
        world.advance(minutes=10)
        assert_told_once(world, number)
        number += 1
    assert number > 10


@pytest.mark.parametrize("kind", KINDS)
def test_an_acceptance_that_died_before_any_step_is_finished_by_the_producers_repeat(kind: str) -> None:
    """Scenario 20: known is not done."""
    number = 0
    while (world := died_at_step(kind, number)) is not None:
        world.queues.purge()
        publish(world, kind)
        world.advance(minutes=1)
        assert_told_once(world, number)
        number += 1
    assert number > 10


@pytest.mark.parametrize("kind", KINDS)
def test_an_acceptance_that_died_after_its_commit_is_finished_by_the_tables_alone(kind: str) -> None:
    """Scenarios 20 and 22: every queue was purged."""
    number = finished = 0
    while (world := died_at_step(kind, number)) is not None:
        world.queues.purge()
        world.advance(minutes=5)
        if world.has("k1"):
            assert_told_once(world, number)
            finished += 1
        else:
            assert world.chat.calls == 0
        number += 1
    assert finished > 4


def test_what_is_shown_in_an_inbox_only_is_brought_back_by_the_first_check() -> None:
    """Scenario 22: the commit stands, what follows it died, and every queue is purged."""
    world = a_world()
    world.register_definition("console")
    steps = Steps(world.ports)
    plain, world.ports = world.ports, steps.ports
    publish(world)
    while not world.has("k1"):
        steps.interrupt(len(steps.taken), die)
        steps.taken.clear()
        world.run_only(QueueName.REQUESTS)
        world.skip(minutes=3)
    world.ports = plain
    world.queues.purge()
    assert (world.unread("ana"), world.unread("bob")) == (0, 0)
    world.sweep()
    assert (world.unread("ana"), world.unread("bob")) == (1, 1)
    assert world.request().due_at == world.request().expires_at
    assert world.audit().differences == []


def test_the_acceptance_of_two_hundred_that_outlives_its_message_changes_nothing_the_second_time() -> None:
    """Scenario 5: its second run begins while the first is still at work."""
    world = a_world()
    everybody = [f"p{number:03d}" for number in range(200)]
    world.register_people(*everybody)
    plain, steps = world.ports, Steps(world.ports)
    body = json.dumps(world.publication("k1", *everybody))

    def second_run() -> None:
        world.ports, first = plain, world.ports
        world.queues.put(QueueName.REQUESTS, body)
        world.run_only(QueueName.REQUESTS)
        world.ports = first

    steps.interrupt(100, second_run)
    world.ports = steps.ports
    world.queues.put(QueueName.REQUESTS, body)
    item = world.queues.receive()
    assert item is not None
    world.process(item)
    world.ports = plain
    assert steps.is_interrupted
    world.advance(minutes=2)
    assert (world.chat.calls, set(world.chat.times().values())) == (200, {1})
    assert {world.unread(name) for name in everybody} == {1}


# ---------------------------------------------------------------- only what is owed


def test_a_repeat_dispatches_what_is_queued_and_nothing_that_waits_is_sent_or_ended() -> None:
    world = a_world()
    world.register_people("carl", "dora")
    world.register_definition("chat")
    body = json.dumps(world.publication("k1", "ana", "bob", "carl"))
    world.queues.put(QueueName.REQUESTS, body)
    world.run_only(QueueName.REQUESTS)
    ana, bob, carl = world.waiting(QueueName.CHAT)
    assert [item["recipient"] for _, item in (ana, bob, carl)] == ["ana", "bob", "carl"]
    item = world.queues.receive()
    assert item is not None
    world.process(item)  # ana's is sent
    world.chat.faults = [Throttled(retry_after=timedelta(minutes=10))]
    item = world.queues.receive()
    assert item is not None
    world.process(item)  # bob's waits
    assert [world.states(name)["chat"] for name in ("ana", "bob", "carl")] == ["delivered", "deferred", "queued"]
    world.queues.purge()
    world.queues.put(QueueName.REQUESTS, body)
    world.run_only(QueueName.REQUESTS)
    assert [item["recipient"] for _, item in world.waiting(QueueName.CHAT)] == ["carl"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_repeat_of_a_finished_request_sends_and_writes_nothing(kind: str) -> None:
    world = a_world(kind)
    body = publish(world, kind)
    world.advance(minutes=5)
    request, notices = world.request(), list(world.database.notices)
    steps = Steps(world.ports)
    world.ports = steps.ports
    world.queues.put(QueueName.REQUESTS, body)
    world.run()
    assert {name for name in steps.names() if "put" in name or "commit" in name or "send" in name} == set()
    assert (world.request(), list(world.database.notices)) == (request, notices)


@pytest.mark.parametrize("end", ["settled", "withdrawn", "retired", "replaced"])
def test_a_repeat_of_an_ended_request_brings_nothing_back(end: str) -> None:
    world = a_world("replacing")
    body = publish(world, "replacing", deadline=at(hours=1))
    world.run()
    match end:
        case "withdrawn":
            world.withdraw(request_key="k1")
        case "retired":
            world.retire()
        case "replaced":
            world.publish("k2", replacement_key="r", published_at=at(seconds=1), deadline=at(hours=1))
        case _:
            pass
    world.advance(hours=2)
    before = world.request(), list(world.database.notices), world.chat.calls
    assert before[0].state == {"withdrawn": "superseded", "replaced": "superseded", "retired": "cancelled"}.get(
        end, "settled"
    )
    world.queues.put(QueueName.REQUESTS, body)
    world.advance(minutes=5)
    assert (world.request(), list(world.database.notices), world.chat.calls) == before


def test_a_repeat_of_a_withdrawn_request_finishes_its_ending() -> None:
    """The withdrawal died after it was recorded, and its sweep isn't due yet."""
    world = a_world()
    body = publish(world)
    world.run_only(QueueName.REQUESTS)
    plain, steps = world.ports, Steps(world.ports)
    world.ports = steps.ports
    steps.interrupt(2, die)
    world.withdraw(request_key="k1")
    world.run_only(QueueName.REQUESTS)
    world.ports = plain
    assert (world.request().state, world.unread("ana")) == (RequestState.SUPERSEDED, 1)
    world.queues.purge()
    world.queues.put(QueueName.REQUESTS, body)
    world.run()
    assert (world.unread("ana"), world.unread("bob"), world.chat.calls) == (0, 0, 0)


# ---------------------------------------------------------------- repeated with other content


def outcome_after(world: World, **changes: Any) -> Request:
    world.skip(seconds=1)
    world.publish("k1", "ana", "bob", **changes)
    world.run()
    return world.request()


@pytest.mark.parametrize(
    "changes",
    [
        {"data": {"number": "43"}},
        {"audience": {"people": ["ana"]}},
        {"deadline": at(days=1)},
        {"not_before": at(hours=1)},
        {"data": "no object"},
    ],
)
def test_a_repeat_with_other_content_keeps_the_first_outcome_and_says_once_that_it_differed(
    changes: dict[str, Any],
) -> None:
    """Scenario 44."""
    world = a_world()
    publish(world)
    world.run()
    first = world.request()
    noted = replace(first, version=first.version + 1, differing_repeat_at=at(seconds=1))
    assert outcome_after(world, **changes) == noted
    assert outcome_after(world, **changes) == noted
    assert outcome_after(world) == noted
    assert world.telemetry.counted("publications_differing") == 1
    assert world.telemetry.counted("publications_repeated") == 3
    (row,) = world.ports.requests.history(ACME, 0, before=None, limit=10)
    assert row.differing_repeat_at == at(seconds=1)
    assert sorted(item.text for item in world.chat.reached) == ["Invoice 42", "Invoice 42"]


@pytest.mark.parametrize(
    "changes",
    [
        {"published_at": at(seconds=-30)},
        {"not_before": None, "deadline": None, "replacement_key": None, "fold_key": None},
        {"audience": {"people": ["bob", "ana", "bob"], "teams": [], "roles": []}},
    ],
)
def test_the_same_content_in_other_words_is_no_difference(changes: dict[str, Any]) -> None:
    """Scenario 8."""
    world = a_world()
    publish(world)
    world.run()
    first = world.request()
    assert outcome_after(world, **changes) == first


def test_a_difference_is_noted_though_others_write_the_row_at_the_same_time() -> None:
    world = a_world()
    publish(world)
    world.run()
    world.ports = replace(world.ports, requests=Contended(world.ports.requests, times=3))
    assert outcome_after(world, data={"number": "43"}).differing_repeat_at == at(seconds=1)
    assert world.telemetry.counted("publications_differing") == 1


def test_a_difference_whose_own_answer_was_lost_is_noted_once() -> None:
    world = a_world()
    publish(world)
    world.run()
    first = world.request()
    world.ports = replace(world.ports, requests=Lossy(world.ports.requests))
    row = outcome_after(world, data={"number": "43"})
    assert row == replace(first, version=first.version + 1, differing_repeat_at=at(seconds=1))


class Contended:
    """A store in which somebody else writes a request just before each of our first writes."""

    def __init__(self, store: Any, *, times: int) -> None:
        self._store, self._times = store, times

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def put(self, new: Request, was: Request | None) -> None:
        if self._times:
            self._times -= 1
            row = self._store.get(new.workspace_id, new.request_id)
            self._store.put(replace(row, version=row.version + 1), row)
        self._store.put(new, was)


class Lossy(Contended):
    """A store whose writes of requests are made, and come back as conflicts."""

    def __init__(self, store: Any) -> None:
        super().__init__(store, times=0)

    def put(self, new: Request, was: Request | None) -> None:
        super().put(new, was)
        raise Conflict


@pytest.mark.parametrize("kind", KINDS)
def test_an_acceptance_whose_own_answer_was_lost_goes_on_as_if_it_had_come(kind: str) -> None:
    world = a_world(kind)
    plain = world.ports
    world.ports = replace(plain, requests=LosesOne(plain.requests))
    publish(world, kind)
    world.advance(minutes=5)
    assert_told_once(world, 0)


class LosesOne:
    """A store that loses the answer of its first write."""

    def __init__(self, store: Any) -> None:
        self._store, self._has_lost = store, False

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._store, method)
        if method not in {"put", "commit"} or self._has_lost:
            return call

        def lost(*args: Any) -> None:
            self._has_lost = True
            call(*args)
            raise Conflict

        return lost


def test_a_publication_that_keeps_losing_its_race_comes_again_and_is_dead_lettered_at_last() -> None:
    world = a_world()
    store = world.ports.requests

    class Refusing:
        def __getattr__(self, method: str) -> Any:
            return getattr(store, method)

        def put(self, new: Request, was: Request | None) -> None:
            if new.state is RequestState.OPEN:
                raise Conflict
            store.put(new, was)

    world.ports = replace(world.ports, requests=Refusing())
    publish(world)
    world.advance(minutes=20)
    assert len(world.failures) == RECEIVES_MAX
    assert [item.code for item in world.request().problems] == ["dead_lettered"]
    assert world.request().state is RequestState.QUEUED


# ---------------------------------------------------------------- what changed between commit and resume


def test_what_is_resumed_later_is_what_was_accepted_not_what_the_directory_says_now() -> None:
    world = died_at_first_notice()
    world.register_people("ana", "bob", name="Somebody else", active=False)
    world.register_definition("console", title="New")
    world.register_workspace(channels=frozenset({Channel.CONSOLE}))
    world.advance(minutes=10)
    assert [item.recipient for item in world.request().manifest] == ["ana", "bob"]
    assert world.states("ana") == {"console": "delivered", "chat": "skipped"}
    content = world.notice("ana").content
    assert content is not None
    assert (content.title, content.body) == ("Invoice 42", "For Somebody else")


def died_at_first_notice() -> World:
    number = 0
    while True:
        world = died_at_step("plain", number)
        assert world is not None
        if world.has("k1"):
            return world
        number += 1


@pytest.mark.parametrize("times", [1, 7])
def test_a_first_notice_whose_write_was_refused_for_nothing_is_written_again(times: int) -> None:
    world = a_world()
    world.ports = failing(world.ports, "notices.put", Conflict("another transaction holds the item"), times=times)
    world.publish()
    world.run()
    assert world.is_stored()
    assert world.unread() == 1


def test_a_first_notice_that_is_always_refused_leaves_its_message() -> None:
    world = a_world()
    world.ports = failing(world.ports, "notices.put", Conflict("another transaction holds the item"), times=8)
    world.publish()
    world.run()
    assert not world.is_stored()
    world.advance(minutes=4)
    assert world.is_stored()
