"""`notify request`: one request as it stands."""

from typing import Annotated

from typer import Argument

from notify_cli.names import resolve_request
from notify_cli.request_view import request_tables
from notify_cli.session import Session, with_session


@with_session
def request(
    session: Session,
    request: Annotated[str, Argument(help="A request: its id, or DEFINITION/KEY.")],
) -> None:
    """Shows a request: its outcome, problems and exclusions, and each recipient's notice."""
    found = session.api.get(*session.path("requests", resolve_request(session.workspace, request)))
    if session.output.as_json:
        session.output.line(found)
    else:
        session.output.show(*request_tables(found))
