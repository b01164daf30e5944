"""One run: a seed, its workload and faults, and the judges' verdict."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from tests.simulation.checkers import Violation
from tests.simulation.workload import Workload, last_deadline
from tests.simulation.world import NO_FAULTS, Faults, World


@dataclass(kw_only=True)
class Outcome:
    """What a run did and how it ended."""

    seed: int
    violation: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    moves: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    steps: int = 0
    history: list[str] | None = None


def run(seed: int, *, operations: int = 30, record: bool = False) -> Outcome:
    """Simulate a seed: operations under faults, then faults off and time until everything has ended."""
    random = Random(seed)
    world = World(seed, Faults.drawn(random), record=record)
    seconds = random.choice((2, 10, 60, 1800, 7200))
    Workload(world, operations=operations, seconds=seconds)
    begun = world.kernel.at
    violation = None
    try:
        world.kernel.run(begun + timedelta(seconds=seconds))
        if random.random() < 0.3:
            world.counts["purges"] += 1
            world.queues.purge()
        world.kernel.run(begun + timedelta(seconds=seconds + random.choice((60, 3600))))
        world.faults = NO_FAULTS
        for provider in world.providers.values():
            provider.is_refusing = False
        world.kernel.run(last_deadline(world) + timedelta(days=4))
        world.checkers.at_end()
    except Violation as found:
        violation = str(found)
    return Outcome(
        seed=seed,
        violation=violation,
        counts=world.counts,
        moves=world.checkers.moves,
        steps=world.kernel.steps,
        history=world.kernel.history,
    )
