"""A running local stack, as the tests talk to it."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import boto3
from botocore.config import Config

from infra.local import web
from infra.local.web import Answer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

T = TypeVar("T")

POLL_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 1.0
"""How long the queues must stay empty: between two of them a message is in none."""
SIGNS_OF_TROUBLE: Final = (
    "Traceback (most recent call last)",
    "Task timed out after",
    "Worker process died",
    '"level":"ERROR"',
    '"level":"CRITICAL"',
    '"level": "ERROR"',
    '"level": "CRITICAL"',
    "[ERROR]",
    '"message":"records_failed"',
)
"""What a function's log holds when something went wrong in it."""
SIGNS_IN_EMULATOR: Final = ("failed processing SQS batch", "Worker init failed", " timed out after ", " ERROR [")
"""What the emulator's own log holds when a function could not even run."""
IN_QUEUE: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@dataclass(frozen=True, slots=True)
class Simulator:
    """The providers: what they sent, and how they fail."""

    url: str

    def messages(self, **only: str) -> list[Mapping[str, Any]]:
        """What really reached somebody; `only` names a channel, to or delivery_id."""
        query = "&".join(f"{name}={value.replace('+', '%2B')}" for name, value in only.items())
        found: list[Mapping[str, Any]] = web.get(f"{self.url}/_simulator/messages?{query}")
        return found

    def add_fault(self, channel: str, fault: str, **details: object) -> None:
        """Makes the next sends of a channel fail."""
        web.post(f"{self.url}/_simulator/faults", {"channel": channel, "fault": fault, **details})

    def send_receipt(self, delivery_id: str, event: str, **details: object) -> None:
        """Sends a text's receipt to the receipts queue."""
        web.post(f"{self.url}/_simulator/receipts", {"delivery_id": delivery_id, "event": event, **details})

    def token(self, *, sub: str, scope: str, workspace_id: str | None = None, seconds: int = 3600) -> str:
        """A token of our issuer."""
        wanted = {"sub": sub, "scope": scope, "workspace_id": workspace_id, "seconds": seconds}
        token: str = web.post(f"{self.url}/_simulator/tokens", wanted)["token"]
        return token

    def reset(self) -> None:
        """Forgets messages and faults."""
        web.post(f"{self.url}/_simulator/reset", {})


class FunctionError(AssertionError):
    """An invoked function raised."""


