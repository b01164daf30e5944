"""Partial batch answers: whichever of ten records fails, it comes again, and the others don't."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify_core.application.tasks import DispatchTask, SweepTask, message_of
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId
from tests.functions.deployment import Deployment, failed
from tests.functions.told import INVOICE, TEN, alert, id_of, notice, publication, register

ACME = WorkspaceId("acme")
WHICH = pytest.mark.parametrize(
    "bad", [[], [0], [1, 3, 4, 8, 9], list(range(10))], ids=["none", "first", "some", "all"]
)
"""Scenario 39."""


def ids(positions: list[int]) -> list[str]:
    return [f"m{position}" for position in positions]


def mixed(good: list[Any], bad: list[int], body: Any) -> list[Any]:
    """The good bodies, with a bad one in some places."""
    return [body if position in bad else item for position, item in enumerate(good)]


@pytest.fixture
def deployment(deployment: Deployment) -> Deployment:
    """A deploy with a workspace of ten people."""
    register(deployment)
    return deployment


# ---------------------------------------------------------------- publications


@WHICH
def test_publications_that_are_not_due_come_again_and_no_others(deployment: Deployment, bad: list[int]) -> None:
    soon = (datetime.now(tz=UTC) + timedelta(minutes=5)).isoformat()
    bodies = [publication(f"k{number}", ["p0"], not_before=soon if number in bad else None) for number in range(10)]
    assert failed(deployment.invoke("process_requests", deployment.event("requests", *bodies))) == ids(bad)
    found = [deployment.stores.requests.get(ACME, id_of(f"k{number}")) for number in range(10)]
    assert [row and row.state for row in found] == ["queued" if number in bad else "open" for number in range(10)]
    assert len(deployment.take("chat")) == 10 - len(bad)


@WHICH
def test_messages_that_are_no_publication_lie_among_the_dead_letters_and_do_not_come_again(
    deployment: Deployment, bad: list[int]
) -> None:
    bodies = mixed([publication(f"k{number}", ["p0"]) for number in range(10)], bad, '{"type": "publish"}')
    assert failed(deployment.invoke("process_requests", deployment.event("requests", *bodies))) == []
    assert deployment.take("requests", is_dead=True) == [{"type": "publish"}] * len(bad)
    assert len(deployment.take("chat")) == 10 - len(bad)


@pytest.mark.parametrize("table", ["registry", "requests"])
def test_every_publication_comes_again_where_a_table_is_gone(deployment: Deployment, table: str) -> None:
    deployment.dynamo.client.delete_table(TableName=getattr(deployment.dynamo.tables, table))
    event = deployment.event("requests", *[publication(f"k{number}") for number in range(10)])
    assert failed(deployment.invoke("process_requests", event)) == ids(list(range(10)))


# ---------------------------------------------------------------- dispatches

CHANNELS = pytest.mark.parametrize(
    ("folder", "queue", "channel"),
    [
        ("deliver_chat", "chat", Channel.CHAT),
        ("deliver_text", "text", Channel.TEXT),
        ("deliver_system", "system", Channel.SLACK_SYSTEM),
    ],
)


def accepted(deployment: Deployment, queue: str) -> list[Any]:
    """Ten dispatches of a channel, by the acceptance of what needs them."""
    alerts = [alert(f"k{number}") for number in range(10)]
    bodies = alerts if queue == "system" else [publication(definition=INVOICE)]
    assert failed(deployment.invoke("process_requests", deployment.event("requests", *bodies))) == []
    tasks = deployment.take(queue)
    assert len(tasks) == 10
    return tasks


def reached(deployment: Deployment, channel: Channel) -> int:
    found = deployment.simulator.messages(channel=channel.value)
    assert len({message["delivery_id"] for message in found}) == len(found)
    return len(found)


@CHANNELS
@WHICH
def test_dispatches_that_cannot_be_read_come_again_and_the_others_are_sent(
    deployment: Deployment, folder: str, queue: str, channel: Channel, bad: list[int]
) -> None:
    bodies = mixed(accepted(deployment, queue), bad, "no dispatch")
    assert failed(deployment.invoke(folder, deployment.event(queue, *bodies))) == ids(bad)
    assert reached(deployment, channel) == 10 - len(bad)


@CHANNELS
def test_dispatches_that_come_again_after_they_were_sent_send_nothing(
    deployment: Deployment, folder: str, queue: str, channel: Channel
) -> None:
    """Scenario 2: the process that sent them is gone, and with it all that it knew."""
    event = deployment.event(queue, *accepted(deployment, queue), receives=2)
    assert failed(deployment.invoke(folder, event)) == []
    assert failed(deployment.invoke(folder, event)) == []
    assert reached(deployment, channel) == 10


@CHANNELS
def test_a_function_without_time_left_claims_nothing_and_all_come_again(
    deployment: Deployment, folder: str, queue: str, channel: Channel
) -> None:
    event = deployment.event(queue, *accepted(deployment, queue))
    assert failed(deployment.invoke(folder, event, seconds=12)) == ids(list(range(10)))
    assert reached(deployment, channel) == 0
    assert failed(deployment.invoke(folder, event)) == []
    assert reached(deployment, channel) == 10


def test_ten_dispatches_that_each_end_differently_all_are_done(deployment: Deployment) -> None:
    """Scenario 39: what the provider does to one is no failure of its message."""
    tasks = accepted(deployment, "chat")
    faults = ["throttle", "unavailable", "error_500", "drop_response", "lose_request"]
    for number, fault in enumerate(faults):
        details = {"retry_after": 60} if fault == "throttle" else {}
        deployment.simulator.fault("chat", fault, to=f"U0P{number}", **details)
    deployment.simulator.fault("chat", "reject", to="U0P5", code="user_not_found")
    assert failed(deployment.invoke("deliver_chat", deployment.event("chat", *tasks))) == []
    chat = [notice(deployment, person, definition=INVOICE).delivery(Channel.CHAT) for person in TEN]
    assert [item and item.state for item in chat] == [
        "deferred",
        "deferred",
        "sending",
        "sending",
        "sending",
        "failed",
        *["delivered"] * 4,
    ]
    after_backoff, after_throttle = deployment.delays("chat")
    assert 0 < after_backoff <= 16
    assert 30 < after_throttle <= 121
    assert reached(deployment, Channel.CHAT) == 6


def test_all_dispatches_come_again_where_a_table_is_gone(deployment: Deployment) -> None:
    event = deployment.event("chat", *accepted(deployment, "chat"))
    deployment.dynamo.client.delete_table(TableName=deployment.dynamo.tables.directory)
    assert failed(deployment.invoke("deliver_chat", event)) == ids(list(range(10)))
    assert reached(deployment, Channel.CHAT) == 0


# ---------------------------------------------------------------- receipts


def receipt(deployment: Deployment, person: str, **changes: Any) -> dict[str, Any]:
    """An event of a person's text, as the service publishes it."""
    found = notice(deployment, person, definition=INVOICE)
    item = found.delivery(Channel.TEXT)
    assert item is not None
    context = {
        "workspace_id": "acme",
        "recipient": person,
        "notice_id": found.notice_id,
        "channel": "text",
        "claim_id": item.claim_id,
    }
    return {
        "eventType": "TEXT_DELIVERED",
        "eventTimestamp": 1_796_040_000_000,
        "isFinal": True,
        "messageId": item.provider_id,
        "context": context,
        **changes,
    }


