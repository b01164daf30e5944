"""Unknown results: a send that may have happened is never repeated by guess; the provider's record settles it."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from notify_core.application.ports import Conflict, EvidenceQuery, Outgoing
from notify_core.application.record_dead_task import record_dead_task
from notify_core.application.retry_delivery import RetryRefusal, retry_delivery
from notify_core.application.settle_send import settle_send
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId
from notify_core.domain.notice import Notice
from notify_core.domain.send_result import Evidence, SendResult, Unknown
from tests.application.delivery import (
    LOST,
    accepted,
    at,
    at_once,
    deliver,
    item,
    key_of,
    moves,
    take,
    told,
)
from tests.application.faulty import failing
from tests.application.steps import Died
from tests.application.world import ACME, NOON, World


def settle(world: World, channel: Channel = Channel.CHAT) -> Notice:
    """What is known of ana's send now, as a sweep would record it."""
    return settle_send(world.notice(), channel, world.ports)


def lose(world: World, fault: str = "lose_request") -> None:
    """Publish to ana, whose send ends without an answer."""
    world.chat.faults = [fault]
    world.publish("k1")
    world.run()
    assert told(world) == "sending"


# ---------------------------------------------------------------- what the provider's record says


@pytest.mark.parametrize("fault", ["drop_response", "lose_request"])
def test_an_unknown_send_stays_being_sent_until_nothing_of_it_can_still_arrive(world: World, fault: str) -> None:
    lose(world, fault)
    asked: list[EvidenceQuery] = []
    look_up = world.chat.look_up

    def watched(query: EvidenceQuery) -> Evidence:
        asked.append(query)
        return look_up(query)

    world.chat.look_up = watched  # type: ignore[method-assign]
    world.skip(seconds=59)
    assert (settle(world), asked) == (world.notice(), [])
    world.skip(seconds=1)
    settle(world)
    notice = world.notice()
    assert asked == [
        EvidenceQuery(
            workspace_id=ACME,
            channel=Channel.CHAT,
            delivery_id=notice.delivery_id(Channel.CHAT),
            claim_id=ClaimId("claim-1"),
            claimed_at=NOON,
            address="UANA",
        )
    ]


def test_a_send_found_in_the_record_is_delivered_and_not_repeated(world: World) -> None:
    """Scenario 6: the provider accepted it, and cut the connection."""
    lose(world, "drop_response")
    world.advance(hours=2)
    assert (world.chat.calls, told(world), item(world).attempts) == (1, "delivered", 1)
    assert (item(world).provider_id, item(world).provider_channel) == ("found", "D")
    assert moves(world) == ["queued -> sending by worker", "sending -> delivered by sweep"]
    assert world.telemetry.counted("sends_settled", channel="chat", state="delivered") == 1


def test_a_send_that_the_record_lacks_is_made_again_as_another_attempt(world: World) -> None:
    lose(world, "lose_request")
    world.advance(hours=2)
    assert (world.chat.calls, len(world.chat.reached), told(world), item(world).attempts) == (2, 1, "delivered", 2)
    assert moves(world) == [
        "queued -> sending by worker",
        "sending -> queued by sweep",
        "queued -> sending by worker",
        "sending -> delivered by worker",
    ]


def test_a_record_that_cannot_be_read_says_nothing_and_is_asked_again(world: World) -> None:
    lose(world, "lose_request")
    world.chat.silent = True
    world.advance(hours=12)
    assert (told(world), world.chat.calls) == ("sending", 1)
    assert ("evidence_untold", {"channel": "chat", "reason": "unreachable"}) in world.telemetry.events
    world.chat.silent = False
    world.advance(hours=2)
    assert (told(world), len(world.chat.reached)) == ("delivered", 1)


@pytest.mark.parametrize("fault", ["drop_response", "lose_request"])
def test_a_send_that_nothing_ever_tells_of_is_recorded_as_unknown_for_good(world: World, fault: str) -> None:
    lose(world, fault)
    world.chat.silent = True
    world.advance(hours=26)
    assert (told(world), item(world).attempts, world.chat.calls) == ("failed(outcome_unknown)", 1, 1)
    assert world.notice().failed_at is not None
    assert retry_delivery(key_of(world), Channel.CHAT, world.ports) is RetryRefusal.NOT_EXHAUSTED
    world.chat.silent = False
    world.advance(days=7)
    assert (told(world), world.chat.calls) == ("failed(outcome_unknown)", 1)


