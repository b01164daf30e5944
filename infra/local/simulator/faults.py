"""Faults: how a provider fails next, and what each failure does to the message."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Final, Protocol, assert_never

from infra.local.simulator.wire import Answer, Cut, Reply, Silence

HANG_SECONDS: Final = 60
RETRY_AFTER_SECONDS: Final = 1
"""What a throttled answer says when the fault doesn't."""
POST: Final = "chat.postMessage"
SEND: Final = "SendTextMessage"
SEND_CALLS: Final = {"chat": POST, "text": SEND, "slack_system": POST}
"""The call of each channel that sends: what a fault acts on unless it names another."""
SLACK_CHANNELS: Final = frozenset({"chat", "slack_system"})


class FaultKind(StrEnum):
    """The ways to fail: an answer that sent nothing, a message whose answer is lost, a lost message."""

    THROTTLE = "throttle"
    UNAVAILABLE = "unavailable"
    ERROR_500 = "error_500"
    DROP_RESPONSE = "drop_response"
    LOSE_REQUEST = "lose_request"
    HANG = "hang"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whom a call concerns."""

    channel: str
    to: str


@dataclass(slots=True, kw_only=True)
class Fault:
    """One queued fault; `times_left` is None for one that stays until it is removed."""

    channel: str
    call: str
    kind: FaultKind
    to: str | None = None
    times_left: int | None = 1
    code: str | None = None
    retry_after: int = RETRY_AFTER_SECONDS
    after_seconds: float = 0
    probability: float = 1
    chance: random.Random = field(default_factory=random.Random)

    def concerns(self, call: str, target: Target | None) -> bool:
        """Whether it acts on this call; a call without a target is anybody's, but only a Slack one."""
        if call != self.call:
            return False
        if target is None:
            return self.to is None and self.channel in SLACK_CHANNELS
        return self.channel == target.channel and self.to in (None, target.to)

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "channel": self.channel,
            "to": self.to,
            "call": self.call,
            "fault": self.kind,
            "times_left": self.times_left,
            "code": self.code,
            "retry_after": self.retry_after,
            "after_seconds": self.after_seconds,
            "probability": self.probability,
        }


class FaultBook:
    """The faults still to come, in the order they were asked for."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> None:
        """Queues a fault behind the others."""
        with self._lock:
            self._faults.append(fault)

    def take(self, call: str, target: Target | None) -> Fault | None:
        """The first fault for this call, used up by one."""
        with self._lock:
            fault = next((fault for fault in self._faults if _strikes(fault, call, target)), None)
            if fault is not None and fault.times_left is not None:
                fault.times_left -= 1
                if fault.times_left == 0:
                    self._faults.remove(fault)
            return fault

    def remaining(self) -> list[dict[str, object]]:
        """The faults still to come, as JSON objects."""
        with self._lock:
            return [fault.to_json() for fault in self._faults]

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._faults.clear()


class Dialect(Protocol):
    """How one provider words its failures."""

    def throttled(self, retry_after: int) -> Answer:
        """Too fast; nothing was sent."""
        ...

    def unavailable(self) -> Answer:
        """Not now; nothing was sent."""
        ...

    def broken(self, status: int) -> Answer:
        """It failed, and doesn't say how far it came."""
        ...

    def refused(self, code: str) -> Answer:
        """It won't send this."""
        ...


def reply_under(fault: Fault | None, perform: Callable[[], Answer], dialect: Dialect) -> Reply:
    """What the provider does with a call that meets this fault; `perform` carries the call out."""
    if fault is None:
        return perform()
    match fault.kind:
        case FaultKind.THROTTLE:
            return dialect.throttled(fault.retry_after)
        case FaultKind.UNAVAILABLE:
            return dialect.unavailable()
        case FaultKind.REJECT:
            return dialect.refused(fault.code or "")
        case FaultKind.ERROR_500:
            perform()
            return dialect.broken(int(fault.code or HTTPStatus.INTERNAL_SERVER_ERROR))
        case FaultKind.DROP_RESPONSE:
            return _dropped(perform, fault.after_seconds)
        case FaultKind.LOSE_REQUEST:
            return Cut()
        case FaultKind.HANG:
            return Silence(seconds=HANG_SECONDS)
        case _:
            assert_never(fault.kind)


def _dropped(perform: Callable[[], Answer], after_seconds: float) -> Cut:
    if after_seconds:
        return Cut(then=perform, after_seconds=after_seconds)
    perform()
    return Cut()


def _strikes(fault: Fault, call: str, target: Target | None) -> bool:
    return fault.concerns(call, target) and (fault.probability >= 1 or fault.chance.random() < fault.probability)
