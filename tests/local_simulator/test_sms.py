from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError
from mypy_boto3_pinpoint_sms_voice_v2.client import PinpointSMSVoiceV2Client
from mypy_boto3_pinpoint_sms_voice_v2.type_defs import SendTextMessageResultTypeDef

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.sms_text import Travel, travel_of
from notify_core.domain.identifiers import delivery_id

ANA = "+41790000001"
CONTEXT = {
    "workspace_id": "acme",
    "recipient": "ana",
    "notice_id": "n-1",
    "channel": "text",
    "claim_id": "c-1",
}
DELIVERY = delivery_id("acme", "ana", "n-1", "text")


def send(sms: PinpointSMSVoiceV2Client, to: str = ANA, **more: Any) -> SendTextMessageResultTypeDef:
    return sms.send_text_message(**{"DestinationPhoneNumber": to, "MessageBody": "Overdue", "Context": CONTEXT} | more)


def arrived(simulator: SimulatorClient) -> list[tuple[str, str | None]]:
    return [(message["to"], message["delivery_id"]) for message in simulator.messages()]


def test_a_text_reaches_its_number_under_the_delivery_that_its_context_names(
    simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client
) -> None:
    answer = send(sms, OriginationIdentity="Acme", MessageType="TRANSACTIONAL", TimeToLive=5, ConfigurationSetName="c")
    assert len(answer["MessageId"]) == 36
    (message,) = simulator.messages()
    del message["at"]
    assert message == {
        "channel": "text",
        "to": ANA,
        "text": "Overdue",
        "blocks": None,
        "delivery_id": DELIVERY,
    }


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({"delivery_id": "d-9"}, "d-9"),
        (CONTEXT | {"delivery_id": "d-9"}, None),
        ({"claim_id": "c-1"}, None),
        ({}, None),
    ],
)
def test_the_context_s_own_delivery_comes_first(
    simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client, context: dict[str, str], expected: str | None
) -> None:
    if len(context) > 5:
        with pytest.raises(ClientError):
            send(sms, Context=context)
    else:
        send(sms, Context=context)
        assert arrived(simulator) == [(ANA, expected)]


def test_a_dry_run_reaches_nobody(simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client) -> None:
    assert send(sms, DryRun=True)["MessageId"]
    assert simulator.messages() == []


@pytest.mark.parametrize(
    ("parameters", "field", "reason"),
    [
        ({"DestinationPhoneNumber": "41790000001"}, "DestinationPhoneNumber", "INVALID_PARAMETER"),
        ({"DestinationPhoneNumber": "+1234567890123456"}, "DestinationPhoneNumber", "INVALID_PARAMETER"),
        ({"DestinationPhoneNumber": "+0790000001"}, "DestinationPhoneNumber", "FIELD_VALIDATION_FAILED"),
        ({"MessageBody": "x" * 1_601}, "MessageBody", "FIELD_VALIDATION_FAILED"),
        ({"MessageBody": "  "}, "MessageBody", "FIELD_VALIDATION_FAILED"),
        ({"TimeToLive": 259_201}, "TimeToLive", "FIELD_VALIDATION_FAILED"),
        ({"Context": {f"k{n}": "v" for n in range(6)}}, "Context", "FIELD_VALIDATION_FAILED"),
        ({"Context": {"a b": "v"}}, "Context", "FIELD_VALIDATION_FAILED"),
        ({"Context": {"k": " v"}}, "Context", "FIELD_VALIDATION_FAILED"),
        ({"Context": {"k": "v" * 801}}, "Context", "FIELD_VALIDATION_FAILED"),
        ({"MessageType": "URGENT"}, "MessageType", "FIELD_VALIDATION_FAILED"),
        ({"OriginationIdentity": "Acme Ltd"}, "OriginationIdentity", "FIELD_VALIDATION_FAILED"),
        ({"MaxPrice": "cheap"}, "MaxPrice", "FIELD_VALIDATION_FAILED"),
    ],
)
def test_a_parameter_outside_its_limits_is_named(
    simulator: SimulatorClient,
    sms: PinpointSMSVoiceV2Client,
    parameters: dict[str, object],
    field: str,
    reason: str,
) -> None:
    with pytest.raises(ClientError) as refusal:
        send(sms, **parameters)
    answer = refusal.value.response
    assert (answer["Error"]["Code"], answer["Reason"]) == ("ValidationException", reason)
    assert {broken["Name"] for broken in answer["Fields"]} == {field}
    assert simulator.messages() == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"MessageBody": "x"},
        {"MessageBody": "x" * 1_600},
        {"TimeToLive": 5},
        {"TimeToLive": 259_200},
        {"DestinationPhoneNumber": "+123456789012345"},
    ],
)
def test_a_parameter_at_its_limit_is_taken(
    simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client, parameters: dict[str, object]
) -> None:
    send(sms, **parameters)
    assert len(simulator.messages()) == 1


