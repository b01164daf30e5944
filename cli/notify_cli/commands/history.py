"""`notify history`: the requests of a workspace, newest first."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final

from typer import Option

from notify_cli.api import Json
from notify_cli.explaining import at_second
from notify_cli.output import table
from notify_cli.request_view import because
from notify_cli.session import Session, with_session

ITEMS: Final = 50


class State(StrEnum):
    """The states of a request."""

    QUEUED = "queued"
    OPEN = "open"
    SETTLED = "settled"
    NO_RECIPIENTS = "no_recipients"
    INVALID = "invalid"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"


@with_session
def history(
    session: Session,
    *,
    state: Annotated[State | None, Option(help="Only requests in this state.")] = None,
    definition: Annotated[str | None, Option(help="Only requests of this definition.")] = None,
    limit: Annotated[int, Option(min=1, help="How many at most.")] = ITEMS,
    everything: Annotated[bool, Option("--all", help="To the end, however many there are.")] = False,
) -> None:
    """Lists the requests of a workspace, newest first by when they were recorded."""
    found = session.api.pages(
        *session.path("requests"), limit=None if everything else limit, state=state, definition=definition
    )
    if session.output.as_json:
        for item in found:
            session.output.line(item)
        return
    rows = [_row(item) for item in counted(session, found)]
    session.output.show(table(("recorded", "state", "definition", "request key", "request"), rows))
    if len(rows) == limit and not everything:
        session.output.note(f"The newest {limit}. --all or --limit shows more.")


def counted(session: Session, items: Iterator[Json]) -> Iterator[Json]:
    """The items, with how many have come shown while it takes its time."""
    with session.output.busy("Reading") as tell:
        for number, item in enumerate(items, 1):
            tell(f"{number} read")
            yield item


def _row(item: Json) -> tuple[str, ...]:
    return at_second(item["recorded_at"]), because(item), item["definition"], item["request_key"], item["request_id"]
