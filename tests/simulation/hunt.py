"""Hunting the seeded bugs: `python -m tests.simulation.hunt` prints what the simulation makes of each of them.

A line a mutation: the rule that it breaks, what found it, at which seed and in how many seconds of one core. It fails
if one survives all the seeds.
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from types import FrameType

from tests.simulation import workload
from tests.simulation.mutants import MUTATIONS
from tests.simulation.mutation import Mutation, Stale
from tests.simulation.run import run

SEEDS = 300
PRESSED = {
    "shorter-lease": "late answers",
    "no-pause-before-silence-is-believed": "late answers",
    "equal-times-unordered": "replacements",
    "head-unguarded": "replacements",
    "settled-unread": "operators",
    "finished-for-ever": "operators",
    "withdrawn-retried": "operators",
    "no-handover": "operators",
    "handed-to-one-that-left": "operators",
    "look-back-too-short": "folds",
}
"""Mutations that most runs leave alone, with the profile that presses where they are: they are hunted in its runs."""
SEED_SECONDS_MAX = 30
"""Of a core: a run that takes longer goes round in circles."""


class FalseAlarm(Exception):
    """The product as it stands fails at the seed that found a mutation: the hunt shows nothing."""


class NeverAtRest(BaseException):
    """A run that doesn't come to its end."""


@dataclass(frozen=True, kw_only=True)
class Catch:
    """What became of a mutation: the violation that found it and at which seed, or why nothing could be told."""

    name: str
    violation: str | None = None
    seed: int | None = None
    seconds: float = 0.0
    problem: str = "SURVIVES"


def hunt(mutation: Mutation, seeds: Iterable[int]) -> Catch:
    """Run seed after seed with the mutation applied, until one shows it that shows nothing without."""
    begun = time.process_time()
    with pressing(PRESSED.get(mutation.name)):
        return _hunt(mutation, seeds, begun)


@contextmanager
def pressing(name: str | None) -> Iterator[None]:
    """Have every run draw the profile of this name; None leaves the choice to its seed."""
    before = workload.PROFILES
    workload.PROFILES = before if name is None else tuple(item for item in before if item.name == name)
    try:
        yield
    finally:
        workload.PROFILES = before


def _hunt(mutation: Mutation, seeds: Iterable[int], begun: float) -> Catch:
    with mutation.apply():
        for seed in seeds:
            violation = verdict(seed)
            if violation is not None:
                break
        else:
            return Catch(name=mutation.name, seconds=time.process_time() - begun)
    spent = time.process_time() - begun
    if (honest := verdict(seed)) is not None:
        raise FalseAlarm(f"seed {seed} is bad without any mutation: {honest}")
    return Catch(name=mutation.name, violation=violation, seed=seed, seconds=spent)


def verdict(seed: int) -> str | None:
    """What a run shows: a violation, an exception that nobody is there to catch, or that it never ends."""
    try:
        with _limited(SEED_SECONDS_MAX):
            return run(seed).violation
    except NeverAtRest:
        return f"the run took more than {SEED_SECONDS_MAX} s"
    except Exception as failure:  # noqa: BLE001  (whatever the mutated code raises)
        return f"{type(failure).__name__}: {failure}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise NeverAtRest

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _hunt_numbered(number: int, seeds: range) -> Catch:
    try:
        return hunt(MUTATIONS[number], seeds)
    except (FalseAlarm, Stale) as problem:
        return Catch(name=MUTATIONS[number].name, problem=str(problem))


def main(arguments: Sequence[str]) -> int:
    """Hunt all mutations, or those named; gives 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="mutations to hunt; all of them by default")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args(arguments)
    numbers = [n for n, item in enumerate(MUTATIONS) if not chosen.names or item.name in chosen.names]
    jobs = [(number, range(chosen.seeds)) for number in numbers]
    print(f"{len(jobs)} mutations, up to {chosen.seeds} seeds each, {chosen.processes} processes", flush=True)
    with get_context("fork").Pool(chosen.processes, maxtasksperchild=1) as pool:
        results = [pool.apply_async(_hunt_numbered, job) for job in jobs]
        catches = [_told(MUTATIONS[number], result.get()) for number, result in zip(numbers, results, strict=True)]
    survivors = [catch.name for catch in catches if catch.violation is None]
    found = sorted(catch.seed for catch in catches if catch.seed is not None)
    if found:
        print(f"{len(found)} found, at seed {found[len(found) // 2]} in the median and {found[-1]} at the latest")
    print(f"{len(survivors)} survive{'s' if len(survivors) == 1 else ''}: {', '.join(survivors) or 'none'}")
    return 1 if survivors else 0


def _told(mutation: Mutation, catch: Catch) -> Catch:
    seed = "-" if catch.seed is None else str(catch.seed)
    found_by = " ".join((catch.violation or catch.problem).split())[:110]
    where = f" [{PRESSED[mutation.name]}]" if mutation.name in PRESSED else ""
    print(
        f"{mutation.name:36} {seed:>4} {catch.seconds:6.1f} s  {found_by}\n{'':36} {mutation.rule}{where}", flush=True
    )
    return catch


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
