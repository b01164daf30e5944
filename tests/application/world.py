"""The whole platform in one thread: real use cases on the memory stores, with queues, providers and time of its own."""

import heapq
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from notify_core.adapters.memory import FixedClock, MemoryDatabase, MemoryTelemetry, memory_ports
from notify_core.application.audit_workspace import audit_workspace
from notify_core.application.deliver_notices import deliver_notices
from notify_core.application.mark_read import mark_all_read, mark_read
from notify_core.application.ports import EvidenceQuery, Message, NoticeKey, Outgoing, Ports, QueueName
from notify_core.application.process_message import Received, process_message
from notify_core.application.reconcile import reconcile
from notify_core.application.record_dead_publication import record_dead_publication
from notify_core.application.record_dead_task import record_dead_task
from notify_core.application.record_receipt import record_receipt
from notify_core.application.register_definition import register_definition
from notify_core.application.retire_definition import RetireRefusal, retire_definition
from notify_core.application.sweep_due import sweep_due
from notify_core.application.tasks import DispatchTask, parse_task
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import (
    DefinitionKey,
    NoticeId,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
    fold_id,
    request_id,
)
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS, RECEIVES_MAX
from notify_core.domain.notice import Notice, first_notice
from notify_core.domain.receipt import Receipt
from notify_core.domain.request import InvalidPublication, Publication, Request
from notify_core.domain.send_result import (
    Absent,
    Accepted,
    Delivered,
    Evidence,
    Found,
    Rejected,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
    Untold,
)
from notify_core.messages.publications import parse_message
from tests.application.steps import Died

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ACME = WorkspaceId("acme")
OVERDUE = DefinitionKey("invoice.overdue")
VISIBILITY_SECONDS = 180
_DISPATCH = (QueueName.CHAT, QueueName.TEXT, QueueName.SYSTEM)


@dataclass(kw_only=True)
class Provider:
    """A provider that keeps the truth of what reached whom, apart from what it answers."""

    clock: FixedClock
    confirms_later: bool = False
    faults: list[str | SendResult] = field(default_factory=list)
    """Taken one a call: `drop_response` (delivered, unknown), `lose_request` (not delivered, unknown), or a result."""
    reached: list[Outgoing] = field(default_factory=list)
    calls: int = 0
    silent: bool = False

    def send(self, outgoing: Outgoing) -> SendResult:
        self.calls += 1
        fault = self.faults.pop(0) if self.faults else None
        match fault:
            case None:
                self.reached.append(outgoing)
                accepted = Accepted if self.confirms_later else Delivered
                return accepted(provider_id=f"p-{self.calls}", provider_channel=f"D-{outgoing.address}")
            case "drop_response":
                self.reached.append(outgoing)
                return Unknown(reason="connection_reset")
            case "lose_request":
                return Unknown(reason="connection_reset")
            case Throttled() | Unavailable() | Rejected() | Unknown():
                return fault
            case _:
                raise AssertionError(fault)

    def look_up(self, query: EvidenceQuery) -> Evidence:
        if self.silent:
            return Untold(reason="unreachable")
        place = (query.delivery_id, query.address)
        sent = [item for item in self.reached if (item.delivery_id, item.address) == place]
        return Found(provider_id="found", provider_channel="D") if sent else Absent()

    def times(self) -> Counter[str]:
        """How often each delivery reached somebody."""
        return Counter(item.delivery_id for item in self.reached)


@dataclass(order=True)
class _Queued:
    visible_at: datetime
    number: int
    queue: QueueName = field(compare=False)
    body: str = field(compare=False)
    receives: int = field(compare=False, default=0)


