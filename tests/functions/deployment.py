"""The functions as Lambda runs them: their own handlers, variables and adapters, on moto and the provider simulator."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.loaders import create_loader
from botocore.session import Session
from moto.sqs.models import sqs_backends

from infra.local.simulator.client import SimulatorClient
from infra.specs import FUNCTIONS, INDEXES, FunctionSpec, Queue
from notify_core import wiring
from notify_core.adapters.dynamodb import TableNames
from tests.architecture.repository import ROOT
from tests.conformance.backends import Dynamo, Stores, moto
from tests.conformance.tables import TABLES

SECRETS = {
    "notify/slack/default": "xoxb-acme-1",
    "notify/slack/hq": "xoxb-hq-1",
    "notify/cursor": "a secret of the tests",
}
HQ_CHANNEL = "C0HQ"
Answer = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What Lambda tells a handler of its invocation."""

    aws_request_id: str
    ends_at: float

    def get_remaining_time_in_millis(self) -> int:
        return int((self.ends_at - time.monotonic()) * 1000)


@dataclass(frozen=True, slots=True)
class LateClock:
    """The machine's clock, moved on."""

    by: timedelta

    def now(self) -> datetime:
        return datetime.now(tz=UTC) + self.by


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """The tables and queues of one deploy, and its functions."""

    dynamo: Dynamo
    sqs: Any
    secrets: Any
    simulator: SimulatorClient
    monkeypatch: pytest.MonkeyPatch

    @property
    def stores(self) -> Stores:
        return self.dynamo.stores()

    # ---------------------------------------------------------------- functions

    def invoke(self, folder: str, event: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """Call a function in a process of its own; `how` is as for `process`."""
        with self.process(folder, **how) as call:
            return call(event or {}, str(uuid4()))

    @contextmanager
    def process(
        self, folder: str, *, seconds: float | None = None, later: timedelta = timedelta(0)
    ) -> Iterator[Callable[[Mapping[str, Any], str], Any]]:
        """A process that has just started, with the variables that the stack gives this function, as its caller.

        `seconds` is how long an invocation has, where that isn't its own time; `later` is how much later it is.
        """
        spec = next(spec for spec in FUNCTIONS if spec.folder == folder)
        cpus = os.sched_getaffinity(0)
        with self.monkeypatch.context() as patched:
            for name, value in self._variables(spec).items():
                patched.setenv(name, value)
            patched.setattr(wiring, "SystemClock", lambda: LateClock(later))
            patched.setattr(wiring, "_session", lru_cache(_session))
            _forget_everything()
            handler = _load(folder).handler

            def call(event: Mapping[str, Any], invocation: str) -> Any:
                ends_at = time.monotonic() + (spec.timeout_seconds if seconds is None else seconds)
                return handler(event, Context(aws_request_id=invocation, ends_at=ends_at))

            try:
                yield call
            finally:
                wiring.gather().close()
                os.sched_setaffinity(0, cpus)
                _forget_everything()

    def _variables(self, spec: FunctionSpec) -> dict[str, str]:
        tables = {*spec.tables, *(INDEXES[index] for index in spec.indexes)}
        variables = {f"NOTIFY_{table.upper()}_TABLE": getattr(self.dynamo.tables, table) for table in tables}
        for queue in {*spec.consumes, *spec.sends, *spec.measures}:
            variables[f"NOTIFY_{queue.upper()}_QUEUE_URL"] = self.url(queue)
        for queue in {*spec.consumes_dead_letters, *spec.sends_dead_letters}:
            variables[f"NOTIFY_{queue.upper()}_DEAD_LETTER_QUEUE_URL"] = self.url(queue, is_dead=True)
        return {
            **variables,
            "AWS_LAMBDA_FUNCTION_NAME": spec.folder,
            "NOTIFY_HQ_CHANNEL": HQ_CHANNEL,
            "NOTIFY_SLACK_BASE_URL": self.simulator.slack_url,
            "AWS_ENDPOINT_URL_PINPOINT_SMS_VOICE_V2": self.simulator.sms_url,
        }

    # ---------------------------------------------------------------- queues

    def url(self, queue: str, *, is_dead: bool = False) -> str:
        return self.sqs.get_queue_url(QueueName=_queue_name(queue, is_dead=is_dead))["QueueUrl"]

    def event(self, queue: str, *bodies: object, receives: int = 1, is_dead: bool = False) -> dict[str, Any]:
        """The event of a batch of messages, `m0` first; a body that isn't text is sent as JSON."""
        arn = f"arn:aws:sqs:us-east-1:123456789012:{_queue_name(queue, is_dead=is_dead)}"
        return {"Records": [_record(number, body, arn, receives) for number, body in enumerate(bodies)]}

    def take(self, queue: str, *, is_dead: bool = False) -> list[Any]:
        """The visible messages of a queue, which leave it."""
        url, found = self.url(queue, is_dead=is_dead), list[Any]()
        while received := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in received:
                found.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def delays(self, queue: str) -> list[float]:
        """The seconds by which the messages in a queue were delayed when they were sent, the shortest first."""
        messages = sqs_backends["123456789012"]["us-east-1"].queues[_queue_name(queue, is_dead=False)]._messages  # noqa: SLF001
        return sorted((message.delayed_until - message.sent_timestamp) / 1000 for message in messages)


_MODELS = create_loader()
"""AWS's descriptions of its services, which take long to read and never change."""


def _session() -> Session:
    session = Session()
    session.register_component("data_loader", _MODELS)
    return session


def failed(answer: Answer) -> list[str]:
    """Which messages come again, by a partial batch answer in Lambda's own form."""
    assert set(answer) == {"batchItemFailures"}
    assert all(set(item) == {"itemIdentifier"} for item in answer["batchItemFailures"])
    return [item["itemIdentifier"] for item in answer["batchItemFailures"]]


def _queue_name(queue: str, *, is_dead: bool) -> str:
    return f"notify-{queue}-dead-letters" if is_dead else f"notify-{queue}"


def _record(number: int, body: object, arn: str, receives: int) -> dict[str, Any]:
    return {
        "messageId": f"m{number}",
        "receiptHandle": f"handle-{number}",
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {"ApproximateReceiveCount": str(receives)},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }


def _load(folder: str) -> Any:
    spec = spec_from_file_location(f"{folder}_handler", ROOT / "functions" / folder / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _forget_everything() -> None:
    for value in vars(wiring).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    for spec in FUNCTIONS:  # Powertools keeps a logger by name, with the stream that it began with
        logging.getLogger(spec.folder).handlers.clear()
        logging.Logger.manager.loggerDict.pop(spec.folder, None)


@contextmanager
def deployed(simulator: SimulatorClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """A deploy of its own: four empty tables, twelve empty queues, the secrets."""
    with moto() as dynamo:
        assert set(TABLES) == set(TableNames.__dataclass_fields__)
        session = boto3.Session("test", "test", region_name="us-east-1", botocore_session=_session())
        sqs = session.client("sqs")
        for queue in Queue:
            for is_dead in (False, True):
                sqs.create_queue(QueueName=_queue_name(queue, is_dead=is_dead))
        secrets = session.client("secretsmanager")
        for name, value in SECRETS.items():
            secrets.create_secret(Name=name, SecretString=value)
        yield Deployment(dynamo=dynamo, sqs=sqs, secrets=secrets, simulator=simulator, monkeypatch=monkeypatch)
