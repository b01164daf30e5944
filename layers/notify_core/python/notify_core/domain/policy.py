"""How often and how long each channel is tried."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DeliveryId, digest, shard_of
from notify_core.domain.limits import DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS

_JITTER_STEPS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Attempts of one delivery, counted where the provider certainly sent nothing; a throttled one is no attempt."""

    attempts_max: int
    backoff_seconds_base: int
    backoff_seconds_max: int
    age_seconds_max: int
    """How long after its first attempt that failed a delivery is still tried; what it waited before is not its age."""
    probe_seconds: int
    """How long an open circuit waits before one delivery may try again."""


POLICIES: Final[Mapping[Channel, RetryPolicy]] = {
    Channel.CHAT: RetryPolicy(
        attempts_max=5,
        backoff_seconds_base=15,
        backoff_seconds_max=15 * MINUTE_SECONDS,
        age_seconds_max=DAY_SECONDS,
        probe_seconds=MINUTE_SECONDS,
    ),
    Channel.TEXT: RetryPolicy(
        attempts_max=5,
        backoff_seconds_base=30,
        backoff_seconds_max=15 * MINUTE_SECONDS,
        age_seconds_max=DAY_SECONDS,
        probe_seconds=5 * MINUTE_SECONDS,
    ),
    Channel.SLACK_SYSTEM: RetryPolicy(
        attempts_max=8,
        backoff_seconds_base=10,
        backoff_seconds_max=5 * MINUTE_SECONDS,
        age_seconds_max=12 * HOUR_SECONDS,
        probe_seconds=MINUTE_SECONDS,
    ),
}


def backoff(delivery: DeliveryId, channel: Channel, attempts: int) -> timedelta:
    """How long a delivery waits after its n-th attempt: doubling, with up to half of it taken off by jitter.

    The jitter is drawn from the delivery's identity, so that the same history gives the same times.
    """
    policy = POLICIES[channel]
    full_seconds = min(policy.backoff_seconds_base * 2 ** (attempts - 1), policy.backoff_seconds_max)
    return timedelta(seconds=full_seconds * (1 - jitter(delivery, attempts) / 2))


def jitter(delivery: DeliveryId, attempts: int) -> float:
    """A number from 0 to 1 (excluded) that differs from delivery to delivery and from attempt to attempt."""
    return shard_of(digest("jitter", delivery, str(attempts)), _JITTER_STEPS) / _JITTER_STEPS


def is_exhausted(channel: Channel, attempts: int, *, failing_since: datetime, now: datetime) -> bool:
    """Whether a delivery whose last attempt sent nothing isn't tried again."""
    policy = POLICIES[channel]
    return attempts >= policy.attempts_max or now >= failing_since + timedelta(seconds=policy.age_seconds_max)
