"""Circuits: a refusal of the whole workspace is asked about by one probe at a time, and costs no delivery anything."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from notify_core.application.ports import Conflict, Outgoing, QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.directory import ChannelState
from notify_core.domain.identifiers import Recipient, WorkspaceId
from notify_core.domain.send_result import SendResult, Throttled, Unavailable, Unknown
from tests.application.delivery import (
    GONE,
    REVOKED,
    accept_only,
    accepted,
    at,
    at_once,
    deliver,
    item,
    take,
    told,
)
from tests.application.faulty import failing
from tests.application.world import ACME, NOON, Provider, World

GLOBEX = WorkspaceId("globex")
PEOPLE = [f"p{number}" for number in range(50)]


class Refusing(Provider):
    """A provider that refuses the workspace for as long as it is told to; it notes when it was called."""

    def __init__(self, world: World) -> None:
        super().__init__(clock=world.clock)
        self.refuses = True
        self.called_at: list[float] = []

    def send(self, outgoing: Outgoing) -> SendResult:
        self.called_at.append((self.clock.now() - NOON).total_seconds())
        if not self.refuses:
            return super().send(outgoing)
        self.calls += 1
        return REVOKED


@pytest.fixture
def provider(world: World) -> Iterator[Refusing]:
    provider = Refusing(world)
    world.ports = replace(world.ports, senders={**world.ports.senders, Channel.CHAT: provider})
    yield provider
    assert set(provider.times().values()) <= {1}


def publish_to_all(world: World) -> None:
    world.register_people(*PEOPLE)
    world.publish("k1", *PEOPLE)
    accept_only(world)


def alarms(world: World) -> list[tuple[str, dict[str, str | float | None]]]:
    return [alarm for alarm in world.telemetry.alarms if alarm[0] == "circuit_opened"]


def chat_state(world: World) -> ChannelState:
    state = world.ports.registry.channel_state(ACME, Channel.CHAT)
    assert state is not None
    return state


# ---------------------------------------------------------------- an hour of it


def test_an_hour_of_open_circuit_exhausts_nothing(world: World, provider: Refusing) -> None:
    """One alarm, one call a minute; and a success lets everybody through soon."""
    publish_to_all(world)
    deliver(world, take(world))
    world.advance(hours=1)
    assert {told(world, person) for person in PEOPLE} == {"deferred(circuit_open)"}
    assert {item(world, person).attempts for person in PEOPLE} == {0}
    assert alarms(world) == [("circuit_opened", {"workspace_id": "acme", "channel": "chat", "reason": "token_revoked"})]
    probes = [seconds for seconds in provider.called_at if seconds > 0]
    assert 20 <= len(probes) <= 60
    assert all(later - earlier >= 60 for earlier, later in pairwise(probes))
    assert (world.queues.dead, provider.reached) == ([], [])
    provider.refuses = False
    world.advance(minutes=12)
    assert {told(world, person) for person in PEOPLE} == {"delivered"}
    assert {item(world, person).attempts for person in PEOPLE} == {1}
    assert ("circuit_closed", {"workspace_id": "acme", "channel": "chat"}) in world.telemetry.events


def test_the_operator_sees_why_a_delivery_waits_and_since_when_the_channel_is_refused(
    world: World, provider: Refusing
) -> None:
    world.publish("k1")
    world.run()
    found = item(world)
    assert (told(world), found.next_at is not None and found.next_at >= at(minutes=1)) == (
        "deferred(circuit_open)",
        True,
    )
    assert chat_state(world) == ChannelState(
        workspace_id=ACME,
        channel=Channel.CHAT,
        open_since=NOON,
        open_reason="token_revoked",
        probe_at=at(minutes=1),
        version=1,
    )
    assert provider.calls == 1


def test_whoever_comes_while_the_circuit_is_open_waits_without_a_call(world: World, provider: Refusing) -> None:
    world.publish("k1")
    world.run()
    world.publish("k2", "bob")
    world.run()
    assert (told(world, "bob", request_key="k2"), provider.calls) == ("deferred(circuit_open)", 1)
    assert item(world, "bob", request_key="k2").claim_id is None


def test_a_waiting_deliverys_timeline_stays_short(world: World, provider: Refusing) -> None:
    """Three hours of waiting aren't thirty lines that push out how it began."""
    publish_to_all(world)
    world.advance(hours=3)
    shown_from_the_beginning = [person for person in PEOPLE if world.notice(person).timeline[0].target == "created"]
    assert len(shown_from_the_beginning) >= 45  # all but those who probe again and again
    assert provider.calls > 60


# ---------------------------------------------------------------- one probe at a time


