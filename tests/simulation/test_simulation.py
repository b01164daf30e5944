"""The whole platform under a seeded scheduler with faults: no judge finds anything, and a seed says it all."""

import pytest

from tests.simulation.run import run

SEEDS = 120
CHUNK = 20


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_seed_violates_an_invariant(first: int) -> None:
    outcomes = [run(seed) for seed in range(first, first + CHUNK)]
    assert {outcome.seed: outcome.violation for outcome in outcomes if outcome.violation} == {}


def test_a_seed_reproduces_its_run_exactly() -> None:
    first, second = run(7, record=True), run(7, record=True)
    assert first.history
    assert first == second
