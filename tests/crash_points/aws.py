"""AWS below its clients: DynamoDB by moto, SQS by queues that keep the test's time, both reached through a boundary."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import boto3
from botocore import UNSIGNED, endpoint
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError
from moto.core.botocore_stubber import MockRawResponse
from moto.core.models import botocore_stubber
from moto.core.request import normalize_request
from moto.core.responses import ActionContext, ActionResult
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.responses import DynamoHandler

from infra.specs import Table
from notify_core.adapters.dynamodb import CLIENT_CONFIG
from notify_core.adapters.memory import FixedClock
from notify_core.adapters.sqs import CLIENT_CONFIG as SQS_CONFIG
from notify_core.application.ports import QueueName
from notify_core.domain.limits import RECEIVES_MAX, STORE_TIMEOUT_SECONDS
from tests.conformance.backends import Dynamo, moto
from tests.crash_points.boundary import READ_SIDES, Boundary, Side

_READS = re.compile(r"Get|BatchGet|Query|Scan|TransactGet|Describe|List")
"""Whatever doesn't begin so is taken for a call with an effect."""
_OK = 200
DEAD_LETTERS = "-dead-letters"


def url_of(queue: QueueName) -> str:
    return f"https://sqs.us-east-1.amazonaws.com/1/{queue}"


def dead_letters_url_of(queue: QueueName) -> str:
    return url_of(queue) + DEAD_LETTERS


# ---------------------------------------------------------------- SQS


@dataclass(order=True)
class Held:
    """A message in a queue."""

    visible_at: datetime
    number: int
    body: str = field(compare=False)
    receives: int = field(compare=False, default=0)