def test_one_delivery_of_a_batch_probes_and_the_others_wait(world: World, provider: Refusing) -> None:
    publish_to_all(world)
    tasks = take(world)
    deliver(world, tasks[:1])
    world.skip(minutes=1)
    at_once(*[lambda batch=tasks[start : start + 10]: deliver(world, batch) for start in range(1, 50, 10)])
    assert (provider.calls, {told(world, person) for person in PEOPLE}) == (2, {"deferred(circuit_open)"})


def test_ten_refusals_at_once_open_the_circuit_once(world: World, provider: Refusing) -> None:
    publish_to_all(world)
    deliver(world, take(world)[:10])
    assert (provider.calls, len(alarms(world)), chat_state(world).version) == (10, 1, 1)


def test_the_delivery_that_took_the_probe_is_sent_though_its_claim_had_to_be_written_twice(
    world: World, provider: Refusing
) -> None:
    """Else the channel stays closed for another minute, with nobody having tried."""
    first = accepted(world, "ana")
    deliver(world, first)
    provider.refuses = False
    world.publish("k2", "bob")
    accept_only(world)
    (task,) = take(world)
    world.skip(minutes=1)
    deliver(world, [task], failing(world.ports, "notices.put", Conflict("another")))
    assert told(world, "bob", request_key="k2") == "delivered"
    assert chat_state(world).open_since is None


# ---------------------------------------------------------------- what closes it, and what doesn't


def probe(world: World, provider: Provider, result: SendResult) -> ChannelState:
    """Open the circuit, and give the probe this result."""
    provider.faults = [REVOKED]
    world.publish("k1")
    world.run()
    provider.faults = [result]
    world.skip(minutes=2)
    world.run()
    assert provider.calls == 2
    return chat_state(world)


@pytest.mark.parametrize(
    ("result", "is_open"),
    [
        (GONE, False),
        (REVOKED, True),
        (Unknown(reason="timeout"), True),
        (Unavailable(reason="service_unavailable"), True),
        (Throttled(retry_after=timedelta(seconds=30)), True),
    ],
    ids=["person_refused", "refused_again", "unknown", "unavailable", "throttled"],
)
def test_only_an_answer_that_shows_the_channel_to_work_closes_the_circuit(
    world: World, result: SendResult, *, is_open: bool
) -> None:
    state = probe(world, world.chat, result)
    assert (state.open_since is not None) is is_open
    assert len(alarms(world)) == 1


def test_a_text_that_cannot_be_rendered_asked_nobody_and_closes_nothing(world: World) -> None:
    templates = {Channel.CHAT: {"text": "Dear {{ recipient.name }}", "blocks": None}}
    world.register_definition("chat", templates=templates)
    world.chat.faults = [REVOKED]
    world.publish("k1")
    world.run()
    world.register_people("ana", name="A" * 5000)
    world.advance(minutes=10)
    assert (told(world), world.chat.calls) == ("failed(not_rendered)", 1)
    assert chat_state(world).open_since == NOON


def test_a_circuit_that_opens_again_alarms_again(world: World, provider: Refusing) -> None:
    """Scenario 43."""
    world.publish("k1")
    world.run()
    provider.refuses = False
    world.advance(minutes=10)
    provider.refuses = True
    world.publish("k2")
    world.advance(minutes=10)
    assert (told(world), len(alarms(world))) == ("delivered", 2)


# ---------------------------------------------------------------- whom it concerns


def test_a_circuit_is_that_of_one_channel_of_one_workspace(world: World) -> None:
    world.register_definition("chat", "text")
    world.register_workspace(GLOBEX)
    world.register_definition("chat", workspace=GLOBEX)
    world.register_people("ana", workspace=GLOBEX)
    world.chat.faults = [REVOKED]
    world.publish("k1")
    world.run()
    world.publish("k1", workspace_id=GLOBEX)
    world.run()
    assert world.states() == {"chat": "deferred", "text": "sent"}
    assert [outgoing.workspace_id for outgoing in world.chat.reached] == [GLOBEX]


def test_the_headquarters_circuit_is_one_for_all_workspaces(world: World) -> None:
    """Their alerts go out with one token into one channel: whom it refuses, it refuses for all."""
    for workspace in (ACME, GLOBEX):
        world.register_workspace(workspace)
        world.register_definition("slack_system", key="disk.full", workspace=workspace)
    alert = {"definition": "disk.full", "audience": {"hq": True}}
    world.system.faults = [REVOKED]
    world.publish("k1", **alert)
    world.run()
    world.publish("k1", workspace_id=GLOBEX, **alert)
    world.run()
    assert (world.system.calls, len(alarms(world))) == (1, 1)
    world.advance(minutes=12)
    assert {outgoing.workspace_id for outgoing in world.system.reached} == {ACME, GLOBEX}
    assert {outgoing.recipient for outgoing in world.system.reached} == {Recipient("-")}
    assert world.waiting(QueueName.SYSTEM) == []
