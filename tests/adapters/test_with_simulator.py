"""The senders against the provider simulator: what they say was sent is what it says reached somebody."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import Session

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.receipts import DESCRIPTIONS, event_of
from infra.local.simulator.server import SimulatorServer
from infra.local.simulator.settings import Settings
from infra.local.simulator.sms_api import SentText
from notify_core.adapters.aws import create_client
from notify_core.adapters.slack import SlackEvidence, SlackSender, SlackTokens, connector
from notify_core.adapters.sms import CLIENT_CONFIG, SERVICE, SmsSender, parse_receipt
from notify_core.application.ports import EvidenceQuery, Outgoing
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, DeliveryId, Recipient, WorkspaceId, delivery_id
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.send_result import (
    Absent,
    Accepted,
    Delivered,
    Found,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)
from tests.adapters.loopback import make_outgoing, make_secrets

LOST = Unknown(reason="connection_lost")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatorClient]:
    server = SimulatorServer(port=0, state_dir=tmp_path_factory.mktemp("simulator"), settings=Settings(), verbose=False)
    server.start()
    yield SimulatorClient(server.url)
    server.stop()


@pytest.fixture
def simulator(running: SimulatorClient) -> SimulatorClient:
    running.reset()
    return running


def patience(fault: str | None) -> float:
    """How many seconds to wait for an answer: a hung provider gives none."""
    return 0.4 if fault == "hang" else 10


def slack(simulator: SimulatorClient, fault: str | None = None) -> tuple[SlackSender, SlackEvidence]:
    tokens = SlackTokens(make_secrets(default="xoxb-acme-1", hq="xoxb-hq-1"), prefix="notify/slack/")
    connect = connector(simulator.slack_url, timeout_seconds=patience(fault))
    return SlackSender(tokens, connect), SlackEvidence(tokens, connect)


def sms(simulator: SimulatorClient, aws: Session, fault: str | None = None) -> SmsSender:
    config = CLIENT_CONFIG.merge(Config(read_timeout=patience(fault)))
    client = create_client(aws, SERVICE, config, endpoint_url=simulator.sms_url)
    return SmsSender(client, origination_identity="ACME", configuration_set="receipts")


def text(number: int = 1) -> Outgoing:
    return make_outgoing(
        channel=Channel.TEXT,
        address=f"+4179000000{number}",
        delivery_id=delivery_id("acme", "ana", "notice-1", "text"),
        time_to_live_seconds=600,
    )


def query(outgoing: Outgoing) -> EvidenceQuery:
    return EvidenceQuery(
        workspace_id=WorkspaceId("acme"),
        channel=outgoing.channel,
        delivery_id=outgoing.delivery_id,
        claim_id=outgoing.claim_id,
        claimed_at=datetime.now(tz=UTC),
        address=outgoing.address,
    )


SLACK_FAULTS: list[tuple[str, dict[str, Any], SendResult, bool]] = [
    ("throttle", {"retry_after": 7}, Throttled(retry_after=timedelta(seconds=7)), False),
    ("unavailable", {}, Unavailable(reason="service_unavailable"), False),
    ("error_500", {}, Unknown(reason="http_500"), True),
    ("drop_response", {}, LOST, True),
    ("lose_request", {}, LOST, False),
    ("hang", {}, Unknown(reason="timeout"), False),
    (
        "reject",
        {"code": "user_not_found"},
        Rejected(reason="user_not_found", scope=RejectionScope.PERSON),
        False,
    ),
]


@pytest.mark.parametrize("channel", [Channel.CHAT, Channel.SLACK_SYSTEM])
@pytest.mark.parametrize(
    ("fault", "details", "result", "arrives"), SLACK_FAULTS, ids=[fault for fault, *_ in SLACK_FAULTS]
)
def test_under_each_fault_of_slack_the_evidence_agrees_with_the_truth(
    simulator: SimulatorClient,
    channel: Channel,
    fault: str,
    details: dict[str, Any],
    result: SendResult,
    arrives: bool,
) -> None:
    sender, evidence = slack(simulator, fault)
    address = "U0ANA" if channel is Channel.CHAT else "C0HQ"
    outgoing = make_outgoing(channel=channel, address=address)
    simulator.fault(channel.value, fault, **details)
    assert sender.send(outgoing) == result
    messages = simulator.messages()
    assert [(item["to"], item["delivery_id"]) for item in messages] == ([(address, "delivery-1")] if arrives else [])
    found = evidence.look_up(query(outgoing))
    assert isinstance(found, Found) if arrives else found == Absent()


def test_what_slack_says_of_a_post_is_what_its_history_says(simulator: SimulatorClient) -> None:
    sender, evidence = slack(simulator)
    outgoing = make_outgoing()
    delivered = sender.send(outgoing)
    assert isinstance(delivered, Delivered)
    assert evidence.look_up(query(outgoing)) == Found(
        provider_id=delivered.provider_id, provider_channel=delivered.provider_channel
    )


def test_a_post_is_found_beyond_the_first_page(simulator: SimulatorClient) -> None:
    sender, evidence = slack(simulator)
    first = make_outgoing()
    sender.send(first)
    with ThreadPoolExecutor(8) as pool:
        others = [make_outgoing(delivery_id=DeliveryId(f"other-{number}")) for number in range(250)]
        assert all(isinstance(result, Delivered) for result in pool.map(sender.send, others))
    assert isinstance(evidence.look_up(query(first)), Found)
    absent = make_outgoing(delivery_id=DeliveryId("never sent"))
    assert evidence.look_up(query(absent)) == Absent()


SMS_FAULTS: list[tuple[str, dict[str, Any], SendResult, bool]] = [
    ("throttle", {"retry_after": 7}, Throttled(retry_after=timedelta(seconds=7)), False),
    ("error_500", {}, Unknown(reason="InternalServerException"), True),
    ("drop_response", {}, LOST, True),
    ("lose_request", {}, LOST, False),
    ("hang", {}, Unknown(reason="timeout"), False),
    (
        "reject",
        {"code": "ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT"},
        Rejected(reason="ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT", scope=RejectionScope.PERSON),
        False,
    ),
]


@pytest.mark.parametrize(("fault", "details", "result", "arrives"), SMS_FAULTS, ids=[fault for fault, *_ in SMS_FAULTS])
def test_under_each_fault_of_the_sms_service_one_text_leaves_at_most(
    simulator: SimulatorClient,
    aws: Session,
    fault: str,
    details: dict[str, Any],
    result: SendResult,
    arrives: bool,
) -> None:
    simulator.fault("text", fault, **details)
    assert sms(simulator, aws, fault).send(text()) == result
    expected = [(text().address, text().delivery_id)] if arrives else []
    assert [(item["to"], item["delivery_id"]) for item in simulator.messages()] == expected


def test_texts_arrive_under_their_delivery(simulator: SimulatorClient, aws: Session) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(sms(simulator, aws).send, [text(number) for number in range(8)]))
    assert [type(result) for result in results] == [Accepted] * 8
    assert sorted(item["to"] for item in simulator.messages()) == [f"+4179000000{number}" for number in range(8)]


def test_a_text_that_is_none_is_refused_by_the_service(simulator: SimulatorClient, aws: Session) -> None:
    result = sms(simulator, aws).send(make_outgoing(channel=Channel.TEXT, address="no number"))
    assert isinstance(result, Rejected)
    assert (result.scope, result.listed) == (RejectionScope.CONTENT, True)


@pytest.mark.parametrize("event_type", DESCRIPTIONS)
def test_every_event_of_the_simulator_is_a_receipt(event_type: str) -> None:
    sent = SentText(
        message_id="m-1",
        at=datetime.now(tz=UTC),
        delivery_id="delivery-1",
        destination="+41790000001",
        origination="ACME",
        body="Overdue",
        message_type="TRANSACTIONAL",
        context={
            "workspace_id": "acme",
            "recipient": "ana",
            "notice_id": "notice-1",
            "channel": "text",
            "claim_id": "claim-1",
        },
    )
    receipt = parse_receipt(event_of(sent, event_type))
    assert receipt is not None
    assert (receipt.recipient, receipt.claim_id, receipt.provider_id) == (Recipient("ana"), ClaimId("claim-1"), "m-1")
    is_arrival = event_type in {"TEXT_SUCCESSFUL", "TEXT_DELIVERED"}
    assert (receipt.outcome is ReceiptOutcome.DELIVERED) == is_arrival


def test_ten_sends_at_once_take_about_one_provider_time(simulator: SimulatorClient) -> None:
    sender, _ = slack(simulator)
    sender.send(make_outgoing())
    simulator.configure(latency_ms=200)
    try:
        with ThreadPoolExecutor(10) as pool:
            began = time.monotonic()
            results = list(pool.map(sender.send, [make_outgoing(address=f"U0{number}A") for number in range(10)]))
            took = time.monotonic() - began
    finally:
        simulator.configure(latency_ms=0)
    assert {type(result) for result in results} == {Delivered}
    assert took < 1  # one after the other they would take two seconds