@pytest.mark.parametrize(
    ("headers", "body", "status", "exception"),
    [
        ({"Authorization": ""}, b"{}", 403, b"MissingAuthenticationTokenException"),
        ({"X-Amz-Target": "PinpointSMSVoiceV2.SendMediaMessage"}, b"{}", 400, b"UnknownOperationException"),
        ({}, b"[]", 400, b"SerializationException"),
        ({}, b"{", 400, b"SerializationException"),
        ({}, b'{"DestinationPhoneNumber": 7}', 400, b"ValidationException"),
        ({}, b'{"DestinationPhoneNumber": "+41790000001"}', 400, b"MISSING_PARAMETER"),
        ({}, b'{"MessageBody": "x", "TimeToLive": true}', 400, b"must be of type integer"),
        ({}, b'{"MessageBody": "x", "TimeToLive": 4}', 400, b"must not be less than 5"),
        ({}, b'{"MessageBody": "x", "Context": []}', 400, b"must be a map"),
    ],
)
def test_what_the_sdk_would_not_have_sent_is_refused(
    simulator: SimulatorClient, headers: dict[str, str], body: bytes, status: int, exception: bytes
) -> None:
    sent = {
        "Authorization": "AWS4-HMAC-SHA256 Credential=x",
        "X-Amz-Target": "PinpointSMSVoiceV2.SendTextMessage",
        "Content-Type": "application/x-amz-json-1.0",
    } | headers
    with pytest.raises(HTTPError) as refusal:
        urlopen(Request(simulator.sms_url, body, sent), timeout=5)
    with refusal.value as answer:
        assert answer.status == status
        assert exception in answer.read()
    assert simulator.messages() == []


@pytest.mark.parametrize(
    ("fault", "code", "reason", "delivered"),
    [
        ({"fault": "throttle"}, "ThrottlingException", None, False),
        ({"fault": "error_500"}, "InternalServerException", None, True),
        ({"fault": "error_500", "code": "502"}, "502", None, True),
        (
            {"fault": "reject", "code": "ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT"},
            "ConflictException",
            "DESTINATION_PHONE_NUMBER_OPTED_OUT",
            False,
        ),
        ({"fault": "reject", "code": "AccessDeniedException"}, "AccessDeniedException", None, False),
    ],
)
def test_a_fault_that_answers(
    simulator: SimulatorClient,
    sms: PinpointSMSVoiceV2Client,
    fault: dict[str, str],
    code: str,
    reason: str | None,
    *,
    delivered: bool,
) -> None:
    simulator.fault("text", **fault)
    with pytest.raises(ClientError) as failure:
        send(sms)
    answer = failure.value.response
    assert (answer["Error"]["Code"], answer.get("Reason")) == (code, reason)
    assert arrived(simulator) == [(ANA, DELIVERY)] * delivered
    send(sms)
    assert len(simulator.messages()) == 1 + delivered


def test_a_missing_resource_is_named_by_its_type(simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client) -> None:
    simulator.fault("text", "reject", code="ResourceNotFoundException:pool")
    with pytest.raises(ClientError) as failure:
        send(sms)
    assert failure.value.response["ResourceType"] == "pool"


def test_a_dropped_response_has_delivered(simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client) -> None:
    simulator.fault("text", "drop_response")
    with pytest.raises(ConnectionClosedError):
        send(sms)
    assert arrived(simulator) == [(ANA, DELIVERY)]


def test_a_lost_request_has_not_delivered(simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client) -> None:
    simulator.fault("text", "lose_request")
    with pytest.raises(ConnectionClosedError):
        send(sms)
    assert arrived(simulator) == []


def test_a_hang_has_not_delivered(
    simulator: SimulatorClient, sms_with: Callable[[float], PinpointSMSVoiceV2Client]
) -> None:
    simulator.fault("text", "hang")
    with pytest.raises(ReadTimeoutError):
        send(sms_with(0.3))
    assert arrived(simulator) == []


def test_a_fault_strikes_its_number_only(simulator: SimulatorClient, sms: PinpointSMSVoiceV2Client) -> None:
    simulator.fault("text", "throttle", to="+41790000002")
    simulator.fault("chat", "throttle")
    send(sms)
    with pytest.raises(ClientError):
        send(sms, "+41790000002")
    assert arrived(simulator) == [(ANA, DELIVERY)]


@pytest.mark.parametrize(
    ("text", "encoding", "parts"),
    [
        ("x" * 160, "GSM", 1),
        ("x" * 161, "GSM", 2),
        ("x" * 306, "GSM", 2),
        ("x" * 307, "GSM", 3),
        ("€" * 80, "GSM", 1),
        ("x" * 152 + "€" + "x" * 152, "GSM", 3),
        ("é" * 70, "GSM", 1),
        ("ê" * 70, "Unicode", 1),
        ("ê" * 71, "Unicode", 2),
        ("👍" * 35, "Unicode", 1),
        ("👍" * 36, "Unicode", 2),
    ],
)
def test_a_text_is_cut_into_parts(text: str, encoding: str, parts: int) -> None:
    assert travel_of(text) == Travel(encoding=encoding, parts=parts)
