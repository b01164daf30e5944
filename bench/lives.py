"""Whole lives of requests, from the producer's message to the settling at the deadline, on the real functions.

The functions' own handlers run with their own adapters, on moto's tables and queues and on the provider simulator; the
meter stands at botocore. What Lambda does between a queue and a function is done here: batches of ten are received,
handed over and deleted.
"""

import io
import json
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from bench import scene
from bench.meter.meter import Call, Meter, Usage
from bench.meter.schema import metered_tables
from bench.scene import WORKSPACE
from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.server import SimulatorServer
from infra.local.simulator.settings import Settings
from infra.specs import FUNCTIONS
from notify_core.application.ports import NoticeKey
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DefinitionKey, RequestId, unfolded_notice_id
from notify_core.domain.limits import BATCH_MESSAGES
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request
from tests.functions import deployment as functions
from tests.functions.deployment import Deployment, failed

CONSUMERS: Final = {queue.value: spec.folder for spec in FUNCTIONS for queue in spec.consumes}
LOG_EVENT_BYTES: Final = 26
"""What CloudWatch adds to each line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One run of a function, with how many records it was handed."""

    function: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one part of a life asked of AWS."""

    calls: Sequence[Call]
    invocations: Sequence[Invocation]
    log_bytes: int

    @property
    def usage(self) -> Usage:
        """The sum of its calls."""
        return Usage.of(self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What requests cost from their publication to their settling, by stage."""

    recipients: int
    identity: RequestId
    stages: Mapping[str, Stage]
    row_bytes: Mapping[str, int]
    """What the life leaves stored, by table and index, the overhead of each item included."""

    @property
    def sent(self) -> int:
        """Messages that a provider was given."""
        return sum(item.records for item in self.invocations if item.function.startswith("deliver_"))

    @property
    def calls(self) -> list[Call]:
        """The calls of every stage."""
        return [call for stage in self.stages.values() for call in stage.calls]

    @property
    def usage(self) -> Usage:
        """The sum of all stages."""
        return Usage.of(self.calls)

    @property
    def invocations(self) -> list[Invocation]:
        """The runs of functions in every stage."""
        return [invocation for stage in self.stages.values() for invocation in stage.invocations]

    @property
    def log_bytes(self) -> int:
        """What the functions logged, as CloudWatch counts it."""
        return sum(stage.log_bytes for stage in self.stages.values())


