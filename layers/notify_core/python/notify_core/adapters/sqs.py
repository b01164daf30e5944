"""SQS: sending messages, measuring queues, and what a consumer asks of its own queue."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from notify_core.adapters.aws import client_config
from notify_core.application.ports import Gather, Message, QueueName, StoreUnavailable
from notify_core.domain.limits import (
    BATCH_MESSAGES,
    DELAY_SECONDS_MAX,
    HOUR_SECONDS,
    MINUTE_SECONDS,
    STORE_TIMEOUT_SECONDS,
    STORE_TRIES_MAX,
)

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageAttributeValueTypeDef, SendMessageBatchRequestEntryTypeDef

BATCH_BYTES_MAX: Final = 1024 * 1024
"""SQS: one message, or all of a call together, attributes included."""
VISIBILITY_SECONDS_MAX: Final = 12 * HOUR_SECONDS - 5 * MINUTE_SECONDS
"""SQS: twelve hours in all since the receive; what a function may have used up of them is left out."""
PAUSE_SECONDS: Final = 0.1
"""Before the entries that failed singly are sent again; doubled each time."""
REASON_ATTRIBUTE: Final = "reason"

CLIENT_CONFIG: Final = client_config(
    connect_seconds=STORE_TIMEOUT_SECONDS / 4, read_seconds=STORE_TIMEOUT_SECONDS * 3 / 4, tries_max=STORE_TRIES_MAX
)
"""Repeated calls are harmless: consumers expect every message more than once."""

_COUNTS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_NOT_OURS_ANY_MORE: Final = frozenset(
    {"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", "ReceiptHandleIsInvalid"}
)

UrlOf = Callable[[QueueName], str]
"""Gives a queue's URL."""


class SqsQueues:
    """ports.Queues: batches of ten, in parallel; the group of a message is its workspace (fair queues)."""

    def __init__(
        self,
        client: "SQSClient",
        url_of: UrlOf,
        gather: Gather,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._url_of = url_of
        self._gather = gather
        self._sleep = sleep

    def send(self, queue: QueueName, messages: Sequence[Message]) -> None:
        """Send all of them, ten a call; entries that fail singly are repeated a few times.

        Raises:
            StoreUnavailable: some could not be sent, others may have been.
        """
        url = self._url_of(queue)
        self._gather([partial(self._send_batch, url, batch) for batch in _batches(messages)])

    def backlog(self, queue: QueueName) -> int:
        """About how many messages wait in the queue: visible, received or delayed."""
        try:
            answer = self._client.get_queue_attributes(QueueUrl=self._url_of(queue), AttributeNames=list(_COUNTS))
        except (ClientError, BotoCoreError) as failure:
            raise _unavailable("measure", failure) from failure
        return sum(int(answer["Attributes"][name]) for name in _COUNTS)

    def _send_batch(self, url: str, entries: Sequence["SendMessageBatchRequestEntryTypeDef"]) -> None:
        codes: Mapping[str, str] = {}
        for attempt in range(STORE_TRIES_MAX):
            if attempt:
                self._sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
            codes = self._try(url, entries)
            entries = [entry for entry in entries if entry["Id"] in codes]
            if not entries:
                return
        raise StoreUnavailable(f"send: {len(entries)} entries failed, {', '.join(sorted(set(codes.values())))}")

    def _try(self, url: str, entries: Sequence["SendMessageBatchRequestEntryTypeDef"]) -> Mapping[str, str]:
        """One call; the code of each entry that failed."""
        try:
            answer = self._client.send_message_batch(QueueUrl=url, Entries=entries)
        except (ClientError, BotoCoreError) as failure:
            raise _unavailable("send", failure) from failure
        return {failed["Id"]: failed["Code"] for failed in answer.get("Failed", [])}


class SqsInbox:
    """ports.Inbox: what a consumer asks of the queue that it reads."""

    def __init__(self, client: "SQSClient", url_of: UrlOf, dead_letters_url_of: UrlOf) -> None:
        self._client = client
        self._url_of = url_of
        self._dead_letters_url_of = dead_letters_url_of

    def extend_visibility(self, queue: QueueName, receipt_handle: str, seconds: int) -> None:
        """Hide a received message for so long from now, nearly 12 h at most; one no longer ours stays as it is.

        Raises:
            StoreUnavailable: it stays hidden for as long as it was.
        """
        self._hide(self._url_of(queue), receipt_handle, seconds)

    def keep_dead(self, queue: QueueName, receipt_handle: str) -> None:
        """Hide a letter of the queue's dead-letter queue for nearly twelve hours.

        Raises:
            StoreUnavailable: it stays hidden for as long as it was.
        """
        self._hide(self._dead_letters_url_of(queue), receipt_handle, VISIBILITY_SECONDS_MAX)

    def _hide(self, url: str, receipt_handle: str, seconds: int) -> None:
        try:
            self._client.change_message_visibility(
                QueueUrl=url,
                ReceiptHandle=receipt_handle,
                VisibilityTimeout=min(max(seconds, 0), VISIBILITY_SECONDS_MAX),
            )
        except (ClientError, BotoCoreError) as failure:
            if _code(failure) not in _NOT_OURS_ANY_MORE:
                raise _unavailable("extend", failure) from failure

    def move_to_dead_letters(self, queue: QueueName, body: str, reason: str) -> None:
        """Put a body, as it came, into the dead-letter queue; the attribute `reason` says why.

        It is left out where the body leaves no room. The received message goes by being reported as done.

        Raises:
            StoreUnavailable: it could not be sent.
        """
        attributes: dict[str, MessageAttributeValueTypeDef] = {
            REASON_ATTRIBUTE: {"DataType": "String", "StringValue": reason}
        }
        bytes_used = len(body.encode()) + len(f"{REASON_ATTRIBUTE}String{reason}".encode())
        try:
            self._client.send_message(
                QueueUrl=self._dead_letters_url_of(queue),
                MessageBody=body,
                MessageAttributes=attributes if bytes_used <= BATCH_BYTES_MAX else {},
            )
        except (ClientError, BotoCoreError) as failure:
            raise _unavailable("move", failure) from failure


def _batches(messages: Sequence[Message]) -> Iterator[list["SendMessageBatchRequestEntryTypeDef"]]:
    batch: list[SendMessageBatchRequestEntryTypeDef] = []
    bytes_used = 0
    for message in messages:
        # ASCII: SQS refuses some characters, never their escapes.
        body = json.dumps(message.body, separators=(",", ":"))
        if batch and (len(batch) == BATCH_MESSAGES or bytes_used + len(body) > BATCH_BYTES_MAX):
            yield batch
            batch, bytes_used = [], 0
        batch.append(_entry(str(len(batch)), message, body))
        bytes_used += len(body)
    if batch:
        yield batch


def _entry(identifier: str, message: Message, body: str) -> "SendMessageBatchRequestEntryTypeDef":
    return {
        "Id": identifier,
        "MessageBody": body,
        "MessageGroupId": message.group,
        "DelaySeconds": min(message.delay_seconds, DELAY_SECONDS_MAX),
    }


def _code(failure: ClientError | BotoCoreError) -> str:
    if isinstance(failure, ClientError):
        return failure.response.get("Error", {}).get("Code", "")
    return type(failure).__name__


def _unavailable(action: str, failure: ClientError | BotoCoreError) -> StoreUnavailable:
    return StoreUnavailable(f"{action}: {_code(failure)}")
