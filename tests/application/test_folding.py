"""Folding: requests of one key within a window are one notice a person, which lives while one of them carries it."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from notify_core.adapters.memory import FixedClock
from notify_core.application.accept_request import accept_request
from notify_core.application.ports import Conflict, QueueName
from notify_core.application.retry_delivery import Retried, retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import Recipient
from notify_core.domain.limits import CONTRIBUTORS_MAX
from notify_core.domain.notice import Contributor, Notice
from notify_core.domain.request import Publication
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled, Unavailable
from notify_core.messages.publications import parse_message
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, World, key_of

HOUR = timedelta(hours=1)


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


@pytest.fixture
def world(world: World) -> World:
    world.register_definition(fold_within=HOUR)
    return world


def publish(world: World, number: int, *people: str, **changes: Any) -> None:
    """The n-th request, saying its number and published after the one before; its key is k<n>."""
    published_at = world.clock.now() + timedelta(milliseconds=number)
    numbered: dict[str, Any] = {"fold_key": "f", "data": {"number": str(number)}, "published_at": published_at}
    world.publish(f"k{number}", *people, **numbered | changes)


def fold(world: World, number: int, *people: str, **changes: Any) -> None:
    """Publish the n-th request, and have it folded but nothing sent."""
    publish(world, number, *people, **changes)
    world.run_only(QueueName.REQUESTS)


def withdraw(world: World, number: int) -> None:
    world.withdraw(request_key=f"k{number}")
    world.run_only(QueueName.REQUESTS)


def contributors(world: World, recipient: str = "ana") -> list[list[str]]:
    """The request keys in each generation."""
    keys = {row.request_id: row.request_key for row in world.database.requests}
    return [[keys[item.request_id] for item in notice.contributors] for notice in world.folded(recipient)]


def shown(notice: Notice) -> tuple[str, int]:
    assert notice.content is not None
    return notice.content.title, notice.count


def texts(world: World) -> list[str]:
    return [item.text for item in world.chat.reached]


# ---------------------------------------------------------------- joining


def test_requests_of_one_key_are_one_notice_a_person(world: World) -> None:
    fold(world, 1, "ana", "bob")
    fold(world, 2, "ana")
    fold(world, 3, "bob")
    assert (contributors(world, "ana"), contributors(world, "bob")) == ([["k1", "k2"]], [["k1", "k3"]])
    assert (world.unread("ana"), world.unread("bob")) == (1, 1)
    world.run()
    assert sorted(texts(world)) == ["Invoice 2 (and 1 more)", "Invoice 3 (and 1 more)"]


def test_without_a_fold_key_or_with_another_nothing_folds(world: World) -> None:
    world.register_definition(key="other", fold_within=HOUR)
    fold(world, 1)
    fold(world, 2, fold_key=None)
    fold(world, 3, fold_key="g")
    fold(world, 4, definition="other")
    assert contributors(world) == [["k1"]]
    assert len(world.inbox()) == 4


@pytest.mark.parametrize(("after", "generations"), [(-1, [["k1", "k2"]]), (0, [["k1"], ["k2"]]), (1, [["k1"], ["k2"]])])
def test_the_window_is_open_up_to_its_last_moment(world: World, after: int, generations: list[list[str]]) -> None:
    """Scenario 29: the acceptance decides, a millisecond before, at and after the end."""
    fold(world, 1)
    world.run()
    world.skip(hours=1, milliseconds=after)
    fold(world, 2, published_at=at(seconds=1))
    assert contributors(world) == generations


def test_the_window_counts_from_the_notices_beginning_not_from_its_last_contributor(world: World) -> None:
    for number in range(3):
        fold(world, number)
        world.skip(minutes=40)
    assert contributors(world) == [["k0", "k1"], ["k2"]]


def test_equal_timestamps_fold_into_one_notice_in_the_order_of_their_ids(world: World) -> None:
    """Scenario 28."""
    for number in (2, 1, 3):
        publish(world, number, published_at=NOON)
    world.run_only(QueueName.REQUESTS)
    (notice,) = world.folded()
    ids = sorted(world.id_of(f"k{number}") for number in (1, 2, 3))
    assert notice.contributors == tuple(
        Contributor(request_id=identity, published_at=NOON, joined_at=NOON) for identity in ids
    )
    newest = next(number for number in (1, 2, 3) if world.id_of(f"k{number}") == ids[-1])
    assert (notice.owner, shown(notice)) == (ids[0], (f"Invoice {newest}", 3))


def test_content_follows_the_newest_publication_whatever_order_the_queue_gives_them_in(world: World) -> None:
    for number, seconds in ((3, 30), (1, 10), (2, 20)):
        publish(world, number, published_at=NOON + timedelta(seconds=seconds))
    world.run_only(QueueName.REQUESTS)
    (notice,) = world.folded()
    assert [item.request_id for item in notice.contributors] == [world.id_of(f"k{number}") for number in (1, 2, 3)]
    assert (notice.owner, shown(notice)) == (world.id_of("k1"), ("Invoice 3", 3))


@pytest.mark.parametrize("between", ["nothing", "read", "sent", "window closed", "withdrawn", "settled"])
def test_a_redelivered_request_is_never_folded_again_or_into_itself(world: World, between: str) -> None:
    """Scenario 28."""
    body = json.dumps(world.publication("k1", fold_key="f", data={"number": "1"}))
    world.queues.put(QueueName.REQUESTS, body)
    world.run_only(QueueName.REQUESTS)
    match between:
        case "read":
            world.read(world.folded()[0])
        case "sent":
            world.run()
        case "window closed":
            world.skip(hours=2)
        case "withdrawn":
            withdraw(world, 1)
        case "settled":
            world.advance(days=8)
        case _:
            pass
    before = world.folded()
    world.queues.put(QueueName.REQUESTS, body)
    world.run_only(QueueName.REQUESTS)
    assert world.folded() == before
    assert contributors(world) == [["k1"]]


def test_a_request_redelivered_after_the_next_generation_began_stays_in_its_own(world: World) -> None:
    """Scenario 28."""
    bodies = [json.dumps(world.publication(f"k{number}", fold_key="f")) for number in (1, 2)]
    for body in bodies:
        world.queues.put(QueueName.REQUESTS, body)
        world.run()
        world.read(world.folded()[-1])
        world.skip(minutes=1)
    before = world.folded()
    for body in bodies:
        world.queues.put(QueueName.REQUESTS, body)
    world.run()
    assert world.folded() == before
    assert contributors(world) == [["k1"], ["k2"]]


def test_fifty_contributors_fill_a_notice_and_the_next_begins_another(world: World) -> None:
    for number in range(CONTRIBUTORS_MAX + 2):
        fold(world, number)
    assert [len(item) for item in contributors(world)] == [50, 2]
    first, second = world.folded()
    assert (shown(first), shown(second)) == (("Invoice 49", 50), ("Invoice 51", 2))
    world.run()
    assert sorted(texts(world)) == ["Invoice 49 (and 49 more)", "Invoice 51 (and 1 more)"]
    assert world.unread() == 2


# ---------------------------------------------------------------- what begins the next generation


def exhaust(world: World) -> None:
    world.chat.faults = [Unavailable(reason="maintenance")] * 5
    world.advance(minutes=30)
    world.chat.faults.clear()


ENDS: dict[str, Callable[[World], object]] = {
    "read": lambda world: world.read(world.folded()[0]),
    "read with all": lambda world: world.read_all(),
    "withdrawn": lambda world: withdraw(world, 1),
    "exhausted": exhaust,
}


@pytest.mark.parametrize("end", ENDS)
def test_a_read_or_ended_notice_begins_the_next_generation(world: World, end: str) -> None:
    fold(world, 1)
    ENDS[end](world)
    fold(world, 2)
    assert contributors(world) == [["k1"], ["k2"]]
    world.run()
    assert texts(world)[-1] == "Invoice 2"


def test_an_expired_notice_begins_the_next_generation(world: World) -> None:
    world.register_definition("chat", fold_within=HOUR)
    world.chat.faults = [Throttled(retry_after=timedelta(minutes=20))]
    publish(world, 1, deadline=at(minutes=5))
    world.advance(minutes=10)
    assert [item.status for item in world.folded()] == ["expired"]
    world.skip(minutes=20)
    publish(world, 2)
    world.advance(minutes=10)
    assert (contributors(world), texts(world)) == ([["k1"], ["k2"]], ["Invoice 2"])


def test_a_notice_without_a_channel_is_not_live(world: World) -> None:
    world.register_people("ana", slack_user_id=None)
    world.register_definition("chat", fold_within=HOUR)
    fold(world, 1)
    fold(world, 2)
    assert [item.status for item in world.folded()] == ["no_channel", "no_channel"]


def test_a_channel_that_the_live_notice_lacks_begins_the_next_generation(world: World) -> None:
    fold(world, 1)
    world.run()
    world.register_definition("console", "chat", "text", fold_within=HOUR)
    fold(world, 2)
    fold(world, 3)
    assert contributors(world) == [["k1"], ["k2", "k3"]]
    world.run()
    assert [item.text for item in world.text.reached] == ["Invoice 3 (and 1 more)"]


def test_fewer_channels_than_the_live_notice_has_begin_the_next_generation(world: World) -> None:
    """Nothing it says could be sent over a channel that its definition has no template for."""
    fold(world, 1)
    world.register_definition("console", fold_within=HOUR)
    fold(world, 2)
    assert contributors(world) == [["k1"], ["k2"]]
    world.run()
    assert (texts(world), world.unread()) == (["Invoice 1"], 2)


def test_a_channel_that_reaches_the_person_only_now_begins_the_next_generation(world: World) -> None:
    """Folded into a notice that had skipped it, its message would never come."""
    world.register_people("ana", slack_user_id=None)
    fold(world, 1)
    fold(world, 2)
    assert contributors(world) == [["k1", "k2"]]
    world.register_people("ana", slack_user_id="UANA")
    fold(world, 3)
    fold(world, 4)
    assert contributors(world) == [["k1", "k2"], ["k3", "k4"]]
    world.run()
    assert texts(world) == ["Invoice 4 (and 1 more)"]


def test_a_channel_switched_on_only_now_begins_the_next_generation(world: World) -> None:
    world.register_workspace(channels=frozenset({Channel.CONSOLE}))
    fold(world, 1)
    world.register_workspace(channels=frozenset({Channel.CONSOLE, Channel.CHAT}))
    fold(world, 2)
    world.run()
    assert (contributors(world), texts(world)) == ([["k1"], ["k2"]], ["Invoice 2"])


def test_a_delivery_retried_after_the_next_generation_began_carries_its_own_generation(world: World) -> None:
    fold(world, 1)
    exhaust(world)
    fold(world, 2)
    world.run()
    key = key_of(world.folded()[0])
    assert isinstance(retry_delivery(key, Channel.CHAT, world.ports), Retried)
    world.run()
    assert texts(world) == ["Invoice 2", "Invoice 1"]


# ---------------------------------------------------------------- content


def test_a_queued_delivery_carries_the_newer_content(world: World) -> None:
    fold(world, 1)
    fold(world, 2)
    world.run()
    assert texts(world) == ["Invoice 2 (and 1 more)"]


def test_a_deferred_delivery_carries_the_newer_content(world: World) -> None:
    world.chat.faults = [Throttled(retry_after=timedelta(minutes=2))]
    fold(world, 1)
    world.run()
    fold(world, 2)
    world.advance(minutes=10)
    assert texts(world) == ["Invoice 2 (and 1 more)"]


def test_a_delivery_already_sent_is_not_sent_again_and_the_inbox_shows_the_newest(world: World) -> None:
    fold(world, 1)
    world.run()
    fold(world, 2)
    world.advance(hours=2)
    (notice,) = world.folded()
    assert (texts(world), shown(notice), world.unread()) == (["Invoice 1"], ("Invoice 2", 2), 1)


# ---------------------------------------------------------------- leaving


def test_the_first_of_three_withdrawn_leaves_the_notice_to_the_other_two(world: World) -> None:
    """Scenario 13."""
    for number in (1, 2, 3):
        fold(world, number)
        world.skip(seconds=1)
    withdraw(world, 1)
    (notice,) = world.folded()
    assert [(item.request_id, item.left_at) for item in notice.contributors] == [
        (world.id_of("k1"), at(seconds=3)),
        (world.id_of("k2"), None),
        (world.id_of("k3"), None),
    ]
    assert (notice.owner, shown(notice), notice.status) == (world.id_of("k2"), ("Invoice 3", 2), "routed")
    world.advance(minutes=5)
    assert (texts(world), world.unread()) == (["Invoice 3 (and 1 more)"], 1)


def test_all_three_withdrawn_in_any_order_end_the_notice(world: World) -> None:
    """Scenario 13."""
    for number in (1, 2, 3):
        fold(world, number)
    for number, expected in (3, ("Invoice 2", 2)), (1, ("Invoice 2", 1)):
        withdraw(world, number)
        (notice,) = world.folded()
        assert (shown(notice), notice.ended, world.unread()) == (expected, None, 1)
    withdraw(world, 2)
    (notice,) = world.folded()
    assert (notice.status, world.unread()) == ("superseded", 0)
    world.advance(minutes=5)
    assert (texts(world), world.states_of(notice)) == ([], {"console": "delivered", "chat": "cancelled"})


def test_the_newest_withdrawn_gives_the_content_back_to_the_one_before(world: World) -> None:
    for number in (1, 2, 3):
        fold(world, number)
    withdraw(world, 3)
    assert shown(world.folded()[0]) == ("Invoice 2", 2)
    world.run()
    assert texts(world) == ["Invoice 2 (and 1 more)"]


def test_a_notice_is_handed_to_the_oldest_that_still_carries_it_not_to_one_that_expired(world: World) -> None:
    fold(world, 1, deadline=at(minutes=10))
    fold(world, 2)
    fold(world, 3)
    world.run()
    world.skip(minutes=10)
    withdraw(world, 2)
    (notice,) = world.folded()
    assert (notice.owner, shown(notice)) == (world.id_of("k3"), ("Invoice 3", 1))
    world.advance(minutes=5)
    assert world.request("k1").state is RequestState.SETTLED
    withdraw(world, 3)
    (notice,) = world.folded()
    assert (notice.status, world.unread()) == ("superseded", 0)


@pytest.mark.parametrize("again", ["its sweep", "its message"])
def test_a_withdrawal_finished_again_never_ends_what_was_handed_over_and_expired_since(
    world: World, again: str
) -> None:
    body = json.dumps(world.publication("k1", fold_key="f"))
    world.queues.put(QueueName.REQUESTS, body)
    world.run()
    fold(world, 2, deadline=at(seconds=30))
    withdraw(world, 1)
    world.skip(seconds=30)
    if again == "its message":
        world.queues.put(QueueName.REQUESTS, body)
    world.advance(minutes=5)
    (notice,) = world.folded()
    assert [world.request(key).state.value for key in ("k1", "k2")] == ["superseded", "settled"]
    assert (notice.status, notice.owner, world.unread()) == ("delivered", world.id_of("k2"), 1)


def test_what_retirement_closed_still_carries(world: World) -> None:
    fold(world, 1)
    fold(world, 2)
    withdraw(world, 1)
    world.retire()
    world.run_only(QueueName.RECONCILE)
    (notice,) = world.folded()
    assert (world.request("k2").state, notice.status, notice.owner) == ("cancelled", "routed", world.id_of("k2"))
    world.run()
    assert texts(world) == ["Invoice 2"]


def test_expiry_of_one_contributor_before_anything_was_sent_hands_over(world: World) -> None:
    world.chat.faults = [Throttled(retry_after=timedelta(minutes=30))]
    fold(world, 1)
    fold(world, 2, deadline=at(minutes=10))
    world.run()
    assert shown(world.folded()[0]) == ("Invoice 2", 2)
    world.advance(minutes=15)
    (notice,) = world.folded()
    assert (world.request("k2").state, notice.owner) == ("settled", world.id_of("k1"))
    assert (shown(notice), notice.status, notice.ended) == (("Invoice 1", 1), "routed", None)
    world.advance(hours=1)
    assert texts(world) == ["Invoice 1"]


def test_expiry_of_the_newest_contributor_after_everything_was_sent_hands_its_content_over(world: World) -> None:
    fold(world, 1)
    fold(world, 2, deadline=at(minutes=10))
    world.run()
    world.advance(minutes=15)
    (notice,) = world.folded()
    assert (world.request("k2").state, notice.owner) == ("settled", world.id_of("k1"))
    assert (shown(notice), notice.status, world.unread()) == (("Invoice 1", 1), "delivered", 1)
    assert texts(world) == ["Invoice 2 (and 1 more)"]


def test_expiry_of_a_retired_contributor_hands_its_content_over_too(world: World) -> None:
    fold(world, 1)
    fold(world, 2, deadline=at(minutes=10))
    world.run()
    world.retire()
    world.advance(minutes=15)
    assert [shown(notice) for notice in world.folded()] == [("Invoice 1", 1)]
    world.advance(days=8)
    assert [world.request(key).due_at for key in ("k1", "k2")] == [None, None]


def test_expiry_of_all_contributors_leaves_a_delivered_notice_as_it_is(world: World) -> None:
    fold(world, 1, deadline=at(minutes=10))
    fold(world, 2, deadline=at(minutes=10))
    world.run()
    world.advance(minutes=15)
    assert [world.request(key).state.value for key in ("k1", "k2")] == ["settled", "settled"]
    (notice,) = world.folded()
    assert (shown(notice), notice.status, world.unread()) == (("Invoice 2", 2), "delivered", 1)


def test_expiry_of_all_contributors_ends_what_was_never_sent(world: World) -> None:
    world.register_definition("chat", fold_within=HOUR)
    world.chat.faults = [Throttled(retry_after=timedelta(hours=2))]
    fold(world, 1, deadline=at(minutes=10))
    fold(world, 2, deadline=at(minutes=20))
    world.run()
    world.advance(minutes=15)
    assert [item.status for item in world.folded()] == ["routed"]
    world.advance(minutes=10)
    (notice,) = world.folded()
    assert (notice.status, notice.deliveries[0].reason) == ("expired", "deadline")
    assert [world.request(key).state.value for key in ("k1", "k2")] == ["settled", "settled"]
    world.advance(hours=3)
    assert texts(world) == []


def test_a_request_folded_past_its_deadline_never_takes_the_notice_over(world: World) -> None:
    """Scenario 20: its acceptance died after the commit, and every message was lost until its deadline had passed."""
    fold(world, 1)
    world.run()
    publish(world, 2, deadline=at(minutes=5))
    accept_and_die(world, 2)
    assert contributors(world) == [["k1"]]
    world.queues.purge()
    world.skip(minutes=6)
    world.advance(minutes=5)
    (notice,) = world.folded()
    assert contributors(world) == [["k1", "k2"]]
    assert (world.request("k2").state, notice.owner, shown(notice)) == ("settled", world.id_of("k1"), ("Invoice 1", 1))


def test_a_request_with_nothing_to_send_is_folded_soon_though_its_acceptance_died(world: World) -> None:
    world.register_definition("text", fold_within=HOUR)
    world.register_people("ana", phone=None)
    publish(world, 1)
    accept_and_die(world, 1)
    assert contributors(world) == []
    world.queues.purge()
    world.skip(minutes=2)
    world.advance(minutes=1)
    assert contributors(world) == [["k1"]]


def accept_and_die(world: World, number: int) -> None:
    """Process what was published until right after the commit of its acceptance."""
    plain = world.ports
    for count in range(20):
        steps = Steps(plain)
        world.ports = steps.ports
        steps.interrupt(count, die)
        world.queues.waiting[0].visible_at = world.clock.now()
        world.run_only(QueueName.REQUESTS)
        if world.database.requests.get((ACME, world.id_of(f"k{number}"))):
            break
    world.ports = plain


def die() -> None:
    raise Died


def test_work_handed_over_is_watched_by_whom_it_was_handed_to(world: World) -> None:
    """Scenario 22: every message is lost just then."""
    fold(world, 1)
    fold(world, 2)
    world.queues.purge()
    world.advance(seconds=30)
    withdraw(world, 1)
    world.queues.purge()
    world.advance(minutes=3)
    assert texts(world) == ["Invoice 2"]


def test_a_retried_delivery_handed_over_is_watched_by_whom_it_was_handed_to(world: World) -> None:
    """Scenario 22: nothing else had to be looked at on that request before its deadline."""
    fold(world, 1)
    fold(world, 2)
    exhaust(world)
    assert world.request("k2").due_at == world.request("k2").expires_at
    assert isinstance(retry_delivery(key_of(world.folded()[0]), Channel.CHAT, world.ports), Retried)
    withdraw(world, 1)
    world.queues.purge()
    world.advance(minutes=3)
    assert texts(world) == ["Invoice 2"]


# ---------------------------------------------------------------- races


def test_many_requests_at_once_fold_into_one_notice_each_once(world: World) -> None:
    bodies = [world.publication(f"k{number}", fold_key="f", data={"number": str(number)}) for number in range(20)]

    def accept(number: int) -> None:
        publication = parse_message(json.dumps(bodies[number]))
        assert isinstance(publication, Publication)
        ports = replace(world.ports, clock=FixedClock(at(milliseconds=number)))
        for _ in range(20):  # its message comes again
            try:
                accept_request(publication, ports)
            except Conflict:
                continue
            return
        raise AssertionError("kept losing")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(accept, [*range(20), *range(20)]))
    ((*keys,),) = contributors(world)
    assert sorted(keys) == sorted(f"k{number}" for number in range(20))
    world.skip(seconds=1)
    world.run()
    assert set(world.chat.times().values()) == {1}


def test_another_request_between_any_two_steps_of_a_folding_is_in_the_same_notice_once() -> None:
    """Scenario 28."""
    number = 0
    while True:
        world = folding_world()
        plain, steps = world.ports, Steps(world.ports)
        other = parse_message(json.dumps(world.publication("other", fold_key="f")))
        assert isinstance(other, Publication)
        steps.interrupt(number, partial(accept_request, other, plain))
        world.ports = steps.ports
        fold(world, 1)
        if not steps.is_interrupted:
            break
        assert [sorted(keys) for keys in contributors(world)] == [["k1", "other"]], number
        number += 1
    assert number > 8


def test_a_withdrawal_of_any_contributor_between_any_two_steps_of_a_folding_hands_over() -> None:
    """Scenarios 10 and 13."""
    for which in (1, 2):
        number = 0
        while True:
            world = folding_world()
            fold(world, 1)
            plain, steps = world.ports, Steps(world.ports)

            def interfere(world: World = world, plain: Any = plain, which: int = which) -> None:
                world.ports, stepped = plain, world.ports
                withdraw(world, which)
                world.ports = stepped

            steps.interrupt(number, interfere)
            world.ports = steps.ports
            publish(world, 2)
            item = next(item for item in world.queues.waiting if item.queue is QueueName.REQUESTS)
            world.process(world.queues.take(item))
            if not steps.is_interrupted:
                break
            world.advance(minutes=5)
            live = [notice for notice in world.folded() if notice.ended is None]
            assert len(live) == 1, number
            assert (live[0].owner, world.unread()) == (world.id_of(f"k{3 - which}"), 1), number
            assert texts(world)[-1].startswith(f"Invoice {3 - which}"), number
            number += 1
        assert number > 8


def folding_world() -> World:
    world = World()
    world.register_people("ana")
    world.register_definition(fold_within=HOUR)
    return world


def test_reading_between_the_steps_of_a_folding_is_never_forgotten(world: World) -> None:
    number = 0
    while True:
        world = folding_world()
        fold(world, 1)
        world.run()
        plain, steps = world.ports, Steps(world.ports)

        def read(world: World = world, plain: Any = plain) -> None:
            world.ports, stepped = plain, world.ports
            world.read(world.folded()[0])
            world.ports = stepped

        steps.interrupt(number, read)
        world.ports = steps.ports
        fold(world, 2)
        if not steps.is_interrupted:
            break
        first, *later = world.folded()
        assert first.read_at == NOON, number
        assert contributors(world) in ([["k1"], ["k2"]], [["k1", "k2"]]), number
        assert world.unread() == len(later), number
        number += 1
    assert number > 5


def test_people_are_told_apart_by_recipient_in_a_folded_alert_too(world: World) -> None:
    world.register_definition("slack_system", key="backup.failed", fold_within=HOUR)
    for number in (1, 2):
        fold(world, number, definition="backup.failed", audience={"hq": True})
    (notice,) = world.folded("-", definition="backup.failed")
    assert (notice.recipient, len(notice.contributors)) == (Recipient("-"), 2)
    world.run()
    assert [item.text for item in world.system.reached] == ["Alert 2 (and 1 more)"]
    assert world.ports.notices.read_mark(ACME, Recipient("-")) is None
