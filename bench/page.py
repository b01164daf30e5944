"""docs/performance.md: between its markers the figures of bench/results; the words around them are written by hand."""

import re
from pathlib import Path
from typing import Final

from bench import plots, report, year

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
_SECTION: Final = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- /bench -->)", re.DOTALL)


def write() -> None:
    """Bring the page and its plots up to date."""
    plots.draw()
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def rendered(text: str) -> str:
    """The page with every section's figures as they were last found."""
    return _SECTION.sub(lambda found: f"{found[1]}\n{_figures(found[2])}\n\n{found[3]}", text)


def _figures(name: str) -> str:
    if name == "year":
        return year.as_markdown(year.compute())
    return report.as_markdown(report.load(name))
