"""Casts beyond the small ones that contend: many recipients a request, deadlines months ahead, and much that fails."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from notify_core.domain.channel import Channel
from tests.simulation.faults import Faults
from tests.simulation.profiles import OPERATIONS, Profile
from tests.simulation.providers import RECEIPT_SECONDS_MAX
from tests.simulation.workload import Workload
from tests.simulation.world import World

CROWD = 200
DAYS = (60, 75, 90)
_OF_A_CALL, _OF_A_POST = 0.1, 0.01
"""How much rarer faults are with a crowd: a call of hundreds, or a provider that refuses all, is met far more often."""

_HARDLY_THERE = ("unavailable",) * 9 + ("reject",)
_BEHIND_A_GATE = ("refuse", "throttle", "throttle")

_CROWD = Profile(
    people=(CROWD,),
    definitions=("plain", "plain", "chat", "chat", "replace", "fold", "alert"),
    withdrawn=0.1,
    deadline=0.1,
    hours=(1, 6),
)
_FAILING = Profile(
    people=(2, 3, 8),
    definitions=("board", "both", "both", "both", "chat", "plain", "replace", "replace"),
    operations={**OPERATIONS, "retry": 30, "leave": 8},
    withdrawn=0.1,
    deadline=0.3,
    deadlines=(700, 3600, 10_000),
    hours=(6, 48, 120),
    later=("retry",) * 8,
    faults={"provider": 0.95},
)


class Crowd(Workload):
    """Requests for 50 to 200 people, as real ones have."""

    def __init__(self, world: World, *, operations: int, seconds: float) -> None:
        super().__init__(world, operations=operations, seconds=seconds, profile=_CROWD)

    def _audience(self) -> list[str]:
        return self.random.sample(self.people, self.random.randint(CROWD // 4, CROWD))


class Months(Workload):
    """Deadlines months ahead: every night's audit goes over all of it."""

    def _define(self, key: str, channels: tuple[str, ...], hours: float, **fields: Any) -> None:
        days = self.random.choice(DAYS)
        super()._define(key, channels, hours=timedelta(days=days) / timedelta(hours=1), **fields)


class Failing(Workload):
    """One channel alone, two without an inbox; chat that is hardly ever there, and texts that nobody hears of."""

    def __init__(self, world: World, *, operations: int, seconds: float) -> None:
        super().__init__(world, operations=operations, seconds=seconds, profile=_FAILING)
        chat, text = world.providers[Channel.CHAT], world.providers[Channel.TEXT]
        chat.kinds = world.kernel.pick((_HARDLY_THERE, _HARDLY_THERE, _BEHIND_A_GATE), "how chat fails")
        text.kinds = ("drop_response", "drop_response", "lose_request", "late", "reject")
        text.bounces, text.receipts_within = 0.5, (0, RECEIPT_SECONDS_MAX, RECEIPT_SECONDS_MAX)

    def _register(self) -> None:
        super()._register()
        self._define("board", ("console",), 6)
        self._define("both", ("chat", "text"), self.random.choice((6, 48, 120)))


def _of_a_crowd(random: Random) -> Faults:
    faults = Faults.drawn(random, scale=_OF_A_CALL)
    return replace(faults, provider=faults.provider * _OF_A_POST)


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who takes part in a run: what they do, for how long, and under which faults."""

    workload: Callable[..., Workload] = Workload
    seconds: tuple[float, ...] = (2, 10, 60, 1800, 7200)
    faults: Callable[[Random], Faults] = Faults.drawn


SEEDS_A_ROUND = 25
FAILING, CROWDS, MONTHS = (4, 14), (9, 19), (24,)
"""Which seeds of a round have a cast of their own; in all others a few people contend."""
_CASTS: Mapping[int, Cast] = {
    **dict.fromkeys(FAILING, Cast(workload=Failing, seconds=(1800, 7200))),
    **dict.fromkeys(CROWDS, Cast(workload=Crowd, faults=_of_a_crowd)),
    **dict.fromkeys(MONTHS, Cast(workload=Months)),
}


def cast_of(seed: int) -> Cast:
    """A seed's cast."""
    return _CASTS.get(seed % SEEDS_A_ROUND, Cast())
