"""(h) CPU of the worker for each chat delivery, the provider's SDK and HTTP included."""

from statistics import median
from typing import Final

from bench import worker
from bench.report import Cell, Result
from bench.scene import laid
from bench.worker import Plan

BUDGET_MS: Final = 3.0
_PROCESSES: Final = 3
_ROUNDS: Final = 5


def run() -> Result:
    """Have the function work off batches of ten, and of one."""
    rows: list[list[Cell]] = []
    figures: dict[str, float] = {}
    with laid() as scene:
        for what, events, deliveries in (
            ("batches of ten", scene.dispatches(200), 10),
            ("batches of one", scene.dispatches(1) * 20, 1),
        ):
            cpu = [
                cpu_ms / deliveries
                for _ in range(_PROCESSES)
                for cpu_ms in worker.run(
                    Plan(folder="deliver_chat", events=events, rounds=_ROUNDS), scene.stub
                ).rounds_cpu_ms
            ]
            rows.append([what, median(cpu), min(cpu), max(cpu)])
            figures[f"cpu_ms_in_{what.replace(' ', '_')}"] = median(cpu)
    return Result(
        name="worker_cpu",
        title="(h) CPU of the worker for each chat delivery",
        columns=["messages in", "ms", "least", "most"],
        rows=rows,
        figures=figures,
        budgets={"cpu_ms_in_batches_of_ten": BUDGET_MS},
        notes=[
            "All of the process: the function's handler, the calls to tables and Slack over TLS, logs and metrics.",
        ],
    )
