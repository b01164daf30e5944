"""Slack's rate limit, for one workspace at a time."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from infra.local.simulator.settings import SlackRate


@dataclass(slots=True, kw_only=True)
class _Allowance:
    posts: float
    at: float
    shut_until: float = 0


class SlackRateLimit:
    """Posts in hand for each workspace; one that has none left is shut out until its time is over."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._allowances: dict[str, _Allowance] = {}
        self._lock = threading.Lock()

    def seconds_to_wait(self, team: str, rate: SlackRate | None) -> int | None:
        """None when the workspace may post now, and the post is counted; else its `Retry-After`."""
        if rate is None:
            return None
        now, most = self._clock(), max(1.0, rate.per_second)
        with self._lock:
            allowance = self._allowances.setdefault(team, _Allowance(posts=most, at=now))
            if now < allowance.shut_until:
                return math.ceil(allowance.shut_until - now)
            allowance.posts = min(most, allowance.posts + (now - allowance.at) * rate.per_second)
            allowance.at = now
            if allowance.posts >= 1:
                allowance.posts -= 1
                return None
            allowance.shut_until = now + rate.retry_after
            return rate.retry_after

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._allowances.clear()
