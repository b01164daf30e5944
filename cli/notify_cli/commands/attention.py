"""`notify attention`: what failed and needs somebody."""

from collections.abc import Mapping
from typing import Annotated, Final

from typer import Option

from notify_cli.api import Json
from notify_cli.commands.history import ITEMS, counted
from notify_cli.explaining import at_second
from notify_cli.output import table
from notify_cli.request_view import recipient
from notify_cli.session import Session, with_session

_REMEDIES: Final[Mapping[str, str]] = {
    "attempts_exhausted": "notify retry",
    "outcome_unknown": "ask them: it may have arrived",
    "receipt_timeout": "ask them: it may have arrived",
}
_REFUSED: Final = "the provider refuses it: mend the person's address, or the account"


@with_session
def attention(
    session: Session,
    *,
    reason: Annotated[str | None, Option(help="Only what failed for this, a provider's code included.")] = None,
    limit: Annotated[int, Option(min=1, help="How many at most.")] = ITEMS,
    everything: Annotated[bool, Option("--all", help="To the end, however many there are.")] = False,
) -> None:
    """Lists the failed deliveries of notices that have not ended, newest first, with what to do about each."""
    found = session.api.pages(*session.path("deliveries"), limit=None if everything else limit, reason=reason)
    if session.output.as_json:
        for item in found:
            session.output.line(item)
        return
    rows = [_row(item) for item in counted(session, found)]
    if not rows:
        session.output.say("No failed delivery needs attention.")
        return
    session.output.show(table(("failed", "notice", "recipient", "channel", "reason", "what to do"), rows))
    if len(rows) == limit and not everything:
        session.output.note(f"The newest {limit}. --all or --limit shows more.")


def _row(item: Json) -> tuple[str, ...]:
    return (
        at_second(item["failed_at"]),
        item["notice_id"],
        recipient(item),
        item["channel"],
        item["reason"],
        _REMEDIES.get(item["reason"], _REFUSED),
    )
