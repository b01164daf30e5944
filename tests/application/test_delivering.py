"""Delivering: claimed once, looked at again, sent once, recorded; each move of a notice's progress."""

from dataclasses import replace
from datetime import timedelta

import pytest

from notify_core.application.ports import Conflict, Outgoing, QueueName, StoreUnavailable
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import ClaimId, NoticeId, Recipient, WorkspaceId, delivery_id
from notify_core.domain.notice import Delivery, Notice
from notify_core.domain.request import closed_by_producer
from notify_core.domain.request_lifecycle import RequestEvent
from tests.application.delivery import (
    BUSY,
    DOWN,
    GONE,
    LOST,
    REVOKED,
    accept_only,
    accepted,
    at,
    at_once,
    deliver,
    item,
    key_of,
    moves,
    take,
    texts,
    told,
    while_sending,
)
from tests.application.faulty import failing, losing
from tests.application.stale import Stale
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, World

GLOBEX = WorkspaceId("globex")


# ---------------------------------------------------------------- each move of a notice's progress


def test_a_notice_without_other_channels_is_delivered_as_it_is_created(world: World) -> None:
    world.register_definition("console")
    world.publish("k1")
    accept_only(world)
    assert (world.notice().status, world.unread(), world.waiting(QueueName.CHAT)) == ("delivered", 1, [])


def test_a_notice_with_a_channel_to_send_is_routed_and_its_dispatch_queued(world: World) -> None:
    world.publish("k1")
    accept_only(world)
    body = {
        "version": 1,
        "task": "dispatch",
        "workspace_id": "acme",
        "recipient": "ana",
        "notice_id": world.id_of("k1"),
        "request_id": world.id_of("k1"),
        "channel": "chat",
    }
    assert (world.notice().status, world.waiting(QueueName.CHAT)) == ("routed", [(0.0, body)])


def test_a_notice_is_delivering_while_a_consumer_sends_it(world: World) -> None:
    seen: list[tuple[str, Delivery]] = []
    while_sending(world.chat, lambda: seen.append((world.notice().status, item(world))))
    world.publish("k1")
    world.run()
    claim = Delivery(
        channel=Channel.CHAT,
        state=DeliveryState.SENDING,
        claim_id=ClaimId("claim-1"),
        claimed_at=NOON,
        address="UANA",
        updated_at=NOON,
    )
    assert seen == [("delivering", claim)]


def test_a_successful_send_delivers_the_notice_and_is_told(world: World) -> None:
    world.publish("k1")
    world.run()
    assert item(world) == Delivery(
        channel=Channel.CHAT,
        state=DeliveryState.DELIVERED,
        attempts=1,
        claim_id=ClaimId("claim-1"),
        claimed_at=NOON,
        provider_id="p-1",
        provider_channel="D-UANA",
        updated_at=NOON,
    )
    assert world.notice().status == "delivered"
    assert moves(world) == ["queued -> sending by worker", "sending -> delivered by worker"]
    assert world.telemetry.counted("sends", channel="chat", result="delivered") == 1


def test_what_is_sent_names_its_delivery_its_claim_and_its_address(world: World) -> None:
    world.register_definition("chat", "text")
    world.publish("k1")
    world.skip(hours=1)
    world.run()
    notice = NoticeId(world.id_of("k1"))
    chat = Outgoing(
        workspace_id=ACME,
        recipient=Recipient("ana"),
        notice_id=notice,
        channel=Channel.CHAT,
        delivery_id=delivery_id(ACME, "ana", notice, "chat"),
        claim_id=ClaimId("claim-1"),
        address="UANA",
        text="Invoice 42",
        blocks=None,
        time_to_live_seconds=7 * 86_400 - 3600,
    )
    text = replace(
        chat,
        channel=Channel.TEXT,
        delivery_id=delivery_id(ACME, "ana", notice, "text"),
        claim_id=ClaimId("claim-2"),
        address="+33123450000",
    )
    assert (world.chat.reached, world.text.reached) == ([chat], [text])


def test_a_notice_is_partially_delivered_where_a_channel_fails_beside_one_that_delivered(world: World) -> None:
    world.chat.faults = [GONE]
    world.publish("k1")
    world.run()
    assert (told(world), world.notice().status) == ("failed(user_not_found)", "partially_delivered")


