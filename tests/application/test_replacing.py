"""Replacing: one open request a replacement key, the newest; older ones are superseded, late ones cancelled."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from notify_core.adapters.memory import FixedClock
from notify_core.adapters.threads import ThreadGather
from notify_core.application.accept_request import accept_request
from notify_core.application.ports import Conflict, Head, QueueName
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.request import Publication, Withdrawal
from notify_core.domain.request_lifecycle import RequestState
from notify_core.messages.publications import parse_message
from tests.application.stale import Stale
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, OVERDUE, World

Ending = tuple[str, str | None, str | None]
REPLACED: Ending = ("superseded", "replaced", "replacement")
LATE: Ending = ("cancelled", "replaced_before_acceptance", "replacement")
OPEN: Ending = ("open", None, "processor")


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


@pytest.fixture
def world(world: World) -> World:
    world.register_definition(replace_previous=True)
    return world


def ending(world: World, request_key: str) -> Ending:
    row = world.request(request_key)
    return row.state.value, row.reason and row.reason.value, row.caused_by and row.caused_by.value


def endings(world: World, *request_keys: str) -> list[Ending]:
    return [ending(world, key) for key in request_keys]


def head(world: World, replacement_key: str = "r") -> Head | None:
    return world.ports.requests.head(ACME, OVERDUE, replacement_key)


def publish(world: World, request_key: str, *people: str, **changes: Any) -> None:
    world.publish(request_key, *people, **{"replacement_key": "r", **changes})


def test_accepting_an_occurrence_supersedes_the_one_before_it_and_its_unsent_work(world: World) -> None:
    publish(world, "k1", "ana", "bob")
    world.run_only(QueueName.REQUESTS)
    publish(world, "k2", "ana", published_at=at(milliseconds=1))
    world.run_only(QueueName.REQUESTS)
    world.advance(minutes=5)
    assert endings(world, "k1", "k2") == [REPLACED, OPEN]
    assert world.request("k2").replaces == world.id_of("k1")
    assert world.states("ana", "k1") == {"console": "delivered", "chat": "cancelled"}
    assert [(item.reason, world.notice("bob", "k1").status) for item in world.notice("bob", "k1").deliveries] == [
        (None, "superseded"),
        ("replaced", "superseded"),
    ]
    assert [item.notice_id for item in world.chat.reached] == [world.id_of("k2")]
    assert (world.unread("ana"), world.unread("bob")) == (1, 0)
    assert head(world) == Head(
        workspace_id=ACME,
        definition=OVERDUE,
        replacement_key="r",
        current=world.id_of("k2"),
        current_published_at=at(milliseconds=1),
        version=2,
        delete_at=at(days=97, milliseconds=1),
    )


def test_what_was_sent_already_is_not_recalled_and_stays_readable(world: World) -> None:
    publish(world, "k1")
    world.run()
    publish(world, "k2", published_at=at(seconds=1))
    world.run()
    assert world.states("ana", "k1") == {"console": "delivered", "chat": "delivered"}
    assert [(item.notice_id, item.status) for item in world.inbox()] == sorted(
        [(world.id_of("k1"), "superseded"), (world.id_of("k2"), "delivered")], reverse=True
    )
    assert world.unread() == 1


def test_a_late_older_occurrence_ends_cancelled_and_touches_nothing(world: World) -> None:
    publish(world, "new", published_at=NOON)
    world.run()
    before = world.request("new"), head(world)
    publish(world, "old", published_at=at(milliseconds=-1))
    world.run()
    assert endings(world, "new", "old") == [OPEN, LATE]
    assert (world.request("new"), head(world)) == before
    assert (world.chat.calls, world.unread()) == (1, 1)


@pytest.mark.parametrize("end", ["settled", "withdrawn"])
def test_an_older_occurrence_stays_too_late_when_the_newer_one_has_ended(world: World, end: str) -> None:
    publish(world, "new", deadline=at(hours=1))
    world.run()
    if end == "withdrawn":
        world.withdraw(request_key="new")
    world.advance(hours=2)
    publish(world, "old", published_at=at(milliseconds=-1))
    world.run()
    assert world.request("new").state == {"settled": "settled", "withdrawn": "superseded"}[end]
    assert ending(world, "old") == LATE


def test_equal_times_are_ordered_by_request_id(world: World) -> None:
    low, high = sorted(["k1", "k2"], key=world.id_of)
    for first, second, expected in ((low, high, [REPLACED, OPEN]), (high, low, [OPEN, LATE])):
        other = World()
        other.register_people("ana")
        other.register_definition(replace_previous=True)
        for key in (first, second):
            publish(other, key)
            other.run()
        assert endings(other, first, second) == expected


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_in_whatever_order_occurrences_come_the_newest_is_the_one_left(world: World, order: tuple[int, ...]) -> None:
    for number in order:
        publish(world, f"k{number}", published_at=at(seconds=number - 10))
        world.run()
    newest = -1
    for number in order:
        expected = OPEN if number == 3 else LATE if number < newest else REPLACED
        assert ending(world, f"k{number}") == expected
        newest = max(newest, number)
    assert world.unread() == 1


def test_only_the_same_key_of_the_same_definition_is_replaced(world: World) -> None:
    world.register_definition(key="other", replace_previous=True)
    publish(world, "k1")
    publish(world, "k2", definition="other", published_at=at(seconds=1))
    publish(world, "k3", replacement_key="R", published_at=at(seconds=1))
    world.run()
    assert endings(world, "k1", "k3") == [OPEN, OPEN]
    assert world.request("k2", definition="other").state is RequestState.OPEN


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"data": {}}, RequestState.INVALID),
        ({"audience": {"people": []}}, RequestState.NO_RECIPIENTS),
        ({"deadline": at(seconds=1)}, RequestState.EXPIRED),
        ({"not_before": at(hours=1)}, RequestState.QUEUED),
    ],
)
def test_an_occurrence_that_is_not_accepted_replaces_nothing(
    world: World, changes: dict[str, Any], state: RequestState
) -> None:
    publish(world, "k1")
    world.run()
    world.skip(seconds=2)
    publish(world, "k2", **changes)
    world.run()
    assert (ending(world, "k1"), world.request("k2").state) == (OPEN, state)
    world.withdraw(replacement_key="r", withdrawn_at=NOON)
    world.run()
    assert world.request("k1").state is RequestState.SUPERSEDED


def test_a_waiting_occurrence_replaces_when_its_time_comes_by_its_published_at(world: World) -> None:
    publish(world, "waits", not_before=at(hours=1), published_at=at(milliseconds=-1))
    publish(world, "newer", deadline=at(hours=3))
    publish(world, "last", not_before=at(hours=2), published_at=at(milliseconds=1))
    world.advance(hours=1)
    assert endings(world, "waits", "newer") == [LATE, ("open", None, "processor")]
    world.advance(hours=1)
    assert endings(world, "newer", "last") == [REPLACED, OPEN]


@pytest.mark.parametrize("end", ["settled", "retired", "withdrawn"])
def test_what_ended_before_is_not_superseded_by_what_comes_after(world: World, end: str) -> None:
    publish(world, "k1", deadline=at(hours=1))
    world.run()
    if end == "retired":
        world.retire()
        world.run()
        world.register_again()
    if end == "withdrawn":
        world.withdraw(request_key="k1")
    world.advance(hours=2)
    before = world.request("k1")
    publish(world, "k2")
    world.run()
    assert (world.request("k1"), world.request("k2").replaces) == (before, None)
    assert before.state == {"settled": "settled", "retired": "cancelled", "withdrawn": "superseded"}[end]


def test_replacing_a_folded_one_hands_its_notice_to_the_newer(world: World) -> None:
    world.register_definition(replace_previous=True, fold_within=timedelta(hours=1))
    publish(world, "k1", fold_key="f")
    world.run()
    publish(world, "k2", fold_key="f", published_at=at(seconds=1), data={"number": "43"})
    world.run()
    (notice,) = world.folded()
    assert (notice.owner, notice.count, notice.ended) == (world.id_of("k2"), 1, None)
    assert notice.content is not None
    assert (notice.content.title, world.unread(), world.chat.calls) == ("Invoice 43", 1, 1)


# ---------------------------------------------------------------- races


def test_twenty_writers_on_one_key_leave_one_current_request(world: World) -> None:
    """Scenario 41."""
    world.register_people(*(f"p{number}" for number in range(3)))
    bodies = [
        world.publication(f"k{number}", "p0", "p1", "p2", replacement_key="r", published_at=at(milliseconds=number % 7))
        for number in range(20)
    ]

    def accept(number: int) -> None:
        publication = parse_message(json.dumps(bodies[number]))
        assert isinstance(publication, Publication)
        ports = replace(world.ports, clock=FixedClock(at(seconds=1, milliseconds=number)))
        for _ in range(20):  # its message comes again
            try:
                accept_request(publication, ports)
            except Conflict:
                continue
            return
        raise AssertionError("kept losing")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(accept, range(20)))
    world.advance(minutes=10)
    newest = max(range(20), key=lambda number: (number % 7, world.id_of(f"k{number}")))
    found = {number: ending(world, f"k{number}") for number in range(20)}
    assert found.pop(newest) == OPEN
    assert set(found.values()) <= {REPLACED, LATE}
    current = head(world)
    assert current is not None
    assert current.current == world.id_of(f"k{newest}")
    assert [world.unread(f"p{number}") for number in range(3)] == [1, 1, 1]
    live = [notice for notice in world.database.notices if notice.ended is None]
    assert {notice.notice_id for notice in live} == {world.id_of(f"k{newest}")}


def test_an_acceptance_that_dies_anywhere_leaves_one_current_request_and_ends_the_other(world: World) -> None:
    """Scenarios 10 and 20: the whole of the replacement, or none of it, and what it owes is done again."""
    del world
    number, died_after_commit = 0, 0
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition(replace_previous=True)
        publish(world, "k1")
        world.run_only(QueueName.REQUESTS)
        steps = Steps(world.ports)
        world.ports = steps.ports
        steps.interrupt(number, die)
        publish(world, "k2", published_at=at(seconds=1))
        world.run_only(QueueName.REQUESTS)
        if not steps.is_interrupted:
            break
        pair = [world.ports.requests.get(ACME, world.id_of(key)) for key in ("k1", "k2")]
        states = [row and row.state.value for row in pair]
        assert states in (["open", None], ["superseded", "open"]), number
        died_after_commit += states[0] == "superseded"
        world.queues.purge()
        publish(world, "k2", published_at=at(seconds=1))
        world.advance(minutes=5)
        assert endings(world, "k1", "k2") == [REPLACED, OPEN], number
        assert world.notice("ana", "k1").status == "superseded", number
        assert (world.unread(), world.request("k1").due_at) == (1, None), number
        assert [item.notice_id for item in world.chat.reached][-1] == world.id_of("k2"), number
        number += 1
    assert died_after_commit > 4


def die() -> None:
    raise Died


@pytest.mark.parametrize("order", ["newer", "older"])
def test_another_occurrence_between_any_two_steps_of_an_acceptance_leaves_the_newer(order: str) -> None:
    """Scenarios 10 and 41."""
    seconds = 1 if order == "newer" else -1
    number, outcomes = 0, set[tuple[Ending, Ending]]()
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition(replace_previous=True)
        plain, steps = world.ports, Steps(world.ports)
        other = parse_message(
            json.dumps(world.publication("other", replacement_key="r", published_at=at(seconds=seconds)))
        )
        assert isinstance(other, Publication)
        steps.interrupt(number, partial(accept_request, other, plain))
        world.ports = steps.ports
        publish(world, "k1")
        world.run_only(QueueName.REQUESTS)
        if not steps.is_interrupted:
            break
        world.advance(minutes=5)
        outcomes.add((ending(world, "k1"), ending(world, "other")))
        assert (world.unread(), len(world.chat.reached)) == (1, 1), number
        number += 1
    assert number > 10
    assert outcomes == ({(LATE, OPEN), (REPLACED, OPEN)} if order == "newer" else {(OPEN, REPLACED), (OPEN, LATE)})


def test_the_preceding_one_withdrawn_between_any_two_steps_is_gone_on_without(world: World) -> None:
    del world
    number, outcomes = 0, list[tuple[Ending, str | None]]()
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition(replace_previous=True)
        publish(world, "k1")
        world.run_only(QueueName.REQUESTS)
        withdrawal = Withdrawal(workspace_id=ACME, definition=OVERDUE, withdrawn_at=NOON, request_key="k1")
        plain, steps = world.ports, Steps(world.ports)
        steps.interrupt(number, partial(withdraw_request, withdrawal, plain))
        world.ports = steps.ports
        publish(world, "k2", published_at=at(seconds=1))
        world.run_only(QueueName.REQUESTS)
        if not steps.is_interrupted:
            break
        world.advance(minutes=5)
        assert (ending(world, "k2"), world.notice("ana", "k1").status, world.unread()) == (OPEN, "superseded", 1)
        outcomes.append((ending(world, "k1"), world.request("k2").replaces))
        number += 1
    committed = outcomes.index((REPLACED, world.id_of("k1")))
    withdrawn: Ending = ("superseded", "withdrawn", "producer")
    assert committed > 5
    assert outcomes[:committed] == [(withdrawn, None)] * committed
    assert outcomes[committed:] == [(REPLACED, world.id_of("k1"))] * (len(outcomes) - committed)


def test_followers_in_threads_end_the_replaced_notices_for_everybody(world: World) -> None:
    gather = ThreadGather(8)
    world.ports = replace(world.ports, gather=gather)
    everybody = [f"p{number}" for number in range(50)]
    world.register_people(*everybody)
    for number in range(3):
        publish(world, f"k{number}", *everybody, published_at=at(seconds=number))
        world.run_only(QueueName.REQUESTS)
    world.run()
    assert [world.unread(name) for name in everybody] == [1] * 50
    assert {item.notice_id for item in world.chat.reached} == {world.id_of("k2")}
    gather.close()


def test_a_repeat_finds_its_own_acceptance_though_an_eventual_read_shows_nothing_yet() -> None:
    stale = Stale()
    stale.register_people("ana")
    stale.register_definition(replace_previous=True)
    publish(stale, "k1", "ana")
    stale.run_only(QueueName.REQUESTS)
    accepted = stale.request("k1")
    publish(stale, "k1", "ana")
    with stale.showing("requests", (ACME, accepted.request_id), None):
        stale.run_only(QueueName.REQUESTS)
    assert (stale.request("k1"), stale.failures) == (accepted, [])
