"""Retrying: an operator's retry is of one exhausted delivery, and of nothing else."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from notify_core.application.list_attention import AttentionQuery
from notify_core.application.ports import Conflict, Ports, QueueName, StoreUnavailable
from notify_core.application.retry_deliveries import BulkRetry, Refused, retry_deliveries
from notify_core.application.retry_delivery import Retried, RetryRefusal, retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import Recipient
from notify_core.domain.notice import Delivery, Notice
from notify_core.domain.request import closed_by_producer
from notify_core.domain.request_lifecycle import RequestEvent
from tests.application.delivery import (
    DOWN,
    GONE,
    LOST,
    at_once,
    deliver,
    item,
    key_of,
    moves,
    take,
    told,
    while_sending,
)
from tests.application.faulty import failing
from tests.application.steps import Steps
from tests.application.world import ACME, World

CHAT = Channel.CHAT


def exhaust(world: World, *people: str, **changes: object) -> None:
    """Publish k1 to people, to whom nothing gets through for five attempts."""
    people = people or ("ana",)
    world.chat.faults = [DOWN] * 5 * len(people)
    world.publish("k1", *people, **changes)
    world.advance(minutes=20)
    assert {told(world, person) for person in people} == {"failed(attempts_exhausted)"}
    assert world.chat.faults == []


def retry(world: World, recipient: str = "ana", ports: Ports | None = None) -> Retried | RetryRefusal:
    return retry_delivery(key_of(world, recipient), CHAT, ports or world.ports)


# ---------------------------------------------------------------- one delivery


def test_an_exhausted_delivery_is_queued_again_with_all_its_attempts_and_its_message(world: World) -> None:
    exhaust(world)
    assert world.notice().status == "partially_delivered"
    before = world.notice()
    assert retry(world) == Retried()
    assert item(world) == Delivery(channel=CHAT, state=DeliveryState.QUEUED, updated_at=world.clock.now())
    assert (world.notice().status, world.notice().failed_at, world.notice().version) == (
        "routed",
        None,
        before.version + 1,
    )
    assert moves(world)[-1] == "failed -> queued by operator"
    assert [(task.recipient, task.channel) for task in take(world)] == [("ana", "chat")]
    assert world.telemetry.counted("deliveries_retried", channel="chat") == 1


def test_a_failed_notice_is_routed_again(world: World) -> None:
    world.register_definition("chat")
    exhaust(world)
    assert world.notice().status == "failed"
    retry(world)
    assert world.notice().status == "routed"
    world.run()
    assert (told(world), world.notice().status) == ("delivered", "delivered")


def test_one_of_two_hundred_is_retried_and_the_others_stay_untouched(world: World) -> None:
    """Scenario 7."""
    people = [f"p{number}" for number in range(200)]
    world.register_people(*people)
    world.register_definition("chat")
    world.publish("k1", *people)
    world.run_only(QueueName.REQUESTS)
    tasks = take(world)
    world.chat.faults = [DOWN]
    deliver(world, tasks[:1])
    deliver(world, tasks[1:])
    world.chat.faults = [DOWN] * 4
    world.advance(minutes=20)
    others: dict[str, Notice] = {person: world.notice(person) for person in people[1:]}
    assert (told(world, "p0"), {told(world, person) for person in others}) == (
        "failed(attempts_exhausted)",
        {"delivered"},
    )
    assert retry(world, "p0") == Retried()
    world.advance(hours=1)
    assert (told(world, "p0"), set(world.chat.times().values()), len(world.chat.times())) == ("delivered", {1}, 200)
    assert {person: world.notice(person) for person in others} == others


def test_a_retry_has_its_request_looked_at_so_that_its_message_may_be_lost(world: World) -> None:
    exhaust(world)
    ports = failing(world.ports, "queues.send", StoreUnavailable("down"))
    with pytest.raises(StoreUnavailable):
        retry(world, ports=ports)
    assert (told(world), world.request().due_at) == ("queued", world.clock.now())
    world.advance(minutes=2)
    assert told(world) == "delivered"


# ---------------------------------------------------------------- twice


def test_pressing_twice_gives_one_attempt(world: World) -> None:
    """Scenario 42."""
    exhaust(world)
    calls = world.chat.calls
    assert [retry(world), retry(world)] == [Retried(), RetryRefusal.NOT_EXHAUSTED]
    world.advance(hours=1)
    assert (world.chat.calls, item(world).attempts, told(world)) == (calls + 1, 1, "delivered")


def test_pressing_at_the_same_time_gives_one_attempt(world: World) -> None:
    """Scenario 42: eight operators in eight threads."""
    exhaust(world)
    calls = world.chat.calls
    answers = at_once(*[lambda: retry(world)] * 8)
    assert sorted(map(str, answers)) == sorted([str(Retried()), *["not_exhausted"] * 7])
    world.advance(hours=1)
    assert (world.chat.calls, told(world)) == (calls + 1, "delivered")


def withdraw(world: World) -> None:
    world.withdraw(request_key="k1")
    world.run_only(QueueName.REQUESTS)


@pytest.mark.parametrize("number", range(5))
def test_two_retries_of_which_one_comes_between_any_two_steps_of_the_other_give_one_attempt(
    world: World, number: int
) -> None:
    """Scenario 42."""
    exhaust(world)
    calls, steps, answers = world.chat.calls, Steps(world.ports), []
    steps.interrupt(number, lambda: answers.append(retry(world)))
    answers.append(retry(world, ports=steps.ports))
    assert sorted(map(str, answers)) == sorted([str(Retried()), "not_exhausted"]) or not steps.is_interrupted
    world.advance(hours=1)
    assert (world.chat.calls, told(world)) == (calls + 1, "delivered")


@pytest.mark.parametrize("number", range(5))
def test_a_withdrawal_between_any_two_steps_of_a_retry_ends_with_nothing_sent(world: World, number: int) -> None:
    exhaust(world)
    calls, steps = world.chat.calls, Steps(world.ports)
    steps.interrupt(number, lambda: withdraw(world))
    retry(world, ports=steps.ports)
    world.advance(hours=1)
    expected = calls + (0 if steps.is_interrupted else 1)
    assert world.chat.calls == expected
    assert told(world).startswith(("cancelled", "failed")) or not steps.is_interrupted
    assert world.notice().status == "superseded" or not steps.is_interrupted


def test_a_retry_takes_fewer_steps_than_it_is_interrupted_at_above(world: World) -> None:
    exhaust(world)
    steps = Steps(world.ports)
    retry(world, ports=steps.ports)
    assert steps.names() == ["notices.get", "requests.get_many", "requests.commit", "queues.send"]


# ---------------------------------------------------------------- refused, with the reason


def test_while_it_is_running_it_is_not_exhausted(world: World) -> None:
    """Scenario 42."""
    answers: list[Retried | RetryRefusal] = []
    while_sending(world.chat, lambda: answers.append(retry(world)))
    world.publish("k1")
    world.run()
    assert (answers, world.chat.calls) == ([RetryRefusal.NOT_EXHAUSTED], 1)


@pytest.mark.parametrize("faults", [[], [GONE], [LOST], [DOWN]], ids=["delivered", "refused", "unknown", "waiting"])
def test_what_did_not_run_out_of_attempts_is_not_retried(world: World, faults: list[object]) -> None:
    world.chat.faults = faults  # type: ignore[assignment]
    world.publish("k1")
    world.run()
    before = world.notice()
    assert (retry(world), world.notice()) == (RetryRefusal.NOT_EXHAUSTED, before)


def expire(world: World) -> None:
    world.skip(days=7)


def settle(world: World) -> None:
    world.skip(days=7)
    world.advance(hours=2)
    assert world.request().state == "settled"


@pytest.mark.parametrize(
    ("end", "refusal"),
    [
        (withdraw, RetryRefusal.WITHDRAWN),
        (expire, RetryRefusal.EXPIRED),
        (settle, RetryRefusal.SETTLED),
    ],
)
def test_after_its_end_a_delivery_is_not_retried_and_the_answer_says_why(
    world: World, end: Callable[[World], None], refusal: RetryRefusal
) -> None:
    """Scenario 42."""
    exhaust(world)
    end(world)
    before = world.notice()
    assert (retry(world), world.notice(), take(world)) == (refusal, before, [])


def test_a_withdrawal_recorded_but_not_yet_followed_up_refuses_too(world: World) -> None:
    exhaust(world)
    was = world.request()
    withdrawn = closed_by_producer(was, RequestEvent.WITHDRAW, now=world.clock.now())
    world.ports.requests.put(withdrawn, was)
    assert (world.notice().ended, retry(world)) == (None, RetryRefusal.WITHDRAWN)


def test_after_its_definition_was_retired_a_delivery_is_retried_until_its_deadline(world: World) -> None:
    """Scenario 42: a retirement ends nothing of what was accepted."""
    exhaust(world)
    world.retire()
    world.run()
    assert world.request().state == "cancelled"
    assert retry(world) == Retried()
    world.advance(hours=1)
    assert (told(world), world.request().due_at) == ("delivered", None)
    world.skip(days=7)
    assert retry(world) is RetryRefusal.NOT_EXHAUSTED


def test_after_retirement_and_deadline_it_has_expired(world: World) -> None:
    exhaust(world)
    world.retire()
    world.advance(days=8)
    assert retry(world) is RetryRefusal.EXPIRED


def test_nobodys_delivery_is_not_found(world: World) -> None:
    exhaust(world)
    assert retry(world, "eve") is RetryRefusal.NOT_FOUND
    assert retry_delivery(key_of(world), Channel.TEXT, world.ports) is RetryRefusal.NOT_FOUND


def test_a_retry_that_keeps_losing_its_race_says_so(world: World) -> None:
    exhaust(world)
    with pytest.raises(Conflict):
        retry(world, ports=failing(world.ports, "requests.commit", Conflict("another"), times=None))
    assert told(world) == "failed(attempts_exhausted)"


# ---------------------------------------------------------------- folded notices


def test_a_folded_notice_is_retried_for_the_oldest_contributor_that_carries_it(world: World) -> None:
    world.register_definition("chat", fold_within=timedelta(hours=1))
    world.chat.faults = [DOWN] * 5
    for key in ("k1", "k2", "k3"):
        world.publish(key, fold_key="f")
        world.run()
    world.advance(minutes=20)
    world.withdraw(request_key="k1")
    world.run()
    (notice,) = world.folded()
    key = replace(key_of(world), notice_id=notice.notice_id)
    assert retry_delivery(key, CHAT, world.ports) == Retried()
    assert [world.request(name).due_at == world.clock.now() for name in ("k1", "k2", "k3")] == [False, True, False]
    world.advance(hours=1)
    assert [(outgoing.text) for outgoing in world.chat.reached] == ["Invoice 42 (and 1 more)"]


# ---------------------------------------------------------------- in bulk


def test_in_bulk_each_exhausted_delivery_is_retried_on_its_own(world: World) -> None:
    exhaust(world, "ana", "bob")
    world.chat.faults = [GONE]
    world.publish("k2")
    world.run()
    query = AttentionQuery(workspace_id=ACME, limit=10, reason="attempts_exhausted")
    assert retry_deliveries(query, world.ports) == BulkRetry(retried=2, refused=[])
    world.run()
    assert (told(world, "ana"), told(world, "bob")) == ("delivered", "delivered")
    assert told(world, request_key="k2") == "failed(user_not_found)"
    assert retry_deliveries(query, world.ports) == BulkRetry(retried=0, refused=[])


def test_in_bulk_what_cannot_be_retried_is_named_with_the_reason(world: World) -> None:
    exhaust(world, "ana", "bob")
    world.skip(days=7)
    query = AttentionQuery(workspace_id=ACME, limit=10, reason="attempts_exhausted")
    answer = retry_deliveries(query, world.ports)
    assert (answer.retried, sorted(answer.refused, key=lambda refused: refused.key.recipient)) == (
        0,
        [
            Refused(key=key_of(world, person), channel=CHAT, why=RetryRefusal.EXPIRED)
            for person in (Recipient("ana"), Recipient("bob"))
        ],
    )


def test_two_bulk_retries_at_once_give_each_delivery_one_attempt(world: World) -> None:
    """Scenario 42."""
    exhaust(world, "ana", "bob")
    calls = world.chat.calls
    query = AttentionQuery(workspace_id=ACME, limit=10, reason="attempts_exhausted")
    answers = at_once(*[lambda: retry_deliveries(query, world.ports)] * 4)
    assert sum(answer.retried for answer in answers) == 2
    world.advance(hours=1)
    assert (world.chat.calls, set(world.chat.times().values())) == (calls + 2, {1})