def test_a_notice_fails_where_every_channel_that_was_tried_failed(world: World) -> None:
    world.register_definition("chat", "text")
    world.chat.faults, world.text.faults = [GONE], [GONE]
    world.publish("k1")
    world.run()
    assert (world.states(), world.notice().status) == ({"chat": "failed", "text": "failed"}, "failed")


def test_a_notice_whose_only_channel_is_skipped_ends_without_a_channel(world: World) -> None:
    world.register_definition("chat")
    tasks = accepted(world, "ana")
    assert world.notice().status == "routed"
    world.register_people("ana", active=False)
    deliver(world, tasks)
    assert (told(world), world.notice().status) == ("skipped(person_inactive)", "no_channel")


def test_a_notice_withdrawn_before_its_consumer_looks_is_cancelled_not_sent(world: World) -> None:
    tasks = accepted(world, "ana")
    world.withdraw(request_key="k1")
    accept_only(world)
    deliver(world, tasks)
    assert (told(world), world.notice().status) == ("cancelled(withdrawn)", "superseded")
    assert (world.chat.calls, world.unread()) == (0, 0)


def test_a_consumer_that_finds_the_deadline_passed_sends_nothing_and_ends_the_notice(world: World) -> None:
    """Scenario 21: the notice reached nobody, so it expires as a whole."""
    world.register_definition("chat", expires_after=timedelta(hours=1))
    tasks = accepted(world, "ana")
    world.skip(hours=1)
    deliver(world, tasks)
    assert (told(world), world.notice().status, world.chat.calls) == ("expired(age)", "expired", 0)
    assert moves(world) == ["queued -> sending by worker", "sending -> expired by worker: age"]


def test_a_notice_that_the_inbox_shows_outlives_its_deadline_as_delivered(world: World) -> None:
    world.register_definition(expires_after=timedelta(hours=1))
    tasks = accepted(world, "ana")
    world.skip(hours=1)
    deliver(world, tasks)
    assert (told(world), world.notice().status, world.unread()) == ("expired(age)", "delivered", 1)


@pytest.mark.parametrize("is_waiting", [False, True], ids=["queued", "deferred"])
@pytest.mark.parametrize(
    ("event", "by", "reason"),
    [(RequestEvent.WITHDRAW, "producer", "withdrawn"), (RequestEvent.REPLACE, "replacement", "replaced")],
)
def test_a_claim_that_nobody_carries_is_released_unsent_and_its_notice_ends_in_the_same_write(
    world: World, event: RequestEvent, by: str, reason: str, *, is_waiting: bool
) -> None:
    """The withdrawal is recorded, and its follow-up is still to come."""
    world.register_definition("console", "chat", "text")
    tasks = accepted(world, "ana")
    if is_waiting:
        world.text.faults = [BUSY]
        deliver(world, take(world, QueueName.TEXT))
    request = world.request()
    world.ports.requests.put(closed_by_producer(request, event, now=world.clock.now()), request)
    version = world.notice().version
    deliver(world, tasks)
    assert moves(world) == ["queued -> sending by worker", f"sending -> cancelled by worker: {reason}"]
    source = "deferred" if is_waiting else "queued"
    assert moves(world, channel=Channel.TEXT)[-1] == f"{source} -> cancelled by {by}: {reason}"
    assert (world.notice().status, world.notice().version, world.unread()) == ("superseded", version + 2, 0)
    assert world.chat.calls == 0


@pytest.mark.parametrize("is_waiting", [False, True], ids=["queued", "deferred"])
def test_a_claim_past_its_deadline_is_released_with_all_that_is_unsent(world: World, *, is_waiting: bool) -> None:
    world.register_definition("chat", "text", expires_after=timedelta(hours=1))
    tasks = accepted(world, "ana")
    if is_waiting:
        world.text.faults = [BUSY]
        deliver(world, take(world, QueueName.TEXT))
    world.skip(hours=1)
    deliver(world, tasks)
    source = "deferred" if is_waiting else "queued"
    assert moves(world, channel=Channel.TEXT)[-1] == f"{source} -> expired by worker: age"
    assert (world.states(), world.notice().status) == ({"chat": "expired", "text": "expired"}, "expired")


