"""Throttling and outages: waiting is free of charge, failing isn't, and nobody waits longer than they must."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil

import pytest

from notify_core.application.ports import Outgoing, QueueName
from notify_core.application.retry_delivery import retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.directory import ChannelState
from notify_core.domain.identifiers import WorkspaceId
from notify_core.domain.limits import DELAY_SECONDS_MAX
from notify_core.domain.notice import held
from notify_core.domain.send_result import SendResult, Throttled
from tests.application.delivery import (
    BUSY,
    DOWN,
    REVOKED,
    accept_only,
    accepted,
    at,
    deliver,
    item,
    key_of,
    moves,
    take,
    told,
)
from tests.application.faulty import watched
from tests.application.world import ACME, NOON, Provider, World

GLOBEX = WorkspaceId("globex")


class OneASecond(Provider):
    """A provider that takes a message a second, and shuts out for a while who sends more."""

    retry_after = timedelta(seconds=30)
    taken_at: datetime = NOON - timedelta(hours=1)
    shut_until: datetime = NOON

    def send(self, outgoing: Outgoing) -> SendResult:
        now = self.clock.now()
        if now < self.shut_until:
            self.calls += 1
            return Throttled(retry_after=timedelta(seconds=ceil((self.shut_until - now).total_seconds())))
        if now < self.taken_at + timedelta(seconds=1):
            self.calls += 1
            self.shut_until = now + self.retry_after
            return Throttled(retry_after=self.retry_after)
        self.taken_at = now
        return super().send(outgoing)


# ---------------------------------------------------------------- throttled


def test_two_hundred_messages_to_a_provider_that_takes_one_a_second_all_arrive(world: World) -> None:
    """Scenario 37: none twice, no attempt charged, no message worn out."""
    provider = OneASecond(clock=world.clock)
    world.ports = replace(world.ports, senders={**world.ports.senders, Channel.CHAT: provider})
    people = [f"p{number}" for number in range(200)]
    world.register_people(*people)
    world.publish("k1", *people)
    accept_only(world)
    tasks = take(world)
    for start in range(0, 200, 10):
        deliver(world, tasks[start : start + 10])
    world.advance(hours=6)
    assert {told(world, person) for person in people} == {"delivered"}
    assert (len(provider.times()), set(provider.times().values())) == (200, {1})
    assert {item(world, person).attempts for person in people} == {1}
    assert (world.queues.dead, world.waiting(QueueName.CHAT)) == ([], [])


def test_a_throttled_answer_holds_back_the_whole_channel_of_the_workspace(world: World) -> None:
    world.register_workspace(GLOBEX)
    world.register_definition(workspace=GLOBEX)
    world.register_people("ana", workspace=GLOBEX)
    world.chat.faults = [BUSY]
    world.publish("k1", "ana")
    world.run()
    world.publish("k2", "bob")
    world.publish("k1", workspace_id=GLOBEX)
    world.skip(seconds=29)
    world.run()
    assert (told(world), told(world, "bob", request_key="k2")) == ("deferred(throttled)", "deferred(throttled)")
    assert [outgoing.workspace_id for outgoing in world.chat.reached] == [GLOBEX]
    assert world.ports.registry.channel_state(ACME, Channel.CHAT) == ChannelState(
        workspace_id=ACME, channel=Channel.CHAT, blocked_until=at(seconds=30), version=1
    )


def test_a_throttled_delivery_waits_its_time_without_an_attempt_and_under_a_fresh_message(world: World) -> None:
    world.chat.faults = [BUSY]
    assert deliver(world, accepted(world, "ana")) == set()
    next_at = item(world).next_at
    assert next_at is not None
    assert at(seconds=30) <= next_at < at(seconds=60)
    assert (item(world).attempts, item(world).claim_id) == (0, None)
    ((wait_seconds, _),) = world.waiting(QueueName.CHAT)
    assert 0 <= wait_seconds - (next_at - NOON).total_seconds() < 1
    assert [message.receives for message in world.queues.waiting if message.queue is QueueName.CHAT] == [0]


def test_a_batch_that_is_throttled_writes_the_channels_state_once(world: World) -> None:
    """Though each answer is looked at a little later than the one before."""
    people = [f"p{number}" for number in range(10)]
    world.register_people(*people)
    tasks = accepted(world, *people)
    world.chat.faults = [BUSY] * 10
    deliver(world, tasks, watched(world.ports, "notices.put", after=lambda *_: world.skip(seconds=0.05)))
    state = world.ports.registry.channel_state(ACME, Channel.CHAT)
    assert state is not None
    assert (state.version, {told(world, person) for person in people}) == (1, {"deferred(throttled)"})


def test_a_wait_longer_than_a_message_can_be_hidden_takes_several_messages(world: World) -> None:
    world.register_definition("chat")
    world.chat.faults = [Throttled(retry_after=timedelta(hours=2))]
    world.publish("k1")
    world.run()
    hidden = {wait_seconds for wait_seconds, _ in world.waiting(QueueName.CHAT)}
    assert hidden == {DELAY_SECONDS_MAX}
    world.advance(hours=2, seconds=-1)
    assert world.chat.calls == 1
    world.advance(hours=2, minutes=2)
    assert (told(world), world.chat.calls, item(world).attempts) == ("delivered", 2, 1)


def test_a_sweep_replaces_no_message_that_is_only_just_due(world: World) -> None:
    """Each sweep would add another, and each of them goes round for as long as the channel is closed."""
    accepted(world, "ana")
    queued = world.notice()
    waiting = held(queued, Channel.CHAT, until=at(seconds=80), reason="throttled", now=NOON)
    world.ports.notices.put(waiting, queued)
    world.clock.at = at(seconds=109)
    world.sweep_only()
    assert world.waiting(QueueName.CHAT) == []
    world.clock.at = at(seconds=139)
    world.sweep_only()
    assert len(world.waiting(QueueName.CHAT)) == 1


def test_a_waiting_deliverys_lost_message_is_replaced_by_a_sweep(world: World) -> None:
    """Scenario 22, for one that waits."""
    world.chat.faults = [BUSY]
    world.publish("k1")
    world.run()
    world.queues.purge()
    world.advance(minutes=4)
    assert (told(world), world.chat.calls) == ("delivered", 2)


def test_its_deadline_ends_a_delivery_that_waits(world: World) -> None:
    """Scenario 21: attempts stop."""
    world.register_definition("chat", expires_after=timedelta(hours=1))
    world.chat.faults = [REVOKED] * 1000
    world.publish("k1")
    world.advance(hours=1)
    calls = world.chat.calls
    world.advance(hours=2)
    assert (told(world), world.notice().status, world.chat.calls) == ("expired(age)", "expired", calls)
    assert (world.request().state, world.waiting(QueueName.CHAT)) == ("settled", [])


# ---------------------------------------------------------------- unavailable: backoff, attempts, age


@pytest.mark.parametrize(
    ("channel", "full_seconds"),
    [
        (Channel.CHAT, [15, 30, 60, 120]),
        (Channel.TEXT, [30, 60, 120, 240]),
        (Channel.SLACK_SYSTEM, [10, 20, 40, 80, 160, 300, 300]),
    ],
)
def test_each_attempt_waits_twice_as_long_less_up_to_half_and_the_last_exhausts(
    world: World, channel: Channel, full_seconds: list[int]
) -> None:
    provider = {Channel.CHAT: world.chat, Channel.TEXT: world.text, Channel.SLACK_SYSTEM: world.system}[channel]
    provider.faults = [DOWN] * 100
    is_alert = channel is Channel.SLACK_SYSTEM
    world.register_definition(channel)
    world.publish("k1", **({"audience": {"hq": True}} if is_alert else {}))
    recipient = "-" if is_alert else "ana"
    waits: list[float] = []
    world.run()
    while (found := item(world, recipient, channel)).next_at is not None:
        waits.append((found.next_at - world.clock.now()).total_seconds())
        assert (found.attempts, told(world, recipient, channel)) == (len(waits), "deferred(service_unavailable)")
        world.clock.at = found.next_at + timedelta(seconds=1)
        world.run()
    assert [full / 2 < wait <= full for wait, full in zip(waits, full_seconds, strict=True)] == [True] * len(waits)
    assert told(world, recipient, channel) == "failed(attempts_exhausted)"
    assert (item(world, recipient, channel).attempts, provider.calls) == (len(waits) + 1, len(waits) + 1)
    assert (world.notice(recipient).failed_at, world.notice(recipient).status) == (world.clock.now(), "failed")


def test_two_hundred_that_fail_together_do_not_come_back_together(world: World) -> None:
    people = [f"p{number}" for number in range(200)]
    world.register_people(*people)
    world.chat.faults = [DOWN] * 200
    deliver(world, accepted(world, *people))
    waits = sorted((found - NOON).total_seconds() for person in people if (found := item(world, person).next_at))
    assert (len(waits), waits[0] < 8, waits[-1] > 14) == (200, True, True)
    assert max(later - earlier for earlier, later in pairwise(waits)) < 1


def test_a_failing_delivery_is_tried_for_a_day_from_its_first_failure(world: World) -> None:
    """However long it waited before: the wait was its channel's, not its own."""
    world.chat.faults = [Throttled(retry_after=timedelta(hours=24)), DOWN]
    world.publish("k1")
    world.advance(hours=50)
    assert (told(world), item(world).attempts) == ("delivered", 2)


