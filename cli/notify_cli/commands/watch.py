"""`notify watch`: a request, live, until nothing of it is left to be done."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Final

from rich.console import Group
from rich.live import Live
from rich.text import Text
from typer import Argument, Option

from notify_cli.api import NOT_FOUND, Json
from notify_cli.explaining import at_second
from notify_cli.failures import Failure
from notify_cli.names import resolve_request
from notify_cli.request_view import (
    RECIPIENTS_SHOWN,
    because,
    is_dead_lettered,
    is_quiet,
    progress,
    request_tables,
)
from notify_cli.session import Session, with_session

PATIENCE_SECONDS: Final = 60.0
INTERVAL_SECONDS: Final = 1.0


@with_session
def watch(
    session: Session,
    request: Annotated[str, Argument(help="A request: its id, or DEFINITION/KEY.")],
    *,
    patience: Annotated[
        float, Option(min=0, help="Give up when nothing has moved for so many seconds.")
    ] = PATIENCE_SECONDS,
    interval: Annotated[float, Option(min=0.01, help="Look every so many seconds.")] = INTERVAL_SECONDS,
) -> None:
    """Watches a request until it has its outcome and nothing of it is left to be sent."""
    request_id = resolve_request(session.workspace, request)
    watch_request(session, request_id, patience_seconds=patience, interval_seconds=interval)


def watch_request(session: Session, request_id: str, *, patience_seconds: float, interval_seconds: float) -> None:
    """Show a request as it moves; with JSON, a line for every change.

    Raises:
        Failure: it told nobody for a reason that somebody has to mend, or nothing moved for too long.
    """
    found: Json | None = None
    moved_at = time.monotonic()
    with _view(session) as show:
        while True:
            was, found = found, find_request(session, request_id)
            if found is not None and found != was:
                moved_at = time.monotonic()
                show(found)
            if (found is not None and is_quiet(found)) or time.monotonic() - moved_at >= patience_seconds:
                break
            time.sleep(interval_seconds)
    if found is not None and not session.output.as_json:
        session.output.show(*request_tables(found))
    _check(found, patience_seconds)


def find_request(session: Session, request_id: str) -> Json | None:
    """A request; None while it isn't recorded."""
    try:
        return session.api.get(*session.path("requests", request_id))
    except Failure as failure:
        if failure.status == NOT_FOUND and "request_not_found" in failure.codes:
            return None
        raise


@contextmanager
def _view(session: Session) -> Generator[Callable[[Json], None], None, None]:
    """How each change is shown: in place at a terminal, else a line each."""
    output = session.output
    if output.as_json:
        yield output.line
    elif output.out.is_terminal:
        with Live(Text("Not recorded yet."), console=output.out, transient=True) as live:
            yield lambda request: live.update(Group(*request_tables(request, notices_max=RECIPIENTS_SHOWN)))
    else:
        yield lambda request: output.say(_line(session, request))


def _line(session: Session, request: Json) -> str:
    return f"{at_second(session.now().isoformat())[-9:]}  {because(request)}  {progress(request)}".rstrip()


def _check(request: Json | None, patience_seconds: float) -> None:
    """Fail unless the request went as requests should."""
    if request is None:
        raise Failure(
            f"It was not recorded within {patience_seconds:g} seconds",
            "Was it published? Look at `notify dead-letters`, or wait longer with --patience",
        )
    if request["state"] == "invalid":
        raise Failure("The request is invalid and told nobody", "Correct it, and publish it under another key")
    if is_dead_lettered(request):
        raise Failure(
            "The request could not be processed and was dead-lettered",
            f"Find the cause, then: notify reprocess '{request['request_id']}'",
        )
    if not is_quiet(request):
        raise Failure(
            f"Nothing has moved for {patience_seconds:g} seconds, and it isn't done",
            "It goes on by itself. `notify explain` says what it waits for; --patience waits longer",
        )
