"""The whole platform under a seeded scheduler with faults: no judge finds anything, and a seed says it all."""

import subprocess
import sys

import pytest

from tests.simulation.audiences import FAILING, SEEDS_A_ROUND
from tests.simulation.coverage import idle_judges, impossible_moves, missing_faults, missing_moves
from tests.simulation.outcome import Outcome
from tests.simulation.run import run

SEEDS = [*range(75), *(first + number for first in range(75, 1200, SEEDS_A_ROUND) for number in FAILING)]
"""Three rounds of all casts, and many of the one that makes what is rare."""


@pytest.mark.timeout(600)
def test_no_seed_violates_an_invariant_and_together_they_make_every_move() -> None:
    total, violations = Outcome(seed=-1, runs=0), dict[int, str]()
    for seed in SEEDS:
        outcome = run(seed)
        total.add(outcome)
        if outcome.violation:
            violations[seed] = outcome.violation
    assert violations == {}
    assert (missing_moves(total), impossible_moves(total)) == ([], [])
    assert (idle_judges(total), missing_faults(total)) == ([], [])


def replayed(seed: int, hash_seed: str) -> bytes:
    """What the command prints of a run, in a process of its own."""
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed)]
    environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [4, 7, 9])
def test_a_seed_gives_the_same_history_byte_for_byte_in_any_process(seed: int) -> None:
    first = replayed(seed, "1")
    assert first == replayed(seed, "2")
    assert first.count(b"\n") > 100


def test_telling_its_history_changes_nothing_about_a_run() -> None:
    told, untold = run(7, record=True), run(7)
    assert told.history
    told.history = None
    assert told == untold
