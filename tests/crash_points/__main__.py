"""Runs every scenario with every fault at every call: `python -m tests.crash_points [--only TEXT] [--processes N]`.

`--call N --side "died after"` runs one fault of one scenario and prints its history.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from tests.crash_points.aws import Cloud, cloud
from tests.crash_points.boundary import Fault, Side
from tests.crash_points.run import Run, explore, only, run
from tests.crash_points.scenarios import VARIANTS, Variant, by_name

_ENTERED = ExitStack()
_CLOUD: list[Cloud] = []


@dataclass(kw_only=True)
class Row:
    """A line of the table."""

    name: str
    calls: int
    sides: Counter[str]
    violations: list[str]
    seconds: float

    @property
    def cases(self) -> int:
        return self.sides.total()


def main() -> int:
    parser = argparse.ArgumentParser(prog="crash_points")
    parser.add_argument("--only", default="", help="a part of a scenario's name")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--call", type=int)
    parser.add_argument("--side", default=Side.DIED_AFTER, choices=[side.value for side in Side])
    asked = parser.parse_args()
    names = [variant.name for variant in VARIANTS if asked.only in variant.name]
    if asked.call is not None:
        return _show(by_name(names[0]), Fault(asked.call, Side(asked.side)))
    begun = time.monotonic()
    rows: list[Row] = []
    _tell(f"{'scenario':58} {'calls':>6} {'cases':>6} {'violations':>11} {'seconds':>8}")
    with ProcessPoolExecutor(asked.processes, initializer=_enter) as pool:
        for row in pool.map(_explore, names):
            rows.append(row)
            _tell(f"{row.name:58} {row.calls:6} {row.cases:6} {len(row.violations):11} {row.seconds:8.1f}")
            for violation in row.violations:
                _tell(f"    {violation}")
    sides = sum((row.sides for row in rows), Counter[str]())
    found = sum(len(row.violations) for row in rows)
    calls, cases = sum(row.calls for row in rows), sides.total()
    _tell(f"{'all':58} {calls:6} {cases:6} {found:11} {time.monotonic() - begun:8.1f}")
    _tell("by side: " + ", ".join(f"{side} {sides[side]}" for side in Side))
    return 1 if found else 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _enter() -> None:
    """Once a process: tables and clients."""
    _CLOUD.append(_ENTERED.enter_context(cloud()))


def _explore(name: str) -> Row:
    begun = time.monotonic()
    without, runs = explore(by_name(name), _CLOUD[0])
    return Row(
        name=name,
        calls=len(without.calls),
        sides=Counter(item.fault.side.value for item in runs if item.fault is not None),
        violations=[_violation(item) for item in (without, *runs) if item.violation is not None],
        seconds=time.monotonic() - begun,
    )


def _violation(found: Run) -> str:
    if found.fault is None:
        return f"without a fault: {found.violation}"
    call = found.calls[found.fault.number]
    return f'--call {found.fault.number} --side "{found.fault.side}" ({call.label}): {found.violation}'


def _show(variant: Variant, fault: Fault) -> int:
    with cloud() as here:
        found = run(variant, here, only(fault))
    _tell("\n".join(found.history))
    _tell(str(found.ends))
    _tell(found.violation or "no violation")
    return 1 if found.violation else 0


if __name__ == "__main__":
    sys.exit(main())
