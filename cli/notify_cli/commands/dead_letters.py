"""`notify dead-letters`: what lies in the dead-letter queues, and the publications that were recorded from there."""

import time
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from rich.console import RenderableType
from typer import Option

from notify_cli.api import Json
from notify_cli.explaining import at_second
from notify_cli.output import table
from notify_cli.session import Session, with_session

if TYPE_CHECKING:
    from notify_cli.queues import Counts, Letter, Queues

LETTERS: Final = 20
FOLLOW_SECONDS: Final = 5.0


class Queue(StrEnum):
    """The queues, each with dead letters of its own."""

    REQUESTS = "requests"
    CHAT = "chat"
    TEXT = "text"
    SYSTEM = "system"
    RECONCILE = "reconcile"
    RECEIPTS = "receipts"


@with_session
def dead_letters(
    session: Session,
    *,
    queue: Annotated[list[Queue] | None, Option(help="Only this queue's; repeat it for more.")] = None,
    limit: Annotated[int, Option(min=1, help="How many letters a queue, and publications, at most.")] = LETTERS,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on showing what comes, until Ctrl-C.")] = False,
    interval: Annotated[float, Option(min=0.01, help="With --follow: look every so many seconds.")] = FOLLOW_SECONDS,
) -> None:
    """Shows what lies in the dead-letter queues, without taking it, and a workspace's dead-lettered publications."""
    queues = session.queues
    names = [str(name) for name in queue or ()] or queues.names
    addresses = {name: url for name in names if (url := queues.dead_letters_url(name)) is not None}
    looked = _Looked(session, queues, addresses, limit)
    looked.show_counts()
    looked.show_new()
    if session.named_workspace is None:
        session.output.note("Name a --workspace to see its dead-lettered publications, too.")
    if not follow:
        return
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(interval)
            looked.show_new()


class _Looked:
    """What was looked at, and has been shown already."""

    def __init__(self, session: Session, queues: "Queues", addresses: dict[str, str], limit: int) -> None:
        self._session, self._queues, self._addresses, self._limit = session, queues, addresses, limit
        self._shown: set[str] = set()

    def show_counts(self) -> None:
        """How many letters lie in each queue."""
        counts = {name: self._queues.count(url) for name, url in self._addresses.items()}
        if self._session.output.as_json:
            for name, count in counts.items():
                self._session.output.line({"queue": name, "visible": count.visible, "hidden": count.hidden})
            return
        self._session.output.show(table(("queue", "dead letters", ""), [_counts_row(*item) for item in counts.items()]))

    def show_new(self) -> None:
        """The letters and publications that were not shown before."""
        letters = [letter for name, url in self._addresses.items() for letter in self._look(name, url)]
        publications = [item for item in self._publications() if item["request_id"] not in self._shown]
        self._shown |= {letter.message_id for letter in letters} | {item["request_id"] for item in publications}
        if self._session.output.as_json:
            for value in (*map(_letter_json, letters), *publications):
                self._session.output.line(value)
            return
        if letters:
            rows = [_letter_row(letter) for letter in letters]
            self._session.output.show(table(("sent", "queue", "receives", "reason", "about", "message"), rows))
        if publications:
            self._session.output.show(_publications_table(publications))

    def _look(self, name: str, url: str) -> "list[Letter]":
        return [
            letter for letter in self._queues.look(name, url, limit=self._limit) if letter.message_id not in self._shown
        ]

    def _publications(self) -> Sequence[Json]:
        """The dead-lettered publications of the workspace, if one is named and its API known."""
        session = self._session
        if session.named_workspace is None or session.stack.api_url is None:
            return ()
        return list(session.api.pages(*session.path("requests"), limit=self._limit, dead_lettered="true"))


def _counts_row(name: str, count: "Counts") -> tuple[str, int, str]:
    hidden = (
        f"and {count.hidden} hidden: being recorded, or kept because nothing could read them" if count.hidden else ""
    )
    return name, count.visible, hidden


def _letter_json(letter: "Letter") -> Json:
    return {
        "queue": letter.queue,
        "message_id": letter.message_id,
        "sent_at": letter.sent_at.isoformat(),
        "receives": letter.receives,
        "reason": letter.reason,
        "body": letter.body,
    }


def _letter_row(letter: "Letter") -> tuple[object, ...]:
    about = " ".join(f"{name}={value}" for name, value in letter.about.items()) or "not readable"
    return at_second(letter.sent_at.isoformat()), letter.queue, letter.receives, letter.reason, about, letter.message_id


def _publications_table(publications: Sequence[Json]) -> RenderableType:
    rows = [
        (
            at_second(item["recorded_at"]),
            item["definition"],
            item["request_key"],
            f"notify reprocess '{item['request_id']}'",
        )
        for item in publications
    ]
    return table(("recorded", "definition", "request key", "when the cause is gone"), rows)
