"""`notify reprocess`: a dead-lettered publication, once more."""

from typing import Annotated

from typer import Argument

from notify_cli.names import resolve_request
from notify_cli.session import Session, with_session


@with_session
def reprocess(
    session: Session,
    request: Annotated[str, Argument(help="A request: its id, or DEFINITION/KEY.")],
) -> None:
    """Processes a publication again that was dead-lettered: find the cause first."""
    request_id = resolve_request(session.workspace, request)
    answer = session.api.post(*session.path("requests", request_id, "reprocess"))
    if session.output.as_json:
        session.output.line(answer)
    else:
        session.output.say(f"Published again: the queue has request {request_id}.")
