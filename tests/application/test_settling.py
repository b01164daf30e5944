"""Settling: past its deadline, and once nothing is to be done any more, an open request is over."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from notify_core.adapters.counting import counting_requests
from notify_core.application.ports import QueueName
from notify_core.application.retry_delivery import Retried, RetryRefusal, retry_delivery
from notify_core.application.sweep_request import sweep_request
from notify_core.application.withdraw_request import WithdrawalResult, withdraw_request
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId
from notify_core.domain.receipt import Receipt, ReceiptOutcome
from notify_core.domain.request import Withdrawal, rescheduled
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled, Unavailable
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, OVERDUE, World, key_of

SETTLED = ("settled", None, "sweep")


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def ending(world: World, request_key: str = "k1") -> tuple[str, str | None, str | None]:
    row = world.request(request_key)
    return row.state.value, row.reason and row.reason.value, row.caused_by and row.caused_by.value


def sweep(world: World) -> None:
    sweep_request(ACME, world.id_of("k1"), world.ports)


def test_a_delivered_request_stays_open_until_its_deadline_and_settles_then(world: World) -> None:
    world.publish("k1", deadline=at(hours=1))
    world.advance(minutes=59)
    assert (world.request().state, world.request().due_at) == (RequestState.OPEN, at(hours=1))
    before = world.request()
    world.advance(minutes=1)
    assert world.request() == replace(
        before,
        state=RequestState.SETTLED,
        version=before.version + 1,
        caused_by="sweep",
        closed_at=at(hours=1),
        due_at=None,
    )
    assert (world.notice().status, world.unread()) == ("delivered", 1)


def test_a_console_request_is_looked_at_after_its_commit_and_at_its_deadline(world: World) -> None:
    world.register_definition("console")
    world.publish("k1", deadline=at(days=3))
    world.run()
    assert world.request().due_at == at(seconds=90)
    world.advance(minutes=2)
    assert world.request().due_at == at(days=3)
    steps = Steps(world.ports)
    world.ports = steps.ports
    world.advance(days=3, minutes=1)
    assert [name for name in steps.names() if name.startswith("requests.") and name != "requests.due"] == [
        "requests.get",
        "requests.put",
    ]
    assert ending(world) == SETTLED


def test_nothing_settles_while_a_send_is_unknown(world: World) -> None:
    world.chat.faults = ["drop_response"]
    world.chat.silent = True
    world.publish("k1", deadline=at(minutes=10))
    world.advance(minutes=30)
    assert (world.states()["chat"], world.request().state) == ("sending", RequestState.OPEN)
    world.chat.silent = False
    world.advance(hours=2)
    assert (world.states()["chat"], ending(world)) == ("delivered", SETTLED)


def test_what_waits_is_expired_first_and_in_the_same_sweep_settled(world: World) -> None:
    world.chat.faults = [Throttled(retry_after=timedelta(hours=1))]
    world.publish("k1", "ana", "bob", deadline=at(minutes=10))
    world.run()
    world.skip(minutes=10)
    sweep(world)
    assert (world.states("ana")["chat"], world.states("bob")["chat"], ending(world)) == ("expired", "expired", SETTLED)


def test_a_receipt_still_owed_does_not_keep_it_open(world: World) -> None:
    world.register_definition("text")
    world.publish("k1", deadline=at(hours=1))
    world.advance(hours=1, minutes=1)
    assert (world.states(), ending(world)) == ({"text": "sent"}, SETTLED)
    assert world.request().due_at == at(days=3)
    world.withdraw(request_key="k1")
    world.run()
    assert ending(world) == SETTLED


def test_a_receipt_after_settling_is_recorded_and_clears_what_is_owed(world: World) -> None:
    world.register_definition("text")
    world.publish("k1", deadline=at(hours=1))
    world.advance(hours=2)
    (sent,) = world.text.reached
    world.receipt(receipt_of(world, sent.claim_id))
    world.advance(days=3)
    assert (world.states(), ending(world), world.request().due_at) == ({"text": "delivered"}, SETTLED, None)


def receipt_of(world: World, claim_id: ClaimId) -> Receipt:
    notice = world.notice()
    return Receipt(
        workspace_id=ACME,
        recipient=notice.recipient,
        notice_id=notice.notice_id,
        channel=Channel.TEXT,
        claim_id=claim_id,
        provider_id="p-1",
        outcome=ReceiptOutcome.DELIVERED,
        reason=None,
        at=world.clock.now(),
    )


def test_a_receipt_that_never_comes_is_given_up_after_settling(world: World) -> None:
    world.register_definition("text")
    world.publish("k1", deadline=at(hours=1))
    world.advance(days=3, minutes=2)
    (item,) = world.notice().deliveries
    assert (item.state, item.reason, world.request().due_at) == ("failed", "receipt_timeout", None)


@pytest.mark.parametrize("end", ["withdraw", "withdraw_key", "replace", "retire"])
def test_nothing_supersedes_or_cancels_what_has_settled(world: World, end: str) -> None:
    world.register_definition(replace_previous=True)
    world.publish("k1", replacement_key="r", deadline=at(hours=1))
    world.advance(hours=2)
    before, notice = world.request(), world.notice()
    match end:
        case "withdraw":
            world.withdraw(request_key="k1")
        case "withdraw_key":
            world.withdraw(replacement_key="r")
        case "replace":
            world.publish("k2", replacement_key="r")
        case _:
            world.retire()
    world.advance(minutes=5)
    assert (world.request(), world.notice()) == (before, notice)
    assert ending(world) == SETTLED


def test_a_failed_delivery_settles_too_and_is_retried_no_more(world: World) -> None:
    world.register_definition("chat")
    world.chat.faults = [Unavailable(reason="maintenance")] * 5
    world.publish("k1", deadline=at(hours=1))
    world.advance(hours=2)
    assert (world.states(), ending(world)) == ({"chat": "failed"}, SETTLED)
    answer = retry_delivery(key_of(world.notice()), Channel.CHAT, world.ports)
    assert answer is RetryRefusal.SETTLED


def test_a_folded_request_settles_only_once_a_notice_holds_it(world: World) -> None:
    """Its acceptance died before it was folded, and every message was lost: the sweep folds it first."""
    world.register_definition("console", fold_within=timedelta(hours=1))
    publication = json.dumps(world.publication("k1", fold_key="f", deadline=at(minutes=10)))
    plain, steps = world.ports, Steps(world.ports)
    for number in range(20):
        if world.has("k1"):
            break
        world.ports = steps.ports
        steps.interrupt(number, die)
        world.queues.put(QueueName.REQUESTS, publication)
        world.run_only(QueueName.REQUESTS)
        world.ports = plain
        world.queues.purge()
    assert world.folded() == []
    world.skip(minutes=10)
    sweep(world)
    assert (len(world.folded()), world.unread(), ending(world)) == (1, 1, SETTLED)


def die() -> None:
    raise Died


# ---------------------------------------------------------------- races of the settling sweep


def settling(world: World, hook: Callable[[World], object], number: int) -> bool:
    """Sweep a request past its deadline, and run the hook before the sweep's n-th step; whether it has so many."""
    plain, steps = world.ports, Steps(world.ports)
    steps.interrupt(number, partial(hook, world))
    sweep_request(ACME, world.id_of("k1"), steps.ports)
    world.ports = plain
    return steps.is_interrupted


