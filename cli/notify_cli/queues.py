"""The platform's queues: sending what a producer sends, and looking into the dead letters without taking any."""

import json
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from notify_cli.failures import Failure
from notify_cli.stack import Stack, is_loopback

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

BATCH: Final = 10
LOOK_SECONDS: Final = 2
"""How long a letter that was looked at is hidden from others, so that the next look finds the next letters."""
_REGION_IN_URL: Final = re.compile(r"https://sqs\.([a-z0-9-]+)\.amazonaws\.com")
_CONFIG: Final = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3, "mode": "standard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many messages a queue holds, approximately: `hidden` ones were received and are not yet visible again."""

    visible: int
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A dead letter: `reason` says why it was put there, where it was not by running out of receives."""

    queue: str
    message_id: str
    sent_at: datetime
    receives: int
    reason: str | None
    body: str

    @property
    def about(self) -> Mapping[str, str]:
        """What it names, without its content; empty where it can't be read."""
        try:
            told: object = json.loads(self.body)
        except ValueError:
            return {}
        if not isinstance(told, dict):
            return {}
        fields = cast("Mapping[str, Any]", told)
        return {name: value for name in _NAMES if isinstance(value := fields.get(name), str)}


_NAMES: Final = (
    "type",
    "workspace_id",
    "definition",
    "request_key",
    "replacement_key",
    "request_id",
    "notice_id",
    "recipient",
    "channel",
)


class Queues:
    """The queues of one platform, reached with its keys."""

    def __init__(self, stack: Stack) -> None:
        self._urls = stack.queues
        with _told():
            self._sqs = _client(stack)

    @property
    def names(self) -> list[str]:
        """The queues whose addresses are known."""
        return list(self._urls)

    def send_request(self, body: Mapping[str, Any]) -> None:
        """Put a message onto the `requests` queue, in the group of its workspace (fair queues)."""
        with _told():
            self._sqs.send_message(
                QueueUrl=self._url("requests"), MessageBody=json.dumps(body), MessageGroupId=body["workspace_id"]
            )

    def dead_letters_url(self, queue: str) -> str | None:
        """The address of a queue's dead-letter queue; None where it has none."""
        with _told():
            told = self._sqs.get_queue_attributes(QueueUrl=self._url(queue), AttributeNames=["RedrivePolicy"])
            policy = told.get("Attributes", {}).get("RedrivePolicy")
            if policy is None:
                return None
            *_, owner, name = str(json.loads(policy)["deadLetterTargetArn"]).split(":")
            return self._sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=owner)["QueueUrl"]

    def count(self, url: str) -> Counts:
        """How many messages lie in a queue."""
        with _told():
            told = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return Counts(
            visible=int(told["ApproximateNumberOfMessages"]), hidden=int(told["ApproximateNumberOfMessagesNotVisible"])
        )

    def look(self, queue: str, url: str, *, limit: int) -> list[Letter]:
        """Letters lying in a queue, up to a limit: each stays there, hidden from others for two seconds."""
        seen: dict[str, Letter] = {}
        while len(seen) < limit:
            found = {letter.message_id: letter for letter in self._receive(queue, url, min(BATCH, limit - len(seen)))}
            if not found.keys() - seen.keys():
                break
            seen |= found
        return list(seen.values())

    def _receive(self, queue: str, url: str, count: int) -> Iterator[Letter]:
        with _told():
            answer = self._sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=count,
                VisibilityTimeout=LOOK_SECONDS,
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
                MessageAttributeNames=["reason"],
            )
        for message in answer.get("Messages", []):
            yield _letter(queue, message)

    def _url(self, queue: str) -> str:
        if queue not in self._urls:
            raise Failure(
                f"The address of the queue {queue} is not known",
                "Give --requests-queue-url, or a file with --stack that lists the queues"
                if queue == "requests"
                else "Give a file with --stack that lists the queues",
            )
        return self._urls[queue]


def _client(stack: Stack) -> "SQSClient":
    requests_url = stack.queues.get("requests", "")
    in_url = _REGION_IN_URL.match(requests_url)
    region = stack.region or (in_url[1] if in_url else None)
    # Whoever runs locally has no keys, and the emulator looks at none.
    key = "local" if stack.endpoint_url and is_loopback(stack.endpoint_url) else None
    return boto3.client(  # pyright: ignore[reportUnknownMemberType] - the stubs know some services only
        "sqs",
        endpoint_url=stack.endpoint_url,
        region_name=region,
        aws_access_key_id=key,
        aws_secret_access_key=key,
        config=_CONFIG,
    )


def _letter(queue: str, message: "MessageTypeDef") -> Letter:
    told = message.get("Attributes", {})
    reason = message.get("MessageAttributes", {}).get("reason")
    return Letter(
        queue=queue,
        message_id=message.get("MessageId", ""),
        sent_at=datetime.fromtimestamp(int(told.get("SentTimestamp", "0")) / 1000, tz=UTC),
        receives=int(told.get("ApproximateReceiveCount", "0")),
        reason=reason.get("StringValue") if reason else None,
        body=message.get("Body", ""),
    )


@contextmanager
def _told() -> Generator[None, None, None]:
    """What AWS or the way to it refuses, as a Failure with its remedy."""
    try:
        yield
    except NoCredentialsError:
        remedy = "Set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as for any AWS tool"
        raise Failure("There are no AWS credentials", remedy) from None
    except NoRegionError:
        raise Failure("The AWS region is not known", "Set AWS_REGION") from None
    except ClientError as error:
        told = error.response.get("Error", {})
        raise Failure(f"SQS refused: {told.get('Code', '')} {told.get('Message', '')}".rstrip()) from None
    except BotoCoreError as error:
        raise Failure(f"SQS can't be reached: {error}", "Is the platform running, and the address right?") from None
