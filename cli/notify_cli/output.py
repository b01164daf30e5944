"""What a command prints: tables for people, JSON for machines, and what went wrong on the other stream."""

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import category

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from notify_cli.failures import Failure

WIDTH: Final = 120
"""The width of what is written to a file or a pipe, unless COLUMNS says otherwise."""
STYLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("open", "settled", "delivered", "stopped", "operational", "yes"), "green"),
    **dict.fromkeys(("queued", "deferred", "sending", "sent", "routed", "delivering", "maybe", "not_yet"), "yellow"),
    **dict.fromkeys(("invalid", "failed", "bounced", "partially_delivered", "too_late", "dead_lettered"), "red"),
}
"""The colours of states and results; the rest has none."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command writes to: `out` what was asked for, `notes` what isn't part of it."""

    out: Console
    notes: Console
    as_json: bool

    def line(self, value: Mapping[str, Any]) -> None:
        """One JSON document on a line of its own."""
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()

    def show(self, *shown: RenderableType) -> None:
        """Tables and texts, one below the other with a line between them."""
        for number, item in enumerate(shown):
            self.out.print(*([""] if number else []), item, sep="\n")

    def say(self, text: str, style: str = "") -> None:
        """A line for people, nothing for machines."""
        if not self.as_json:
            self.out.print(Text(printable(text), style), soft_wrap=True)

    def note(self, text: str) -> None:
        """A line beside the output."""
        self.notes.print(Text(printable(text), "dim"), soft_wrap=True)

    def fail(self, failure: Failure) -> None:
        """What went wrong, field by field, with the remedy."""
        if self.as_json:
            self.notes.print(json.dumps(failure.as_json()), soft_wrap=True)
            return
        self.notes.print(Text(printable(f"{failure}"), "red"), soft_wrap=True)
        for problem in failure.problems:
            field = f"{problem['field']}: " if problem["field"] else ""
            self.notes.print(Text(printable(f"  {field}{problem['message']} ({problem['code']})")), soft_wrap=True)

    @contextmanager
    def busy(self, doing: str) -> Generator[Callable[[str], None], None, None]:
        """Show that something takes its time, where somebody is looking; what it gives says how far it has come."""
        with self.notes.status(Text(doing)) if self.notes.is_terminal else nullcontext() as status:

            def tell(text: str) -> None:
                if status is not None:
                    status.update(Text(printable(text)))

            yield tell


def open_output(*, as_json: bool) -> Output:
    """The streams of this process."""
    return Output(_console(sys.stdout, stderr=False), _console(sys.stderr, stderr=True), as_json)


def _console(stream: Any, *, stderr: bool) -> Console:  # noqa: ANN401
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose cells are shown whole, folded where they don't fit."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold", header_style="bold")
    for row in rows:
        made.add_row(*(cell(value) for value in row))
    return made


def facts(title: str, values: Mapping[str, object]) -> RenderableType:
    """Names and values under a title, one a line; what is None is left out."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in values.items():
        if value is not None:
            made.add_row(name, cell(value))
    return Group(Text(title, "bold"), made)


def cell(value: object) -> Text:
    """A value as a table shows it."""
    text = "" if value is None else printable(str(value))
    return Text(text, STYLES.get(text.split(" ", 1)[0], ""))


def printable(text: str) -> str:
    """Text that can't steer a terminal: control characters are written out."""
    return "".join(c if c == "\n" or category(c) not in {"Cc", "Cs"} else repr(c)[1:-1] for c in text)
