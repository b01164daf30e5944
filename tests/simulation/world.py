"""The world around the real use cases: stores that interleave and fail, queues, providers, functions and schedules."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from notify_core.adapters.memory import MemoryDatabase, memory_ports
from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.ports import (
    Conflict,
    EvidenceQuery,
    Message,
    Outgoing,
    Ports,
    QueueName,
    StoreUnavailable,
)
from notify_core.application.process_message import Received, process_message
from notify_core.application.reconcile import reconcile
from notify_core.application.record_dead_message import record_dead_request_message, record_dead_task_message
from notify_core.application.record_receipt import record_receipt
from notify_core.application.sweep_due import sweep_due, sweep_nightly
from notify_core.application.tasks import parse_task
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId
from notify_core.domain.limits import (
    BATCH_MESSAGES,
    DEAD_LETTERS_TIMEOUT_SECONDS,
    DELIVER_TIMEOUT_SECONDS,
    PROCESS_TIMEOUT_SECONDS,
    RECEIPTS_TIMEOUT_SECONDS,
    RECEIVES_MAX,
    RECONCILE_TIMEOUT_SECONDS,
    SEND_SECONDS_MAX,
    SWEEP_TIMEOUT_SECONDS,
)
from notify_core.domain.receipt import Receipt, ReceiptOutcome
from notify_core.domain.send_result import (
    Absent,
    Accepted,
    Delivered,
    Evidence,
    Found,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
    Untold,
)
from notify_core.messages import parse_message
from tests.simulation.checkers import Checkers
from tests.simulation.kernel import Kernel

BEGIN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(kw_only=True)
class Faults:
    """How likely each fault is, at each of its occasions."""

    store_unavailable: float = 0.0
    answer_lost: float = 0.0
    crash: float = 0.0
    stale: float = 0.0
    duplicate: float = 0.0
    send_fails: float = 0.0
    slow_function: float = 0.0
    provider: float = 0.0

    @classmethod
    def drawn(cls, random: Random) -> "Faults":
        """A mixture: some kinds often, some rarely, some not at all."""

        def rate(most: float) -> float:
            return random.choice((0.0, 0.0, most / 10, most))

        return cls(
            store_unavailable=rate(0.05),
            answer_lost=rate(0.05),
            crash=rate(0.02),
            stale=rate(0.5),
            duplicate=rate(0.2),
            send_fails=rate(0.05),
            slow_function=rate(0.02),
            provider=rate(0.5),
        )


NO_FAULTS = Faults()


# ---------------------------------------------------------------- stores


class Lag:
    """adapters.memory.Lag: an eventual read may see any row as it was before its last writes, for a while."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._old: dict[str, dict[Hashable, object | None]] = {"requests": {}, "definitions": {}, "notices": {}}

    def wrote(self, table: str, key: Hashable, before: object | None) -> None:
        kernel = self._world.kernel
        if kernel.random.random() >= self._world.faults.stale:
            return
        old = self._old[table]
        old.setdefault(key, before)
        kernel.after(kernel.random.random() * 3, lambda: old.pop(key, None))

    def answers(self, reader: str) -> Mapping[Any, Any]:
        table = {"due": "requests", "history": "requests", "attention": "notices"}.get(reader, reader)
        return self._old[table]


_WRITES = {"put", "put_head", "commit", "mark_read", "put_channel_state", "put_definition", "put_workspace"}


