import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.session import Session
from moto import mock_aws

from notify_core.adapters.aws import create_client
from notify_core.adapters.sqs import CLIENT_CONFIG, SqsInbox, SqsQueues
from notify_core.adapters.threads import ThreadGather
from notify_core.application.ports import Message, QueueName, StoreUnavailable
from notify_core.domain.identifiers import WorkspaceId
from tests.adapters.loopback import Behaviour, Provider, answer, reset

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def gather() -> Iterator[ThreadGather]:
    gather = ThreadGather(4)
    yield gather
    gather.close()


def message(number: int = 1, *, delay_seconds: int = 0, padding: int = 0) -> Message:
    body = {"number": number, "text": "é" + "x" * padding}
    return Message(body=body, group=WorkspaceId("acme"), delay_seconds=delay_seconds)


# ---------------------------------------------------------------- against moto


@pytest.fixture
def sqs() -> "Iterator[SQSClient]":
    with mock_aws():
        yield Session().create_client("sqs", config=CLIENT_CONFIG)  # type: ignore[misc]


@pytest.fixture
def url(sqs: "SQSClient") -> str:
    return sqs.create_queue(QueueName="chat")["QueueUrl"]


def received(sqs: "SQSClient", url: str) -> list[dict[str, Any]]:
    messages: list[Any] = []
    while batch := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"]
    ).get("Messages"):
        messages += batch
    return messages


def test_every_message_arrives_once_with_its_workspace_as_its_group(
    sqs: "SQSClient", url: str, gather: ThreadGather
) -> None:
    SqsQueues(sqs, lambda _: url, gather).send(QueueName.CHAT, [message(number) for number in range(25)])
    arrived = received(sqs, url)
    assert sorted(json.loads(item["Body"])["number"] for item in arrived) == list(range(25))
    assert {item["Attributes"]["MessageGroupId"] for item in arrived} == {"acme"}
    assert {item["Body"].isascii() for item in arrived} == {True}


def test_the_backlog_counts_visible_received_and_delayed_messages(
    sqs: "SQSClient", url: str, gather: ThreadGather
) -> None:
    queues = SqsQueues(sqs, lambda _: url, gather)
    assert queues.backlog(QueueName.CHAT) == 0
    queues.send(QueueName.CHAT, [message(1), message(2), message(3, delay_seconds=900)])
    sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)
    assert queues.backlog(QueueName.CHAT) == 3


def test_nothing_to_send_is_no_call(closed_url: str, gather: ThreadGather) -> None:
    SqsQueues(client(Session(), closed_url), lambda _: closed_url, gather).send(QueueName.CHAT, [])


def test_a_body_is_moved_to_the_dead_letters_as_it_came(sqs: "SQSClient", url: str) -> None:
    inbox = SqsInbox(sqs, lambda _: "unused", lambda _: url)
    inbox.move_to_dead_letters(QueueName.REQUESTS, 'no { JSON "é\u00a0', "not_json")
    (arrived,) = received(sqs, url)
    assert arrived["Body"] == 'no { JSON "é\u00a0'
    assert arrived["MessageAttributes"]["reason"]["StringValue"] == "not_json"


def test_a_body_that_leaves_no_room_for_its_reason_is_moved_without_it(sqs: "SQSClient", url: str) -> None:
    inbox = SqsInbox(sqs, lambda _: "unused", lambda _: url)
    body = "x" * (1024 * 1024)
    inbox.move_to_dead_letters(QueueName.REQUESTS, body, "not_json")
    (arrived,) = received(sqs, url)
    assert arrived["Body"] == body
    assert "MessageAttributes" not in arrived


def test_an_extended_message_stays_hidden(sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName="short", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="x")
    handle = sqs.receive_message(QueueUrl=url)["Messages"][0]["ReceiptHandle"]
    inbox = SqsInbox(sqs, lambda _: url, lambda _: "unused")
    inbox.extend_visibility(QueueName.REQUESTS, handle, 60)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    inbox.extend_visibility(QueueName.REQUESTS, handle, 0)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


def test_a_dead_letter_that_is_kept_stays_hidden(sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName="dead", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="x")
    handle = sqs.receive_message(QueueUrl=url)["Messages"][0]["ReceiptHandle"]
    SqsInbox(sqs, lambda _: "unused", lambda _: url).keep_dead(QueueName.REQUESTS, handle)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


