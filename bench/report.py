"""What a benchmark found: printed as a table, kept as JSON in bench/results, and shown on the page."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

RESULTS: Final = Path(__file__).resolve().parent / "results"
_ROUNDS: Final = 5

Cell = str | float | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A table, the figures that a budget is set for, and what the machine was like."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """What later work reads: by name, the unit last."""
    budgets: Mapping[str, float] = field(default_factory=dict[str, float])
    """The most that a figure of this name may be."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What later work reads that is no figure of its own."""
    notes: Sequence[str] = ()
    measured_at: str = ""
    calibration_ms: float = 0.0
    machine: str = ""

    @property
    def exceeded(self) -> list[str]:
        """The figures over their budgets."""
        return [name for name, most in self.budgets.items() if self.figures[name] > most]


def calibration_ms() -> float:
    """The CPU time of one fixed piece of work in this interpreter, the median of several; what figures compare by.

    It does what our code does most: builds dictionaries, formats and parses JSON, hashes.
    """
    return median(_calibrate() for _ in range(_ROUNDS))


def _calibrate() -> float:
    began = time.process_time()
    kept: dict[str, str] = {}
    for number in range(20_000):
        text = json.dumps({"pk": {"S": f"R#acme#{number}"}, "version": {"N": str(number)}})
        kept[text] = json.loads(text)["pk"]["S"]
    assert len(kept) == 20_000  # noqa: PLR2004  (as many as were made)
    return (time.process_time() - began) * 1000


def save(result: Result, before_ms: float) -> Result:
    """Keep a result with the day, the machine, and the calibration around it; `before_ms` is the one before it."""
    stamped = replace(
        result,
        measured_at=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        calibration_ms=round((before_ms + calibration_ms()) / 2, 2),
        machine=f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
    )
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(asdict(stamped), indent=1, ensure_ascii=False)
    (RESULTS / f"{result.name}.json").write_text(text + "\n", encoding="utf-8")
    return stamped


def load(name: str) -> Result:
    """The last result of a benchmark.

    Raises:
        FileNotFoundError: it was never run.
    """
    kept: Mapping[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return Result(**kept)


def shown(cell: Cell) -> str:
    """A cell as it is read: three significant digits, or all of a whole number."""
    if isinstance(cell, str):
        return cell
    if cell == int(cell):
        return f"{int(cell):,}"
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}" if abs(cell) < 1 else f"{cell:.2f}"  # noqa: PLR2004


def as_text(result: Result) -> str:
    """The table for a terminal."""
    cells = [[*result.columns], *([shown(cell) for cell in row] for row in result.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(result.columns))]
    lines = [_line(row, widths) for row in cells]
    budgets = [
        f"  {name}: {shown(result.figures[name])}, budget {shown(most)}" + (" EXCEEDED" * (name in result.exceeded))
        for name, most in result.budgets.items()
    ]
    return "\n".join([result.title, *lines, *budgets, *(f"  {note}" for note in result.notes)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  " + "  ".join([first, *others]).rstrip()


def as_markdown(result: Result) -> str:
    """The table for the page, with its budgets beneath."""
    lines = [
        "| " + " | ".join(result.columns) + " |",
        "|---" + "|---:" * (len(result.columns) - 1) + "|",
        *("| " + " | ".join(shown(cell) for cell in row) + " |" for row in result.rows),
    ]
    for name, most in result.budgets.items():
        verdict = "**exceeded**" if name in result.exceeded else "kept"
        lines += [
            "",
            f"Budget: {name.replace('_', ' ')} at most {shown(most)}; found {shown(result.figures[name])}, {verdict}.",
        ]
    lines += [part for note in result.notes for part in ("", note)]
    when = (
        f"Measured {result.measured_at[:10]} on {result.machine}; calibration loop {shown(result.calibration_ms)} ms."
    )
    return "\n".join([*lines, "", when])