@pytest.mark.parametrize("ending", ["withdrawn", "expired"])
def test_an_ended_notice_stays_ended_whatever_the_send_in_flight_gives(world: World, ending: str) -> None:
    """Scenario 15."""
    world.register_definition("chat", "text", expires_after=timedelta(hours=1))
    world.text.faults = [DOWN]
    tasks = [*accepted(world, "ana"), *take(world, QueueName.TEXT)]

    def end() -> None:
        if ending == "withdrawn":
            world.withdraw(request_key="k1")
            accept_only(world)

    while_sending(world.chat, end)
    deliver(world, tasks[:1])
    assert told(world) == "delivered"
    if ending == "expired":
        world.skip(hours=1)
        world.sweep()
    statuses = {"withdrawn": "superseded", "expired": "delivered"}
    assert (world.notice().status, world.text.calls) == (statuses[ending], 0)


def test_a_delivery_that_ended_well_is_not_opened_again_by_another_message(world: World) -> None:
    tasks = accepted(world, "ana")
    deliver(world, tasks)
    before = world.notice()
    assert deliver(world, tasks) == set()
    assert (world.notice(), world.chat.calls) == (before, 1)


# ---------------------------------------------------------------- once


def test_two_consumers_with_the_same_message_send_it_once(world: World) -> None:
    """Scenario 2: at once, and a second apart."""
    tasks = accepted(world, "ana")
    at_once(*[lambda: deliver(world, tasks)] * 8)
    world.skip(seconds=1)
    deliver(world, tasks)
    assert (world.chat.calls, told(world)) == (1, "delivered")


@pytest.mark.parametrize("number", range(12))
def test_a_second_consumer_between_any_two_steps_of_the_first_sends_nothing_more(world: World, number: int) -> None:
    """Scenario 2."""
    tasks = accepted(world, "ana")
    steps = Steps(world.ports)
    steps.interrupt(number, lambda: deliver(world, tasks))
    deliver(world, tasks, steps.ports)
    assert (world.chat.times(), told(world)) == ({world.notice().delivery_id(Channel.CHAT): 1}, "delivered")


def test_the_last_step_of_a_delivery_is_interrupted_above() -> None:
    world = World()
    world.register_people("ana")
    world.register_definition()
    steps = Steps(world.ports)
    deliver(world, accepted(world, "ana"), steps.ports)
    assert 4 <= len(steps.names()) <= 12


@pytest.mark.parametrize("seconds_after_its_time", [-1, 0, 1])
def test_a_message_that_comes_again_about_when_its_delivery_may_be_tried_costs_one_attempt(
    world: World, seconds_after_its_time: int
) -> None:
    """Scenario 4: its copy is due then too, for the function died before the message was deleted."""
    world.chat.faults = [BUSY]
    tasks = accepted(world, "ana")
    deliver(world, tasks)
    next_at = item(world).next_at
    assert next_at is not None
    world.clock.at = next_at + timedelta(seconds=seconds_after_its_time)
    deliver(world, tasks)
    world.advance(minutes=10)
    assert (len(world.chat.reached), item(world).attempts, told(world)) == (1, 1, "delivered")
    assert world.waiting(QueueName.CHAT) == []


def test_a_message_that_waits_goes_round_as_often_as_it_must(world: World) -> None:
    """Scenario 38: the twentieth round still delivers."""
    world.chat.faults = [BUSY] * 20
    world.publish("k1")
    world.advance(minutes=30)
    assert (world.chat.calls, item(world).attempts, told(world)) == (21, 1, "delivered")
    assert (world.queues.dead, world.waiting(QueueName.CHAT)) == ([], [])


def test_accepting_again_what_was_delivered_changes_nothing(world: World) -> None:
    """Scenarios 5 and 8: 200 people, whose acceptance outlived its message's visibility."""
    people = [f"p{number}" for number in range(200)]
    world.register_people(*people)
    world.publish("k1", *people)
    accept_only(world)
    world.publish("k1", *people)
    world.advance(minutes=5)
    assert set(world.chat.times().values()) == {1}
    assert (len(world.chat.reached), len(list(world.database.notices))) == (200, 200)
    before = list(world.database.notices)
    world.publish("k1", *people, published_at=NOON)
    world.advance(minutes=5)
    assert (list(world.database.notices), world.chat.calls) == (before, 200)


# ---------------------------------------------------------------- who is told


