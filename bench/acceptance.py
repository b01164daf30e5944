"""(b) What accepting a request for 200 people takes: CPU and calls."""

from statistics import median
from typing import Final

from bench import worker
from bench.report import Cell, Result
from bench.scene import PEOPLE, laid
from bench.worker import Plan

BUDGET_MS: Final = 0.3
_EVENTS: Final = 5
_ROUNDS: Final = 9


def run() -> Result:
    """Hand the function publications to 200 people, one a batch."""
    with laid() as scene:
        plan = Plan(folder="process_requests", events=[scene.acceptance(PEOPLE, 1)] * _EVENTS, rounds=_ROUNDS)
        scene.stub.set()
        timing = worker.run(plan, scene.stub)
        calls = scene.stub.set().calls
    accepted = _EVENTS * (plan.rounds + plan.warmups)
    cpu_ms = median(timing.rounds_cpu_ms) / PEOPLE
    rows: list[list[Cell]] = [["CPU ms", median(timing.rounds_cpu_ms), cpu_ms]]
    rows += [[call, number / accepted, number / accepted / PEOPLE] for call, number in sorted(calls.items())]
    return Result(
        name="acceptance",
        title="(b) Accepting a request for 200 people",
        columns=["what", "a request", "a recipient"],
        rows=rows,
        figures={"cpu_ms_per_recipient": cpu_ms},
        budgets={"cpu_ms_per_recipient": BUDGET_MS},
        notes=["Through the function's handler, rendering for every recipient, dispatch and look behind included."],
    )
