"""`make bench`: runs the benchmarks, keeps what they found in bench/results, and writes docs/performance.md.

Names after it, or letters, pick some of them: `make bench ONLY="a worker_cpu"`. `page` only writes the page.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from bench import (
    acceptance,
    bare_calls,
    batch,
    cold_starts,
    cost,
    end_to_end,
    footprint,
    functions,
    growth,
    imports,
    mended,
    page,
    report,
    worker_cpu,
)
from bench.report import Result
from infra.local.dummy_keys import DUMMY_KEYS

BENCHMARKS: Final[Mapping[str, Callable[[], Result]]] = {
    "functions": functions.run,
    "cost": cost.run,
    "bare_calls": bare_calls.run,
    "acceptance": acceptance.run,
    "cold_starts": cold_starts.run,
    "imports": imports.run,
    "batch": batch.run,
    "end_to_end": end_to_end.run,
    "growth": growth.run,
    "footprint": footprint.run,
    "worker_cpu": worker_cpu.run,
    "mended": mended.run,
}
"""In the order in which one needs what another found."""
LETTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "a": ("bare_calls",),
    "b": ("acceptance",),
    "c": ("cold_starts", "imports"),
    "d": ("batch",),
    "e": ("end_to_end",),
    "f": ("growth",),
    "g": ("footprint",),
    "h": ("worker_cpu",),
    "page": (),
}


def main(chosen: list[str]) -> int:
    """0 when every budget is kept, 1 when one isn't, 2 when a name is unknown."""
    unknown = [name for name in chosen if name not in {*BENCHMARKS, *LETTERS}]
    if unknown:
        print(f"No such benchmark: {', '.join(unknown)}. There are: {', '.join([*LETTERS, *BENCHMARKS])}.")
        return 2
    for name in [name for name in os.environ if name.startswith(("AWS_", "NOTIFY_"))]:
        del os.environ[name]
    os.environ |= DUMMY_KEYS
    wanted = {name for word in chosen for name in LETTERS.get(word, (word,))} if chosen else set(BENCHMARKS)
    results = [_run(name) for name in BENCHMARKS if name in wanted]
    page.write()
    exceeded = [f"{result.name}: {name}" for result in results for name in result.exceeded]
    if exceeded:
        print("Budgets exceeded:", *exceeded, sep="\n  ")
    return 1 if exceeded else 0


def _run(name: str) -> Result:
    began, before_ms = time.monotonic(), report.calibration_ms()
    result = report.save(BENCHMARKS[name](), before_ms)
    print(report.as_text(result))
    print(f"  calibration loop {result.calibration_ms:.0f} ms; took {time.monotonic() - began:.0f} s\n", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