def test_only_the_publishers_workspace_is_told(world: World) -> None:
    """Scenario 33: ana is in both, and both know the role."""
    world.register_workspace(GLOBEX)
    world.register_definition(workspace=GLOBEX)
    world.register_people("ana", roles=("approver",))
    world.register_people("ana", "eve", workspace=GLOBEX, roles=("approver",), slack_user_id="UGLOBEX")
    world.publish("k1", audience={"people": ["ana"], "roles": ["approver"]})
    world.run()
    assert texts(world.chat) == [("UANA", "Invoice 42")]
    assert [notice.workspace_id for notice in world.database.notices] == [ACME]


def test_the_address_is_the_one_known_when_it_is_sent(world: World) -> None:
    tasks = accepted(world, "ana")
    world.register_people("ana", slack_user_id="UNEW")
    deliver(world, tasks)
    assert texts(world.chat) == [("UNEW", "Invoice 42")]


# ---------------------------------------------------------------- what can't be sent is said before anything is


def test_one_recipients_text_that_cannot_be_rendered_is_a_problem_before_the_commit(world: World) -> None:
    """Scenario 23: nobody is told, and nothing is left half done."""
    templates = {Channel.CHAT: {"text": "Dear {{ recipient.name }}", "blocks": None}}
    world.register_definition("chat", templates=templates)
    world.register_people("bob", name="B" * 4000)
    world.publish("k1", "ana", "bob")
    world.advance(minutes=5)
    found = [(problem.field, problem.code) for problem in world.request().problems]
    assert (world.request().state, found) == ("invalid", [("templates.chat.text", "too_long")])
    assert (world.chat.calls, list(world.database.notices), world.request().due_at) == (0, [], None)


def test_a_text_too_long_once_filled_is_a_problem_at_the_acceptance(world: World) -> None:
    """Scenario 35."""
    world.register_definition("console", "text")
    world.publish("k1", data={"number": "4" * 1600})
    world.run()
    found = [(problem.field, problem.code) for problem in world.request().problems]
    assert (world.request().state, found) == (
        "invalid",
        [("templates.console.title", "too_long"), ("templates.text.body", "too_long")],
    )


def test_a_text_that_cannot_be_rendered_any_more_fails_and_needs_no_provider(world: World) -> None:
    templates = {Channel.CHAT: {"text": "Dear {{ recipient.name }}", "blocks": None}}
    world.register_definition("chat", templates=templates)
    tasks = accepted(world, "ana")
    world.register_people("ana", name="A" * 5000)
    deliver(world, tasks)
    assert (told(world), world.chat.calls) == ("failed(not_rendered)", 0)


# ---------------------------------------------------------------- what is read may be old


@pytest.fixture
def stale() -> Stale:
    """The platform, whose eventual reads see what the test has them see."""
    world = Stale()
    world.register_people("ana", "bob")
    world.register_definition("chat")
    return world


def test_a_delivery_queued_again_a_moment_ago_is_sent_though_an_eventual_read_shows_it_otherwise(stale: Stale) -> None:
    stale.chat.faults = [BUSY]
    being_sent: list[Notice] = []
    while_sending(stale.chat, lambda: being_sent.append(stale.notice()))
    deliver(stale, accepted(stale, "ana"))
    stale.skip(minutes=2)
    with stale.showing("notices", key_of(stale), being_sent[0]):
        deliver(stale, take(stale))
    assert told(stale) == "delivered"


def test_a_request_accepted_a_moment_ago_is_sent_though_an_eventual_read_shows_it_waiting(stale: Stale) -> None:
    stale.publish("k1", not_before=at(minutes=1))
    accept_only(stale)
    waiting = stale.request()
    stale.skip(minutes=5)
    accept_only(stale)
    with stale.showing("requests", (ACME, waiting.request_id), waiting):
        deliver(stale, take(stale))
    assert told(stale) == "delivered"


def test_a_folded_notice_begun_a_moment_ago_is_sent_though_an_eventual_read_does_not_show_it(stale: Stale) -> None:
    stale.register_definition("chat", fold_within=timedelta(hours=1))
    stale.publish("k1", fold_key="f")
    accept_only(stale)
    (notice,) = stale.folded()
    key = replace(key_of(stale), notice_id=notice.notice_id)
    with stale.showing("notices", key, None):
        deliver(stale, take(stale))
    assert [found.status for found in stale.folded()] == ["delivered"]


# ---------------------------------------------------------------- what fails on the way


