"""The platform on the real stores, with one call that may go wrong: functions, schedules, providers and time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from notify_core.adapters import batch
from notify_core.adapters.batch import Record
from notify_core.adapters.counting import counting_notices, counting_requests
from notify_core.adapters.dynamodb import connect
from notify_core.adapters.memory import MemoryTelemetry, SequentialClaimIds
from notify_core.adapters.memory.world import gather
from notify_core.adapters.sms import CONTEXT_KEYS, parse_receipt
from notify_core.adapters.sqs import SqsInbox, SqsQueues
from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.ports import EvidenceQuery, Outgoing, Ports, QueueName
from notify_core.application.process_message import Received, process_message
from notify_core.application.reconcile import reconcile
from notify_core.application.record_dead_message import (
    record_dead_receipt,
    record_dead_request_message,
    record_dead_task_message,
)
from notify_core.application.record_receipt import record_receipt
from notify_core.application.sweep_due import sweep_due, sweep_nightly
from notify_core.application.tasks import parse_task
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import RequestId
from notify_core.domain.limits import (
    API_TIMEOUT_SECONDS,
    BATCH_MESSAGES,
    DEAD_LETTERS_TIMEOUT_SECONDS,
    DELIVER_TIMEOUT_SECONDS,
    PROCESS_TIMEOUT_SECONDS,
    PROVIDER_TIMEOUT_SECONDS,
    RECEIPT_TIMEOUT_SECONDS,
    RECEIPTS_TIMEOUT_SECONDS,
    RECONCILE_TIMEOUT_SECONDS,
    SWEEP_TIMEOUT_SECONDS,
)
from notify_core.domain.notice import Notice
from notify_core.domain.receipt import FAILURES, ReceiptOutcome
from notify_core.domain.request import Withdrawal
from notify_core.domain.send_result import Evidence, SendResult, Unknown, Untold
from notify_core.messages.publications import parse_message
from tests.application.steps import Died
from tests.application.world import ACME, OVERDUE, Provider, World
from tests.crash_points.aws import DEAD_LETTERS, Aws, Cloud, Sqs, dead_letters_url_of, url_of
from tests.crash_points.boundary import READ_SIDES, SEND_SIDES, Boundary, Choose, nothing
from tests.crash_points.judges import Judges
from tests.crash_points.mirror import Mirror
from tests.simulation.checkers import state_of

T = TypeVar("T")
_VISIBILITY_TIMEOUTS = 6
"""Function timeouts that a received message stays hidden for; infra sets the same."""
_ENDED = timedelta(seconds=RECEIPT_TIMEOUT_SECONDS, days=1)
"""After a request's deadline: nothing waits for longer."""
_CALLS_AGAIN_SECONDS = 5
_NEVER = datetime.max.replace(tzinfo=UTC)