class Interleaved:
    """A store whose every call may be overtaken, refused, die before or after its effect, or lose its answer."""

    def __init__(self, store: Any, name: str, world: "World") -> None:
        self._store = store
        self._name = name
        self._world = world

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._store, method)
        if method == "generations":
            return lambda *args: self._pages(call(*args), method)
        bound = self._bound(call, f"{self._name}.{method}", is_write=method in _WRITES)
        setattr(self, method, bound)
        return bound

    def _pages(self, values: Iterator[Any], method: str) -> Iterator[Any]:
        while True:
            self._world.reach(f"{self._name}.{method}")
            value = next(values, None)
            if value is None:
                return
            yield value

    def _bound(self, call: Callable[..., Any], label: str, *, is_write: bool) -> Callable[..., Any]:
        world = self._world

        def made(*args: Any, **kwargs: Any) -> Any:
            world.reach(label)
            try:
                value = call(*args, **kwargs)
            except Conflict:
                if world.kernel.history is not None:
                    world.kernel.tell(f"{label} CONFLICT {_short(args)}")
                raise
            if world.kernel.history is not None:
                world.kernel.tell(f"{label} {_short(args)} -> {_short(value)}")
            if is_write:
                world.answered(label)
            return value

        return made


def _short(value: Any) -> str:
    match value:
        case tuple() | list():
            return "(" + ", ".join(_short(item) for item in value[:4]) + ")"
        case _ if hasattr(value, "deliveries"):
            states = ",".join(f"{item.channel}={item.state}" for item in value.deliveries)
            return f"notice {value.recipient} {value.notice_id[-4:]} v{value.version} {value.ended or ''} {states}"
        case _ if hasattr(value, "manifest"):
            due = value.due_at and value.due_at.strftime("%m-%d %H:%M:%S")
            return f"request {value.request_key} v{value.version} {value.state} due={due}"
        case _:
            return repr(value)[:80]


# ---------------------------------------------------------------- queues


@dataclass(eq=False)
class _Held:
    body: str
    visible_at: datetime
    receives: int = 0
    handle: int = 0


