"""Whichever call of a scenario dies, or loses its request or its answer: nothing is lost, repeated, or left half done.

Every call of every scenario with every fault is `make crash-points`; here runs every scenario without a fault, and a
part of the faults.
"""

from collections.abc import Iterator
from itertools import chain

import pytest

from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE
from notify_core.domain.notice_lifecycle import NOTICE_LIFECYCLE
from notify_core.domain.request_lifecycle import REQUEST_LIFECYCLE
from tests.crash_points.aws import Cloud, cloud
from tests.crash_points.boundary import READ_SIDES, Fault, Side
from tests.crash_points.judges import Move
from tests.crash_points.mutants import MUTANTS, Mutant, broken
from tests.crash_points.run import faults, only, run
from tests.crash_points.scenarios import SCENARIOS, VARIANTS, by_name

EVERY_NTH = 61
"""Which part of the faults runs here: prime, and begun elsewhere in each scenario, so that it falls everywhere."""

DEFINITION_AND_CIRCUIT = {
    ("definition", "register", "absent -> active"),
    ("definition", "register", "retired -> active"),
    ("definition", "retire", "active -> retired"),
    ("circuit", "throttle", "closed -> closed"),
    ("circuit", "open", "closed -> open"),
    ("circuit", "probe", "open -> open"),
    ("circuit", "close", "open -> closed"),
}
NEVER_MADE = {
    # The tables allow these, and no use case asks for them: a worker claims before it skips, a message that dies while
    # its delivery waits costs nothing, and so no notice comes to `no_channel` without having been sending.
    ("delivery", "skip", "queued -> skipped"),
    ("delivery", "skip", "deferred -> skipped"),
    ("delivery", "exhaust", "deferred -> failed"),
    ("notice", "progress", "routed -> no_channel"),
}


@pytest.fixture(scope="module")
def here() -> Iterator[Cloud]:
    with cloud() as made:
        yield made


def in_the_tables() -> set[Move]:
    moves = {
        (lifecycle.name, str(move.event), f"{move.source} -> {move.target}")
        for lifecycle in (REQUEST_LIFECYCLE, DELIVERY_LIFECYCLE, NOTICE_LIFECYCLE)
        for move in lifecycle
    }
    return moves | DEFINITION_AND_CIRCUIT


@pytest.mark.timeout(300)
def test_the_scenarios_make_every_move_of_every_lifecycle_and_end_as_they_should(here: Cloud) -> None:
    runs = {name: run(by_name(name), here) for name in SCENARIOS}
    assert {name: found.violation for name, found in runs.items() if found.violation} == {}
    made = {move for found in runs.values() for move in found.moves}
    assert in_the_tables() - made == NEVER_MADE
    assert made - in_the_tables() == set()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=[variant.name for variant in VARIANTS])
def test_a_part_of_the_faults_violates_nothing(here: Cloud, number: int) -> None:
    variant = VARIANTS[number]
    calls = run(variant, here).calls
    chosen = list(faults(calls))[number % EVERY_NTH :: EVERY_NTH]
    found = {str(fault): run(variant, here, only(fault)).violation for fault in chosen}
    assert {fault: violation for fault, violation in found.items() if violation} == {}


def test_every_call_that_may_have_an_effect_fails_in_every_way(here: Cloud) -> None:
    calls = run(by_name("replaced"), here).calls
    sides = {call.label: call.sides for call in calls}
    assert sides["PutItem notices"] == sides["TransactWriteItems"] == sides["SendMessageBatch chat"] == tuple(Side)
    assert sides["GetItem requests"] == sides["Query requests"] == READ_SIDES
    assert sides["send chat"] == tuple(side for side in Side if side is not Side.ANSWER_LOST_ONCE)


def test_a_run_is_reproduced_exactly(here: Cloud) -> None:
    first, second = (run(by_name("replaced"), here, only(Fault(20, Side.DIED_BEFORE))) for _ in range(2))
    assert first == second
    assert first.fault == Fault(20, Side.DIED_BEFORE)


# ---------------------------------------------------------------- the tester, tested


def violations(mutant: Mutant, here: Cloud) -> Iterator[str]:
    """What is found where the mutant shows, first without a fault."""
    variant = by_name(mutant.scenario)
    without = run(variant, here)
    shown = [fault for fault in faults(without.calls) if without.calls[fault.number].label == mutant.label]
    found = (run(variant, here, only(fault)) for fault in shown if fault.side is mutant.side)
    yield from (item.violation for item in chain([without], found) if item.violation)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_broken_product_is_found_out(here: Cloud, mutant: Mutant) -> None:
    assert not list(violations(mutant, here))
    with broken(mutant):
        assert next(violations(mutant, here), None) is not None
