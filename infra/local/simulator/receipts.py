"""Receipts: the events of texts that went out, put onto our queue as the SMS service publishes them."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from infra.local.simulator.settings import Switches
from infra.local.simulator.sms_api import SentText
from infra.local.simulator.sms_text import travel_of
from infra.local.simulator.wire import to_json

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

DESCRIPTIONS: Final = {
    "TEXT_QUEUED": "Message is queued for delivery",
    "TEXT_PENDING": "Message is being delivered",
    "TEXT_SENT": "Message has been sent to the carrier",
    "TEXT_SUCCESSFUL": "Message has been accepted by phone carrier",
    "TEXT_DELIVERED": "Message has been accepted by phone",
    "TEXT_INVALID": "Destination phone number is not valid",
    "TEXT_INVALID_MESSAGE": "Message body is not valid",
    "TEXT_UNREACHABLE": "Phone is currently unreachable or unavailable",
    "TEXT_CARRIER_UNREACHABLE": "Phone carrier is currently unreachable or unavailable",
    "TEXT_BLOCKED": "Phone or carrier has blocked messages to this number",
    "TEXT_CARRIER_BLOCKED": "Phone carrier has blocked this message",
    "TEXT_SPAM": "Phone carrier has found this message to be spam",
    "TEXT_UNKNOWN": "Unknown error attempting to reach phone",
    "TEXT_TTL_EXPIRED": "Message was not delivered within its time to live",
    "TEXT_PROTECT_BLOCKED": "Message was blocked by a protect configuration",
}
"""Every event type of a text, with what the service says about it."""
_NOT_FINAL: Final = frozenset({"TEXT_QUEUED", "TEXT_PENDING", "TEXT_SENT"})
_PRICE_PER_PART: Final = 0.00581
_FEE_PER_PART: Final = 0.003
_BATCH: Final = 10


class QueueNotSet(Exception):
    """No queue for receipts is set."""


class QueueRefused(Exception):
    """SQS didn't take the receipt; the text names the kind of its error."""


class Receipts:
    """The texts that went out, and the queue that their events go to."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._texts: dict[str, SentText] = {}
        self._clients: dict[tuple[str | None, str], SQSClient] = {}
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(max_workers=2, thread_name_prefix="receipts")

    def remember(self, text: SentText) -> None:
        """Notes a text, and sends the receipt that follows by itself where one does."""
        if text.delivery_id is not None:
            self._texts[text.delivery_id] = text
        event_type = self._switches.now.auto_receipts
        if event_type is not None:
            self._background.submit(self._send_quietly, event_of(text, event_type))

    def find(self, delivery_id: str) -> SentText | None:
        """The latest text of a delivery, if one went out."""
        return self._texts.get(delivery_id)

    def send(self, event: dict[str, object], *, times: int = 1, delay_seconds: int = 0) -> None:
        """Puts the event onto the queue so many times; raises `QueueNotSet` and `QueueRefused`."""
        queue_url = self._switches.now.receipts_queue_url
        if queue_url is None:
            raise QueueNotSet
        body = to_json(event).decode()
        for start in range(0, times, _BATCH):
            numbers = range(start, min(start + _BATCH, times))
            self._send_batch(queue_url, [_entry(number, body, delay_seconds) for number in numbers])

    def clear(self) -> None:
        """Forgets the texts."""
        self._texts.clear()

    def close(self) -> None:
        """Drops what was still to be sent."""
        self._background.shutdown(cancel_futures=True)

    def _send_quietly(self, event: dict[str, object]) -> None:
        try:
            self.send(event)
        except (QueueNotSet, QueueRefused) as fault:
            print(f"simulator: a receipt was not sent: {fault!r}", file=sys.stderr)

    def _send_batch(self, queue_url: str, entries: "list[SendMessageBatchRequestEntryTypeDef]") -> None:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as boto3 below

        try:
            answer = self._client().send_message_batch(QueueUrl=queue_url, Entries=entries)
        except (BotoCoreError, ClientError) as fault:
            raise QueueRefused(type(fault).__name__) from fault
        if answer.get("Failed"):
            raise QueueRefused(answer["Failed"][0]["Code"])

    def _client(self) -> "SQSClient":
        # Importing boto3 takes 0.4 s, and few runs need receipts.
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        settings = self._switches.now
        place = (settings.aws_endpoint_url, settings.region)
        with self._lock:
            if place not in self._clients:
                # The one key that an emulator which enforces roles knows; a developer's own must not be picked up.
                session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
                self._clients[place] = session.client(  # pyright: ignore[reportUnknownMemberType] - its stubs
                    "sqs",
                    endpoint_url=settings.aws_endpoint_url,
                    region_name=settings.region,
                    config=Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2}),
                )
            return self._clients[place]


def event_of(text: SentText, event_type: str, *, is_final: bool | None = None) -> dict[str, object]:
    """The event as the service publishes it, and SNS passes it on raw; by default final by its type."""
    travel = travel_of(text.body)
    return {
        "eventType": event_type,
        "eventVersion": "1.0",
        "eventTimestamp": _milliseconds(datetime.now(tz=UTC)),
        "isFinal": event_type not in _NOT_FINAL if is_final is None else is_final,
        "originationPhoneNumber": text.origination,
        "destinationPhoneNumber": text.destination,
        "isInternationalSend": False,
        "messageId": text.message_id,
        "messageRequestTimestamp": _milliseconds(text.at),
        "messageEncoding": travel.encoding,
        "messageType": text.message_type,
        "messageStatus": event_type.removeprefix("TEXT_"),
        "messageStatusDescription": DESCRIPTIONS[event_type],
        "context": text.context,
        "totalMessageParts": travel.parts,
        "totalMessagePrice": round(_PRICE_PER_PART * travel.parts, 5),
        "totalCarrierFee": round(_FEE_PER_PART * travel.parts, 5),
    }


def _entry(number: int, body: str, delay_seconds: int) -> "SendMessageBatchRequestEntryTypeDef":
    return {"Id": str(number), "MessageBody": body, "DelaySeconds": delay_seconds}


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