def test_extending_a_message_that_is_gone_changes_nothing(sqs: "SQSClient", url: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody="x")
    handle = sqs.receive_message(QueueUrl=url)["Messages"][0]["ReceiptHandle"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    inbox = SqsInbox(sqs, lambda _: url, lambda _: "unused")
    inbox.extend_visibility(QueueName.REQUESTS, handle, 60)
    inbox.extend_visibility(QueueName.REQUESTS, "no handle", 60)


# ---------------------------------------------------------------- against a queue that fails


def client(aws: Session, url: str) -> "SQSClient":
    config = CLIENT_CONFIG.merge(Config(retries={"total_max_attempts": 1}))
    return create_client(aws, "sqs", config, endpoint_url=url)  # type: ignore[no-any-return]


def queues(aws: Session, provider: Provider, gather: ThreadGather, pauses: list[float]) -> SqsQueues:
    return SqsQueues(client(aws, provider.url), lambda _: f"{provider.url}chat", gather, sleep=pauses.append)


def batch_answer(sent: list[str], failed: list[str] | None = None, *, sender: bool = False) -> Behaviour:
    errors = [{"Id": name, "Code": "InternalError", "SenderFault": sender} for name in failed or []]
    done = [{"Id": name, "MessageId": f"m-{name}", "MD5OfMessageBody": "x"} for name in sent]
    return answer(200, {"Successful": done, "Failed": errors})


def entries(provider: Provider, position: int) -> list[dict[str, Any]]:
    return json.loads(provider.requests[position].body)["Entries"]


def test_only_the_entries_that_failed_are_sent_again(aws: Session, provider: Provider, gather: ThreadGather) -> None:
    provider.does(batch_answer(["0", "2"], ["1"]), batch_answer(["1"]))
    pauses: list[float] = []
    queues(aws, provider, gather, pauses).send(QueueName.CHAT, [message(0), message(1), message(2)])
    assert [entry["Id"] for entry in entries(provider, 0)] == ["0", "1", "2"]
    assert [entry["Id"] for entry in entries(provider, 1)] == ["1"]
    assert pauses == [0.1]


def test_entries_that_keep_failing_are_told_after_three_calls(
    aws: Session, provider: Provider, gather: ThreadGather
) -> None:
    provider.does(batch_answer(["0"], ["1"]), batch_answer([], ["1"]))
    pauses: list[float] = []
    with pytest.raises(StoreUnavailable, match="send: 1 entries failed, InternalError"):
        queues(aws, provider, gather, pauses).send(QueueName.CHAT, [message(0), message(1)])
    assert len(provider.requests) == 3
    assert pauses == [0.1, 0.2]


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(answer(400, {"__type": "com.amazonaws.sqs#QueueDoesNotExist"}), id="refused"),
        pytest.param(answer(503, {}), id="unavailable"),
        pytest.param(reset, id="reset"),
    ],
)
def test_a_queue_that_cannot_be_reached_is_unavailable(
    aws: Session, provider: Provider, gather: ThreadGather, behaviour: Behaviour
) -> None:
    provider.does(behaviour)
    broken = queues(aws, provider, gather, [])
    inbox = SqsInbox(client(aws, provider.url), lambda _: provider.url, lambda _: provider.url)
    for use in (
        lambda: broken.send(QueueName.CHAT, [message()]),
        lambda: broken.backlog(QueueName.CHAT),
        lambda: inbox.extend_visibility(QueueName.CHAT, "handle", 5),
        lambda: inbox.move_to_dead_letters(QueueName.CHAT, "x", "why"),
    ):
        with pytest.raises(StoreUnavailable):
            use()


def test_two_hundred_messages_are_twenty_calls(aws: Session, provider: Provider, gather: ThreadGather) -> None:
    provider.does(batch_answer([str(number) for number in range(10)]))
    queues(aws, provider, gather, []).send(QueueName.CHAT, [message(number) for number in range(200)])
    assert [len(entries(provider, position)) for position in range(20)] == [10] * 20
    assert len(provider.requests) == 20


def test_a_call_carries_no_more_than_a_mebibyte(aws: Session, provider: Provider, gather: ThreadGather) -> None:
    provider.does(batch_answer([str(number) for number in range(10)]))
    queues(aws, provider, gather, []).send(QueueName.CHAT, [message(number, padding=300_000) for number in range(7)])
    sizes = [sum(len(entry["MessageBody"]) for entry in entries(provider, n)) for n in range(len(provider.requests))]
    assert sorted(len(entries(provider, n)) for n in range(3)) == [1, 3, 3]
    assert max(sizes) <= 1024 * 1024


def test_a_delay_is_at_most_fifteen_minutes(aws: Session, provider: Provider, gather: ThreadGather) -> None:
    provider.does(batch_answer(["0", "1"]))
    delayed = [message(delay_seconds=30), message(delay_seconds=901)]
    queues(aws, provider, gather, []).send(QueueName.CHAT, delayed)
    assert [entry["DelaySeconds"] for entry in entries(provider, 0)] == [30, 900]
