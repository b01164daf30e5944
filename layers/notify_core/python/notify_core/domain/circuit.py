"""A workspace's channel that can't be used for now: throttled until a time, or refused until a probe gets through."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from notify_core.domain.delivery_lifecycle import DeliveryReason
from notify_core.domain.directory import ChannelState
from notify_core.domain.identifiers import DeliveryId
from notify_core.domain.policy import POLICIES, jitter
from notify_core.domain.send_result import (
    Accepted,
    Delivered,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
)

_SPREAD_SECONDS_MAX = 300
_ANSWERED_TOGETHER = timedelta(seconds=1)
"""Answers so close together tell the same: only the first is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A delivery of the channel waits until a time, for a reason that an operator sees."""

    until: datetime
    reason: DeliveryReason


def wait_for(state: ChannelState | None, delivery: DeliveryId, *, now: datetime) -> Wait | None:
    """Whether, and until when, a delivery has to wait for its channel; waiting ones come back spread over time."""
    if state is None:
        return None
    if state.open_since is not None and state.probe_at is not None:
        spread = min(max(now - state.open_since, timedelta(seconds=10)), timedelta(seconds=_SPREAD_SECONDS_MAX))
        until = max(state.probe_at, state.blocked_until or now, now) + spread * jitter(delivery, 0)
        return Wait(until=until, reason=DeliveryReason.CIRCUIT_OPEN)
    if state.blocked_until is not None and now < state.blocked_until:
        spread = state.blocked_until - now
        return Wait(until=state.blocked_until + spread * jitter(delivery, 0), reason=DeliveryReason.THROTTLED)
    return None


def is_probe_due(state: ChannelState, *, now: datetime) -> bool:
    """Whether one delivery may try if the channel is refused still; none may while it is throttled as well."""
    if state.open_since is None or state.probe_at is None:
        return False
    return now >= max(state.probe_at, state.blocked_until or state.probe_at)


def probing(state: ChannelState, *, now: datetime) -> ChannelState:
    """The state once a delivery has taken the probe: the next one is due later."""
    probe_at = now + timedelta(seconds=POLICIES[state.channel].probe_seconds)
    return replace(state, version=state.version + 1, probe_at=probe_at)


def after_result(state: ChannelState, result: SendResult, *, now: datetime) -> ChannelState | None:
    """The channel's next state after an answer; None when the answer changes nothing about the channel."""
    match result:
        case Throttled():
            blocked_until = now + result.retry_after
            if state.blocked_until is not None and blocked_until < state.blocked_until + _ANSWERED_TOGETHER:
                return None
            return replace(state, version=state.version + 1, blocked_until=blocked_until)
        case Rejected(scope=RejectionScope.WORKSPACE, reason=reason) if _is_refused_for(state, reason, now=now):
            return None
        case Rejected(scope=RejectionScope.WORKSPACE):
            opened = replace(state, open_since=state.open_since or now, open_reason=result.reason)
            return probing(opened, now=now)
        case Delivered() | Accepted() | Rejected() if state.open_since is not None:
            return replace(state, version=state.version + 1, open_since=None, open_reason=None, probe_at=None)
        case _:
            return None


def _is_refused_for(state: ChannelState, reason: str, *, now: datetime) -> bool:
    """Whether the circuit is open for this reason already, and the next probe still to come."""
    return state.open_reason == reason and state.probe_at is not None and now < state.probe_at
