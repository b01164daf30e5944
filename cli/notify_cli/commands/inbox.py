"""`notify inbox`: what a person sees."""

from typing import Annotated, Final

from typer import Argument, BadParameter, Option

from notify_cli.api import Api, Json, exchange
from notify_cli.commands.history import ITEMS
from notify_cli.explaining import at_second
from notify_cli.names import check_identifier
from notify_cli.output import table
from notify_cli.session import Session, with_session

_ENDED: Final = frozenset({"superseded", "expired", "cancelled"})


@with_session
def inbox(
    session: Session,
    person: Annotated[str | None, Argument(help="Whose; on a real platform the token alone says it.")] = None,
    *,
    limit: Annotated[int, Option(min=1, help="How many notices at most.")] = ITEMS,
) -> None:
    """Shows a person's inbox, newest first; locally with a token of theirs from the simulator."""
    api = _inbox_of(session, person)
    unread = api.get("inbox", "unread")
    items = api.pages("inbox", limit=limit)
    if session.output.as_json:
        session.output.line(unread)
        for item in items:
            session.output.line(item)
        return
    more = " or more" if unread["more"] else ""
    session.output.say(f"{unread['unread']}{more} unread", "bold")
    rows = [_row(item) for item in items]
    session.output.show(table(("at", "status", "read", "title", "body", "notice"), rows))


def _inbox_of(session: Session, person: str | None) -> Api:
    """The API with the person's own token."""
    simulator_url = session.stack.simulator_url
    if simulator_url is None:
        if person is not None:
            raise BadParameter("the token says whose inbox it is: leave the person out", param_hint="PERSON")
        return session.api
    if person is None:
        raise BadParameter("say whose inbox", param_hint="PERSON")
    wanted = {"workspace_id": session.workspace, "sub": check_identifier(person, "PERSON"), "scope": "notify/inbox"}
    token = exchange("POST", f"{simulator_url}/_simulator/tokens", wanted, token=None, repeat=True)["token"]
    return Api(session.api.url, token)


def _row(item: Json) -> tuple[str, ...]:
    title = item["title"] + (f" ({item['count']})" if item["count"] > 1 else "")
    return at_second(item["at"]), item["status"], _read(item), title, item["body"], item["notice_id"]


def _read(item: Json) -> str:
    """When it was read; one that has ended counts as unread no more."""
    if item["read_at"] is not None:
        return at_second(item["read_at"])
    return "" if item["status"] in _ENDED else "unread"
