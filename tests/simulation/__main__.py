"""The simulation as a command: so many seeds, or so many deliveries, and a table of what they came to.

`--seed 17` replays one run and prints its history. The exit status is 1 where a judge objects, and where the runs
together left out a move of a lifecycle, a judge or a kind of fault.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice
from multiprocessing import get_context

from tests.simulation.audiences import CROWDS, SEEDS_A_ROUND
from tests.simulation.coverage import NEVER_MADE, idle_judges, impossible_moves, missing_faults, missing_moves, moves
from tests.simulation.faults import FAULTS
from tests.simulation.outcome import Outcome
from tests.simulation.run import run

FURTHER = 1_000_000
"""Where the seeds with crowds begin that are run between the others."""
PROGRESS_SECONDS = 5
SECONDS_A_DAY = 86_400
RECYCLED_AFTER = 500
"""Runs after which a process is replaced: memory stays flat."""


def main() -> int:
    """Simulate what the command line asks for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--deliveries", type=int, help="run seeds until so many deliveries have ended")
    parser.add_argument("--seed", type=int, help="replay this one and print its history")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.seed is not None:
        return replay(asked.seed)
    seeds = many_deliveries(asked.first) if asked.deliveries else range(asked.first, asked.first + asked.seeds)
    return simulate(seeds, asked.deliveries, asked.processes)


def many_deliveries(first: int) -> Iterator[int]:
    """Seeds without end, two of every three as they come and the third with a crowd."""
    crowds = (seed for seed in count(FURTHER + first) if seed % SEEDS_A_ROUND in CROWDS)
    for seed in count(first):
        yield seed
        if seed % 2:
            yield next(crowds)


def replay(seed: int) -> int:
    """Print what happened in a run, and what the judges say."""
    outcome = run(seed, record=True)
    print("\n".join(outcome.history or ()))
    print(f"\nseed {seed}: {outcome.violation or 'no violation'}")
    return 1 if outcome.violation else 0


def simulate(seeds: Iterable[int], deliveries: int | None, processes: int) -> int:
    """Run the seeds side by side, and print what they came to."""
    begun = time.monotonic()
    total, violations = Outcome(seed=-1, runs=0), list[Outcome]()
    for outcome in _told(_outcomes(seeds, processes), deliveries, total, begun):
        total.add(outcome)
        if outcome.violation:
            violations.append(outcome)
            print(f"\nseed {outcome.seed}: {outcome.violation}\n  make simulate SEED={outcome.seed}\n", flush=True)
        if deliveries is not None and total.counts["deliveries"] >= deliveries:
            break
    return report(total, violations, time.monotonic() - begun)


def _outcomes(seeds: Iterable[int], processes: int) -> Iterator[Outcome]:
    """Each seed's outcome, as soon as it is there; only so many are under way that none is run in vain."""
    with get_context("spawn").Pool(processes, maxtasksperchild=RECYCLED_AFTER) as pool:
        waiting = iter(seeds)
        under_way = [pool.apply_async(run, (seed,)) for seed in islice(waiting, 4 * processes)]
        while under_way:
            yield under_way.pop(0).get()
            under_way.extend(pool.apply_async(run, (seed,)) for seed in islice(waiting, 1))


def _told(outcomes: Iterator[Outcome], deliveries: int | None, total: Outcome, begun: float) -> Iterator[Outcome]:
    """The outcomes, with a line of progress every few seconds."""
    told_at = begun
    for outcome in outcomes:
        yield outcome
        now = time.monotonic()
        if now - told_at >= PROGRESS_SECONDS:
            told_at, done = now, total.counts["deliveries"]
            of = f" of {deliveries:,}" if deliveries else ""
            print(
                f"{now - begun:6.0f} s  seed {outcome.seed:,}: {total.runs:,} runs, {done:,}{of} deliveries, "
                f"{done / (now - begun):,.0f} a second",
                flush=True,
            )


# ---------------------------------------------------------------- the table


def report(total: Outcome, violations: list[Outcome], seconds: float) -> int:
    """Print the table; the exit status."""
    counts = total.counts
    deliveries = counts["deliveries"]
    print()
    _line("runs", total.runs)
    _line("requests", counts["requests"], f"{counts['publish']:,} publications, {counts['withdraw']:,} withdrawals")
    _line("notices", counts["notices"])
    _line("deliveries", deliveries, f"{counts['wire_calls']:,} wire calls, {counts['reached']:,} reached somebody")
    _line("looks", counts["looks"], "readers, recipients and operators at any moment")
    _line("invocations", counts["invocations"], f"{total.steps:,} steps")
    print(f"  {'virtual time':34}{total.virtual_seconds / SECONDS_A_DAY:>14,.0f} days")
    print(f"  {'time':34}{seconds:>14,.1f} s  {deliveries / seconds:,.0f} deliveries a second")
    print(f"  {'CPU':34}{total.seconds:>14,.1f} s  {total.seconds / max(deliveries, 1) * 1e6:,.0f} µs a delivery")
    print("\nfaults")
    for fault in FAULTS:
        _line(fault, total.faults[fault])
    print("\njudged")
    for check, times in sorted(total.evaluated.items()):
        _line(check, times)
    print("\nmoves")
    every = moves()
    for kind in dict.fromkeys(kind for kind, _, _ in every):
        known = [move for move in every if move[0] == kind]
        seen = sum(total.moves[move] > 0 for move in known)
        print(f"  {kind:34}{seen:>9} of {len(known)}")
    for (kind, event, way), reason in NEVER_MADE.items():
        print(f"  not counted: {kind} {event} {way}: {reason}")
    gaps = [
        *(f"never made: {kind} {event} {way}" for kind, event, way in missing_moves(total)),
        *(f"made, though nothing makes it: {kind} {event} {way}" for kind, event, way in impossible_moves(total)),
        *(f"never judged: {check}" for check in idle_judges(total)),
        *(f"never happened: {fault}" for fault in missing_faults(total)),
    ]
    print("".join(f"\n{gap}" for gap in gaps))
    print(f"violations: {len(violations)}")
    for outcome in violations:
        print(f"  make simulate SEED={outcome.seed}")
    return 1 if violations or gaps else 0


def _line(name: str, value: int, more: str = "") -> None:
    print(f"  {name:44}{value:>14,}  {more}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
