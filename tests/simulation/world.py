"""The world around the real use cases: the platform's functions, queues and schedules over stores that fail."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from notify_core.adapters.counting import counting_requests
from notify_core.adapters.memory import FixedClock, MemoryDatabase, memory_ports
from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.ports import Conflict, Ports, QueueName, StoreUnavailable
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
from notify_core.domain.identifiers import ClaimId
from notify_core.domain.limits import (
    DAY_SECONDS,
    DEAD_LETTERS_TIMEOUT_SECONDS,
    DELIVER_TIMEOUT_SECONDS,
    MINUTE_SECONDS,
    PROCESS_TIMEOUT_SECONDS,
    RECEIPTS_TIMEOUT_SECONDS,
    RECONCILE_TIMEOUT_SECONDS,
    SWEEP_TIMEOUT_SECONDS,
)
from notify_core.domain.receipt import Receipt
from notify_core.messages.publications import parse_message
from tests.simulation.checkers import Checkers
from tests.simulation.faults import NO_FAULTS, Faults
from tests.simulation.kernel import Kernel
from tests.simulation.operations import Operations
from tests.simulation.providers import Provider
from tests.simulation.queues import Held, Queues
from tests.simulation.stores import THROTTLED_SECONDS_MAX, Interleaved, Lag

__all__ = ["BEGIN", "NO_FAULTS", "Faults", "Provider", "Queues", "World"]

BEGIN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SLOW_SECONDS_MAX = 40.0
"""What a slow call takes at most: longer than most functions live."""
THROTTLED_SHARE = 0.8
"""How many of the calls are refused while a store throttles."""
DEAD_LETTER_PAUSE_SECONDS = 180.0
_RETRIED = (Conflict, StoreUnavailable)
"""What a function may fail with: its message comes again."""


@dataclass(frozen=True, kw_only=True)
class _Consumer:
    """A function that reads a queue."""

    seconds: int
    handle: Callable[[Mapping[str, Held]], set[str]]
    concurrency: int = 3


class Telemetry:
    """ports.Telemetry that keeps totals and alarms, and lets the operations hear how they went."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.totals: Counter[str] = Counter()
        self.alarms: list[tuple[str, Mapping[str, object]]] = []

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        self.totals[metric] += value
        self._world.operations.heard(metric, dimensions)

    def observe(self, metric: str, seconds: float, **dimensions: str) -> None:
        pass

    def info(self, event: str, **fields: str | float | None) -> None:
        pass

    def alarm(self, event: str, **fields: str | float | None) -> None:
        self._world.kernel.tell(f"ALARM {event} {fields}")
        self.alarms.append((event, fields))