class Queues:
    """ports.Queues and ports.Inbox: standard queues with disorder, duplicates, delays, receive counts, dead letters."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.held: dict[QueueName, list[_Held]] = {queue: [] for queue in QueueName}
        self.dead: dict[QueueName, list[_Held]] = {queue: [] for queue in QueueName}
        self._handles = 0
        self._by_handle: dict[str, tuple[QueueName, _Held]] = {}

    def send(self, queue: QueueName, messages: Sequence[Message]) -> None:
        for begin in range(0, len(messages), BATCH_MESSAGES):
            self._world.reach(f"send.{queue}")
            if self._world.chance(self._world.faults.send_fails):
                raise StoreUnavailable("send")
            for message in messages[begin : begin + BATCH_MESSAGES]:
                self.put(queue, json.dumps(message.body), message.delay_seconds)
            self._world.answered(f"send.{queue}", may_conflict=False)

    def put(self, queue: QueueName, body: str, delay_seconds: float = 0) -> None:
        held = _Held(body, self._world.kernel.at + timedelta(seconds=delay_seconds))
        self.held[queue].append(held)
        self._world.wake(queue, held.visible_at)

    def backlog(self, queue: QueueName) -> int:
        self._world.reach("backlog")
        return len(self.held[queue])

    def receive(self, queue: QueueName, visibility_seconds: float) -> dict[str, _Held]:
        """Up to a batch of visible messages, in any order, hidden for a while; one may come twice."""
        now = self._world.kernel.at
        visible = [held for held in self.held[queue] if held.visible_at <= now]
        self._world.kernel.random.shuffle(visible)
        taken: dict[str, _Held] = {}
        for held in visible[:BATCH_MESSAGES]:
            held.receives += 1
            if held.receives > RECEIVES_MAX:
                self.held[queue].remove(held)
                self.dead[queue].append(held)
                self._world.wake_dead(queue)
                continue
            self._handles += 1
            handle = str(self._handles)
            held.handle = self._handles
            is_double = self._world.chance(self._world.faults.duplicate)
            held.visible_at = now + timedelta(seconds=0.2 if is_double else visibility_seconds)
            self._world.wake(queue, held.visible_at)
            self._by_handle[handle] = (queue, held)
            taken[handle] = held
        return taken

    def delete(self, handle: str) -> None:
        queue, held = self._by_handle.pop(handle)
        if held in self.held[queue]:
            self.held[queue].remove(held)

    def extend_visibility(self, queue: QueueName, receipt_handle: str, seconds: int) -> None:
        self._world.reach(f"extend.{queue}")
        _, held = self._by_handle.get(receipt_handle, (queue, None))
        if held is not None:
            held.visible_at = self._world.kernel.at + timedelta(seconds=seconds)
            self._world.wake(queue, held.visible_at)

    def move_to_dead_letters(self, queue: QueueName, body: str, reason: str) -> None:
        self._world.reach(f"move.{queue}")
        self.dead[queue].append(_Held(body, self._world.kernel.at, receives=1))
        del reason

    def purge(self) -> None:
        for held in self.held.values():
            held.clear()


# ---------------------------------------------------------------- providers


@dataclass(kw_only=True, eq=False)
class Provider:
    """ports.Sender and EvidenceSource of one channel: keeps the truth, apart from what it answers."""

    world: "World"
    channel: Channel
    reached: list[tuple[Outgoing, datetime]] = field(default_factory=list)
    is_refusing: bool = False

    def send(self, outgoing: Outgoing) -> SendResult:
        world, kernel = self.world, self.world.kernel
        world.reach(f"post.{self.channel}")
        world.checkers.posted(outgoing, kernel.at)
        world.counts["wire_calls"] += 1
        if self.is_refusing:
            return Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
        if not world.chance(world.faults.provider):
            return self._take(outgoing)
        fault = kernel.random.choice(_SENT_FAULTS + _REFUSAL_FAULTS)
        world.counts[f"provider_{fault}"] += 1
        kernel.tell(f"provider fault {fault}")
        return self._refuse(fault) if fault in _REFUSAL_FAULTS else self._lose(outgoing, fault)

    def _refuse(self, fault: str) -> SendResult:
        """An answer that certainly sent nothing."""
        kernel = self.world.kernel
        match fault:
            case "throttle":
                return Throttled(retry_after=timedelta(seconds=kernel.random.choice((1, 30))))
            case "unavailable":
                return Unavailable(reason="service_unavailable")
            case "reject":
                return Rejected(reason="user_not_found", scope=RejectionScope.PERSON)
            case "refuse":
                self.is_refusing = True
                kernel.after(kernel.random.random() * 1800, self._relent)
                return Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
            case _:
                raise AssertionError(fault)

    def _lose(self, outgoing: Outgoing, fault: str) -> SendResult:
        """An answer that never comes, or tells nothing, whether or not somebody was reached."""
        kernel = self.world.kernel
        if fault in {"drop_response", "error_500", "die_after"}:
            self._reach(outgoing)
        if fault in {"die_after", "die_before"}:
            kernel.die()
        if fault == "late":
            kernel.after(kernel.random.random() * SEND_SECONDS_MAX, lambda: self._reach(outgoing))
        if fault == "hang":
            kernel.sleep(SEND_SECONDS_MAX)
        return Unknown(reason=fault)

    def _relent(self) -> None:
        self.is_refusing = False

    def _take(self, outgoing: Outgoing) -> SendResult:
        kernel = self.world.kernel
        kernel.sleep(0.05 + kernel.random.random() / 4)
        self._reach(outgoing)
        identity = f"p-{len(self.reached)}"
        return Accepted(provider_id=identity) if self.channel is Channel.TEXT else Delivered(provider_id=identity)

    def _reach(self, outgoing: Outgoing) -> None:
        world = self.world
        world.kernel.tell(f"REACHED {outgoing.address} {outgoing.delivery_id[-4:]} {outgoing.text}")
        self.reached.append((outgoing, world.kernel.at))
        world.counts["reached"] += 1
        world.checkers.reached(outgoing, world.kernel.at)
        if self.channel is Channel.TEXT:
            self._send_receipts(outgoing, f"p-{len(self.reached)}")

    def _send_receipts(self, outgoing: Outgoing, provider_id: str) -> None:
        """The provider's receipt: soon, late or never, once or several times, good or bad."""
        random = self.world.kernel.random
        if random.random() < 0.1:
            return
        outcome = ReceiptOutcome.DELIVERED if random.random() < 0.8 else ReceiptOutcome.BOUNCED
        self.world.checkers.receipt_sent(outgoing, outcome)
        for _ in range(random.choice((1, 1, 1, 3))):
            receipt = Receipt(
                workspace_id=outgoing.workspace_id,
                recipient=outgoing.recipient,
                notice_id=outgoing.notice_id,
                channel=outgoing.channel,
                claim_id=outgoing.claim_id,
                provider_id=provider_id,
                outcome=outcome,
                reason=None if outcome is ReceiptOutcome.DELIVERED else "UNREACHABLE",
                at=self.world.kernel.at,
            )
            delay = random.choice((0.0, random.random() * 5, random.random() * 60, random.random() * 200_000))
            self.world.kernel.after(delay, lambda receipt=receipt: self.world.receive_receipt(receipt))

    def look_up(self, query: EvidenceQuery) -> Evidence:
        self.world.reach(f"evidence.{self.channel}")
        if self.world.chance(self.world.faults.provider / 5):
            return Untold(reason="timeout")
        sent = [item for item, _ in self.reached if item.delivery_id == query.delivery_id]
        return Found(provider_id="found") if sent else Absent()


