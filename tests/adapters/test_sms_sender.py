import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.session import Session

from notify_core.adapters.aws import create_client
from notify_core.adapters.sms import CLIENT_CONFIG, SERVICE, SmsSender
from notify_core.application.ports import Outgoing
from notify_core.domain.channel import Channel
from notify_core.domain.send_result import (
    Accepted,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)
from tests.adapters.loopback import Behaviour, Provider, answer, close, cut, hang, make_outgoing, reset

if TYPE_CHECKING:
    from mypy_boto3_pinpoint_sms_voice_v2 import PinpointSMSVoiceV2Client

ACCEPTED = answer(200, {"MessageId": "m-1"})
SHORT = Config(connect_timeout=0.3, read_timeout=0.3)


def client(aws: Session, url: str) -> "PinpointSMSVoiceV2Client":
    return create_client(aws, SERVICE, CLIENT_CONFIG.merge(SHORT), endpoint_url=url)  # type: ignore[no-any-return]


def sender(aws: Session, url: str, **settings: Any) -> SmsSender:
    return SmsSender(client(aws, url), **{"origination_identity": "", "configuration_set": "", **settings})


def text(**changes: Any) -> Outgoing:
    return make_outgoing(**{"channel": Channel.TEXT, "address": "+41790000001", **changes})


def test_a_text_says_all_that_its_receipts_must_bring_back(aws: Session, provider: Provider) -> None:
    provider.does(ACCEPTED)
    sending = sender(aws, provider.url, origination_identity="ACME", configuration_set="receipts")
    assert sending.send(text(time_to_live_seconds=600)) == Accepted(provider_id="m-1")
    (request,) = provider.requests
    assert request.headers["x-amz-target"] == "PinpointSMSVoiceV2.SendTextMessage"
    assert json.loads(request.body) == {
        "DestinationPhoneNumber": "+41790000001",
        "MessageBody": "Invoice 42 is overdue",
        "MessageType": "TRANSACTIONAL",
        "OriginationIdentity": "ACME",
        "ConfigurationSetName": "receipts",
        "TimeToLive": 600,
        "Context": {
            "workspace_id": "acme",
            "recipient": "ana",
            "notice_id": "notice-1",
            "channel": "text",
            "claim_id": "claim-1",
        },
    }


def test_what_is_not_set_is_left_to_the_service(aws: Session, provider: Provider) -> None:
    provider.does(ACCEPTED)
    sender(aws, provider.url).send(text())
    assert json.loads(provider.requests[0].body).keys() == {
        "DestinationPhoneNumber",
        "MessageBody",
        "MessageType",
        "Context",
    }


@pytest.mark.parametrize(
    ("left_seconds", "time_to_live"),
    [(-1, 5), (0, 5), (4, 5), (5, 5), (259_200, 259_200), (259_201, 259_200), (7_776_000, 259_200)],
)
def test_the_time_to_live_stays_within_what_the_service_takes(
    aws: Session, provider: Provider, left_seconds: int, time_to_live: int
) -> None:
    provider.does(ACCEPTED)
    sender(aws, provider.url).send(text(time_to_live_seconds=left_seconds))
    assert json.loads(provider.requests[0].body)["TimeToLive"] == time_to_live


OPTED_OUT = "ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT"


def refusal(exception: str, *, status: int = 400, **members: str) -> Behaviour:
    return answer(status, {"__type": exception, "Message": "No.", **members})


ANSWERS: list[tuple[str, Behaviour, SendResult]] = [
    ("throttled", refusal("ThrottlingException"), Throttled(retry_after=timedelta(seconds=5))),
    ("500", refusal("InternalServerException", status=500), Unknown(reason="InternalServerException")),
    (
        "person",
        refusal("ConflictException", Reason="DESTINATION_PHONE_NUMBER_OPTED_OUT"),
        Rejected(reason=OPTED_OUT, scope=RejectionScope.PERSON),
    ),
    (
        "number",
        refusal("ValidationException", Reason="COUNTRY_NOT_ENABLED"),
        Rejected(reason="ValidationException:COUNTRY_NOT_ENABLED", scope=RejectionScope.PERSON, misconfigured=True),
    ),
    (
        "workspace",
        refusal("ResourceNotFoundException", ResourceType="pool", ResourceId="p-1"),
        Rejected(reason="ResourceNotFoundException:pool", scope=RejectionScope.WORKSPACE),
    ),
    (
        "content",
        refusal("ValidationException", Reason="FIELD_VALIDATION_FAILED"),
        Rejected(reason="ValidationException:FIELD_VALIDATION_FAILED", scope=RejectionScope.CONTENT),
    ),
    ("502 of a gateway", answer(502, "<html>"), Unknown(reason="502")),
    ("no JSON", answer(200, "<html>"), Unknown(reason="no_message_id")),
    ("empty", answer(200, ""), Unknown(reason="no_message_id")),
    ("no id", answer(200, {}), Unknown(reason="no_message_id")),
    ("reset", reset, Unknown(reason="connection_lost")),
    ("closed", close, Unknown(reason="connection_lost")),
    ("cut", cut, Unknown(reason="connection_lost")),
    ("hang", hang, Unknown(reason="timeout")),
]


@pytest.mark.parametrize(("behaviour", "result"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_each_answer_has_its_result_after_one_wire_call(
    aws: Session, provider: Provider, behaviour: Behaviour, result: SendResult
) -> None:
    provider.does(behaviour, ACCEPTED)
    assert sender(aws, provider.url).send(text()) == result
    assert len(provider.requests) == 1


def test_a_connection_refused_sent_nothing(aws: Session, closed_url: str) -> None:
    assert sender(aws, closed_url).send(text()) == Unavailable(reason="connection_refused")


def test_a_connection_that_never_comes_about_sent_nothing(aws: Session, deaf_url: str) -> None:
    assert sender(aws, deaf_url).send(text()) == Unavailable(reason="connect_timeout")


def test_a_name_that_nobody_knows_sent_nothing(aws: Session) -> None:
    result = sender(aws, "http://sms.invalid/").send(text())
    assert result == Unavailable(reason="connection_refused")


def test_the_service_s_own_timeouts_and_single_attempt_are_set() -> None:
    assert CLIENT_CONFIG.retries == {"total_max_attempts": 1, "mode": "standard"}
    assert (CLIENT_CONFIG.connect_timeout, CLIENT_CONFIG.read_timeout) == (2, 8)