class World:
    """The platform: real use cases over interleaved stores, run by the kernel (by default one that obeys the seed)."""

    def __init__(
        self, seed: int, faults: Faults | None = None, *, record: bool = False, kernel: Kernel | None = None
    ) -> None:
        self.kernel = kernel or Kernel(seed, BEGIN, record=record)
        self.faults = faults or NO_FAULTS
        self.counts: Counter[str] = Counter()
        self.fault_counts: Counter[str] = Counter()
        self.operations = Operations(self.kernel)
        self.telemetry = Telemetry(self)
        self.database = MemoryDatabase(Lag(self))
        self.checkers = Checkers(self)
        self.checkers.watch(self.database)
        self.queues = Queues(self)
        self.providers = {
            channel: Provider(world=self, channel=channel)
            for channel in (Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM)
        }
        memory = memory_ports(FixedClock(self.kernel.at), self.database)
        self.plain = replace(memory, queues=self.queues, clock=self.kernel, telemetry=self.telemetry)
        self.ports = self._interleaved(self.plain)
        self._claims = 0
        self._receipts: list[Receipt] = []
        self._throttled_until: dict[str, datetime] = {}
        self._consumers = self._functions()
        self._running: Counter[QueueName] = Counter()
        self._polls: dict[QueueName, datetime] = {}
        self._sweep_at: datetime | None = None
        self.schedules_on = True
        self._every(DAY_SECONDS, self._sweep_nightly)

    def _interleaved(self, ports: Ports) -> Ports:
        return replace(
            ports,
            registry=Interleaved(ports.registry, "registry", self),
            directory=Interleaved(ports.directory, "directory", self),
            requests=counting_requests(Interleaved(ports.requests, "requests", self), self.telemetry),
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

    @property
    def age(self) -> timedelta:
        """How much time has passed in it."""
        return self.kernel.at - BEGIN

    # ---------------------------------------------------------------- faults

    def chance(self, likelihood: float, what: str = "") -> bool:
        """Whether something of this likelihood happens now."""
        return likelihood > 0 and self.kernel.chance(likelihood, what)

    def happened(self, fault: str, detail: str = "") -> None:
        """Count a fault that has just happened."""
        self.fault_counts[fault] += 1
        if detail and self.kernel.history is not None:
            self.kernel.tell(f"!! {fault}: {detail}")

    def reach(self, label: str, store: str | None = None) -> None:
        """Before every effect: others may run, the call may be refused, the function may die or dawdle."""
        self.kernel.pause()
        if self.checkers.is_dirty:
            self.checkers.at_rest()
        faults = self.faults
        if faults is NO_FAULTS:
            return
        if self.chance(faults.crash, "crash"):
            self.happened("crash before a call", label)
            self.kernel.die()
        if self.chance(faults.slow_function, "slow call"):
            self.happened("slow call", label)
            self.kernel.sleep(self.kernel.draw("slow call") * SLOW_SECONDS_MAX)
        if self.chance(faults.store_unavailable, "store unavailable"):
            self.happened("store unavailable", label)
            raise StoreUnavailable(label)
        if store is not None and faults.store_throttled:
            self._throttle(label, store)

    def _throttle(self, label: str, store: str) -> None:
        """A partition over its limits refuses most of its calls for a while."""
        kernel = self.kernel
        if self.chance(self.faults.store_throttled, "store throttled"):
            self._throttled_until[store] = kernel.at + timedelta(seconds=kernel.draw("hot") * THROTTLED_SECONDS_MAX)
        until = self._throttled_until.get(store)
        if until is not None and kernel.at < until and kernel.chance(THROTTLED_SHARE, "throttled"):
            self.happened("store throttled", label)
            raise StoreUnavailable(label)

    def answered(self, label: str, *, may_conflict: bool = True) -> None:
        """After every effect: the function may die, or never hear of it."""
        faults = self.faults
        if faults is NO_FAULTS:
            return
        if self.chance(faults.crash, "crash"):
            self.happened("crash after a call", label)
            self.kernel.die()
        if self.chance(faults.answer_lost, "answer lost"):
            self.happened("answer lost after commit", label)
            if may_conflict and self.kernel.chance(0.7, "answer lost to a retry"):
                raise Conflict(f"{label}: own answer lost")
            raise StoreUnavailable(f"{label}: answer lost")

    # ---------------------------------------------------------------- functions

    def _functions(self) -> Mapping[QueueName, _Consumer]:
        deliver = _Consumer(seconds=DELIVER_TIMEOUT_SECONDS, handle=self._deliver)
        return {
            QueueName.REQUESTS: _Consumer(seconds=PROCESS_TIMEOUT_SECONDS, handle=self._each(self._process)),
            QueueName.CHAT: deliver,
            QueueName.TEXT: deliver,
            QueueName.SYSTEM: deliver,
            QueueName.RECONCILE: _Consumer(seconds=RECONCILE_TIMEOUT_SECONDS, handle=self._each(self._reconcile)),
            QueueName.RECEIPTS: _Consumer(seconds=RECEIPTS_TIMEOUT_SECONDS, handle=self._each(self._record)),
        }

    def _each(self, handle: Callable[[str, Held], bool]) -> Callable[[Mapping[str, Held]], set[str]]:
        def done(receipt: str, held: Held) -> bool:
            try:
                return handle(receipt, held)
            except _RETRIED:
                return False

        def handle_all(records: Mapping[str, Held]) -> set[str]:
            outcomes = self.kernel.gather([lambda item=item: done(*item) for item in records.items()])
            return {receipt for receipt, is_done in zip(records, outcomes, strict=True) if not is_done}

        return handle_all

    def _deliver(self, records: Mapping[str, Held]) -> set[str]:
        until = self.kernel.at + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)
        return deliver_messages({handle: held.body for handle, held in records.items()}, self.ports, until=until)

    def _process(self, receipt: str, held: Held) -> bool:
        received = Received(body=held.body, receipt_handle=receipt, receives=held.receives)
        parsed = parse_message(held.body)
        with self.operations.of_message(parsed):
            return process_message(parsed, received, self.ports, self.queues)

    def _reconcile(self, receipt: str, held: Held) -> bool:
        del receipt
        until = self.kernel.at + timedelta(seconds=RECONCILE_TIMEOUT_SECONDS)
        reconcile(parse_task(json.loads(held.body)), self.ports, until=until)
        return True

    def _record(self, receipt: str, held: Held) -> bool:
        del receipt
        record_receipt(self._receipts[int(held.body)], self.ports)
        return True

    def receipt(self, body: str) -> ClaimId:
        """The claim that a receipt in its queue speaks of."""
        return self._receipts[int(body)].claim_id

    def receive_receipt(self, receipt: Receipt) -> None:
        """A provider's receipt arrives in its queue."""
        self._receipts.append(receipt)
        self.queues.put(QueueName.RECEIPTS, str(len(self._receipts) - 1))

    # ---------------------------------------------------------------- polling

    def wake(self, queue: QueueName, at: datetime) -> None:
        """Have the queue polled at a time."""
        at = max(at, self.kernel.at)
        planned = self._polls.get(queue)
        if planned is None or at < planned:
            self._polls[queue] = at
            self.kernel.call_at(at, lambda: self._poll(queue, at))

    def _poll(self, queue: QueueName, at: datetime) -> None:
        if self._polls.get(queue) != at:
            return  # an earlier poll took its place
        del self._polls[queue]
        consumer = self._consumers[queue]
        if self._running[queue] >= consumer.concurrency:
            return  # whichever ends first polls again
        records = self.queues.receive(queue, 6 * consumer.seconds)
        self._poll_on(queue, seconds=0.01)
        if records:
            self._invoke(queue, consumer, records)

    def _poll_on(self, queue: QueueName, *, seconds: float = 0) -> None:
        next_at = self.queues.held[queue].next_at(self.kernel.at)
        if next_at is not None:
            self.wake(queue, next_at + timedelta(seconds=seconds))

    def _invoke(self, queue: QueueName, consumer: _Consumer, records: Mapping[str, Held]) -> None:
        self._running[queue] += 1
        self.counts["invocations"] += 1

        def over() -> None:
            self._running[queue] -= 1
            self._poll_on(queue)

        def ended(outcome: object) -> None:
            if isinstance(outcome, set):
                for handle in records:
                    if handle not in outcome:
                        self.queues.delete(handle)
            elif not isinstance(outcome, _RETRIED):
                raise _unexpected(outcome)
            over()

        name = f"{queue}#{self.counts['invocations']}"
        self.kernel.spawn(name, lambda: consumer.handle(records), seconds=consumer.seconds, on_end=ended, on_death=over)

    # ---------------------------------------------------------------- dead letters

    def wake_dead(self, queue: QueueName) -> None:
        """Have the dead letters of a queue recorded soon."""
        self.kernel.after(1, lambda: self._bury(queue))

    def _bury(self, queue: QueueName) -> None:
        if not self.queues.dead[queue]:
            return
        held = self.queues.dead[queue].pop(0)
        self.counts["dead_letters"] += 1

        def again() -> None:
            self.queues.dead[queue].append(held)
            self.kernel.after(DEAD_LETTER_PAUSE_SECONDS, lambda: self._bury(queue))

        def ended(outcome: object) -> None:
            if outcome is False:
                self.queues.kept[queue].append(held)
                self.checkers.lost(queue, held.body)
            elif isinstance(outcome, _RETRIED):
                again()
            elif outcome is not True:
                raise _unexpected(outcome)

        self.kernel.spawn(
            f"dead-{queue}",
            lambda: self._record_dead(queue, held),
            seconds=DEAD_LETTERS_TIMEOUT_SECONDS,
            on_end=ended,
            on_death=again,
        )

    def _record_dead(self, queue: QueueName, held: Held) -> bool:
        if queue is QueueName.RECEIPTS:
            return record_dead_receipt(self._receipts[int(held.body)], self.ports)
        if queue is not QueueName.REQUESTS:
            return record_dead_task_message(held.body, queue, self.ports)
        parsed = parse_message(held.body)
        with self.operations.of_dead_message(parsed):
            return record_dead_request_message(parsed, self.ports)

    # ---------------------------------------------------------------- schedules

    def _every(self, seconds: float, act: Callable[[], None]) -> None:
        def tick() -> None:
            if self.schedules_on:
                act()
            self.kernel.after(seconds, tick)

        self.kernel.after(seconds, tick)

    def is_due(self, due_at: datetime) -> None:
        """A request will be due: the first full minute from then on sweeps it; a sweep that finds nothing is spared."""
        first = max(due_at, self.kernel.at)
        minutes = -((BEGIN - first) // timedelta(seconds=MINUTE_SECONDS))
        at = BEGIN + timedelta(seconds=MINUTE_SECONDS * minutes)
        if self._sweep_at is None or at < self._sweep_at:
            self._sweep_at = at
            self.kernel.call_at(at, lambda: self._sweep_due(at))

    def _sweep_due(self, at: datetime) -> None:
        if self._sweep_at != at:
            return  # an earlier sweep took its place
        self._sweep_at = None
        due = [request.due_at for request in self.database.requests if request.due_at is not None]
        if due:
            self.is_due(max(min(due), at + timedelta(microseconds=1)))
        if self.schedules_on and due and min(due) <= at:
            until = self.kernel.at + timedelta(seconds=SWEEP_TIMEOUT_SECONDS)
            self.kernel.spawn("sweep_due", lambda: sweep_due(self.ports, until=until), seconds=SWEEP_TIMEOUT_SECONDS)

    def _sweep_nightly(self) -> None:
        self.kernel.spawn("sweep_nightly", lambda: sweep_nightly(self.ports), seconds=SWEEP_TIMEOUT_SECONDS)


def _unexpected(outcome: object) -> Exception:
    """Why a function ended as none may: the error that it raised, or what it gave back instead of its answer."""
    return outcome if isinstance(outcome, Exception) else AssertionError(f"a function gave {outcome!r}")