_SENT_FAULTS = ("drop_response", "error_500", "lose_request", "late", "hang", "die_after", "die_before")
_REFUSAL_FAULTS = ("throttle", "unavailable", "unavailable", "reject", "refuse")


# ---------------------------------------------------------------- the platform


@dataclass(frozen=True, kw_only=True)
class _Consumer:
    """A function that reads a queue."""

    seconds: int
    handle: Callable[[Mapping[str, _Held]], set[str]]
    concurrency: int = 3


class World:
    """The platform: real use cases over interleaved stores, run by the kernel."""

    def __init__(self, seed: int, faults: Faults | None = None, *, record: bool = False) -> None:
        self.kernel = Kernel(seed, BEGIN, record=record)
        self.faults = faults or NO_FAULTS
        self.counts: Counter[str] = Counter()
        self.database = MemoryDatabase(Lag(self))
        self.checkers = Checkers(self)
        self.checkers.watch(self.database)
        self.queues = Queues(self)
        self.providers = {
            channel: Provider(world=self, channel=channel)
            for channel in (Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM)
        }
        memory = memory_ports(_Clock(self.kernel), self.database)
        self.plain = replace(memory, queues=self.queues, clock=self.kernel)
        self.ports = self._interleaved(self.plain)
        self._claims = 0
        self._consumers = self._functions()
        self._running: Counter[QueueName] = Counter()
        self.schedules_on = True
        self._every(60, self._sweep_due)
        self._every(86_400, self._sweep_nightly)

    def _interleaved(self, ports: Ports) -> Ports:
        return replace(
            ports,
            registry=Interleaved(ports.registry, "registry", self),
            directory=Interleaved(ports.directory, "directory", self),
            requests=Interleaved(ports.requests, "requests", self),
            notices=Interleaved(ports.notices, "notices", self),
            gather=self.kernel.gather,
            new_claim_id=self._new_claim_id,
            senders=self.providers,
            evidence={channel: self.providers[channel] for channel in (Channel.CHAT, Channel.SLACK_SYSTEM)},
            hq_channel="C-HQ",
        )

    def _new_claim_id(self) -> ClaimId:
        self._claims += 1
        return ClaimId(f"claim-{self._claims}")

    # ---------------------------------------------------------------- faults

    def chance(self, likelihood: float) -> bool:
        """Whether something of this likelihood happens now."""
        return likelihood > 0 and self.kernel.random.random() < likelihood

    def reach(self, label: str) -> None:
        """Before every effect: others may run, the call may be refused, the function may die or dawdle."""
        self.kernel.pause()
        self.checkers.at_rest()
        faults = self.faults
        if self.chance(faults.crash):
            self.counts["crashes"] += 1
            self.kernel.tell(f"CRASH before {label}")
            self.kernel.die()
        if self.chance(faults.slow_function):
            self.counts["slow"] += 1
            self.kernel.sleep(self.kernel.random.random() * 40)
        if self.chance(faults.store_unavailable):
            self.counts["unavailable"] += 1
            self.kernel.tell(f"UNAVAILABLE {label}")
            raise StoreUnavailable(label)

    def answered(self, label: str, *, may_conflict: bool = True) -> None:
        """After every effect: the function may die, or never hear of it."""
        faults = self.faults
        if self.chance(faults.crash):
            self.counts["crashes"] += 1
            self.kernel.tell(f"CRASH after {label}")
            self.kernel.die()
        if self.chance(faults.answer_lost):
            self.counts["answers_lost"] += 1
            self.kernel.tell(f"ANSWER LOST {label}")
            if may_conflict and self.kernel.random.random() < 0.7:
                raise Conflict(f"{label}: own answer lost")
            raise StoreUnavailable(f"{label}: answer lost")

    # ---------------------------------------------------------------- functions

    def _functions(self) -> Mapping[QueueName, _Consumer]:
        def deliver(channel: Channel) -> Callable[[Mapping[str, _Held]], set[str]]:
            del channel
            return lambda records: deliver_messages(
                {handle: held.body for handle, held in records.items()},
                self.ports,
                until=self.kernel.at + timedelta(seconds=DELIVER_TIMEOUT_SECONDS),
            )

        return {
            QueueName.REQUESTS: _Consumer(seconds=PROCESS_TIMEOUT_SECONDS, handle=self._each(self._process)),
            QueueName.CHAT: _Consumer(seconds=DELIVER_TIMEOUT_SECONDS, handle=deliver(Channel.CHAT)),
            QueueName.TEXT: _Consumer(seconds=DELIVER_TIMEOUT_SECONDS, handle=deliver(Channel.TEXT)),
            QueueName.SYSTEM: _Consumer(seconds=DELIVER_TIMEOUT_SECONDS, handle=deliver(Channel.SLACK_SYSTEM)),
            QueueName.RECONCILE: _Consumer(seconds=RECONCILE_TIMEOUT_SECONDS, handle=self._each(self._reconcile)),
        }

    def _each(self, handle: Callable[[str, _Held], bool]) -> Callable[[Mapping[str, _Held]], set[str]]:
        def done(receipt: str, held: _Held) -> bool:
            try:
                return handle(receipt, held)
            except (Conflict, StoreUnavailable):
                return False

        def handle_all(records: Mapping[str, _Held]) -> set[str]:
            outcomes = self.kernel.gather([lambda item=item: done(*item) for item in records.items()])
            return {receipt for receipt, is_done in zip(records, outcomes, strict=True) if not is_done}

        return handle_all

    def _process(self, receipt: str, held: _Held) -> bool:
        received = Received(body=held.body, receipt_handle=receipt, receives=held.receives)
        return process_message(parse_message(held.body), received, self.ports, self.queues)

    def _reconcile(self, receipt: str, held: _Held) -> bool:
        del receipt
        until = self.kernel.at + timedelta(seconds=RECONCILE_TIMEOUT_SECONDS)
        reconcile(parse_task(json.loads(held.body)), self.ports, until=until)
        return True

    def wake(self, queue: QueueName, at: datetime) -> None:
        """Have the queue polled at a time."""
        if queue in self._consumers_of():
            self.kernel.call_at(at, lambda: self._poll(queue))

    def _consumers_of(self) -> Mapping[QueueName, _Consumer]:
        return getattr(self, "_consumers", {})

    def _poll(self, queue: QueueName) -> None:
        consumer = self._consumers[queue]
        if self._running[queue] >= consumer.concurrency:
            self.kernel.after(0.1, lambda: self._poll(queue))
            return
        records = self.queues.receive(queue, 6 * consumer.seconds)
        if not records:
            return
        self._running[queue] += 1
        self.counts["invocations"] += 1

        def over() -> None:
            self._running[queue] -= 1

        def ended(outcome: object) -> None:
            over()
            if isinstance(outcome, (Conflict, StoreUnavailable)):
                return
            if isinstance(outcome, Exception):
                raise outcome
            assert isinstance(outcome, set)
            for handle in records:
                if handle not in outcome:
                    self.queues.delete(handle)

        self.kernel.spawn(
            f"{queue}", lambda: consumer.handle(records), seconds=consumer.seconds, on_end=ended, on_death=over
        )
        self.kernel.after(0.01, lambda: self._poll(queue))

    def wake_dead(self, queue: QueueName) -> None:
        """Have the dead letters of a queue recorded soon."""
        self.kernel.after(1, lambda: self._bury(queue))

    def _bury(self, queue: QueueName) -> None:
        letters = list(self.queues.dead[queue])
        if not letters:
            return
        held = letters[0]
        self.counts["dead_letters"] += 1

        def record() -> bool:
            if queue is QueueName.REQUESTS:
                return record_dead_request_message(parse_message(held.body), self.ports)
            return record_dead_task_message(held.body, queue, self.ports)

        def ended(outcome: object) -> None:
            if outcome is True:
                self.queues.dead[queue].remove(held)
            elif isinstance(outcome, Exception) and not isinstance(outcome, (Conflict, StoreUnavailable)):
                raise outcome
            if self.queues.dead[queue]:
                self.kernel.after(180 if outcome is not True else 0.1, lambda: self._bury(queue))

        self.kernel.spawn(
            f"bury-{queue}",
            record,
            seconds=DEAD_LETTERS_TIMEOUT_SECONDS,
            on_end=ended,
            on_death=lambda: self.kernel.after(180, lambda: self._bury(queue)),
        )

    def receive_receipt(self, receipt: Receipt) -> None:
        """Record a receipt, again until it is recorded."""

        def again() -> None:
            self.kernel.after(90, lambda: self.receive_receipt(receipt))

        def ended(outcome: object) -> None:
            if isinstance(outcome, (Conflict, StoreUnavailable)):
                again()
            elif isinstance(outcome, Exception):
                raise outcome

        self.kernel.spawn(
            "receipt",
            lambda: record_receipt(receipt, self.ports),
            seconds=RECEIPTS_TIMEOUT_SECONDS,
            on_end=ended,
            on_death=again,
        )

    # ---------------------------------------------------------------- schedules

    def _every(self, seconds: float, act: Callable[[], None]) -> None:
        def tick() -> None:
            if self.schedules_on:
                act()
            self.kernel.after(seconds, tick)

        self.kernel.after(seconds, tick)

    def _sweep_due(self) -> None:
        """Run the minute's sweep; one that would find nothing is spared."""
        now = self.kernel.at
        if not any(request.due_at is not None and request.due_at <= now for request in self.database.requests):
            return
        until = self.kernel.at + timedelta(seconds=SWEEP_TIMEOUT_SECONDS)
        self.kernel.spawn("sweep_due", lambda: sweep_due(self.ports, until=until), seconds=SWEEP_TIMEOUT_SECONDS)

    def _sweep_nightly(self) -> None:
        self.kernel.spawn("sweep_nightly", lambda: sweep_nightly(self.ports), seconds=SWEEP_TIMEOUT_SECONDS)


class _Clock:
    """The kernel's time, for the memory stores."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def now(self) -> datetime:
        return self._kernel.at