def test_a_send_that_is_lost_each_time_runs_out_of_attempts_and_may_be_retried(world: World) -> None:
    world.chat.faults = ["lose_request"] * 5
    world.publish("k1")
    world.advance(hours=12)
    assert (told(world), item(world).attempts, world.chat.calls) == ("failed(attempts_exhausted)", 5, 5)
    retry_delivery(key_of(world), Channel.CHAT, world.ports)
    world.run()
    assert (told(world), len(world.chat.reached)) == ("delivered", 1)


def test_the_record_is_read_where_the_message_was_sent_to(world: World) -> None:
    """The address that is known now may be another: nothing stands there, and a second message would go out."""
    lose(world, "drop_response")
    world.register_people("ana", slack_user_id="UNEW")
    world.advance(hours=2)
    assert (told(world), world.chat.calls) == ("delivered", 1)


def test_the_record_is_read_for_somebody_who_is_gone(world: World) -> None:
    lose(world, "drop_response")
    world.database.people.clear()
    world.advance(hours=2)
    assert (told(world), world.chat.calls) == ("delivered", 1)


def test_a_delivery_keeps_the_address_for_as_long_as_it_is_being_sent(world: World) -> None:
    lose(world, "lose_request")
    assert item(world).address == "UANA"
    world.advance(hours=2)
    assert item(world).address is None


# ---------------------------------------------------------------- functions that die


@pytest.mark.parametrize(
    ("dies", "calls"),
    [("before", 2), ("after", 1)],
)
def test_a_function_that_died_around_the_providers_call_leaves_one_message(world: World, dies: str, calls: int) -> None:
    """Scenarios 3 and 24: between the claim and the send, or between the answer and its record."""
    send, deaths = world.chat.send, ["first call"]

    def dying(outgoing: Outgoing) -> SendResult:
        if deaths and dies == "before":
            deaths.clear()
            world.chat.calls += 1
            raise Died
        result = send(outgoing)
        if deaths:
            deaths.clear()
            raise Died
        return result

    world.chat.send = dying  # type: ignore[method-assign]
    world.publish("k1")
    world.advance(hours=2)
    assert (told(world), world.chat.calls, len(world.chat.reached)) == ("delivered", calls, 1)


def test_a_dead_letter_redriven_under_the_first_attempts_lease_calls_nobody(world: World) -> None:
    """Scenario 1."""
    world.chat.faults = ["drop_response"]
    tasks = accepted(world, "ana")
    deliver(world, tasks)
    world.skip(seconds=10)
    for task in tasks:
        record_dead_task(task, world.ports)
    assert deliver(world, [*tasks, *take(world)]) == set()
    world.advance(hours=2)
    assert (told(world), world.chat.calls, item(world).attempts) == ("delivered", 1, 1)


def test_an_answer_that_comes_after_the_evidence_changes_nothing(world: World) -> None:
    """The sweep was quicker: what it recorded stands, with one attempt."""
    send = world.chat.send

    def slow(outgoing: Outgoing) -> SendResult:
        result = send(outgoing)
        world.skip(seconds=60)
        settle(world)
        return result

    tasks = accepted(world, "ana")
    world.chat.send = slow  # type: ignore[method-assign]
    assert deliver(world, tasks) == set()
    assert (told(world), item(world).attempts, item(world).provider_id) == ("delivered", 1, "found")


def test_two_sweeps_at_once_settle_a_send_once(world: World) -> None:
    lose(world, "lose_request")
    world.skip(seconds=60)
    at_once(*[lambda: settle(world)] * 8)
    assert (told(world), item(world).attempts) == ("queued", 1)
    assert world.telemetry.counted("sends_settled") == 1


def test_a_settling_that_loses_its_race_looks_again(world: World) -> None:
    lose(world, "drop_response")
    world.skip(seconds=60)
    ports = failing(world.ports, "notices.put", Conflict("another"))
    settled = settle_send(world.notice(), Channel.CHAT, ports)
    assert (settled, told(world)) == (world.notice(), "delivered")


# ---------------------------------------------------------------- notices that ended meanwhile


def withdraw(world: World) -> None:
    world.withdraw(request_key="k1")