def backwards(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """ports.Gather, the last task first."""
    return gather(tasks[::-1])[::-1]


# ---------------------------------------------------------------- providers


class Line:
    """A provider at the end of a line that may break: ports.Sender and EvidenceSource."""

    def __init__(self, world: "CrashWorld", channel: Channel, provider: Provider) -> None:
        self._world, self._channel, self._provider = world, channel, provider

    def send(self, outgoing: Outgoing) -> SendResult:
        return self._world.boundary.call(
            f"send {self._channel}",
            SEND_SIDES,
            partial(self._send, outgoing),
            lambda: Unknown(reason="timeout"),
            takes=timedelta(seconds=PROVIDER_TIMEOUT_SECONDS),
        )

    def _send(self, outgoing: Outgoing) -> SendResult:
        judges = self._world.judges
        judges.posted(outgoing)
        before = len(self._provider.reached)
        result = self._provider.send(outgoing)
        if len(self._provider.reached) > before:
            judges.reached(outgoing)
            if self._channel is Channel.TEXT:
                self._world.expect_receipt(outgoing, f"p-{self._provider.calls}")
        judges.answered(outgoing, result)
        return result

    def look_up(self, query: EvidenceQuery) -> Evidence:
        return self._world.boundary.call(
            f"evidence {self._channel}",
            READ_SIDES,
            partial(self._look_up, query),
            lambda: Untold(reason="timeout"),
            takes=timedelta(seconds=PROVIDER_TIMEOUT_SECONDS),
        )

    def _look_up(self, query: EvidenceQuery) -> Evidence:
        evidence = self._provider.look_up(query)
        self._world.judges.evidence_shown(query, evidence)
        return evidence


# ---------------------------------------------------------------- the platform


@dataclass(frozen=True, slots=True)
class _Consumer:
    """A function that reads a queue."""

    seconds: int
    handle: Callable[[Mapping[str, Any], datetime], batch.BatchResponse]


class CrashWorld(World):
    """A platform whose functions run one after the other; once begun, its calls are numbered and one may go wrong.

    What `tests.application.world.World` says of producers, registrars and readers holds here, on the real stores.
    """

    def __init__(
        self, cloud: Cloud, choose: Choose = nothing, *, is_backwards: bool = False, calls_again: bool = True
    ) -> None:
        super().__init__()
        self.history: list[str] = []
        self.sqs = Sqs(self.clock)
        self.queues = self.sqs  # type: ignore[assignment]
        self.boundary = Boundary(self.clock, choose, self.tell)
        self.schedules_on = True
        self.receipts: list[str | None] = []
        """What becomes of each text that goes out: an event type, or None for no receipt; delivered by default."""
        self.receipt_seconds = 5.0
        self._calls_again = calls_again
        self._cloud = cloud
        self._gather = backwards if is_backwards else gather
        self._telemetry = MemoryTelemetry()
        self._claims = SequentialClaimIds()
        self._hook: tuple[Callable[[], bool], Callable[[], object]] | None = None
        self._swept_at = self.clock.now()
        self._published: set[str] = set()
        self._named: dict[str, RequestId] = {}
        cloud.empty(Aws(self.boundary, self.sqs))
        self.start_process()
        self.plain = self.ports
        self.judges = Judges(self.clock.now)
        self.mirror = Mirror(cloud, self.ports, self.boundary, self.judges)
        self.boundary.after_effect = self._look
        self.sqs.told = self._sent
        self._consumers = self._functions()
        self.register_workspace()

    def start_process(self) -> None:
        """What a new process has: stores that remember nothing."""
        stores = connect(self._cloud.dynamo.tables, self._cloud.dynamo.client)
        chat, text, system = (
            Line(self, Channel.CHAT, self.chat),
            Line(self, Channel.TEXT, self.text),
            Line(self, Channel.SLACK_SYSTEM, self.system),
        )
        self.ports = Ports(
            registry=stores.registry,
            directory=stores.directory,
            requests=counting_requests(stores.requests, self._telemetry),
            notices=counting_notices(stores.notices, self._telemetry),
            queues=SqsQueues(self._cloud.sqs_client, url_of, self._gather, sleep=lambda _: None),
            clock=self.clock,
            gather=self._gather,
            telemetry=self._telemetry,
            new_claim_id=self._claims,
            senders={Channel.CHAT: chat, Channel.TEXT: text, Channel.SLACK_SYSTEM: system},
            evidence={Channel.CHAT: chat, Channel.SLACK_SYSTEM: system},
            hq_channel="C-HQ",
        )
        self._inbox = SqsInbox(self._cloud.sqs_client, url_of, dead_letters_url_of)

    def tell(self, line: str) -> None:
        """Add a line to the readable history."""
        self.history.append(f"{self.clock.now():%m-%d %H:%M:%S.%f} {line}")

    # ---------------------------------------------------------------- what a scenario does

    def publish(self, request_key: str = "k1", *people: str, **changes: Any) -> RequestId:
        """Put a publication onto the queue; its content names its key."""
        changes.setdefault("data", {"number": f"[{request_key}]"})
        super().publish(request_key, *people, **changes)
        return self.name(request_key, changes.get("definition", OVERDUE))

    def name(self, request_key: str, definition: str = OVERDUE) -> RequestId:
        """Have a request's end looked at, whoever publishes it."""
        return self._named.setdefault(request_key, self.id_of(request_key, definition))

    def withdrawal(self, request_key: str) -> Withdrawal:
        """A withdrawal as the API has it."""
        return Withdrawal(
            workspace_id=ACME, definition=OVERDUE, request_key=request_key, withdrawn_at=self.clock.now(), reason="paid"
        )

    def call(self, name: str, act: Callable[[], object]) -> None:
        """Call the API; who hears no answer calls again, or leaves it at that."""
        outcome = self._invoke(name, API_TIMEOUT_SECONDS, lambda _: act())
        if isinstance(outcome, (Died, Exception)) and self._calls_again:
            self.run(seconds=_CALLS_AGAIN_SECONDS)
            self._invoke(name, API_TIMEOUT_SECONDS, lambda _: act())

    def when(self, condition: Callable[[Notice], bool], act: Callable[[], object]) -> None:
        """Do something as soon as a stored notice is so, before its writer hears of its write."""
        self._hook = (lambda: any(condition(notice) for notice in self.judges.notices.values()), act)

    def purge(self) -> None:
        """Lose every message there is; a publication among them was never received, as far as anybody knows."""
        for held in self.sqs.held[QueueName.REQUESTS]:
            self._published.discard(json.loads(held.body).get("request_key"))
        self.sqs.purge()

    def run_now(self, queue: str) -> None:
        """Let one queue's function handle what is visible."""
        while self._poll(queue):
            pass

    def run(self, **duration: float) -> None:
        """Let time pass, and whatever happens in it."""
        end = self.clock.now() + timedelta(**duration)
        while True:
            if any(self._poll(queue) for queue in self._consumers):
                continue
            at, act = self._next()
            if at > end:
                self.clock.at = max(self.clock.now(), end)
                return
            self.clock.at = max(self.clock.now(), at)
            act()

    def drain(self) -> None:
        """Let pass all the time that anything may take; then audit what there is."""
        self.schedules_on = True
        times = [request.expires_at for request in self.judges.requests.values() if request.expires_at is not None]
        end = max([self.clock.now(), *times]) + _ENDED
        self.run(seconds=(end - self.clock.now()).total_seconds())

    def sweep_nightly(self) -> None:
        """Run the night's schedule."""
        self._invoke("sweep_nightly", SWEEP_TIMEOUT_SECONDS, lambda _: sweep_nightly(self.ports))

    def judge(self) -> None:
        """Look at everything as it is at the end, and let the audit look too."""
        audit = self.audit()
        self.judges.check(not audit.differences, f"the audit finds {audit.differences}")
        self.mirror.follow()
        self.judges.ended()
        self.judges.published(self._published)
        self.mirror.check_unread()
        left = {name: len(held) for name, held in self.sqs.held.items() if held}
        self.judges.check(not left, f"messages are left: {left}")
        told = [event for event, _ in self._telemetry.alarms if event.startswith("audit_difference")]
        self.judges.check(not told, "an audit found differences")

    def ends(self) -> dict[str, str]:
        """What became of each publication, notice and delivery; what an inbox shows is always delivered."""
        found: dict[str, str] = {}
        for key, identity in self._named.items():
            request = self.judges.requests.get(identity)
            found[key] = "absent" if request is None else request.state.value
        keys = {identity: key for key, identity in self._named.items()}
        for notice in self.judges.notices.values():
            name = f"{'+'.join(keys[item.request_id] for item in notice.contributors)} {notice.recipient}"
            found[name] = notice.status.value
            for item in notice.deliveries:
                if item.channel is not Channel.CONSOLE:
                    found[f"{name} {item.channel}"] = state_of(item)
        return found

    # ---------------------------------------------------------------- time

    def _next(self) -> tuple[datetime, Callable[[], object]]:
        """The next thing that happens by itself."""
        found: list[tuple[datetime, Callable[[], object]]] = []
        visible = self.sqs.next_visible()
        if visible is not None:
            found.append((visible, lambda: None))
        due = min((row.due_at for row in self.judges.requests.values() if row.due_at is not None), default=None)
        if due is not None and self.schedules_on:
            minutes = max(1, -int(-(due - self._swept_at).total_seconds() // 60))
            found.append((self._swept_at + timedelta(minutes=minutes), self._sweep))
        return min(found, key=lambda item: item[0], default=(_NEVER, lambda: None))

    def _sweep(self) -> None:
        """The minute's sweep; one that would find nothing is spared."""
        passed = int((self.clock.now() - self._swept_at).total_seconds() // 60)
        self._swept_at += timedelta(minutes=passed)
        self._invoke("sweep_due", SWEEP_TIMEOUT_SECONDS, lambda until: sweep_due(self.ports, until=until))

    # ---------------------------------------------------------------- functions

    def _invoke(self, name: str, seconds: int, act: Callable[[datetime], T]) -> T | Died | Exception:
        """Run a function: its value, or how it ended without one."""
        with self.boundary.running(name) as invocation:
            try:
                return act(self.clock.now() + timedelta(seconds=seconds))
            except Died as death:
                self.start_process()
                return death
            except Exception as failure:  # noqa: BLE001  (Lambda's own answer to it)
                assert not invocation.is_dead, "a dead process went on"
                self.tell(f"{name:10} failed: {failure!r}")
                return failure

    def _functions(self) -> Mapping[str, _Consumer]:
        deliver = _Consumer(DELIVER_TIMEOUT_SECONDS, self._deliver)
        consumers = {
            QueueName.REQUESTS.value: _Consumer(PROCESS_TIMEOUT_SECONDS, self._each(self._process)),
            QueueName.CHAT.value: deliver,
            QueueName.TEXT.value: deliver,
            QueueName.SYSTEM.value: deliver,
            QueueName.RECEIPTS.value: _Consumer(RECEIPTS_TIMEOUT_SECONDS, self._each(self._record_receipt)),
            QueueName.RECONCILE.value: _Consumer(RECONCILE_TIMEOUT_SECONDS, self._each(self._reconcile)),
        }
        bury = _Consumer(DEAD_LETTERS_TIMEOUT_SECONDS, self._each(self._bury))
        return {**consumers, **{queue + DEAD_LETTERS: bury for queue in consumers}}

    def _poll(self, name: str) -> bool:
        """Have a queue's function handle a batch, as Lambda does; False when nothing is visible."""
        consumer = self._consumers[name]
        taken = self.sqs.receive(name, _VISIBILITY_TIMEOUTS * consumer.seconds, BATCH_MESSAGES)
        if not taken:
            return False
        event = {"Records": [_record(name, held.number, held.body, held.receives) for held in taken]}
        answer = self._invoke(name, consumer.seconds, partial(consumer.handle, event))
        if isinstance(answer, (Died, Exception)):
            return True
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for held in taken:
            if str(held.number) not in failed:
                self.sqs.delete(name, held.number)
        return True

    def _each(
        self, handle: Callable[[Record, datetime], bool]
    ) -> Callable[[Mapping[str, Any], datetime], batch.BatchResponse]:
        def handle_all(event: Mapping[str, Any], until: datetime) -> batch.BatchResponse:
            return batch.process_each(
                event, lambda record: handle(record, until), self.ports.telemetry, self.ports.gather
            )

        return handle_all

    def _deliver(self, event: Mapping[str, Any], until: datetime) -> batch.BatchResponse:
        return batch.process_batch(
            event,
            lambda records: deliver_messages(
                {record.message_id: record.body for record in records}, self.ports, until=until
            ),
            self.ports.telemetry,
        )

    def _process(self, record: Record, until: datetime) -> bool:
        del until
        received = Received(body=record.body, receipt_handle=record.receipt_handle, receives=record.receives)
        return process_message(parse_message(record.body), received, self.ports, self._inbox)

    def _reconcile(self, record: Record, until: datetime) -> bool:
        reconcile(parse_task(json.loads(record.body)), self.ports, until=until)
        return True

    def _record_receipt(self, record: Record, until: datetime) -> bool:
        del until
        receipt = parse_receipt(json.loads(record.body))
        if receipt is not None:
            record_receipt(receipt, self.ports)
        return True

    def _bury(self, record: Record, until: datetime) -> bool:
        del until
        queue = QueueName(record.queue_name.removesuffix(DEAD_LETTERS))
        if queue is QueueName.REQUESTS:
            return record_dead_request_message(parse_message(record.body), self.ports)
        if queue is QueueName.RECEIPTS:
            return record_dead_receipt(parse_receipt(json.loads(record.body)), self.ports)
        return record_dead_task_message(record.body, queue, self.ports)

    # ---------------------------------------------------------------- after every effect

    def _look(self) -> None:
        """Show the judges what was written, and let another function in where a scenario waits for this."""
        if self.mirror.follow() and self._hook is not None and self._hook[0]():
            (_, act), self._hook = self._hook, None
            act()

    def _sent(self, queue: str, body: str) -> None:
        if queue == QueueName.REQUESTS and "request_key" in (asked := json.loads(body)):
            self._published.add(asked["request_key"])

    def expect_receipt(self, outgoing: Outgoing, provider_id: str) -> None:
        """A text went out: what the service says of it comes later, where it says anything."""
        event_type = self.receipts.pop(0) if self.receipts else "TEXT_DELIVERED"
        if event_type is None:
            return
        outcome = ReceiptOutcome.BOUNCED if event_type in FAILURES else ReceiptOutcome.DELIVERED
        self.judges.receipt_sent(outgoing, outcome)
        at = self.clock.now() + timedelta(seconds=self.receipt_seconds)
        body = {
            "eventType": event_type,
            "isFinal": True,
            "messageId": provider_id,
            "eventTimestamp": int(at.timestamp() * 1000),
            "context": {key: str(getattr(outgoing, key)) for key in CONTEXT_KEYS},
        }
        self.sqs.put(QueueName.RECEIPTS, json.dumps(body), delay_seconds=self.receipt_seconds)


def _record(queue: str, number: int, body: str, receives: int) -> Mapping[str, Any]:
    return {
        "messageId": str(number),
        "receiptHandle": str(number),
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(receives)},
        "eventSourceARN": f"arn:aws:sqs:us-east-1:1:{queue}",
    }
