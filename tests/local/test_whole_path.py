"""From a publication on SQS to a person, through everything that was deployed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.local.client import Stack

ORDER = {
    "title": "Order shipped",
    "category": "orders",
    "critical": False,
    "channels": ["console", "chat", "text"],
    "schema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}},
    "templates": {
        "console": {"title": "Order {{ number }}", "body": "On its way, {{ recipient.name }}."},
        "chat": {"text": "Order {{ number }} is on its way"},
        "text": {"body": "Order {{ number }} is on its way"},
    },
    "expires_after": "P1D",
}
ALERT = {
    "title": "Import failed",
    "category": "operations",
    "critical": True,
    "channels": ["slack_system"],
    "schema": {"type": "object"},
    "templates": {"slack_system": {"text": "The import failed"}},
    "expires_after": "P1D",
}
NAMES = {"ana": "Ana", "ben": "Ben"}
SLACK_IDS = {"ana": "U0ANA", "ben": "U0BEN"}
PHONES = {"ana": "+41790000001", "ben": "+41790000002"}


class Producer:
    """A workspace with two people and two definitions."""

    def __init__(self, stack: Stack, workspace: str) -> None:
        self.stack = stack
        self.workspace = workspace

    def put(self, path: str, body: object) -> None:
        answer = self.stack.call("PUT", f"/v1/workspaces/{self.workspace}{path}", body)
        assert answer.status == 200, answer.content

    def publication(self, definition: str, audience: object, **fields: object) -> dict[str, object]:
        return {
            "type": "publish",
            "version": 1,
            "workspace_id": self.workspace,
            "definition": definition,
            "request_key": "key-1",
            "published_at": datetime.now(tz=UTC).isoformat(),
            "data": {"number": "42"},
            "audience": audience,
            **fields,
        }

    def publish(self, *publications: object) -> None:
        self.stack.send_all("requests", publications, group=self.workspace)

    def requests(self) -> list[dict[str, Any]]:
        """The workspace's requests once nothing is under way any more."""
        self.stack.wait_until_quiet()
        found = self.stack.call("GET", f"/v1/workspaces/{self.workspace}/requests").json()["items"]
        return [self.request(item["request_id"]) for item in found]

    def request(self, request_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.stack.call("GET", f"/v1/workspaces/{self.workspace}/requests/{request_id}").json()
        return found


@pytest.fixture
def producer(stack: Stack, workspace: str) -> Producer:
    producer = Producer(stack, workspace)
    producer.put("", {"name": "Acme", "status": "operational", "channels": ["console", "chat", "text"]})
    for person, name in NAMES.items():
        details = {"name": name, "slack_user_id": SLACK_IDS[person], "phone": PHONES[person], "teams": ["orders"]}
        producer.put(f"/people/{person}", details)
    producer.put("/definitions/order.shipped", ORDER)
    producer.put("/definitions/import.failed", ALERT)
    return producer


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
