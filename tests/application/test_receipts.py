"""Receipts: in any order, any number of times, before and after everything else, the last word is the same."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from notify_core.application.ports import Conflict, QueueName
from notify_core.application.record_receipt import record_receipt
from notify_core.application.withdraw_request import TooLate, withdraw_request
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, NoticeId, Recipient
from notify_core.domain.receipt import Receipt, ReceiptOutcome
from notify_core.domain.request import Withdrawal
from notify_core.domain.send_result import Throttled, Unknown
from tests.application.delivery import accept_only, accepted, at, at_once, deliver, item, told, while_sending
from tests.application.faulty import failing, losing
from tests.application.world import ACME, OVERDUE, World

TEXT = Channel.TEXT
PROGRESS, DELIVERED, BOUNCED = ReceiptOutcome.PROGRESS, ReceiptOutcome.DELIVERED, ReceiptOutcome.BOUNCED


@pytest.fixture
def world(world: World) -> World:
    """The platform, where overdue invoices are told by text."""
    world.register_definition("text")
    return world


def receipt(world: World, outcome: ReceiptOutcome = DELIVERED, **changes: Any) -> Receipt:
    """What the service says of ana's text."""
    fields: dict[str, Any] = {
        "workspace_id": ACME,
        "recipient": Recipient("ana"),
        "notice_id": NoticeId(world.id_of("k1")),
        "channel": TEXT,
        "claim_id": ClaimId("claim-1"),
        "provider_id": "sms-1",
        "outcome": outcome,
        "reason": "unreachable" if outcome is BOUNCED else None,
        "at": world.clock.now(),
        **changes,
    }
    return Receipt(**fields)


def send_text(world: World) -> None:
    world.publish("k1")
    world.run()
    assert told(world, channel=TEXT) == "sent"


def text(world: World) -> str:
    return told(world, channel=TEXT)


# ---------------------------------------------------------------- what a receipt tells


def test_an_accepted_text_is_sent_until_its_receipt_comes(world: World) -> None:
    send_text(world)
    assert (item(world, channel=TEXT).provider_id, world.notice().status) == ("p-1", "delivering")


@pytest.mark.parametrize(
    ("outcome", "state", "status"),
    [
        (PROGRESS, "sent", "delivering"),
        (DELIVERED, "delivered", "delivered"),
        (BOUNCED, "bounced(unreachable)", "failed"),
    ],
)
def test_a_receipt_says_what_became_of_a_text(world: World, outcome: ReceiptOutcome, state: str, status: str) -> None:
    send_text(world)
    world.receipt(receipt(world, outcome))
    assert (text(world), world.notice().status, item(world, channel=TEXT).attempts) == (state, status, 1)


def test_a_text_that_bounced_is_no_matter_of_the_operators_list(world: World) -> None:
    send_text(world)
    world.receipt(receipt(world, BOUNCED))
    assert world.notice().failed_at is None


# ---------------------------------------------------------------- repetition and disorder


@pytest.mark.parametrize("outcome", [DELIVERED, BOUNCED])
def test_a_receipt_that_comes_fifty_times_changes_nothing_after_the_first(
    world: World, outcome: ReceiptOutcome
) -> None:
    """Scenario 9."""
    send_text(world)
    world.receipt(receipt(world, outcome))
    first = world.notice()
    for seconds in range(49):
        world.skip(seconds=seconds)
        world.receipt(receipt(world, outcome, provider_id=f"sms-{seconds}"))
    assert world.notice() == first
    assert world.telemetry.counted("receipts") == 1


def test_fifty_receipts_at_once_are_recorded_once(world: World) -> None:
    """Scenario 9."""
    send_text(world)
    version = world.notice().version
    at_once(*[lambda: world.receipt(receipt(world))] * 50)
    assert (text(world), world.notice().version, world.telemetry.counted("receipts")) == ("delivered", version + 1, 1)


@pytest.mark.parametrize("order", list(permutations([PROGRESS, PROGRESS, DELIVERED])))
def test_the_order_of_receipts_changes_nothing(world: World, order: tuple[ReceiptOutcome, ...]) -> None:
    send_text(world)
    for outcome in order:
        world.receipt(receipt(world, outcome))
    assert text(world) == "delivered"


# ---------------------------------------------------------------- before our own record


@pytest.mark.parametrize(("outcome", "state"), [(DELIVERED, "delivered"), (BOUNCED, "bounced(unreachable)")])
@pytest.mark.parametrize("answer", [None, Unknown(reason="timeout")], ids=["accepted", "unknown"])
def test_a_receipt_before_our_own_record_stands(
    world: World, outcome: ReceiptOutcome, state: str, answer: Unknown | None
) -> None:
    """Scenario 19."""
    world.text.faults = [] if answer is None else [answer]
    tasks = accepted(world, "ana", queue=QueueName.TEXT)
    while_sending(world.text, lambda: world.receipt(receipt(world, outcome)))
    assert deliver(world, tasks) == set()
    assert (text(world), item(world, channel=TEXT).attempts, item(world, channel=TEXT).provider_id) == (
        state,
        1,
        "sms-1",
    )


@pytest.mark.parametrize(("outcome", "state"), [(DELIVERED, "delivered"), (BOUNCED, "bounced(unreachable)")])
def test_a_receipt_is_the_evidence_of_an_unknown_send_whatever_its_lease(
    world: World, outcome: ReceiptOutcome, state: str
) -> None:
    world.text.faults = ["drop_response"]
    world.publish("k1")
    world.advance(hours=3)
    assert text(world) == "sending"
    world.receipt(receipt(world, outcome))
    assert (text(world), world.text.calls) == (state, 1)
    world.advance(days=8)
    assert (text(world), world.request().state, world.request().due_at) == (state, "settled", None)


