"""The rest of the world in memory: queues, time, concurrency, telemetry and claim ids."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count
from threading import Lock
from typing import TypeVar

from notify_core.application.ports import Message, QueueName
from notify_core.domain.identifiers import ClaimId

T = TypeVar("T")


class MemoryQueues:
    """ports.Queues that keeps what is sent until it is taken."""

    def __init__(self) -> None:
        self._sent: dict[QueueName, list[Message]] = {queue: [] for queue in QueueName}
        self._lock = Lock()

    def send(self, queue: QueueName, messages: Sequence[Message]) -> None:
        """Keep the messages, in order."""
        with self._lock:
            self._sent[queue].extend(messages)

    def backlog(self, queue: QueueName) -> int:
        """How many messages wait to be taken."""
        with self._lock:
            return len(self._sent[queue])

    def take(self, queue: QueueName) -> list[Message]:
        """The messages sent since the last call, oldest first, and no longer waiting."""
        with self._lock:
            taken, self._sent[queue] = self._sent[queue], []
            return taken


class FixedClock:
    """ports.Clock that stands until it is moved."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """The time it was last set to."""
        return self.at

    def advance(self, by: timedelta) -> datetime:
        """Move it forward, and say what it shows then."""
        self.at += by
        return self.at


def gather(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """ports.Gather one task after the other; the first failure is raised once all have ended."""
    values: list[T] = []
    failures: list[Exception] = []
    for task in tasks:
        try:
            values.append(task())
        except Exception as failure:  # noqa: BLE001  (raised again below)
            failures.append(failure)
    if failures:
        raise failures[0]
    return values


class MemoryTelemetry:
    """ports.Telemetry that keeps what it is told, for a test to read."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self.durations: list[tuple[str, float]] = []
        self.events: list[tuple[str, dict[str, str | float | None]]] = []
        self.alarms: list[tuple[str, dict[str, str | float | None]]] = []
        self._lock = Lock()

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add to a metric."""
        with self._lock:
            self.counts[metric, tuple(sorted(dimensions.items()))] += value

    def counted(self, metric: str, **dimensions: str) -> int:
        """What a metric has come to, over the dimensions that aren't named."""
        wanted = set(dimensions.items())
        return sum(value for (name, found), value in self.counts.items() if name == metric and wanted <= set(found))

    def observe(self, metric: str, seconds: float, **dimensions: str) -> None:  # noqa: ARG002
        """Record a duration."""
        with self._lock:
            self.durations.append((metric, seconds))

    def info(self, event: str, **fields: str | float | None) -> None:
        """Keep what happened."""
        with self._lock:
            self.events.append((event, fields))

    def alarm(self, event: str, **fields: str | float | None) -> None:
        """Keep what an operator has to know of."""
        with self._lock:
            self.alarms.append((event, fields))


class SequentialClaimIds:
    """Claim ids that count, from `claim-1` on."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self) -> ClaimId:
        """The next claim id."""
        return ClaimId(f"claim-{next(self._numbers)}")
