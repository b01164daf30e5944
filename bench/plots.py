"""Two plots for the page: what a delivery's dollars go to, and what an operation costs as the data grow."""

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from bench import report

FOLDER: Final = Path(__file__).resolve().parent / "results"
_SHOWN: Final = ("200 people, chat", "100 people, chat", "10 people, chat")
_SERVICES: Final = ("writes", "reads", "SQS", "Lambda", "logs", "transfer")


def draw() -> None:
    """Draw both anew; equal results give equal files."""
    plots: Any = mpl  # half of it has no types
    with plots.rc_context({"svg.hashsalt": "notify", "svg.fonttype": "none", "font.size": 9}):
        _save(_dollars(), "cost")
        _save(_growth(), "growth")


def _save(figure: Any, name: str) -> None:  # noqa: ANN401  (as above)
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None})


def _dollars() -> Figure:
    """Dollars for a million chat deliveries, stacked by service."""
    result = report.load("cost")
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes: Any = figure.subplots()
    left = [0.0] * len(_SHOWN)
    for service in _SERVICES:
        values = [result.figures[f"{kind}: $ {service}"] for kind in _SHOWN]
        axes.barh(_SHOWN, values, left=left, label=service)
        left = [one + other for one, other in zip(left, values, strict=True)]
    axes.invert_yaxis()
    axes.axvline(result.budgets["200 people, chat: dollars a million"], color="black", linewidth=1, linestyle=":")
    axes.set_xlabel("US$ for a million deliveries; dotted: the budget for 200 people")
    axes.legend(ncols=len(_SERVICES), loc="upper center", bbox_to_anchor=(0.45, 1.2), frameon=False)
    return figure


def _growth() -> Figure:
    """Units of each operation over more and more requests."""
    result = report.load("growth")
    numbers = [column for column in result.columns[1:] if "emulator" not in column]
    places = [int(column.replace(",", "")) for column in numbers]
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes: Any = figure.subplots()
    palette = mpl.colormaps["tab20"]
    axes.set_prop_cycle(color=[palette(number) for number in range(len(result.rows))])
    for row in result.rows:
        units = [sum(map(float, str(cell).split(" / ")[1:])) for cell in row[1 : len(numbers) + 1]]
        axes.plot(places, units, marker="o", markersize=3, label=str(row[0]))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("requests in the workspace, and notices of the person")
    axes.set_ylabel("units of one operation")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