class Queues:
    """Standard queues with delays, receive counts and dead letters."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock = clock
        self.waiting: list[_Queued] = []
        self.dead: list[tuple[QueueName, str, str]] = []
        self._numbers = count()

    def send(self, queue: QueueName, messages: Sequence[Message]) -> None:
        for message in messages:
            self.put(queue, json.dumps(message.body), delay_seconds=message.delay_seconds)

    def put(self, queue: QueueName, body: str, *, delay_seconds: float = 0) -> None:
        at = self.clock.now() + timedelta(seconds=delay_seconds)
        heapq.heappush(self.waiting, _Queued(at, next(self._numbers), queue, body))

    def backlog(self, queue: QueueName) -> int:
        return sum(item.queue is queue for item in self.waiting)

    def purge(self) -> None:
        self.waiting.clear()

    def receive(self) -> _Queued | None:
        if not self.waiting or self.waiting[0].visible_at > self.clock.now():
            return None
        return self.take(self.waiting[0])

    def take(self, item: _Queued) -> _Queued:
        """Receive this very message."""
        self.waiting.remove(item)
        heapq.heapify(self.waiting)
        item.receives += 1
        return item

    def return_later(self, item: _Queued, seconds: float = VISIBILITY_SECONDS) -> None:
        item.visible_at = self.clock.now() + timedelta(seconds=seconds)
        heapq.heappush(self.waiting, item)


class World:
    """A platform to publish to, to withdraw from, and to let time pass in."""

    def __init__(self, ports: Ports | None = None) -> None:
        self.clock = FixedClock(NOON)
        self.database = MemoryDatabase()
        self.queues = Queues(self.clock)
        self.chat = Provider(clock=self.clock)
        self.text = Provider(clock=self.clock, confirms_later=True)
        self.system = Provider(clock=self.clock)
        base = ports or memory_ports(self.clock, self.database)
        self.ports = replace(
            base,
            clock=self.clock,
            queues=self.queues,
            senders={Channel.CHAT: self.chat, Channel.TEXT: self.text, Channel.SLACK_SYSTEM: self.system},
            evidence={Channel.CHAT: self.chat, Channel.SLACK_SYSTEM: self.system},
            hq_channel="C-HQ",
        )
        self.plain = self.ports
        """The ports without what a test has put before them."""
        self.extended: list[tuple[str, int]] = []
        self.failures: list[BaseException] = []
        self._folds = 0
        self.register_workspace()

    # ---------------------------------------------------------------- setting up

    @property
    def telemetry(self) -> MemoryTelemetry:
        assert isinstance(self.ports.telemetry, MemoryTelemetry)
        return self.ports.telemetry

    def register_workspace(self, workspace: WorkspaceId = ACME, **changes: Any) -> None:
        was = self.ports.registry.workspace(workspace)
        channels = frozenset({Channel.CONSOLE, Channel.CHAT, Channel.TEXT})
        new = was or Workspace(workspace_id=workspace, name=workspace, channels=channels)
        self.ports.registry.put_workspace(replace(new, version=new.version + 1, **changes), was)

    def register_people(self, *names: str, workspace: WorkspaceId = ACME, **changes: Any) -> None:
        for number, name in enumerate(names):
            was = self.ports.directory.people(workspace, [PersonId(name)]).get(PersonId(name))
            new = was or Person(
                workspace_id=workspace,
                person_id=PersonId(name),
                name=name.title(),
                slack_user_id=f"U{name.upper()}",
                phone=f"+3312345{number:04d}",
            )
            self.ports.directory.put_person(replace(new, version=new.version + 1, **changes), was)

    def register_definition(
        self, *channels: str, key: str = OVERDUE, workspace: WorkspaceId = ACME, **changes: Any
    ) -> Definition:
        was = self.ports.registry.definition(workspace, DefinitionKey(key), consistent=True)
        templates = {
            Channel.CONSOLE: {"title": "Invoice {{ number }}", "body": "For {{ recipient.name }}"},
            Channel.CHAT: {"text": "Invoice {{ number }}", "blocks": None},
            Channel.TEXT: {"body": "Invoice {{ number }}"},
            Channel.SLACK_SYSTEM: {"text": "Alert {{ number }}", "blocks": None},
        }
        used = tuple(map(Channel, channels or ("console", "chat")))
        fields: dict[str, Any] = {
            "title": "Invoice overdue",
            "category": "billing",
            "critical": False,
            "channels": used,
            "schema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}},
            "templates": {channel: templates[channel] for channel in used},
            "expires_after": timedelta(days=7),
            **changes,
        }
        new = Definition(
            workspace_id=workspace, key=DefinitionKey(key), version=(was.version if was else 0) + 1, **fields
        )
        self.ports.registry.put_definition(new, was)
        return new

    # ---------------------------------------------------------------- producers

    def publish(self, request_key: str = "k1", *people: str, **changes: Any) -> RequestId:
        """Put a publication onto the queue."""
        body = self.publication(request_key, *people, **changes)
        self.queues.put(QueueName.REQUESTS, json.dumps(body))
        return self.id_of(request_key, body["definition"], body["workspace_id"])

    def publication(self, request_key: str = "k1", *people: str, **changes: Any) -> dict[str, Any]:
        return {
            "type": "publish",
            "version": 1,
            "workspace_id": ACME,
            "definition": OVERDUE,
            "request_key": request_key,
            "published_at": self._published_at(folds=changes.get("fold_key") is not None).isoformat(),
            "data": {"number": "42"},
            "audience": {"people": list(people or ("ana",))},
            **{key: _json(value) for key, value in changes.items()},
        }

    def _published_at(self, *, folds: bool) -> datetime:
        """Now; what folds is published a microsecond after what was before it, as in a world whose clock runs."""
        self._folds += folds
        return self.clock.now() + timedelta(microseconds=self._folds if folds else 0)

    def withdraw(self, **changes: Any) -> None:
        """Put a withdrawal onto the queue."""
        body = {
            "type": "withdraw",
            "version": 1,
            "workspace_id": ACME,
            "definition": OVERDUE,
            "withdrawn_at": self.clock.now().isoformat(),
            **{key: _json(value) for key, value in changes.items()},
        }
        self.queues.put(QueueName.REQUESTS, json.dumps(body))

    @staticmethod
    def id_of(request_key: str, definition: str = OVERDUE, workspace: str = ACME) -> RequestId:
        return request_id(WorkspaceId(workspace), DefinitionKey(definition), request_key)

    # ---------------------------------------------------------------- registrars and recipients

    def retire(self, key: str = OVERDUE, workspace: WorkspaceId = ACME) -> Definition | RetireRefusal:
        return retire_definition(workspace, DefinitionKey(key), self.ports)

    def register_again(self, key: str = OVERDUE) -> Definition:
        """The same content, active again."""
        was = self.ports.registry.definition(ACME, DefinitionKey(key), consistent=True)
        assert was is not None, f"{key} was never registered"
        return register_definition(was, self.ports)

    def read(self, notice: Notice) -> None:
        mark_read(key_of(notice), self.ports)

    def read_all(self, recipient: str = "ana") -> None:
        mark_all_read(ACME, Recipient(recipient), self.clock.now(), self.ports)

    # ---------------------------------------------------------------- reading

    def request(self, request_key: str = "k1", **place: str) -> Request:
        found = self.ports.requests.get(ACME, self.id_of(request_key, **place))
        assert found is not None, f"{request_key} has no row"
        return found

    def has(self, request_key: str) -> bool:
        """Whether anything is recorded under the key."""
        return self.ports.requests.get(ACME, self.id_of(request_key)) is not None

    def notice(self, recipient: str = "ana", request_key: str = "k1", notice_id: str | None = None) -> Notice:
        """A notice as stored, or as it is derived from its request."""
        identity = NoticeId(notice_id or self.id_of(request_key))
        key = NoticeKey(workspace_id=ACME, recipient=Recipient(recipient), notice_id=identity)
        stored = self.ports.notices.get(key)
        if stored is not None:
            return stored
        request = self.request(request_key)
        entry = request.entry(Recipient(recipient))
        assert entry is not None, f"{recipient} is no recipient of {request_key}"
        return first_notice(request, entry)

    def is_stored(self, recipient: str = "ana", request_key: str = "k1") -> bool:
        identity = NoticeId(self.id_of(request_key))
        key = NoticeKey(workspace_id=ACME, recipient=Recipient(recipient), notice_id=identity)
        return self.ports.notices.get(key) is not None

    def folded(self, recipient: str = "ana", fold_key: str = "f", definition: str = OVERDUE) -> list[Notice]:
        """The generations of a fold key, oldest first."""
        fold = fold_id(DefinitionKey(definition), fold_key)
        return list(self.ports.notices.generations(ACME, Recipient(recipient), fold))[::-1]

    def waiting(self, queue: QueueName) -> list[tuple[float, dict[str, Any]]]:
        """The messages of a queue: in how many seconds each is visible, and its body."""
        found = sorted(item for item in self.queues.waiting if item.queue is queue)
        return [((item.visible_at - self.clock.now()).total_seconds(), json.loads(item.body)) for item in found]

    def inbox(self, recipient: str = "ana") -> Sequence[Notice]:
        return self.ports.notices.inbox(ACME, Recipient(recipient), before=None, limit=200)

    def unread(self, recipient: str = "ana") -> int:
        mark = self.ports.notices.read_mark(ACME, Recipient(recipient))
        after = mark.read_up_to if mark else None
        return self.ports.notices.unread_count(ACME, Recipient(recipient), after=after, limit=1000)

    def states(self, recipient: str = "ana", request_key: str = "k1") -> dict[str, str]:
        return self.states_of(self.notice(recipient, request_key))

    @staticmethod
    def states_of(notice: Notice) -> dict[str, str]:
        return {item.channel.value: item.state.value for item in notice.deliveries}

    # ---------------------------------------------------------------- time

    def run(self) -> None:
        """Process every message that is visible now, and those that it leads to."""
        for _ in range(100_000):
            item = self.queues.receive()
            if item is None:
                return
            self.process(item)
        raise AssertionError("the queues never run dry")

    def run_only(self, queue: QueueName) -> None:
        """Process what is visible now in one queue."""
        now = self.clock.now()
        for item in sorted(item for item in self.queues.waiting if item.queue is queue and item.visible_at <= now):
            self.queues.take(item)
            self.process(item)

    def advance(self, **duration: float) -> None:
        """Let time pass; sweep every minute and process what becomes visible on the way."""
        end = self.clock.now() + timedelta(**duration)
        next_sweep = self.clock.now() + timedelta(minutes=1)
        self.run()
        while self.clock.now() < end:
            visible = self.queues.waiting[0].visible_at if self.queues.waiting else end
            self.clock.at = max(self.clock.now(), min(visible, next_sweep, end))
            if self.clock.now() >= next_sweep:
                sweep_due(self.ports, until=self.clock.now() + timedelta(seconds=50))
                next_sweep += self._pace()
            self.run()

    def _pace(self) -> timedelta:
        return timedelta(minutes=1)

    def skip(self, **duration: float) -> None:
        """Let time pass with nothing running."""
        self.clock.advance(timedelta(**duration))

    def sweep(self) -> None:
        self.sweep_only()
        self.run()

    def sweep_only(self) -> None:
        """Sweep what is due, and process nothing of what that publishes or dispatches."""
        sweep_due(self.ports, until=self.clock.now() + timedelta(seconds=50))
        self.run_only(QueueName.RECONCILE)

    def receipt(self, receipt: Receipt) -> None:
        record_receipt(receipt, self.ports)

    def audit(self, workspace: WorkspaceId = ACME) -> Any:
        return audit_workspace(workspace, self.ports, until=self.clock.now() + timedelta(seconds=50))

    # ---------------------------------------------------------------- the functions

    def process(self, item: _Queued) -> None:
        try:
            done = self._handle(item)
        except Died:
            done = False
        except Exception as error:  # noqa: BLE001
            self.failures.append(error)
            done = False
        if done:
            return
        if item.receives >= RECEIVES_MAX:
            self.queues.dead.append((item.queue, item.body, "receives"))
            self._record_dead(item.queue, item.body)
            return
        self.queues.return_later(item, self._visibility(item))

    def _visibility(self, item: _Queued) -> float:
        extended = [seconds for handle, seconds in self.extended if handle == str(item.number)]
        self.extended = [(handle, seconds) for handle, seconds in self.extended if handle != str(item.number)]
        return extended[-1] if extended else VISIBILITY_SECONDS

    def _handle(self, item: _Queued) -> bool:
        if item.queue is QueueName.REQUESTS:
            received = Received(body=item.body, receipt_handle=str(item.number), receives=item.receives)
            return process_message(parse_message(item.body), received, self.ports, self)
        task = parse_task(json.loads(item.body))
        if item.queue in _DISPATCH:
            assert isinstance(task, DispatchTask)
            until = self.clock.now() + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)
            return not deliver_notices([task], self.ports, until=until)
        assert item.queue is QueueName.RECONCILE
        reconcile(task, self.ports, until=self.clock.now() + timedelta(seconds=50))
        return True

    def _record_dead(self, queue: QueueName, body: str) -> None:
        if queue is QueueName.REQUESTS:
            parsed = parse_message(body)
            if isinstance(parsed, Publication | InvalidPublication):
                record_dead_publication(parsed, self.ports)
        else:
            record_dead_task(parse_task(json.loads(body)), self.ports)

    # ports.Inbox

    def extend_visibility(self, queue: QueueName, receipt_handle: str, seconds: int) -> None:
        assert queue is QueueName.REQUESTS
        self.extended.append((receipt_handle, seconds))

    def move_to_dead_letters(self, queue: QueueName, body: str, reason: str) -> None:
        self.queues.dead.append((queue, body, reason))


def key_of(notice: Notice) -> NoticeKey:
    return NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)


def _json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return value
