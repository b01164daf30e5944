"""AWS End User Messaging: sending a text, and reading the receipts that follow it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from notify_core.adapters.aws import client_config
from notify_core.adapters.sms_results import classify_fault
from notify_core.application.ports import Outgoing
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, NoticeId, Recipient, WorkspaceId
from notify_core.domain.limits import CONNECT_TIMEOUT_SECONDS, PROVIDER_TIMEOUT_SECONDS
from notify_core.domain.receipt import Receipt, classify_event
from notify_core.domain.send_result import Accepted, SendResult, Unknown

if TYPE_CHECKING:
    from mypy_boto3_pinpoint_sms_voice_v2 import PinpointSMSVoiceV2Client
    from mypy_boto3_pinpoint_sms_voice_v2.type_defs import SendTextMessageRequestTypeDef

SERVICE: Final = "pinpoint-sms-voice-v2"
TIME_TO_LIVE_SECONDS_MIN: Final = 5
TIME_TO_LIVE_SECONDS_MAX: Final = 259_200
CONTEXT_KEYS: Final = ("workspace_id", "recipient", "notice_id", "channel", "claim_id")
"""What comes back with every receipt, and finds the delivery; the service takes five pairs at most."""

CLIENT_CONFIG: Final = client_config(
    connect_seconds=CONNECT_TIMEOUT_SECONDS, read_seconds=PROVIDER_TIMEOUT_SECONDS, tries_max=1
)
"""One wire call, bounded in time: the operation has no client token, so a repetition is a second text."""


class SmsSender:
    """Sends texts (`text`); what becomes of one is told by receipts."""

    def __init__(
        self,
        client: "PinpointSMSVoiceV2Client",
        *,
        origination_identity: str,
        configuration_set: str,
    ) -> None:
        self._client = client
        self._origination_identity = origination_identity
        self._configuration_set = configuration_set

    def send(self, outgoing: Outgoing) -> SendResult:
        """Make one wire call."""
        try:
            answer = self._client.send_text_message(**self._request(outgoing))
        except Exception as fault:  # noqa: BLE001  (a sender gives a result, whatever the network does)
            return classify_fault(fault)
        # botocore makes an empty answer of a 200 that isn't JSON.
        message_id = answer.get("MessageId")
        return Accepted(provider_id=message_id) if message_id else Unknown(reason="no_message_id")

    def _request(self, outgoing: Outgoing) -> "SendTextMessageRequestTypeDef":
        request: SendTextMessageRequestTypeDef = {
            "DestinationPhoneNumber": outgoing.address,
            "MessageBody": outgoing.text,
            "MessageType": "TRANSACTIONAL",
            "Context": {key: str(getattr(outgoing, key)) for key in CONTEXT_KEYS},
        }
        if self._origination_identity:
            request["OriginationIdentity"] = self._origination_identity
        if self._configuration_set:
            request["ConfigurationSetName"] = self._configuration_set
        if outgoing.time_to_live_seconds is not None:
            seconds = max(outgoing.time_to_live_seconds, TIME_TO_LIVE_SECONDS_MIN)
            request["TimeToLive"] = min(seconds, TIME_TO_LIVE_SECONDS_MAX)
        return request


def parse_receipt(body: Mapping[str, Any]) -> Receipt | None:
    """The receipt in a message of the `receipts` queue; None when it is no event of a text of ours.

    The event stands in it bare, as text in the `Message` of an SNS notification, or in the `detail` of an
    EventBridge event.
    """
    event = _event(body)
    context = _object(event.get("context"))
    if not all(isinstance(context.get(key), str) for key in CONTEXT_KEYS):
        return None
    event_type, provider_id, at = (
        event.get("eventType"),
        event.get("messageId"),
        _moment(event.get("eventTimestamp")),
    )
    if not isinstance(event_type, str) or not event_type.startswith("TEXT_") or context["channel"] != Channel.TEXT:
        return None
    if not isinstance(provider_id, str) or at is None:
        return None
    outcome, reason = classify_event(event_type, is_final=event.get("isFinal") is True)
    return Receipt(
        workspace_id=WorkspaceId(context["workspace_id"]),
        recipient=Recipient(context["recipient"]),
        notice_id=NoticeId(context["notice_id"]),
        channel=Channel.TEXT,
        claim_id=ClaimId(context["claim_id"]),
        provider_id=provider_id,
        outcome=outcome,
        reason=reason,
        at=at,
    )


def _event(body: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = body.get("detail", body)
    if body.get("Type") == "Notification":
        inner = _parsed(body.get("Message"))
    return _object(inner)


def _object(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _parsed(text: object) -> object:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _moment(milliseconds: object) -> datetime | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, OSError, ValueError):
        return None
