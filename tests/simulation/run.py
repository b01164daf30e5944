"""One run: a seed, its cast and faults, and the judges' verdict."""

import time
from datetime import timedelta
from random import Random
from traceback import extract_tb

from tests.simulation.audiences import Cast, cast_of
from tests.simulation.checkers import Violation
from tests.simulation.faults import NO_FAULTS
from tests.simulation.outcome import Outcome
from tests.simulation.readers import Readers
from tests.simulation.workload import last_deadline
from tests.simulation.world import World

__all__ = ["Outcome", "run"]

PURGED = 0.3
"""How many runs lose every message at once, when everybody has spoken."""
STILL = timedelta(hours=1)
"""How long after the last fault whatever happens at once still interleaves, though nobody else is there."""
AFTERWARDS = timedelta(days=4)
"""How long after the last deadline everything has ended: a receipt is waited for for three days."""


def run(seed: int, *, operations: int = 30, record: bool = False) -> Outcome:
    """Simulate a seed: operations under faults, then faults off and time until everything has ended."""
    begun = time.process_time()
    random, cast = Random(seed), cast_of(seed)
    world = World(seed, cast.faults(random), record=record)
    violation = None
    try:
        _live(world, random, cast, operations)
        world.checkers.at_end()
    except Violation as found:
        violation = str(found)
    except Exception as error:  # noqa: BLE001  (no function may raise what its trigger can't retry)
        place = extract_tb(error.__traceback__)[-1]
        violation = f"{type(error).__name__}: {error}, in {place.name} ({place.filename}:{place.lineno})"
    _count(world)
    return Outcome(
        seed=seed,
        violation=violation,
        counts=world.counts,
        faults=world.fault_counts,
        moves=world.checkers.moves,
        evaluated=world.checkers.evaluated,
        steps=world.kernel.steps,
        virtual_seconds=world.age.total_seconds(),
        seconds=time.process_time() - begun,
        history=world.kernel.history,
    )


def _live(world: World, random: Random, cast: Cast, operations: int) -> None:
    kernel, begun = world.kernel, world.kernel.at
    seconds = random.choice(cast.seconds)
    workload = cast.workload(world, operations=operations, seconds=seconds)
    Readers(workload, looks=operations, seconds=1.5 * seconds)
    kernel.run(begun + timedelta(seconds=seconds))
    if random.random() < PURGED:
        world.queues.purge()
    kernel.run(begun + timedelta(seconds=seconds + random.choice((60, 3600))))
    world.faults = NO_FAULTS
    for provider in world.providers.values():
        provider.is_refusing = False
    kernel.run(kernel.at + STILL)
    kernel.is_calm = True
    kernel.run(last_deadline(world) + AFTERWARDS)


def _count(world: World) -> None:
    """What the run came to; a delivery counts where something had to be sent."""
    if world.kernel.timeouts:
        world.fault_counts["function timed out"] = world.kernel.timeouts
    world.counts["requests"] = sum(1 for _ in world.database.requests)
    for notice in world.database.notices:
        world.counts["notices"] += 1
        for item in notice.deliveries:
            is_sent = item.channel != "console" and item.state not in {"unavailable", "skipped"}
            world.counts["deliveries" if is_sent else "shown or left out"] += 1