def test_waiting_for_a_throttled_channel_does_not_age_a_delivery_that_failed_before(world: World) -> None:
    world.chat.faults = [DOWN, Throttled(retry_after=timedelta(hours=24)), DOWN]
    world.publish("k1")
    world.advance(minutes=1)
    assert (told(world), item(world).attempts) == ("deferred(throttled)", 1)
    world.advance(hours=50)
    assert (world.chat.calls, item(world).attempts, told(world)) == (4, 3, "delivered")


def test_an_operators_retry_has_all_attempts_however_old_the_notice_is(world: World) -> None:
    world.chat.faults = [DOWN] * 5
    world.publish("k1")
    world.advance(days=3)
    assert told(world) == "failed(attempts_exhausted)"
    world.chat.faults = [DOWN] * 4
    retry_delivery(key_of(world), Channel.CHAT, world.ports)
    world.advance(hours=1)
    assert (told(world), item(world).attempts) == ("delivered", 5)


def test_a_throttle_between_two_failures_is_no_attempt(world: World) -> None:
    world.chat.faults = [DOWN, BUSY, DOWN, BUSY, BUSY]
    world.publish("k1")
    world.advance(hours=1)
    assert (told(world), item(world).attempts, world.chat.calls) == ("delivered", 3, 6)
    assert [line for line in moves(world) if "sending ->" in line] == [
        "sending -> deferred by worker: service_unavailable",
        "sending -> deferred by worker: throttled",
        "sending -> deferred by worker: service_unavailable",
        "sending -> deferred by worker: throttled",
        "sending -> deferred by worker: throttled",
        "sending -> delivered by worker",
    ]