class Stack:
    """The running stack that a `stack.json` describes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.described: Mapping[str, Any] = json.loads(file.read_text())
        self.queues: Mapping[str, str] = self.described["queues"]
        self.tables: Mapping[str, str] = self.described["tables"]
        self.functions: Mapping[str, str] = self.described["functions"]
        self.simulator = Simulator(self.described["simulator_url"])
        self._expected: list[str] = []
        self._watched_from_ms = 0
        self._watched_from_line = 0

    # ---------------------------------------------------------------- AWS

    @cached_property
    def sqs(self) -> "SQSClient":
        """SQS."""
        return self._client("sqs")

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """DynamoDB."""
        return self._client("dynamodb")

    @cached_property
    def lambda_(self) -> "LambdaClient":
        """Lambda."""
        return self._client("lambda")

    @cached_property
    def _logs(self) -> Any:
        return self._client("logs")

    def _client(self, service: str) -> Any:
        return boto3.client(  # type: ignore[call-overload] - the name is a variable
            service,
            endpoint_url=self.described["endpoint_url"],
            region_name=self.described["region"],
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(max_pool_connections=32, read_timeout=90, retries={"total_max_attempts": 1}),
        )

    # ---------------------------------------------------------------- acting

    def send(self, queue: str, body: object, *, group: str = "tests") -> None:
        """Puts a message onto a queue: JSON, or a text as it is."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.sqs.send_message(QueueUrl=self.queues[queue], MessageBody=text, MessageGroupId=group)

    def send_all(self, queue: str, bodies: Sequence[object], *, group: str = "tests") -> None:
        """Puts many messages onto a queue, ten a call."""
        for start in range(0, len(bodies), 10):
            entries: list[SendMessageBatchRequestEntryTypeDef] = [
                {"Id": str(number), "MessageBody": json.dumps(body), "MessageGroupId": group}
                for number, body in enumerate(bodies[start : start + 10])
            ]
            answer = self.sqs.send_message_batch(QueueUrl=self.queues[queue], Entries=entries)
            assert not answer.get("Failed")

    def invoke(self, folder: str, event: object = None) -> Any:
        """Runs a function now, and gives what it returns."""
        payload = json.dumps({} if event is None else event).encode()
        answer = self.lambda_.invoke(FunctionName=self.functions[folder], Payload=payload)
        returned = json.loads(answer["Payload"].read() or "null")
        if "FunctionError" in answer:
            raise FunctionError(f"{folder}: {returned}")
        return returned

    def call(
        self, method: str, path: str, body: object = None, *, token: str | None = None, authorized: bool = True
    ) -> Answer:
        """Calls the HTTP API, as the operator unless a token says who else."""
        bearer = token or self.described["operator_token"]
        headers = {"Authorization": f"Bearer {bearer}"} if authorized else {}
        return web.request(method, self.described["api_url"] + path, body, headers)

    @contextmanager
    def paused(self, *folders: str) -> Iterator[None]:
        """Nothing reads these functions' queues meanwhile."""
        names = [self.functions[folder] for folder in folders]
        found = [self.lambda_.list_event_source_mappings(FunctionName=name)["EventSourceMappings"] for name in names]
        sources = [source["UUID"] for mappings in found for source in mappings]
        try:
            for source in sources:
                self.lambda_.update_event_source_mapping(UUID=source, Enabled=False)
            yield
        finally:
            for source in sources:
                self.lambda_.update_event_source_mapping(UUID=source, Enabled=True)

    @contextmanager
    def scheduled(self) -> Iterator[None]:
        """The sweeps run by themselves meanwhile, when their schedules say; the first of them within seconds."""
        try:
            self._set_schedules("ENABLED")
            yield
        finally:
            self._set_schedules("DISABLED")

    def _set_schedules(self, state: str) -> None:
        scheduler = self._client("scheduler")
        taken = ("GroupName", "Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
        for listed in scheduler.list_schedules()["Schedules"]:
            schedule = scheduler.get_schedule(GroupName=listed["GroupName"], Name=listed["Name"])
            scheduler.update_schedule(State=state, **{name: schedule[name] for name in taken})

    def purge(self) -> None:
        """Empties every queue, dead letters included."""
        for queue, url in self.queues.items():
            self.sqs.purge_queue(QueueUrl=url)
            self.sqs.purge_queue(QueueUrl=self.dead_letters_url(queue))

    # ---------------------------------------------------------------- waiting

    def wait_until(
        self, find: Callable[[], T], *, timeout_seconds: float = 30, poll_seconds: float = POLL_SECONDS
    ) -> T:
        """Asks again until the answer is true, and gives it."""
        deadline = time.monotonic() + timeout_seconds
        while not (found := find()):
            if time.monotonic() > deadline:
                raise AssertionError(f"still {found!r} after {timeout_seconds} s")
            time.sleep(poll_seconds)
        return found

    def wait_until_quiet(self, *, timeout_seconds: float = 60) -> None:
        """Waits until no queue holds a message, and none came for a second."""
        quiet_since = time.monotonic()
        deadline = quiet_since + timeout_seconds
        while time.monotonic() - quiet_since < QUIET_SECONDS:
            if busy := {name: count for name in self.queues if (count := self.depth(name))}:
                quiet_since = time.monotonic()
                if quiet_since > deadline:
                    raise AssertionError(f"still {busy} after {timeout_seconds} s")
            time.sleep(POLL_SECONDS)

    def depth(self, queue: str) -> int:
        """How many messages a queue holds, hidden and delayed ones included."""
        return self._depth_of(self.queues[queue])

    def dead_letters(self, queue: str) -> int:
        """How many messages the queue's dead-letter queue holds."""
        return self._depth_of(self.dead_letters_url(queue))

    def dead_letters_url(self, queue: str) -> str:
        """The URL of a queue's dead-letter queue."""
        asked = self.sqs.get_queue_attributes(QueueUrl=self.queues[queue], AttributeNames=["RedrivePolicy"])
        arn = json.loads(asked["Attributes"]["RedrivePolicy"])["deadLetterTargetArn"]
        return self.sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]

    def _depth_of(self, url: str) -> int:
        counts = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=IN_QUEUE)["Attributes"]
        return sum(int(count) for count in counts.values())

    # ---------------------------------------------------------------- watching

    def log(self, folder: str, *, since_ms: int = 0) -> Iterator[str]:
        """The lines that a function has logged."""
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=f"/notify/{folder}", startTime=since_ms
        )
        return (event["message"] for page in pages for event in page["events"])

    def expect_trouble(self, text: str) -> None:
        """Lets a function log what holds `text`, in the test that says so."""
        self._expected.append(text)

    def watch(self) -> None:
        """Forgets what was logged so far."""
        self._expected.clear()
        self._watched_from_ms = time.time_ns() // 1_000_000
        self._watched_from_line = len(self._emulator_lines())

    def trouble(self) -> list[str]:
        """What went wrong in any function since `watch`, and was not expected."""
        logged = [
            f"{folder}: {line}"
            for folder in self.functions
            for line in self.log(folder, since_ms=self._watched_from_ms)
            if _shows(line, SIGNS_OF_TROUBLE)
        ]
        emulated = self._emulator_lines()[self._watched_from_line :]
        logged += [line for line in emulated if _shows(line, SIGNS_IN_EMULATOR)]
        return [line for line in logged if not _shows(line, self._expected)]

    def _emulator_lines(self) -> list[str]:
        return (self.file.parent / "emulator.log").read_text(errors="replace").splitlines()


def _shows(line: str, signs: Sequence[str]) -> bool:
    return any(sign in line for sign in signs)
