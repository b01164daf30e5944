"""Expiring: past its deadline nothing more is sent, and what was never sent ends as expired."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.ports import QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import Delivery, TimelineEntry, What
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled, Unavailable
from tests.application.world import NOON, World

THROTTLED = Throttled(retry_after=timedelta(hours=1))


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def ending(world: World, request_key: str = "k1") -> tuple[str, str | None, str | None]:
    row = world.request(request_key)
    return row.state.value, row.reason and row.reason.value, row.caused_by and row.caused_by.value


def chat(world: World, recipient: str = "ana") -> Delivery:
    item = world.notice(recipient).delivery(Channel.CHAT)
    assert item is not None
    return item


def accept_only(world: World) -> None:
    world.run_only(QueueName.REQUESTS)


# ---------------------------------------------------------------- before acceptance


@pytest.mark.parametrize(("after", "state"), [(-1, "open"), (0, "expired"), (1, "expired")])
def test_the_deadline_itself_is_too_late(world: World, after: int, state: str) -> None:
    world.publish("k1", deadline=at(minutes=1))
    world.skip(minutes=1, milliseconds=after)
    accept_only(world)
    assert world.request().state == state


@pytest.mark.parametrize(
    ("deadline", "expires_at", "reason"),
    [
        (None, at(hours=1), "age"),
        (at(minutes=59), at(minutes=59), "deadline"),
        (at(hours=1), at(hours=1), "deadline"),
        (at(hours=2), at(hours=1), "age"),
    ],
)
def test_the_earlier_of_deadline_and_age_ends_it_and_is_its_reason(
    world: World, deadline: datetime | None, expires_at: datetime, reason: str
) -> None:
    world.register_definition(expires_after=timedelta(hours=1))
    world.publish("k1", deadline=deadline)
    world.skip(hours=3)
    accept_only(world)
    assert (world.request().expires_at, ending(world)) == (expires_at, ("expired", reason, "processor"))
    assert (list(world.database.notices), world.chat.calls) == ([], 0)


def test_what_waits_and_was_lost_beyond_its_deadline_is_expired_by_the_sweep(world: World) -> None:
    """Scenarios 18 and 22."""
    world.publish("k1", not_before=at(hours=1), deadline=at(hours=2))
    accept_only(world)
    world.queues.purge()
    world.skip(hours=2)
    world.sweep()
    row = world.request()
    assert ending(world) == ("expired", "deadline", "sweep")
    assert (row.closed_at, row.due_at, row.data, row.audience) == (at(hours=2), None, None, None)
    world.publish("k1", not_before=at(hours=1), deadline=at(hours=2))
    world.run()
    assert world.request() == row


@pytest.mark.parametrize("lost", ["at once", "every time"])
def test_what_waits_and_was_lost_is_due_no_later_than_its_deadline(world: World, lost: str) -> None:
    """Scenario 22."""
    world.publish(
        "k1", not_before=at(minutes=10), deadline=at(minutes=10, seconds=20) if lost == "at once" else at(hours=3)
    )
    accept_only(world)
    world.queues.purge()
    while lost == "every time" and (due_at := world.request().due_at) != at(hours=3):
        assert due_at is not None
        world.clock.at = due_at
        world.sweep_only()
        world.queues.purge()
    assert world.request().due_at == world.request().expires_at
    world.clock.at = world.request().due_at or NOON
    world.sweep()
    assert ending(world) == ("expired", "deadline", "sweep")


# ---------------------------------------------------------------- after acceptance


@pytest.fixture
def unsent(world: World) -> World:
    """Told over chat only, which is throttled beyond the deadline in ten minutes."""
    world.register_definition("chat")
    world.chat.faults = [THROTTLED]
    world.publish("k1", deadline=at(minutes=10))
    world.run()
    assert chat(world).state == "deferred"
    return world


def test_a_sweep_ends_what_was_never_sent_as_expired_and_settles_the_request(unsent: World) -> None:
    world = unsent
    world.advance(minutes=9, seconds=59)
    assert (world.request().state, world.notice().status) == (RequestState.OPEN, "routed")
    world.advance(minutes=2)
    assert ending(world) == ("settled", None, "sweep")
    notice = world.notice()
    assert (notice.status, chat(world).state, chat(world).reason) == ("expired", "expired", "deadline")
    assert notice.timeline[-2:] == (
        TimelineEntry(
            at=chat(world).updated_at,
            channel=Channel.CHAT,
            source="deferred",
            target="expired",
            by=Actor.SWEEP,
            reason="deadline",
        ),
        TimelineEntry(
            at=chat(world).updated_at,
            channel=None,
            source=None,
            target=What.EXPIRED,
            by=Actor.SWEEP,
            reason="deadline",
        ),
    )
    world.advance(hours=3)
    assert (world.chat.calls, world.queues.waiting) == (1, [])


def test_a_consumer_that_comes_to_it_first_ends_it_the_same(world: World) -> None:
    world.register_definition("chat")
    world.publish("k1", deadline=at(minutes=10))
    accept_only(world)
    world.skip(minutes=10)
    world.run()
    notice = world.notice()
    assert (notice.status, chat(world).state, chat(world).reason) == ("expired", "expired", "deadline")
    assert [(line.source, line.target, line.by) for line in notice.timeline if line.channel] == [
        ("queued", "sending", "worker"),
        ("sending", "expired", "worker"),
    ]
    assert (world.chat.calls, world.request().state) == (0, RequestState.OPEN)
    world.sweep()
    assert ending(world) == ("settled", None, "sweep")


@pytest.mark.parametrize(("after", "calls"), [(-1, 1), (0, 0), (1, 0)])
def test_a_claim_at_the_deadline_itself_sends_nothing(world: World, after: int, calls: int) -> None:
    world.publish("k1", deadline=at(minutes=1))
    accept_only(world)
    world.skip(minutes=1, milliseconds=after)
    world.run()
    assert world.chat.calls == calls


def test_attempts_stop_at_the_deadline(world: World) -> None:
    """Scenario 21."""
    world.register_definition("chat")
    world.chat.faults = [Unavailable(reason="maintenance")] * 10
    world.publish("k1", deadline=at(seconds=40))
    world.advance(minutes=5)
    tried = world.chat.calls
    assert 1 < tried < 5
    assert (chat(world).state, chat(world).attempts, world.notice().status) == ("expired", tried, "expired")
    world.advance(hours=2)
    assert (world.chat.calls, ending(world)) == (tried, ("settled", None, "sweep"))


def test_what_the_console_showed_stays_delivered_and_unread(world: World) -> None:
    world.chat.faults = [THROTTLED]
    world.publish("k1", deadline=at(minutes=10))
    world.advance(minutes=15)
    assert world.states() == {"console": "delivered", "chat": "expired"}
    assert (world.notice().status, world.notice().ended, world.unread()) == ("delivered", None, 1)
    assert ending(world) == ("settled", None, "sweep")


def test_each_recipient_expires_alone(world: World) -> None:
    world.register_definition("chat")
    world.publish("k1", "ana", "bob", deadline=at(minutes=10))
    accept_only(world)
    item = world.queues.receive()
    assert item is not None
    world.process(item)
    world.queues.purge()
    world.skip(minutes=10)
    world.sweep()
    assert [(name, world.notice(name).status) for name in ("ana", "bob")] == [("ana", "delivered"), ("bob", "expired")]
    assert ending(world) == ("settled", None, "sweep")


def test_a_send_in_flight_over_the_deadline_is_recorded_as_it_ended(world: World) -> None:
    world.register_definition("chat")
    sending = world.chat.send

    def send(outgoing: Any) -> Any:
        world.skip(seconds=8)
        world.sweep_only()
        return sending(outgoing)

    world.chat.send = send
    world.publish("k1", deadline=at(seconds=5))
    world.run()
    assert (chat(world).state, world.notice().status) == ("delivered", "delivered")
    world.advance(minutes=5)
    assert ending(world) == ("settled", None, "sweep")


def test_a_refusal_for_now_after_the_deadline_is_expired_by_the_next_sweep(world: World) -> None:
    world.register_definition("chat")

    def send(outgoing: Any) -> Any:
        del outgoing
        world.skip(seconds=8)
        world.sweep_only()
        return Unavailable(reason="maintenance")

    world.chat.send = send
    world.publish("k1", deadline=at(seconds=5))
    world.run()
    assert chat(world).state == "deferred"
    world.advance(minutes=5)
    assert (chat(world).state, chat(world).attempts, world.notice().status) == ("expired", 1, "expired")
    assert ending(world) == ("settled", None, "sweep")


def test_a_day_without_sweeps_expires_it_late_and_all_the_same(unsent: World) -> None:
    """Scenario 18."""
    world = unsent
    world.queues.purge()
    world.skip(days=1)
    world.sweep()
    assert (world.notice().status, ending(world), world.chat.calls) == ("expired", ("settled", None, "sweep"), 1)


def test_an_expired_notice_is_superseded_by_no_withdrawal(unsent: World) -> None:
    world = unsent
    world.queues.purge()
    world.skip(minutes=10)
    request = world.request()
    world.queues.put(
        QueueName.CHAT,
        json.dumps(
            {
                "version": 1,
                "task": "dispatch",
                "workspace_id": request.workspace_id,
                "recipient": "ana",
                "notice_id": request.request_id,
                "request_id": request.request_id,
                "channel": "chat",
            }
        ),
    )
    world.skip(hours=3)
    world.run()
    assert (world.notice().status, world.request().state) == ("expired", RequestState.OPEN)
    world.withdraw(request_key="k1")
    world.advance(minutes=5)
    assert (world.notice().status, world.request().state) == ("expired", RequestState.SUPERSEDED)
    assert world.request().due_at is None