class Sqs:
    """Standard queues by name, dead-letter queues included: delays, visibility, receive counts, redrive."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock = clock
        self.held: dict[str, list[Held]] = {
            name: [] for queue in QueueName for name in (queue.value, queue.value + DEAD_LETTERS)
        }
        self.told: Callable[[str, str], None] = lambda queue, body: None
        """Told of every message that comes."""
        self._numbers = count(1)

    # ports.Queues and World.queues: what a producer, or a provider, puts there itself

    def put(self, queue: str, body: str, *, delay_seconds: float = 0) -> None:
        at = self.clock.now() + timedelta(seconds=delay_seconds)
        self.held[str(queue)].append(Held(at, next(self._numbers), body))
        self.told(str(queue), body)

    def purge(self) -> None:
        for held in self.held.values():
            held.clear()

    def wear_out(self, queue: QueueName) -> None:
        """Let the messages of a queue have been received as often as they may."""
        for held in self.held[queue]:
            held.receives = RECEIVES_MAX

    # what Lambda does

    def receive(self, name: str, visibility_seconds: float, limit: int) -> list[Held]:
        """Visible messages, hidden from now on; what ran out of receives goes to the dead letters instead."""
        taken: list[Held] = []
        for held in sorted(self.held[name])[:limit]:
            if held.visible_at > self.clock.now():
                break
            if held.receives >= RECEIVES_MAX and not name.endswith(DEAD_LETTERS):
                self.held[name].remove(held)
                self.put(name + DEAD_LETTERS, held.body)
                continue
            held.receives += 1
            held.visible_at = self.clock.now() + timedelta(seconds=visibility_seconds)
            taken.append(held)
        return taken

    def delete(self, name: str, number: int) -> None:
        self.held[name] = [held for held in self.held[name] if held.number != number]

    def next_visible(self) -> datetime | None:
        return min((held.visible_at for all_held in self.held.values() for held in all_held), default=None)

    # what the product asks

    def answer(self, operation: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """SQS's answer to a call."""
        name = asked["QueueUrl"].rpartition("/")[2]
        match operation:
            case "SendMessageBatch":
                return {"Successful": [self._send(name, entry) for entry in asked["Entries"]], "Failed": []}
            case "SendMessage":
                return self._send(name, {"Id": "0", **asked})
            case "GetQueueAttributes":
                counts = dict.fromkeys(asked["AttributeNames"], "0")
                return {"Attributes": {**counts, "ApproximateNumberOfMessages": str(len(self.held[name]))}}
            case "ChangeMessageVisibility":
                for held in self.held[name]:
                    if str(held.number) == asked["ReceiptHandle"]:
                        held.visible_at = self.clock.now() + timedelta(seconds=asked["VisibilityTimeout"])
                return {}
            case _:
                raise AssertionError(f"the product asks SQS for {operation}, which has to be answered here too")

    def _send(self, name: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        self.put(name, entry["MessageBody"], delay_seconds=entry.get("DelaySeconds", 0))
        return {"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "0"}


# ---------------------------------------------------------------- DynamoDB


class DynamoDb:
    """moto's DynamoDB, which doesn't remember a transaction's token: here one that was committed isn't made again."""

    def __init__(self) -> None:
        self._committed: dict[str, AWSResponse] = {}

    def answer(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        token = json.loads(_text(request)).get("ClientRequestToken") if operation == "TransactWriteItems" else None
        if token in self._committed:
            return _response({})
        status, headers, body = DynamoHandler.dispatch(normalize_request(request))
        answer = AWSResponse(request.url, status, headers, MockRawResponse(body))
        if token is not None and status == _OK:
            self._committed[token] = answer
        return answer


# ---------------------------------------------------------------- the wire


@dataclass(slots=True)
class Aws:
    """What stands behind the clients of a process: replaced for every run."""

    boundary: Boundary
    sqs: Sqs
    dynamodb: DynamoDb = field(default_factory=DynamoDb)


class Wire:
    """Stands for a client's HTTP session."""

    def __init__(self, aws_of: Callable[[], Aws]) -> None:
        self._aws_of = aws_of

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Make one try of a call."""
        aws = self._aws_of()
        service, _, operation = _plain(request.headers["X-Amz-Target"]).partition(".")

        def effect() -> AWSResponse:
            if service == "AmazonSQS":
                return _response(aws.sqs.answer(operation, json.loads(_text(request))))
            return aws.dynamodb.answer(operation, request)

        def lose() -> AWSResponse:
            raise ReadTimeoutError(endpoint_url=request.url)

        sides = READ_SIDES if _READS.match(operation) else tuple(Side)
        return aws.boundary.call(
            f"{operation}{_place(request)}",
            sides,
            effect,
            lose,
            takes=timedelta(seconds=STORE_TIMEOUT_SECONDS),
            identity=request.headers["amz-sdk-invocation-id"],
        )

    def close(self) -> None:
        pass


def _text(request: AWSPreparedRequest) -> str:
    return _plain(request.body)


def _plain(text: Any) -> str:
    return text if isinstance(text, str) else str(text.decode())


def _place(request: AWSPreparedRequest) -> str:
    """Which table or queue a call is about."""
    asked = json.loads(_text(request))
    if "QueueUrl" in asked:
        return " " + str(asked["QueueUrl"]).rpartition("/")[2]
    tables = [asked["TableName"]] if "TableName" in asked else list(asked.get("RequestItems", ()))
    return " " + ",".join(table.partition("-")[0] for table in tables) if tables else ""


def _response(content: Mapping[str, Any]) -> AWSResponse:
    return AWSResponse("", _OK, {}, MockRawResponse(json.dumps(content)))  # type: ignore[arg-type]


# ---------------------------------------------------------------- one for a process


class Cloud:
    """The clients and tables of a process; a run has the tables for itself, empty."""

    def __init__(self, dynamo: Dynamo) -> None:
        self.dynamo = replace(dynamo, client=self._client("dynamodb", CLIENT_CONFIG))
        self.sqs_client = self._client("sqs", SQS_CONFIG)
        self._aws: Aws | None = None

    def _client(self, service: Any, config: Config) -> Any:
        """A client as the product has it, over our wire; its requests are the same unsigned, and sooner made."""
        session = boto3.Session("test", "test", region_name="us-east-1")
        client: Any = session.client(service, config=config)
        client.meta.events.register_first("choose-signer", lambda **_: UNSIGNED)
        client.meta.events.unregister("before-send", botocore_stubber)
        vars(client._endpoint)["http_session"] = Wire(self._behind)  # noqa: SLF001  (below all that a client does)
        return client

    def _behind(self) -> Aws:
        assert self._aws is not None
        return self._aws

    def empty(self, aws: Aws) -> None:
        """Begin a run."""
        self._aws = aws
        for table in Table:
            self.table(table).items.clear()

    def table(self, name: str) -> Any:
        """moto's own table."""
        backend: Any = dynamodb_backends["123456789012"]["us-east-1"]
        return backend.tables[getattr(self.dynamo.tables, name)]


def _plainly(result: ActionResult, context: ActionContext) -> Any:
    """An answer as moto writes it, without reading the service's model for every attribute."""
    if isinstance(result.result, Exception):
        return BY_MOTO(result, context)
    return _OK, {}, json.dumps(result.result)


BY_MOTO = ActionResult.execute_result


@contextmanager
def cloud() -> Iterator[Cloud]:
    """moto with tables, and clients that never wait between their tries."""
    with (
        moto() as dynamo,
        patch.object(endpoint, "time", SimpleNamespace(sleep=lambda _: None)),
        patch.object(ActionResult, "execute_result", _plainly),
    ):
        yield Cloud(dynamo)