# ---------------------------------------------------------------- after the end


def test_a_receipt_of_a_withdrawn_notice_is_recorded_and_the_notice_stays_as_it_ended(world: World) -> None:
    send_text(world)
    world.withdraw(request_key="k1")
    world.run()
    world.receipt(receipt(world))
    assert (text(world), world.notice().status) == ("delivered", "superseded")
    world.advance(hours=1)
    assert world.request().due_at is None


def test_a_receipt_is_awaited_for_three_days_though_the_request_is_settled(world: World) -> None:
    world.register_definition("text", expires_after=timedelta(hours=1))
    send_text(world)
    world.advance(hours=2)
    assert (world.request().state, world.request().due_at, text(world)) == ("settled", at(hours=72), "sent")
    world.advance(hours=69, minutes=59)
    assert text(world) == "sent"
    world.advance(minutes=2)
    assert (text(world), world.notice().status, world.request().due_at) == ("failed(receipt_timeout)", "failed", None)
    assert (item(world, channel=TEXT).attempts, world.notice().failed_at) == (1, item(world, channel=TEXT).updated_at)


@pytest.mark.parametrize(
    ("outcome", "state", "status"), [(DELIVERED, "delivered", "delivered"), (BOUNCED, "bounced(unreachable)", "failed")]
)
@pytest.mark.parametrize("fault", [None, "drop_response"], ids=["receipt_timeout", "outcome_unknown"])
def test_a_late_receipt_corrects_what_was_given_up(
    world: World, outcome: ReceiptOutcome, state: str, status: str, fault: str | None
) -> None:
    world.text.faults = [fault] if fault else []
    world.publish("k1")
    world.advance(days=4)
    assert world.notice().status == "failed"
    world.receipt(receipt(world, outcome))
    assert (text(world), world.notice().status, world.notice().failed_at) == (state, status, None)


# ---------------------------------------------------------------- what no receipt changes


def test_a_bounce_of_an_earlier_claim_says_nothing_of_the_send_under_way(world: World) -> None:
    world.text.faults = [Throttled(retry_after=timedelta(seconds=5))]
    world.publish("k1")
    world.advance(minutes=1)
    world.receipt(receipt(world, BOUNCED, claim_id=ClaimId("claim-1")))
    assert (text(world), item(world, channel=TEXT).claim_id) == ("sent", "claim-2")
    world.receipt(receipt(world, BOUNCED, claim_id=ClaimId("claim-2")))
    assert text(world) == "bounced(unreachable)"


@pytest.mark.parametrize("reason", ["skipped", "cancelled", "failed"])
def test_a_delivery_that_ended_otherwise_believes_no_receipt(world: World, reason: str) -> None:
    tasks = accepted(world, "ana", queue=QueueName.TEXT)
    match reason:
        case "skipped":
            world.register_people("ana", active=False)
            deliver(world, tasks)
        case "cancelled":
            world.withdraw(request_key="k1")
            accept_only(world)
    if reason == "failed":
        world.text.faults = [Throttled(retry_after=timedelta(days=8))]
        deliver(world, tasks)
        world.advance(days=8)
        reason = "expired"
    before = world.notice()
    world.receipt(receipt(world))
    assert (world.notice(), before.deliveries[0].state) == (before, reason)


@pytest.mark.parametrize("changes", [{"recipient": Recipient("eve")}, {"channel": Channel.CHAT}])
def test_a_receipt_of_nothing_that_we_know_is_told_and_forgotten(world: World, changes: dict[str, Any]) -> None:
    send_text(world)
    before = world.notice()
    world.receipt(receipt(world, **changes))
    assert world.notice() == before
    assert world.telemetry.events[-1][0] == "receipt_without_notice"


# ---------------------------------------------------------------- races


def test_a_receipt_that_loses_a_race_is_recorded_over_what_won(world: World) -> None:
    send_text(world)
    record_receipt(receipt(world), losing(world.ports, "notices.put", Conflict("own answer lost")))
    assert text(world) == "delivered"


def test_a_receipt_that_keeps_losing_comes_again(world: World) -> None:
    send_text(world)
    with pytest.raises(Conflict):
        record_receipt(receipt(world), failing(world.ports, "notices.put", Conflict("another"), times=None))
    assert text(world) == "sent"


def test_a_receipt_and_the_sweep_that_gives_it_up_end_as_delivered_in_either_order(world: World) -> None:
    for first in ("receipt", "sweep"):
        key = f"k-{first}"
        world.publish(key)
        world.run()
        world.skip(days=3)
        told_of = receipt(world, notice_id=NoticeId(world.id_of(key)), claim_id=ClaimId("any"))
        if first == "receipt":
            world.receipt(told_of)
        world.sweep()
        if first == "sweep":
            world.receipt(told_of)
        assert told(world, channel=TEXT, request_key=key) == "delivered"


def test_a_withdrawal_is_too_late_since_the_text_was_sent_not_since_its_receipt(world: World) -> None:
    world.publish("k1")
    world.run()
    sent_at = world.clock.now()
    world.skip(minutes=5)
    world.receipt(receipt(world))
    withdrawal = Withdrawal(
        workspace_id=ACME, definition=OVERDUE, withdrawn_at=world.clock.now(), request_key="k1", reason=None
    )
    answer = withdraw_request(withdrawal, world.ports)
    assert answer.recipients == {Recipient("ana"): TooLate(channel=TEXT, since=sent_at)}
