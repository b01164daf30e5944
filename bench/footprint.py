"""(g) The memory of a worker over 10,000 deliveries."""

from typing import Final

from bench import worker
from bench.report import Result
from bench.scene import PEOPLE, laid
from bench.worker import Plan

DELIVERIES: Final = 10_000
BUDGET_MB: Final = 5
_STEPS: Final = (0, 0.1, 0.25, 0.5, 0.75, 1)


def run() -> Result:
    """Have one process deliver ten thousand times, and look at what it holds."""
    with laid() as scene:
        plan = Plan(folder="deliver_chat", events=scene.dispatches(), rounds=DELIVERIES // PEOPLE)
        held = worker.run(plan, scene.stub).rss_mb
    rounds = len(held) - 1
    growth = held[-1] - held[round(rounds * 0.1)]
    return Result(
        name="footprint",
        title="(g) The memory of a worker",
        columns=["deliveries", "MB"],
        rows=[[int(step * DELIVERIES), held[round(step * rounds)]] for step in _STEPS],
        figures={"held_mb": held[-1], "growth_mb": growth},
        budgets={"growth_mb": BUDGET_MB},
        notes=[
            (
                f"Resident, after two rounds of warming up. Growth is from {DELIVERIES // 10:,} deliveries on. The "
                "function has 512 MB, and what it is given decides its share of a processor too."
            )
        ],
    )
