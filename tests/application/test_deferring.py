"""Deferring: a publication whose time hasn't come waits, seen in the History, and is kept to the second."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.ports import QueueName
from notify_core.application.preview_request import preview_request
from notify_core.application.read_history import HistoryQuery, read_history
from notify_core.application.record_dead_publication import record_dead_publication
from notify_core.application.reprocess_request import ReprocessRefusal, reprocess_request
from notify_core.domain.request import Publication
from notify_core.domain.request_lifecycle import RequestState
from notify_core.messages.publications import parse_message
from tests.application.world import ACME, NOON, World


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def accepted_after(world: World, request_key: str = "k1") -> float | None:
    """How many seconds after noon it was accepted."""
    accepted_at = world.request(request_key).accepted_at
    return None if accepted_at is None else (accepted_at - NOON).total_seconds()


def due_after(world: World) -> float | None:
    due_at = world.request().due_at
    return None if due_at is None else (due_at - NOON).total_seconds()


# ---------------------------------------------------------------- kept to the second


@pytest.mark.parametrize(
    "wait",
    [
        timedelta(milliseconds=1),
        timedelta(seconds=1),
        timedelta(seconds=59, milliseconds=500),
        timedelta(minutes=1),
        timedelta(seconds=899),
        timedelta(seconds=900),
        timedelta(seconds=901),
        timedelta(minutes=17),
        timedelta(seconds=1019),
        timedelta(seconds=1021),
        timedelta(hours=3, seconds=7),
        timedelta(days=7, seconds=1),
        timedelta(days=60),
    ],
)
def test_a_time_seconds_to_sixty_days_ahead_is_kept_to_the_second(world: World, wait: timedelta) -> None:
    world.register_definition(expires_after=timedelta(days=90))
    world.publish("k1", not_before=NOON + wait)
    world.run()
    assert world.request().state is RequestState.QUEUED
    world.advance(seconds=wait.total_seconds() + 2)
    late = accepted_after(world)
    assert late is not None
    assert 0 <= late - wait.total_seconds() < 2
    assert world.chat.calls == 1


@pytest.mark.parametrize(("milliseconds", "state"), [(-1, "queued"), (0, "open"), (1, "open")])
def test_the_moment_itself_is_the_first_at_which_it_is_accepted(world: World, milliseconds: int, state: str) -> None:
    world.publish("k1", not_before=at(minutes=1, milliseconds=-milliseconds))
    world.skip(minutes=1)
    world.run()
    assert world.request().state == state


def test_a_waiting_publication_is_in_the_history_with_its_time(world: World) -> None:
    world.publish("k1", not_before=at(days=3))
    world.run()
    world.advance(days=1)
    query = HistoryQuery(workspace_id=ACME, limit=10, state=RequestState.QUEUED)
    (row,) = read_history(query, world.ports).rows
    assert (row.request_key, row.state, row.not_before, row.recorded_at) == ("k1", "queued", at(days=3), NOON)
    assert (row.published_at, row.expires_at, row.closed_at) == (NOON, at(days=7), None)


def test_a_near_one_waits_as_its_own_message_hidden_until_its_time(world: World) -> None:
    world.publish("k1", not_before=at(seconds=899.5))
    world.run()
    assert [seconds for seconds, _ in world.waiting(QueueName.REQUESTS)] == [900]
    assert due_after(world) == 929.5


def test_a_later_one_leaves_the_queue_and_is_published_again_by_the_sweep(world: World) -> None:
    world.publish("k1", not_before=at(hours=1))
    world.run()
    assert world.queues.waiting == []
    assert due_after(world) == 3600 - 120
    world.advance(minutes=58)
    assert [seconds for seconds, _ in world.waiting(QueueName.REQUESTS)] == [120]
    assert due_after(world) == 3600 + 30
    world.advance(minutes=2)
    assert accepted_after(world) == 3600
    assert world.request().recorded_at == NOON


def test_waiting_again_and_again_writes_nothing_again(world: World) -> None:
    body = json.dumps(world.publication("k1", not_before=at(minutes=10)))
    world.queues.put(QueueName.REQUESTS, body)
    world.run()
    before = world.request()
    world.queues.put(QueueName.REQUESTS, body)
    world.run()
    assert world.request() == before


class Hasty(World):
    """A world whose queue brings every message back within half a minute, whatever was asked of it."""

    rounds = 0

    def process(self, item: Any) -> None:
        self.rounds += item.queue is QueueName.REQUESTS
        super().process(item)
        for waiting in self.queues.waiting:
            waiting.visible_at = min(waiting.visible_at, self.clock.now() + timedelta(seconds=30))
        self.queues.waiting.sort()


@pytest.mark.parametrize(("minutes", "rounds"), [(14, 29), (61, 5)])
def test_a_message_that_comes_round_more_than_sixteen_times_is_not_dropped(minutes: int, rounds: int) -> None:
    """Scenario 38."""
    world = Hasty()
    world.register_people("ana")
    world.register_definition()
    world.publish("k1", not_before=at(minutes=minutes))
    world.advance(minutes=minutes + 1)
    assert world.rounds == rounds
    assert world.queues.dead == []
    assert accepted_after(world) == minutes * 60
    assert world.chat.calls == 1


def test_near_the_receive_limit_a_fresh_copy_takes_the_messages_place(world: World) -> None:
    world.publish("k1", not_before=at(minutes=10))
    for _ in range(3):
        world.run()
        world.queues.waiting[0].visible_at = world.clock.now()
    assert world.queues.waiting[0].receives == 3
    world.skip(seconds=1)
    world.run()
    ((seconds, body),) = world.waiting(QueueName.REQUESTS)
    assert (seconds, body["published_at"]) == (599, NOON.isoformat())
    assert world.queues.waiting[0].receives == 0
    world.advance(minutes=10)
    assert accepted_after(world) == 600
    assert world.request().differing_repeat_at is None


@pytest.mark.parametrize("wait", [timedelta(seconds=30), timedelta(minutes=14), timedelta(hours=2), timedelta(days=3)])
def test_the_loss_of_every_message_is_made_good_by_the_sweep(world: World, wait: timedelta) -> None:
    """Scenario 22."""
    world.publish("k1", not_before=NOON + wait)
    world.run()
    world.queues.purge()
    world.advance(seconds=wait.total_seconds() - 10)
    world.queues.purge()
    world.advance(seconds=130)
    late = accepted_after(world)
    assert late is not None
    assert 0 <= late - wait.total_seconds() <= 120
    assert world.chat.calls == 1


def test_losing_every_message_every_time_only_delays_it(world: World) -> None:
    """Scenario 22: the sweep goes on publishing it, ever more rarely."""
    world.publish("k1", not_before=at(minutes=1))
    world.run()
    for _ in range(30):
        world.queues.purge()
        world.skip(minutes=5)
        world.sweep_only()
    assert world.request().state is RequestState.QUEUED
    world.advance(hours=1)
    assert world.request().state is RequestState.OPEN


def test_a_day_without_the_scheduler_loses_nothing(world: World) -> None:
    """Scenario 18."""
    world.publish("sent", not_before=at(hours=1))
    world.publish("withdrawn", not_before=at(hours=1))
    world.publish("expired", not_before=at(hours=1), deadline=at(hours=5))
    world.run()
    world.skip(days=1)
    world.withdraw(request_key="withdrawn")
    world.advance(minutes=5)
    states = {key: (world.request(key).state, world.request(key).reason) for key in ("sent", "withdrawn", "expired")}
    assert states == {
        "sent": ("open", None),
        "withdrawn": ("cancelled", "withdrawn"),
        "expired": ("expired", "deadline"),
    }
    assert world.chat.calls == 1


# ---------------------------------------------------------------- times that make no sense


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"not_before": at(hours=2), "deadline": at(hours=2)}, [("not_before", "contradictory_times")]),
        ({"not_before": at(hours=3), "deadline": at(hours=2)}, [("not_before", "contradictory_times")]),
        ({"not_before": at(days=7)}, [("not_before", "contradictory_times")]),
        ({"not_before": at(days=60, milliseconds=1)}, [("not_before", "too_far_ahead")]),
        ({"not_before": at(days=7, milliseconds=-1)}, []),
        ({"not_before": at(hours=2), "deadline": at(hours=2, milliseconds=1)}, []),
        ({"not_before": at(days=-1)}, []),
    ],
)
def test_contradictory_and_distant_times_are_problems(
    world: World, changes: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    world.publish("k1", **changes)
    world.run()
    row = world.request()
    assert [(item.field, item.code) for item in row.problems] == problems
    assert (row.state is RequestState.INVALID) == bool(problems)


def test_expires_after_counts_from_published_at_not_from_arrival(world: World) -> None:
    world.register_definition(expires_after=timedelta(hours=1))
    world.publish("in.time", published_at=at(minutes=-59))
    world.publish("too.late", published_at=at(minutes=-60))
    world.publish("waits", published_at=at(minutes=-30), not_before=at(minutes=29))
    world.publish("never", published_at=at(minutes=-30), not_before=at(minutes=30))
    world.run()
    found = {key: (world.request(key).state, world.request(key).reason) for key in ("in.time", "too.late", "never")}
    assert found == {"in.time": ("open", None), "too.late": ("expired", "age"), "never": ("invalid", None)}
    assert world.request("waits").expires_at == at(minutes=30)
    world.advance(minutes=30)
    assert accepted_after(world, "waits") == 29 * 60


def test_the_definition_of_the_moment_of_acceptance_counts_not_that_of_the_arrival(world: World) -> None:
    world.publish("k1", not_before=at(hours=1))
    world.run()
    assert world.request().definition_version == 1
    world.register_definition("console", title="New")
    world.advance(hours=1)
    assert world.request().definition_version == 2
    assert world.states() == {"console": "delivered"}


def test_a_definition_that_grew_stricter_meanwhile_makes_the_waiting_one_expire_sooner(world: World) -> None:
    world.publish("k1", not_before=at(hours=2))
    world.run()
    world.register_definition(expires_after=timedelta(hours=1))
    world.advance(hours=2)
    row = world.request()
    assert (row.state, [item.code for item in row.problems]) == (RequestState.INVALID, ["contradictory_times"])


def test_a_definition_retired_meanwhile_makes_the_waiting_one_invalid(world: World) -> None:
    world.publish("k1", not_before=at(hours=1))
    world.run()
    world.retire()
    world.advance(hours=1)
    assert [item.code for item in world.request().problems] == ["definition_retired"]


# ---------------------------------------------------------------- repeated while it waits


@pytest.mark.parametrize("first_wait", [timedelta(minutes=10), timedelta(hours=2)])
@pytest.mark.parametrize(
    "other",
    [
        {"data": {"number": "43"}},
        {"data": {"number": "43"}, "not_before": None},
        {"data": {"number": "43"}, "not_before": at(days=2)},
        {"audience": {"people": ["bob"]}, "not_before": None},
        {"data": []},
    ],
)
def test_a_waiting_publication_keeps_what_its_key_was_first_published_with(
    world: World, first_wait: timedelta, other: dict[str, Any]
) -> None:
    """Scenario 44."""
    world.publish("k1", not_before=NOON + first_wait)
    world.run()
    first = world.request()
    world.skip(seconds=5)
    world.publish("k1", **{"not_before": NOON + first_wait} | other)
    world.run()
    assert world.request() == replace(first, version=2, differing_repeat_at=at(seconds=5))
    assert world.telemetry.counted("publications_differing") == 1
    world.advance(hours=3)
    row = world.request()
    assert (row.state, row.data, row.published_at) == (RequestState.OPEN, {"number": "42"}, NOON)
    assert row.differing_repeat_at == at(seconds=5)
    assert [(item.address, item.text) for item in world.chat.reached] == [("UANA", "Invoice 42")]
    assert world.telemetry.counted("publications_differing") == 1


def test_a_repeat_of_a_waiting_publication_moves_neither_its_age_nor_its_order(world: World) -> None:
    """Scenario 8: the producer publishes again because it timed out."""
    world.publish("k1", not_before=at(hours=2))
    world.run()
    first = world.request()
    world.skip(minutes=5)
    world.publish("k1", not_before=at(hours=2))
    world.run()
    assert world.request() == first


def test_a_preview_of_a_waiting_key_with_other_content_says_that_it_stands(world: World) -> None:
    world.publish("k1", not_before=at(hours=2))
    world.run()
    same, other = (
        preview_request(parsed(world.publication("k1", not_before=at(hours=2), data={"number": number})), world.ports)
        for number in ("42", "43")
    )
    assert (same.state, same.problems, [item.recipient for item in same.manifest]) == ("queued", (), ["ana"])
    assert (other.state, [item.code for item in other.problems]) == ("queued", ["already_recorded"])


def parsed(body: dict[str, Any]) -> Publication:
    found = parse_message(json.dumps({**body, "not_before": body["not_before"]}))
    assert isinstance(found, Publication)
    return found


# ---------------------------------------------------------------- dead-lettered


def bury(world: World, **changes: Any) -> None:
    """Publish while the directory is out of order, until the message has no receives left."""
    working = world.ports
    world.ports = replace(working, directory=Broken())
    world.publish("k1", **changes)
    world.advance(minutes=20)
    world.ports = working
    world.failures.clear()


class Broken:
    def __getattr__(self, method: str) -> Any:
        raise RuntimeError(f"{method} is out of order")


def test_a_dead_lettered_publication_is_recorded_and_left_alone_until_its_deadline(world: World) -> None:
    bury(world, deadline=at(hours=2))
    row = world.request()
    assert (row.state, [item.code for item in row.problems]) == (RequestState.QUEUED, ["dead_lettered"])
    assert (row.due_at, row.expires_at, row.data) == (at(hours=2), at(hours=2), {"number": "42"})
    world.advance(hours=1)
    assert (world.request(), world.queues.waiting) == (row, [])
    world.advance(hours=1)
    row = world.request()
    assert (row.state, row.reason, row.caused_by) == (RequestState.EXPIRED, "deadline", "sweep")
    assert [item.code for item in row.problems] == ["dead_lettered"]


def test_a_dead_lettered_publication_is_processed_again_when_asked(world: World) -> None:
    bury(world)
    assert reprocess_request(ACME, world.id_of("k1"), world.ports) is None
    world.run()
    row = world.request()
    assert (row.state, row.problems, row.differing_repeat_at) == (RequestState.OPEN, (), None)
    assert world.chat.calls == 1
    assert reprocess_request(ACME, row.request_id, world.ports) is ReprocessRefusal.NOT_DEAD_LETTERED


def test_a_dead_lettered_publication_is_still_withdrawn(world: World) -> None:
    bury(world)
    world.withdraw(request_key="k1")
    world.publish("k1")
    world.run()
    assert (world.request().state, world.request().reason) == ("cancelled", "withdrawn")
    assert world.chat.calls == 0


def test_a_dead_letter_leaves_what_waits_for_its_time_as_it_is(world: World) -> None:
    """The sweep publishes it again: only what nothing brings back needs an operator."""
    publication = world.publication("k1", not_before=at(hours=3))
    world.queues.put(QueueName.REQUESTS, json.dumps(publication))
    world.run()
    first = world.request()
    record_dead_publication(parsed(publication), world.ports)
    assert world.request() == first
    record_dead_publication(parsed(publication | {"data": {"number": "43"}}), world.ports)
    assert world.request() == replace(first, version=2, differing_repeat_at=NOON)
    world.advance(hours=3)
    assert [item.text for item in world.chat.reached] == ["Invoice 42"]


def test_a_dead_letter_with_other_content_keeps_what_its_key_was_first_published_with(world: World) -> None:
    bury(world)
    first = world.request()
    record_dead_publication(parsed(world.publication("k1", not_before=None, data={"number": "43"})), world.ports)
    assert world.request() == replace(first, version=2, differing_repeat_at=world.clock.now())


def test_a_dead_letter_of_an_accepted_publication_has_its_rest_swept_at_once(world: World) -> None:
    """The acceptance is recorded, what follows it kept failing."""
    world.register_definition("console")
    working = world.ports
    world.ports = replace(working, notices=Broken())
    world.publish("k1")
    world.advance(minutes=20)
    world.ports = working
    assert QueueName.REQUESTS in {queue for queue, _, _ in world.queues.dead}
    world.failures.clear()
    assert (world.request().state, world.inbox()) == (RequestState.OPEN, [])
    world.sweep()
    assert [notice.notice_id for notice in world.inbox()] == [world.id_of("k1")]
    assert due_after(world) == timedelta(days=7).total_seconds()