def texts(deployment: Deployment) -> list[str]:
    found = [notice(deployment, person, definition=INVOICE).delivery(Channel.TEXT) for person in TEN]
    return [item.state.value if item else "" for item in found]


def send_texts(deployment: Deployment) -> None:
    deployment.invoke("deliver_text", deployment.event("text", *accepted(deployment, "text")))
    assert texts(deployment) == ["sent"] * 10


@WHICH
def test_receipts_that_cannot_be_read_come_again_and_the_others_are_recorded(
    deployment: Deployment, bad: list[int]
) -> None:
    send_texts(deployment)
    bodies = mixed([receipt(deployment, person) for person in TEN], bad, "no receipt")
    assert failed(deployment.invoke("record_receipts", deployment.event("receipts", *bodies))) == ids(bad)
    assert texts(deployment) == ["sent" if number in bad else "delivered" for number in range(10)]


def test_events_that_are_none_of_ours_are_done(deployment: Deployment) -> None:
    send_texts(deployment)
    bodies = [
        {},
        receipt(deployment, "p0", context={}),
        receipt(deployment, "p1", eventType="MEDIA_DELIVERED"),
        receipt(deployment, "p2", eventType="TEXT_PENDING", isFinal=False),
    ]
    assert failed(deployment.invoke("record_receipts", deployment.event("receipts", *bodies))) == []
    assert texts(deployment) == ["sent"] * 10


