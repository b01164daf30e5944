"""(d) How long a batch of ten deliveries takes where the provider takes 200 ms for each."""

from statistics import median
from typing import Final

from bench import worker
from bench.report import Cell, Result
from bench.scene import laid
from bench.worker import Plan

PROVIDER_MS: Final = 200
TABLES_MS: Final = 4
BUDGET: Final = 1.3
_ROUNDS: Final = 15


def run() -> Result:
    """Time batches with the provider alone slow, and with tables as slow as in the cloud."""
    rows: list[list[Cell]] = []
    figures: dict[str, float] = {}
    with laid() as scene:
        for what, tables_ms in (("tables answer at once", 0), (f"tables answer in {TABLES_MS} ms", TABLES_MS)):
            scene.stub.set(slack=PROVIDER_MS, dynamodb=tables_ms)
            plan = Plan(folder="deliver_chat", events=scene.dispatches(10), rounds=_ROUNDS)
            times = worker.run(plan, scene.stub).rounds_wall_ms
            rows.append([what, median(times), median(times) / PROVIDER_MS, min(times) / PROVIDER_MS])
            figures[f"provider_times_where_{what.replace(' ', '_')}"] = median(times) / PROVIDER_MS
    return Result(
        name="batch",
        title="(d) A batch of ten deliveries against a provider that takes 200 ms",
        columns=["where", "ms", "provider times", "the fastest"],
        rows=rows,
        figures=figures,
        budgets={"provider_times_where_tables_answer_at_once": BUDGET},
        notes=[f"Time by the clock, the median of {_ROUNDS} batches on a process that is warm."],
    )
