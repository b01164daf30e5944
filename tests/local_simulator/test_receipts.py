import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import boto3
import pytest
from botocore.config import Config
from mypy_boto3_pinpoint_sms_voice_v2.client import PinpointSMSVoiceV2Client
from mypy_boto3_sqs.client import SQSClient

from infra.local.simulator.client import SimulatorClient, SimulatorRefused

CONTEXT = {"delivery_id": "d-1", "claim_id": "c-1"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The AWS emulator, whose SQS is the real wire protocol."""
    home, port = tmp_path_factory.mktemp("emulator"), free_port()
    environment = {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "TMPDIR": str(home),
        "STATE_DIR": str(home / "state"),
    }
    command = Path(sys.executable).with_name("ministack")
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [command], env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_until_ready(f"{url}/_ministack/health")
        yield url
        process.terminate()


def wait_until_ready(url: str) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(URLError, HTTPException, ConnectionError), urlopen(url, timeout=1):
            return
        time.sleep(0.05)
    pytest.fail("The emulator didn't start.")


@pytest.fixture(scope="module")
def sqs(emulator: str) -> SQSClient:
    config = Config(read_timeout=10, retries={"total_max_attempts": 1})
    return boto3.client("sqs", endpoint_url=emulator, config=config)


@pytest.fixture
def queue(simulator: SimulatorClient, emulator: str, sqs: SQSClient, request: pytest.FixtureRequest) -> Iterator[str]:
    url = sqs.create_queue(QueueName=f"receipts-{abs(hash(request.node.name))}")["QueueUrl"]
    simulator.configure(receipts_queue_url=url, aws_endpoint_url=emulator)
    yield url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def received(sqs: SQSClient, queue: str) -> Callable[[], list[dict[str, Any]]]:
    def receive() -> list[dict[str, Any]]:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=5)
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]

    return receive


@pytest.fixture
def message_id(sms: PinpointSMSVoiceV2Client) -> str:
    """A text that went out."""
    answer = sms.send_text_message(
        DestinationPhoneNumber="+41790000001",
        MessageBody="ê" * 71,
        OriginationIdentity="+41790000000",
        Context=CONTEXT,
    )
    return answer["MessageId"]


def test_an_event_arrives_as_the_service_publishes_it(
    simulator: SimulatorClient, message_id: str, received: Callable[[], list[dict[str, Any]]]
) -> None:
    now = time.time() * 1000
    event = simulator.receipt("d-1", "TEXT_DELIVERED")
    assert received() == [event]
    assert abs(event["eventTimestamp"] - now) < 30_000
    assert abs(event["messageRequestTimestamp"] - now) < 30_000
    assert event == {
        "eventType": "TEXT_DELIVERED",
        "eventVersion": "1.0",
        "eventTimestamp": event["eventTimestamp"],
        "isFinal": True,
        "originationPhoneNumber": "+41790000000",
        "destinationPhoneNumber": "+41790000001",
        "isInternationalSend": False,
        "messageId": message_id,
        "messageRequestTimestamp": event["messageRequestTimestamp"],
        "messageEncoding": "Unicode",
        "messageType": "TRANSACTIONAL",
        "messageStatus": "DELIVERED",
        "messageStatusDescription": "Message has been accepted by phone",
        "context": CONTEXT,
        "totalMessageParts": 2,
        "totalMessagePrice": 0.01162,
        "totalCarrierFee": 0.006,
    }


@pytest.mark.parametrize(
    ("event", "final"),
    [
        ("TEXT_QUEUED", False),
        ("TEXT_PENDING", False),
        ("TEXT_SENT", False),
        ("TEXT_SUCCESSFUL", True),
        ("TEXT_DELIVERED", True),
        ("TEXT_INVALID", True),
        ("TEXT_INVALID_MESSAGE", True),
        ("TEXT_UNREACHABLE", True),
        ("TEXT_CARRIER_UNREACHABLE", True),
        ("TEXT_BLOCKED", True),
        ("TEXT_CARRIER_BLOCKED", True),
        ("TEXT_SPAM", True),
        ("TEXT_UNKNOWN", True),
        ("TEXT_TTL_EXPIRED", True),
        ("TEXT_PROTECT_BLOCKED", True),
    ],
)
@pytest.mark.usefixtures("queue", "message_id")
def test_an_event_is_final_by_its_type(simulator: SimulatorClient, event: str, *, final: bool) -> None:
    sent = simulator.receipt("d-1", event)
    assert (sent["eventType"], sent["isFinal"]) == (event, final)
    assert simulator.receipt("d-1", event.removeprefix("TEXT_"), is_final=not final)["isFinal"] is not final


@pytest.mark.usefixtures("message_id")
def test_a_repeated_event_is_the_same_each_time(
    simulator: SimulatorClient, received: Callable[[], list[dict[str, Any]]]
) -> None:
    event = simulator.receipt("d-1", "TEXT_SUCCESSFUL", times=23)
    everything: list[dict[str, Any]] = []
    while len(everything) < 23 and (some := received()):
        everything += some
    assert everything == [event] * 23


@pytest.mark.usefixtures("message_id")
def test_a_delayed_event_arrives_later(
    simulator: SimulatorClient, sqs: SQSClient, queue: str, received: Callable[[], list[dict[str, Any]]]
) -> None:
    event = simulator.receipt("d-1", "TEXT_SUCCESSFUL", delay_seconds=2)
    assert sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=0).get("Messages", []) == []
    assert received() == [event]


@pytest.mark.usefixtures("message_id")
def test_none_is_sent_by_itself(sqs: SQSClient, queue: str) -> None:
    time.sleep(0.3)
    assert sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=0).get("Messages", []) == []


def test_each_text_is_followed_by_its_event_when_asked(
    simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client, received: Callable[[], list[dict[str, Any]]]
) -> None:
    simulator.configure(auto_receipts="TEXT_SUCCESSFUL")
    simulator.fault("text", "lose_request", to="+41790000002")
    with contextlib.suppress(Exception):
        sms.send_text_message(DestinationPhoneNumber="+41790000002", MessageBody="lost")
    sent = sms.send_text_message(DestinationPhoneNumber="+41790000001", MessageBody="hello")
    assert [event["messageId"] for event in received()] == [sent["MessageId"]]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (
            {"delivery_id": "nobody's", "event": "TEXT_DELIVERED"},
            404,
            "No text with this delivery_id went out",
        ),
        ({"delivery_id": "d-1", "event": "TEXT_READ"}, 422, "Give one of TEXT_QUEUED"),
        ({"delivery_id": "d-1"}, 422, "Field required"),
        ({"delivery_id": "d-1", "event": "TEXT_SENT", "times": 0}, 422, "greater than or equal to 1"),
        (
            {"delivery_id": "d-1", "event": "TEXT_SENT", "delay_seconds": 901},
            422,
            "less than or equal to 900",
        ),
        ({"delivery_id": "d-1", "event": "TEXT_DELIVERED"}, 409, "Set receipts_queue_url first"),
    ],
)
@pytest.mark.usefixtures("message_id")
def test_a_receipt_that_can_not_be_sent_is_refused_with_the_remedy(
    simulator: SimulatorClient, body: dict[str, object], status: int, words: str
) -> None:
    with pytest.raises(SimulatorRefused, match=words) as refusal:
        simulator.ask("POST", "receipts", body)
    assert refusal.value.status == status


@pytest.mark.usefixtures("message_id")
def test_a_queue_that_is_not_there_is_told(simulator: SimulatorClient, emulator: str) -> None:
    queue_url = f"{emulator}/000000000000/nothing"
    simulator.configure(receipts_queue_url=queue_url, aws_endpoint_url=emulator)
    with pytest.raises(SimulatorRefused, match="QueueDoesNotExist") as refusal:
        simulator.receipt("d-1", "TEXT_DELIVERED")
    assert refusal.value.status == 502