@dataclass(slots=True, kw_only=True)
class Platform:
    """A deploy under the meter, with people to tell."""

    deployment: Deployment
    meter: Meter
    sqs: Any
    """The producer's and Lambda's own calls."""
    _number: int = 0
    _log: io.StringIO = field(default_factory=io.StringIO)

    def live(self, recipients: int, *channels: Channel, **fields: Any) -> Life:
        """Publish to so many people, let everything happen that is owed, and let the deadline pass."""
        definition = scene.define(self.deployment.stores, *channels, folds="fold_key" in fields)
        self.meter.take()
        stored = self.meter.stored_bytes()
        identity = self._publish(definition, recipients, **fields)
        stages = {"publish": self._stage([])}
        stages["accept"] = self._stage(self._pump("requests"))
        stages["deliver"] = self._stage([item for queue in ("chat", "text") for item in self._pump(queue)])
        if Channel.TEXT in channels:
            self._send_receipts(identity)
            stages["receipts"] = self._stage(self._pump("receipts"))
        looks = 0
        while (later := self._next_look(identity)) is not None:
            looks += 1
            stages[f"look {looks}"] = self._sweep(later)
        return Life(
            recipients=recipients,
            identity=identity,
            stages=stages,
            row_bytes=self.meter.stored_bytes() - stored,
        )

    def request(self, identity: RequestId) -> Request:
        """A request's row."""
        found: Request | None = self.deployment.stores.requests.get(WORKSPACE, identity)
        assert found is not None, f"{identity} has no row"
        self.meter.take()
        return found

    def _publish(self, definition: DefinitionKey, people: int, **fields: Any) -> RequestId:
        self._number += 1
        self.sqs.send_message(
            QueueUrl=self.deployment.url("requests"),
            MessageBody=json.dumps(scene.publication(definition, people, self._number, **fields)),
            MessageGroupId=WORKSPACE,
        )
        return scene.id_of(definition, self._number)

    def notices(self, identity: RequestId) -> Sequence[Notice]:
        """The stored notices of an unfolded request."""
        notice = unfolded_notice_id(identity)
        keys = [
            NoticeKey(workspace_id=WORKSPACE, recipient=entry.recipient, notice_id=notice)
            for entry in self.request(identity).manifest
        ]
        found = self.deployment.stores.notices.get_many(keys)
        self.meter.take()
        return list(found.values())

    def _send_receipts(self, identity: RequestId) -> None:
        """What the SMS service says of each text, an event a message."""
        for notice in self.notices(identity):
            claim = next(item.claim_id for item in notice.deliveries if item.channel is Channel.TEXT)
            body = json.dumps(scene.receipt(notice.recipient, notice.notice_id, str(claim)))
            self.sqs.send_message(QueueUrl=self.deployment.url("receipts"), MessageBody=body)

    # ---------------------------------------------------------------- what Lambda does

    def _pump(self, queue: str, later: timedelta = timedelta(0)) -> Iterator[Invocation]:
        """Hand over whatever lies in a queue to its consumer, ten messages an invocation, one warm process for all."""
        url, folder = self.deployment.url(queue), CONSUMERS[queue]
        with redirect_stdout(self._log), self.deployment.process(folder, later=later) as call:
            while messages := self._receive(url):
                event = self.deployment.event(queue, *(json.loads(message["Body"]) for message in messages))
                answer = call(event, f"invocation-{self._number}-{messages[0]['MessageId']}")
                assert failed(answer) == []
                self.sqs.delete_message_batch(
                    QueueUrl=url,
                    Entries=[
                        {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                        for number, message in enumerate(messages)
                    ],
                )
                yield Invocation(function=folder, records=len(messages))

    def _receive(self, url: str) -> list[Any]:
        """The next batch; a poll that finds nothing isn't the delivery's, and is counted by what never rests."""
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=BATCH_MESSAGES)
        messages: list[Any] = found.get("Messages", [])
        if not messages:
            self.meter.calls.pop()
        return messages

    def _sweep(self, later: timedelta) -> Stage:
        """One minute's sweep, and what it has reconciled; what it reads whether or not anything is due is left out."""
        with redirect_stdout(self._log):
            self.deployment.invoke("sweep_due", later=later)
        sent = [call for call in self.meter.take() if call.operation == "SendMessageBatch"]
        self._log = io.StringIO()
        stage = self._stage(self._pump("reconcile", later))
        return Stage(calls=[*sent, *stage.calls], invocations=stage.invocations, log_bytes=stage.log_bytes)

    def _stage(self, invocations: Iterator[Invocation] | Sequence[Invocation]) -> Stage:
        made = list(invocations)
        lines = self._log.getvalue().splitlines()
        self._log = io.StringIO()
        return Stage(
            calls=self.meter.take(),
            invocations=made,
            log_bytes=sum(len(line.encode()) + LOG_EVENT_BYTES for line in lines),
        )

    def _next_look(self, identity: RequestId) -> timedelta | None:
        """How much later than now the request is due; None once it isn't."""
        due_at = self.request(identity).due_at
        return None if due_at is None else due_at - datetime.now(tz=UTC) + timedelta(seconds=1)


@contextmanager
def metered_platform(people: int = 200) -> Generator[Platform]:
    """A deploy of its own with a workspace of so many people."""
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patched,
        _simulator(Path(folder)) as simulator,
    ):
        attach: list[Callable[[Any], None]] = []
        make_session = vars(functions)["_session"]  # where every process of a deploy gets its clients

        def metered_session() -> Any:  # noqa: ANN401  (botocore's)
            session = make_session()
            for item in attach:
                item(session)
            return session

        patched.setattr(functions, "_session", metered_session)
        with functions.deployed(simulator, patched) as deployment:
            meter = Meter(metered_tables(deployment.dynamo.tables))
            attach.append(meter.attach)
            meter.attach(deployment.dynamo.client.meta.events)
            scene.register(deployment.stores, people)
            meter.take()
            yield Platform(deployment=deployment, meter=meter, sqs=metered_session().create_client("sqs"))


@contextmanager
def _simulator(folder: Path) -> Generator[SimulatorClient]:
    server = SimulatorServer(port=0, state_dir=folder, settings=Settings(), verbose=False)
    server.start()
    try:
        yield SimulatorClient(server.url)
    finally:
        server.stop()
