"""The exploration as a command: every configuration, then every rule switched off.

`--only 3b,4` picks configurations by how their names begin, and leaves the rules out; `--rules` takes the rules alone.
The exit status is 1 where a judge objects, or where a rule switched off is not missed.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from tests.exploration.configurations import CONFIGURATIONS
from tests.exploration.explorer import Result
from tests.exploration.rules import rules
from tests.exploration.run import explore, explore_rule

STATES_MAX = 1_500_000
SECONDS_MAX = 75
RULE_SECONDS_MAX = 120


def main() -> int:
    """Explore what the command line asks for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.exploration", description=__doc__)
    parser.add_argument("--only", help="the beginnings of configurations' names, with commas between them")
    parser.add_argument("--rules", action="store_true", help="only the rules")
    parser.add_argument("--states", type=int, default=STATES_MAX, help="the most states of a configuration")
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX, help="the most seconds of a configuration")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    is_right = True
    if not asked.rules:
        is_right = show_configurations(_chosen(asked.only), asked.states, asked.seconds, asked.processes)
    if not asked.only:
        is_right = show_rules(asked.processes) and is_right
    return 0 if is_right else 1


def _chosen(only: str | None) -> list[int]:
    if not only:
        return list(range(len(CONFIGURATIONS)))
    beginnings = tuple(only.split(","))
    return [place for place, item in enumerate(CONFIGURATIONS) if item.name.startswith(beginnings)]


# ---------------------------------------------------------------- configurations


def show_configurations(places: Sequence[int], states: int, seconds: float, processes: int) -> bool:
    """Print what each configuration came to; whether no judge objected."""
    print(f"at most {states:,} states and {seconds:.0f} seconds of the processor a configuration\n")
    print(
        f"{'configuration':28} {'states':>9} {'steps':>9} {'runs':>7} {'depth':>5} {'ends':>5} {'seconds':>7}  result"
    )
    results: list[Result] = []
    for result in _in_order(explore, [(place, states, seconds) for place in places], processes):
        results.append(result)
        print(f"{_row(result)}  {_verdict(result)}", flush=True)
        _print_history(result)
    complete = sum(result.is_complete for result in results)
    violations = sum(result.violation is not None for result in results)
    print(
        f"\n{len(results)} configurations, {complete} explored to completion, {len(results) - complete} to a cap: "
        f"{sum(result.states for result in results):,} states, "
        f"{sum(result.edges for result in results):,} steps; violations: {violations}\n"
    )
    return not violations


def _row(result: Result) -> str:
    return (
        f"{result.name:28} {result.states:9,} {result.edges:9,} {result.runs:7,} {result.depth:5} {result.ends:5} "
        f"{result.seconds:7.1f}"
    )


def _verdict(result: Result) -> str:
    if result.violation:
        return f"VIOLATION: {result.violation}"
    return "complete" if result.is_complete else "capped"


# ---------------------------------------------------------------- rules


def show_rules(processes: int) -> bool:
    """Print where each rule switched off is missed, with the shortest history; whether each one is."""
    chosen = rules()
    print(f"{'rule switched off':36} {'configuration':26} {'states':>9} {'steps':>5} {'seconds':>7}  counterexample")
    results: list[Result] = []
    tasks = [(place, STATES_MAX, RULE_SECONDS_MAX) for place in range(len(chosen))]
    for rule, result in zip(chosen, _in_order(explore_rule, tasks, processes), strict=True):
        results.append(result)
        print(
            f"{rule.mutation.name:36} {result.name:26} {result.states:9,} {result.steps:5} {result.seconds:7.1f}  "
            f"{result.violation or 'NONE'}",
            flush=True,
        )
    for rule, result in zip(chosen, results, strict=True):
        print(f"\n{rule.mutation.name}: without the rule that {rule.mutation.rule.removeprefix('† ')}")
        _print_history(result)
    missed = sum(result.violation is None for result in results)
    print(f"\n{len(chosen)} rules switched off, without a counterexample: {missed}")
    return not missed


# ---------------------------------------------------------------- both


def _print_history(result: Result) -> None:
    if result.violation:
        print("\n".join(f"    {line}" for line in (*result.trace, f"=> {result.violation}")))


def _in_order(work: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], processes: int) -> Iterator[Result]:
    """Each task's result, in the order of the tasks, each in a process of its own: memory comes back."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for future in [pool.submit(work, *task) for task in tasks]:
            yield future.result()


if __name__ == "__main__":
    sys.exit(main())