def replace_it(world: World) -> None:
    world.publish("k2", replacement_key="r")


@pytest.mark.parametrize(("end", "reason"), [(withdraw, "withdrawn"), (replace_it, "replaced")])
@pytest.mark.parametrize(("fault", "state"), [("drop_response", "delivered"), ("lose_request", "cancelled")])
def test_an_ended_notices_unknown_send_is_recorded_as_what_became_of_it_and_never_made_again(
    world: World, end: Callable[[World], None], reason: str, fault: str, state: str
) -> None:
    key = {"replacement_key": "r"} if end is replace_it else {}
    if key:
        world.register_definition(replace_previous=True)
    world.chat.faults = [fault]
    world.publish("k1", **key)
    world.run()
    world.skip(seconds=5)
    end(world)
    world.advance(hours=2)
    expected = state if state == "delivered" else f"cancelled({reason})"
    assert (told(world), world.notice().status) == (expected, "superseded")
    assert [outgoing.notice_id for outgoing in world.chat.reached].count(world.notice().notice_id) == (
        fault == "drop_response"
    )
    assert world.request().due_at is None


@pytest.mark.parametrize(
    ("fault", "status", "state"),
    [("drop_response", "delivered", "delivered"), ("lose_request", "expired", "expired(age)")],
)
def test_a_send_found_unmade_past_the_deadline_is_not_made(world: World, fault: str, status: str, state: str) -> None:
    """Scenario 21."""
    world.register_definition("chat", expires_after=timedelta(seconds=75))
    lose(world, fault)
    world.advance(hours=2)
    assert (told(world), world.notice().status, world.chat.calls) == (state, status, 1)
    assert (world.request().state, world.request().due_at) == ("settled", None)


# ---------------------------------------------------------------- texts: only a receipt tells


@pytest.mark.parametrize(
    ("expires_after", "given_up_at"),
    [
        (timedelta(days=7), timedelta(hours=24)),
        (timedelta(hours=6), timedelta(hours=6)),
        (timedelta(minutes=1), timedelta(minutes=1)),
    ],
)
@pytest.mark.parametrize("fault", ["drop_response", "lose_request"])
def test_an_unknown_text_waits_for_its_receipt_until_its_deadline_or_for_a_day(
    world: World, fault: str, expires_after: timedelta, given_up_at: timedelta
) -> None:
    world.register_definition("text", expires_after=expires_after)
    world.text.faults = [fault]
    world.publish("k1")
    world.run()
    world.clock.at = NOON + given_up_at - timedelta(microseconds=1)
    assert settle(world, Channel.TEXT) == world.notice()
    world.clock.at = NOON + given_up_at
    settle(world, Channel.TEXT)
    assert (told(world, channel=Channel.TEXT), world.text.calls) == ("failed(outcome_unknown)", 1)


def test_a_text_claimed_just_before_its_deadline_is_unknown_for_its_lease_at_least(world: World) -> None:
    world.register_definition("text", expires_after=timedelta(minutes=1))
    world.text.faults = [LOST]
    world.publish("k1")
    world.skip(seconds=50)
    world.run()
    world.clock.at = at(seconds=79)
    assert settle(world, Channel.TEXT) == world.notice()
    world.clock.at = at(seconds=80)
    settle(world, Channel.TEXT)
    assert told(world, channel=Channel.TEXT) == "failed(outcome_unknown)"


def test_a_text_that_was_lost_is_never_sent_again(world: World) -> None:
    world.register_definition("text")
    world.text.faults = ["lose_request"]
    world.publish("k1")
    world.advance(days=8)
    assert (told(world, channel=Channel.TEXT), world.text.calls) == ("failed(outcome_unknown)", 1)
    assert (world.request().state, world.request().due_at) == ("settled", None)


# ---------------------------------------------------------------- many at once


def test_two_hundred_sends_with_every_unknown_outcome_reach_everybody_once(world: World) -> None:
    people = [f"p{number}" for number in range(200)]
    world.register_people(*people)
    world.chat.faults = ["drop_response", "lose_request", "drop_response", Unknown(reason="http_500")] * 40
    world.publish("k1", *people)
    world.advance(hours=8)
    assert {told(world, person) for person in people} == {"delivered"}
    assert (len(world.chat.times()), set(world.chat.times().values())) == (200, {1})
    assert world.queues.dead == []