def past_its_deadline(*faults: Any, minutes: float = 10) -> World:
    world = World()
    world.register_people("ana")
    world.register_definition()
    world.chat.faults = list(faults)
    world.publish("k1", deadline=at(minutes=10))
    world.run()
    world.skip(minutes=minutes)
    return world


def withdraw(world: World) -> WithdrawalResult:
    withdrawal = Withdrawal(workspace_id=ACME, definition=OVERDUE, withdrawn_at=world.clock.now(), request_key="k1")
    return withdraw_request(withdrawal, world.ports).result


@pytest.mark.parametrize("faults", [[], [Throttled(retry_after=timedelta(hours=1))]])
def test_a_withdrawal_between_any_two_steps_of_a_settling_comes_before_it_or_reaches_nothing(faults: list[Any]) -> None:
    """Scenario 15."""
    number = 0
    outcomes = list[tuple[WithdrawalResult, str, int]]()
    while True:
        world, answers = past_its_deadline(*faults), list[WithdrawalResult]()

        def hook(world: World, answers: list[WithdrawalResult] = answers) -> None:
            answers.append(withdraw(world))

        if not settling(world, hook, number):
            break
        world.advance(minutes=5)
        outcomes.append((answers[0], world.request().state.value, world.unread()))
        assert world.request().due_at is None, number
        number += 1
    assert set(outcomes) == {(WithdrawalResult.STOPPED, "superseded", 0)}
    assert withdraw(world) is WithdrawalResult.NOTHING
    assert ending(world) == SETTLED


@pytest.mark.parametrize(("minutes", "answer"), [(50, Retried()), (60, RetryRefusal.EXPIRED)])
def test_a_retry_between_any_two_steps_of_a_sweep_is_watched_or_refused(minutes: int, answer: Any) -> None:
    number = 0
    while True:
        world = World()
        world.register_people("ana")
        world.register_definition("chat")
        world.chat.faults = [Unavailable(reason="maintenance")] * 5
        world.publish("k1", deadline=at(hours=1))
        world.advance(minutes=30)
        assert world.states()["chat"] == "failed"
        world.skip(minutes=minutes - 30)
        row = world.request()
        world.ports.requests.put(rescheduled(row, world.clock.now()), row)
        answers = list[Any]()

        def retry(world: World, answers: list[Any] = answers) -> None:
            answers.append(retry_delivery(key_of(world.notice()), Channel.CHAT, world.ports))
            world.queues.purge()

        if not settling(world, retry, number):
            break
        world.advance(minutes=15)
        assert (answers, world.states()["chat"]) == ([answer], "delivered" if minutes == 50 else "failed"), number
        assert ending(world) == SETTLED, number
        number += 1
    assert number > 3


def test_sweeping_twice_at_once_settles_once() -> None:
    number = 0
    while True:
        world = past_its_deadline(Throttled(retry_after=timedelta(hours=1)))
        world.ports = replace(world.ports, requests=counting_requests(world.ports.requests, world.telemetry))
        if not settling(world, sweep, number):
            break
        assert ending(world) == SETTLED, number
        assert world.states()["chat"] == "expired", number
        assert world.telemetry.counted("request_moves", state="settled") == 1, number
        number += 1
    assert number > 4


def test_a_sweep_that_is_late_or_repeated_changes_nothing(world: World) -> None:
    world.publish("k1", deadline=at(hours=1))
    world.advance(hours=2)
    before = world.request(), world.notice()
    for _ in range(3):
        sweep(world)
    assert (world.request(), world.notice()) == before


def test_a_request_that_nothing_is_recorded_of_is_swept_without_harm(world: World) -> None:
    sweep_request(ACME, world.id_of("unheard.of"), world.ports)
    assert list(world.database.requests) == []