# ---------------------------------------------------------------- dead letters


def dead_event(deployment: Deployment, queue: str, *bodies: Any) -> dict[str, Any]:
    """The event of letters that really lie in a dead-letter queue, and are received from it."""
    url = deployment.url(queue, is_dead=True)
    for body in bodies:
        text = body if isinstance(body, str) else json.dumps(body)
        deployment.sqs.send_message(QueueUrl=url, MessageBody=text)
    received = deployment.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    event = deployment.event(queue, *[message["Body"] for message in received], is_dead=True)
    for record, message in zip(event["Records"], received, strict=True):
        record["receiptHandle"] = message["ReceiptHandle"]
    return event


def hidden(deployment: Deployment, queue: str) -> int:
    """How many letters of a dead-letter queue are there, and not to be received."""
    asked = deployment.sqs.get_queue_attributes(QueueUrl=deployment.url(queue, is_dead=True), AttributeNames=["All"])[
        "Attributes"
    ]
    return int(asked["ApproximateNumberOfMessagesNotVisible"])


@WHICH
def test_dead_dispatches_are_recorded_and_what_cannot_be_read_stays(deployment: Deployment, bad: list[int]) -> None:
    bodies = mixed(accepted(deployment, "chat"), bad, "no dispatch")
    event = dead_event(deployment, "chat", *bodies)
    unread = [record["messageId"] for record in event["Records"] if record["body"] == "no dispatch"]
    assert failed(deployment.invoke("record_dead_letters", event)) == unread
    assert (len(unread), hidden(deployment, "chat")) == (len(bad), 10)
    assert len(deployment.take("chat")) == 10 - len(bad)


def test_a_dead_receipt_is_recorded_and_what_is_none_stays(deployment: Deployment) -> None:
    send_texts(deployment)
    event = dead_event(deployment, "receipts", receipt(deployment, "p0"), "no receipt", [], {"eventType": "TEXT"})
    unread = [record["messageId"] for record in event["Records"] if "TEXT_DELIVERED" not in record["body"]]
    assert failed(deployment.invoke("record_dead_letters", event)) == unread
    assert (len(unread), texts(deployment)) == (3, ["delivered", *["sent"] * 9])


def test_a_dead_publication_is_kept_as_a_queued_row_with_a_problem(deployment: Deployment) -> None:
    event = dead_event(deployment, "requests", publication("k1"), "no publication")
    unread = [record["messageId"] for record in event["Records"] if record["body"] == "no publication"]
    assert failed(deployment.invoke("record_dead_letters", event)) == unread
    row = deployment.stores.requests.get(ACME, id_of("k1"))
    assert row is not None
    assert (row.state, [problem.code for problem in row.problems]) == ("queued", ["dead_lettered"])
    assert hidden(deployment, "requests") == 2


# ---------------------------------------------------------------- reconcile


def sweep(request_key: str) -> dict[str, Any]:
    return dict(message_of(SweepTask(workspace_id=ACME, request_id=id_of(request_key))).body)


DISPATCH = DispatchTask(
    workspace_id=ACME,
    recipient=Recipient("p0"),
    notice_id=NoticeId("n"),
    request_id=id_of("k1"),
    channel=Channel.CHAT,
)


@pytest.mark.parametrize("body", ["no task", message_of(DISPATCH).body], ids=["unreadable", "dispatch"])
@WHICH
def test_reconcile_messages_that_are_none_come_again_and_the_others_are_done(
    deployment: Deployment, bad: list[int], body: Any
) -> None:
    publications = [publication(f"k{number}", ["p0"]) for number in range(10)]
    deployment.invoke("process_requests", deployment.event("requests", *publications))
    deployment.take("chat")
    bodies = mixed([sweep(f"k{number}") for number in range(10)], bad, body)
    event = deployment.event("reconcile", *bodies)
    assert failed(deployment.invoke("reconcile_requests", event, later=timedelta(minutes=2))) == ids(bad)
    assert len(deployment.take("chat")) == 10 - len(bad)
