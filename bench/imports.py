"""(c) Which packages the imports of each function take their time for."""

import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from bench.cold_starts import OURS, first_events, unpacked
from bench.report import Cell, Result
from bench.scene import laid

SHOWN: Final = 12
_LINE: Final = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")
_STANDARD: Final = "Python's own"


def run() -> Result:
    """Profile one start of the functions that cold paths depend on most."""
    columns: dict[str, Counter[str]] = {}
    with laid() as stage, tempfile.TemporaryDirectory() as folder:
        isolated, _ = unpacked(Path(folder))
        events = first_events(stage)
        packages = {path.name.partition(".")[0] for path in isolated.dependencies.iterdir()} | {
            "notify_core",
            "handler",
        }
        for name in ("process_requests", "deliver_chat", "reconcile_requests", "serve_operators", "serve_inbox"):
            told = isolated.run(stage.stub, name, OURS, json.dumps(events[name]), options=("-X", "importtime"))
            columns[name] = Counter()
            for microseconds, module in _LINE.findall(told):
                package = module.partition(".")[0]
                columns[name][package if package in packages else _STANDARD] += int(microseconds)
    total = Counter[str]()
    for counted in columns.values():
        total.update(counted)
    rows: list[list[Cell]] = [
        [package, *(counted[package] / 1000 for counted in columns.values())] for package, _ in total.most_common(SHOWN)
    ]
    rows.append(["all", *(sum(counted.values()) / 1000 for counted in columns.values())])
    return Result(
        name="imports",
        title="(c) Import profile: milliseconds by package, import and first use together",
        columns=["package", *columns],
        rows=rows,
        notes=["By -X importtime, whose own work is in the figures: read them against each other."],
    )
