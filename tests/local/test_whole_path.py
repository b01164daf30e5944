"""From a publication on SQS to a person, through everything that was deployed."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.client import Stack
from tests.local.producer import NAMES, PHONES, SLACK_IDS, Producer


def states(request: dict[str, Any]) -> dict[str, str]:
    """The delivery states of a request's notices, all recipients alike."""
    found = {
        frozenset((delivery["channel"], delivery["state"]) for delivery in notice["deliveries"])
        for notice in request["notices"]
    }
    (alike,) = found
    return dict(alike)


def test_a_team_is_told_in_the_app_on_slack_and_by_text(stack: Stack, producer: Producer) -> None:
    producer.publish(producer.publication("order.shipped", {"teams": ["orders"]}))
    (request,) = producer.requests()
    assert (request["state"], request["problems"], request["exclusions"]) == ("open", [], [])
    assert states(request) == {"console": "delivered", "chat": "delivered", "text": "sent"}
    reached = {(message["channel"], message["to"], message["text"]) for message in stack.simulator.messages()}
    text = "Order 42 is on its way"
    assert reached == {("chat", to, text) for to in SLACK_IDS.values()} | {("text", to, text) for to in PHONES.values()}


def test_a_receipt_confirms_a_text(stack: Stack, producer: Producer) -> None:
    producer.publish(producer.publication("order.shipped", {"people": ["ana"]}))
    producer.requests()
    (text,) = stack.simulator.messages(channel="text", to=PHONES["ana"])
    stack.simulator.send_receipt(text["delivery_id"], "TEXT_DELIVERED")
    (request,) = producer.requests()
    assert states(request)["text"] == "delivered"


def test_a_notice_is_unread_in_its_recipients_inbox_only(stack: Stack, producer: Producer) -> None:
    producer.publish(producer.publication("order.shipped", {"people": ["ana"]}))
    producer.requests()
    unread = {}
    for person in NAMES:
        token = stack.simulator.token(sub=person, scope="notify/inbox", workspace_id=producer.workspace)
        unread[person] = stack.call("GET", "/v1/inbox/unread", token=token).json()
        items = stack.call("GET", "/v1/inbox", token=token).json()["items"]
        assert [(item["title"], item["body"]) for item in items] == (
            [("Order 42", "On its way, Ana.")] if person == "ana" else []
        )
    assert unread == {"ana": {"unread": 1, "more": False}, "ben": {"unread": 0, "more": False}}


def test_an_alert_reaches_the_headquarters(stack: Stack, producer: Producer) -> None:
    producer.publish(producer.publication("import.failed", {"hq": True}))
    (request,) = producer.requests()
    assert states(request) == {"slack_system": "delivered"}
    assert [(message["channel"], message["to"]) for message in stack.simulator.messages()] == [("slack_system", "C0HQ")]


def test_a_repeated_publication_is_told_once(stack: Stack, producer: Producer) -> None:
    publication = producer.publication("order.shipped", {"people": ["ana"]})
    producer.publish(*[publication] * 12)
    assert len(producer.requests()) == 1
    assert len(stack.simulator.messages(channel="chat")) == 1


def test_a_provider_that_is_throttled_is_asked_again(stack: Stack, producer: Producer) -> None:
    stack.simulator.add_fault("chat", "throttle", retry_after=1, to=SLACK_IDS["ana"])
    producer.publish(producer.publication("order.shipped", {"people": ["ana"]}))
    (request,) = producer.requests()
    assert states(request)["chat"] == "delivered"
    assert len(stack.simulator.messages(channel="chat")) == 1


@pytest.fixture
def emptied_dead_letters(stack: Stack) -> Iterator[None]:
    yield
    stack.sqs.purge_queue(QueueUrl=stack.dead_letters_url("requests"))


@pytest.mark.usefixtures("emptied_dead_letters")
def test_a_message_that_nobody_can_read_stays_with_the_dead_letters(stack: Stack) -> None:
    stack.send("requests", "no JSON")
    stack.wait_until_quiet()
    assert stack.wait_until(lambda: stack.dead_letters("requests")) == 1


def test_a_sweep_settles_what_is_done(stack: Stack, producer: Producer) -> None:
    producer.publish(producer.publication("order.shipped", {"people": ["ana"]}))
    producer.requests()
    stack.invoke("sweep_nightly")
    stack.invoke("sweep_due")
    (request,) = producer.requests()
    assert request["state"] == "open"
