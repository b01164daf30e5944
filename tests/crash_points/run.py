"""One run of a scenario, and every run that its calls ask for."""

import gc
import os
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.crash_points.aws import Cloud
from tests.crash_points.boundary import Call, Choose, Fault, HarnessFailed, Side, nothing
from tests.crash_points.scenarios import Variant
from tests.crash_points.world import CrashWorld
from tests.simulation.checkers import Violation


@dataclass(kw_only=True)
class Run:
    """What a run did, and how it ended."""

    violation: str | None = None
    fault: Fault | None = None
    calls: list[Call] = field(default_factory=list)
    moves: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    ends: dict[str, str] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)


def run(variant: Variant, cloud: Cloud, choose: Choose = nothing) -> Run:
    """Run a scenario with one fault, or with none; time passes until everything has ended, then it is judged."""
    world = CrashWorld(cloud, choose, is_backwards=variant.is_backwards, calls_again=not variant.gives_up)
    outcome = Run()
    try:
        variant.scenario.script(world)
        world.drain()
        world.judge()
        outcome.ends = world.ends()
        _check_ends(variant, outcome.ends, is_faulty=world.boundary.fault is not None)
    except Violation as found:
        outcome.violation = str(found)
    except (HarnessFailed, Exception) as failure:  # noqa: BLE001  (told like a violation, with the call that led to it)
        outcome.violation = f"the test itself failed: {failure.__cause__ or failure!r}"
    outcome.fault = world.boundary.fault
    outcome.calls, outcome.moves, outcome.history = world.boundary.calls, world.judges.moves, world.history
    return outcome


def _check_ends(variant: Variant, ends: Mapping[str, str], *, is_faulty: bool) -> None:
    """Compare with what was typed by hand: a fault may lead to what the scenario says it may, and to nothing else."""
    for name in {*variant.scenario.ends, *ends}:
        allowed = [
            *variant.scenario.ends.get(name, ["absent"]),
            *(variant.otherwise.get(name, ()) if is_faulty else ()),
        ]
        if ends.get(name, "absent") not in allowed:
            raise Violation(f"{name}: {ends.get(name, 'absent')}, not {' or '.join(allowed)}")


def only(fault: Fault) -> Choose:
    """This goes wrong."""
    return lambda number, _: fault.side if number == fault.number else None


def faults(calls: list[Call]) -> Iterator[Fault]:
    """Every fault that the calls of a run ask for."""
    for number, call in enumerate(calls):
        for side in call.sides:
            yield Fault(number, side)


def explore(variant: Variant, cloud: Cloud) -> tuple[Run, list[Run]]:
    """A scenario without a fault, and with each that its calls ask for.

    Each fault runs in a copy of the process made at its call, so that what comes before is run once.
    """
    found: list[Run] = []

    def choose(number: int, call: Call) -> Side | None:
        del number
        for side in call.sides:
            told, telling = os.pipe()
            child = os.fork()
            if child == 0:
                gc.disable()  # it would touch, and so copy, every page
                ends.append(telling)
                return side
            os.close(telling)
            with os.fdopen(told, "rb") as file:
                found.append(pickle.load(file))
            os.waitpid(child, 0)
        return None

    ends: list[int] = []
    gc.freeze()
    try:
        outcome = run(variant, cloud, choose)
        if ends:
            with os.fdopen(ends[0], "wb") as file:
                pickle.dump(outcome, file)
    finally:
        if ends:
            os._exit(0)
    return outcome, found