def test_what_cannot_be_looked_up_is_put_back_unsent_and_comes_again_after_a_pause(world: World) -> None:
    """A store that fails must not have its deliveries claimed over and over as fast as a function runs."""
    tasks = accepted(world, "ana")
    assert deliver(world, tasks, failing(world.ports, "requests.get_many", StoreUnavailable("down"))) == set()
    assert (told(world), item(world).attempts, world.chat.calls) == ("deferred", 0, 0)
    ((wait_seconds, _),) = world.waiting(QueueName.CHAT)
    assert 7 <= wait_seconds <= 16
    world.advance(minutes=1)
    assert (told(world), item(world).attempts) == ("delivered", 1)


@pytest.mark.parametrize("port", ["notices.get_many", "registry.channel_state", "directory.people"])
def test_what_cannot_be_looked_up_before_it_is_claimed_is_not_claimed(world: World, port: str) -> None:
    tasks = accepted(world, "ana")
    with pytest.raises(StoreUnavailable):
        deliver(world, tasks, failing(world.ports, port, StoreUnavailable("down")))
    assert (told(world), world.waiting(QueueName.CHAT)) == ("queued", [])


def test_what_cannot_be_prepared_for_a_fault_of_ours_is_charged_and_ends_in_the_operators_list(world: World) -> None:
    """Nothing was sent, so it is not unknown; and it is no reason to go round for ever."""
    world.register_definition("chat", "text")
    world.publish("k1")
    accept_only(world)
    world.database.versions.clear()
    world.advance(days=1)
    assert {told(world), told(world, channel=Channel.TEXT)} == {"failed(attempts_exhausted)"}
    assert (world.chat.calls, world.text.calls, item(world).attempts) == (0, 0, 5)


@pytest.mark.parametrize("error", [Conflict("repeated by the client"), StoreUnavailable("no answer")])
def test_a_claim_whose_answer_was_lost_is_recognised_and_sent(world: World, error: Exception) -> None:
    tasks = accepted(world, "ana")
    assert deliver(world, tasks, losing(world.ports, "notices.put", error)) == set()
    assert (told(world), item(world).attempts, world.chat.calls) == ("delivered", 1, 1)


def test_a_result_whose_recording_was_answered_by_nobody_is_recognised(world: World) -> None:
    """Scenario 3: written, but the function doesn't hear of it."""
    tasks = accepted(world, "ana")
    ports = losing(world.ports, "notices.put", Conflict("repeated by the client"), times=2)
    assert deliver(world, tasks, ports) == set()
    assert (told(world), world.notice().version) == ("delivered", 3)


def test_a_result_is_recorded_though_the_channels_state_cannot_be_written(world: World) -> None:
    """The answer is worth more than what it says of the channel."""
    world.publish("k1", "ana", "bob")
    accept_only(world)
    world.chat.faults = [REVOKED, BUSY]
    ports = failing(world.ports, "registry.put_channel_state", StoreUnavailable("down"), times=None)
    assert deliver(world, take(world), ports) == set()
    assert (told(world), told(world, "bob")) == ("deferred(circuit_open)", "deferred(throttled)")


def test_a_function_that_dies_while_it_sends_leaves_a_claim_that_nobody_takes_over(world: World) -> None:
    """Scenario 24: its message comes again, and finds the delivery being sent."""
    tasks = accepted(world, "ana")

    def die() -> None:
        raise Died

    while_sending(world.chat, die)
    with pytest.raises(Died):
        deliver(world, tasks)
    world.skip(seconds=29)
    assert deliver(world, tasks) == set()
    world.skip(hours=1)
    assert deliver(world, tasks) == set()
    assert (told(world), world.chat.reached) == ("sending", [])


# ---------------------------------------------------------------- what is measured


def test_the_time_from_publication_to_provider_is_measured(world: World) -> None:
    world.publish("k1")
    world.skip(seconds=90)
    world.run()
    assert world.telemetry.durations == [("publication_to_outcome", 90.0), ("publication_to_provider", 90.0)]


def test_a_scheduled_publication_is_measured_from_its_own_time(world: World) -> None:
    world.publish("k1", not_before=at(hours=1))
    world.advance(hours=2)
    ((metric, seconds),) = [line for line in world.telemetry.durations if line[0] == "publication_to_provider"]
    assert (metric, seconds <= 1) == ("publication_to_provider", True)


def test_an_unknown_result_is_told_by_its_reason(world: World) -> None:
    world.chat.faults = [LOST]
    world.publish("k1")
    world.run()
    assert ("send_result_unknown", {"channel": "chat", "reason": "timeout"}) in world.telemetry.events
