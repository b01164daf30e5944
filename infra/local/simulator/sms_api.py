"""The SMS service: `SendTextMessage` of AWS End User Messaging, as boto3 speaks it (JSON 1.0)."""

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from uuid import uuid4

from infra.local.simulator.faults import SEND, FaultBook, Target, reply_under
from infra.local.simulator.ground_truth import GroundTruth
from infra.local.simulator.wire import Answer, Reply, Request, as_object, broken_answer, to_json

PREFIX: Final = "/sms"
TARGET_PREFIX: Final = "PinpointSMSVoiceV2."
_JSON_TYPE: Final = "application/x-amz-json-1.0"
_INTERNAL: Final = "InternalServerException"
_DERIVED_FROM: Final = ("workspace_id", "recipient", "notice_id", "channel")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentText:
    """A text that went out, as far as its later events repeat it."""

    message_id: str
    at: datetime
    delivery_id: str | None
    destination: str
    origination: str
    body: str
    message_type: str
    context: dict[str, str]


class SmsDialect:
    """How the service words its failures."""

    def throttled(self, retry_after: int) -> Answer:
        """An exception without a reason; `Retry-After` is more than the real service says."""
        return _error("ThrottlingException", headers=(("Retry-After", str(retry_after)),))

    def unavailable(self) -> Answer:
        """The service has no answer that certainly sent nothing; a fault of this kind is refused for it."""
        raise ValueError("an SMS is never certainly unsent by unavailability: the check of faults refuses it")

    def broken(self, status: int) -> Answer:
        """The service's own exception, or the page of a gateway in front of it."""
        return broken_answer(status) if status != HTTPStatus.INTERNAL_SERVER_ERROR else _error(_INTERNAL, status=status)

    def refused(self, code: str) -> Answer:
        """The exception, with its reason: `Exception:Reason`."""
        exception, _, reason = code.partition(":")
        field = "ResourceType" if exception == "ResourceNotFoundException" else "Reason"
        return _error(exception, {field: reason} if reason else {})


class SmsApi:
    """The service; `on_sent` is told of every text that goes out, before it is answered."""

    def __init__(self, *, faults: FaultBook, messages: GroundTruth, on_sent: Callable[[SentText], None]) -> None:
        self._faults = faults
        self._messages = messages
        self._on_sent = on_sent
        self._dialect = SmsDialect()

    def respond(self, request: Request) -> Reply:
        """The reply to one call, under the fault that meets it."""
        if not request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            return _error("MissingAuthenticationTokenException", status=403)
        operation = request.headers.get("x-amz-target", "").removeprefix(TARGET_PREFIX)
        if request.method != "POST" or operation != SEND:
            return _error("UnknownOperationException")
        try:
            parameters = as_object(json.loads(request.body))
        except ValueError:
            parameters = None
        if parameters is None:
            return _error("SerializationException")
        target = Target(channel="text", to=str(parameters.get("DestinationPhoneNumber")))
        fault = self._faults.take(operation, target)
        return reply_under(fault, lambda: self._send(parameters), self._dialect)

    def _send(self, parameters: dict[str, object]) -> Answer:
        # Loading botocore takes a quarter of a second, and many runs send no text.
        from infra.local.simulator.sms_rules import violations  # noqa: PLC0415

        if broken := violations(parameters):
            fields = [{"Name": violation.name, "Message": violation.message} for violation in broken]
            return _error("ValidationException", {"Reason": broken[0].reason, "Fields": fields})
        message_id = str(uuid4())
        if not parameters.get("DryRun"):
            self._put(_sent(parameters, message_id))
        return _answer({"MessageId": message_id})

    def _put(self, text: SentText) -> None:
        self._messages.record(channel="text", to=text.destination, text=text.body, delivery_id=text.delivery_id)
        self._on_sent(text)


def _sent(parameters: dict[str, object], message_id: str) -> SentText:
    context = {name: str(value) for name, value in (as_object(parameters.get("Context")) or {}).items()}
    return SentText(
        message_id=message_id,
        at=datetime.now(tz=UTC),
        delivery_id=_delivery_id(context),
        destination=str(parameters["DestinationPhoneNumber"]),
        origination=str(parameters.get("OriginationIdentity") or "SIMULATOR"),
        body=str(parameters["MessageBody"]),
        message_type=str(parameters.get("MessageType") or "TRANSACTIONAL"),
        context=context,
    )


def _delivery_id(context: dict[str, str]) -> str | None:
    """The context's own, else the one derived from the notice that it names."""
    if "delivery_id" in context or not context.keys() >= set(_DERIVED_FROM):
        return context.get("delivery_id")
    identifiers = importlib.import_module("notify_core.domain.identifiers")
    return str(identifiers.delivery_id(*(context[name] for name in _DERIVED_FROM)))


def _error(
    exception: str,
    details: Mapping[str, object] | None = None,
    *,
    status: int = HTTPStatus.BAD_REQUEST,
    headers: tuple[tuple[str, str], ...] = (),
) -> Answer:
    body = {"__type": exception, "Message": f"{exception} of the simulator.", **(details or {})}
    return _answer(body, status=status, headers=headers)


def _answer(
    body: Mapping[str, object],
    *,
    status: int = HTTPStatus.OK,
    headers: tuple[tuple[str, str], ...] = (),
) -> Answer:
    headers = (("x-amzn-RequestId", str(uuid4())), *headers)
    return Answer(status=status, body=to_json(body), content_type=_JSON_TYPE, headers=headers)
