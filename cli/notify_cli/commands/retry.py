"""`notify retry`: try again what ran out of attempts."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final

from typer import Argument, BadParameter, Exit, Option

from notify_cli.api import PAGE_ITEMS_MAX, Json
from notify_cli.explaining import HQ
from notify_cli.names import check_identifier
from notify_cli.output import table
from notify_cli.request_view import recipient
from notify_cli.session import Session, with_session

LIMIT: Final = 50


class Channel(StrEnum):
    """The channels of which a delivery can be retried."""

    CHAT = "chat"
    TEXT = "text"
    SLACK_SYSTEM = "slack_system"


class Reason(StrEnum):
    """Why a delivery failed that may be retried."""

    ATTEMPTS_EXHAUSTED = "attempts_exhausted"


@with_session
def retry(
    session: Session,
    notice: Annotated[str | None, Argument(help="One delivery: its notice's id ...")] = None,
    person: Annotated[str | None, Argument(help="... its recipient (- for the headquarters) ...")] = None,
    channel: Annotated[Channel | None, Argument(help="... and its channel.")] = None,
    *,
    everything: Annotated[bool, Option("--all", help="Instead of one: the newest that failed.")] = False,
    reason: Annotated[Reason, Option(help="With --all: only what failed for this.")] = Reason.ATTEMPTS_EXHAUSTED,
    limit: Annotated[int, Option(min=1, help="With --all: how many at most.")] = LIMIT,
) -> None:
    """Tries a delivery again that ran out of attempts, or all of them: anything else is refused with the reason."""
    if everything:
        if notice is not None:
            raise BadParameter("give either a notice or --all", param_hint="--all")
        _retry_all(session, reason, limit)
    elif notice is None or person is None or channel is None:
        raise BadParameter("give a notice, a person and a channel, or --all")
    else:
        _retry_one(session, notice, person, channel)


def _retry_one(session: Session, notice: str, person: str, channel: Channel) -> None:
    if person != HQ:
        check_identifier(person, "PERSON")
    answer = session.api.post(*session.path("notices", person, notice, "deliveries", channel, "retry"))
    if session.output.as_json:
        session.output.line(answer)
    else:
        session.output.say(f"Queued again: delivery {answer['delivery_id']}.")


def _retry_all(session: Session, reason: Reason, limit: int) -> None:
    """Retry in as many calls as it takes; what was refused once is not told twice."""
    retried, refused = 0, dict[tuple[str, str, str], Json]()
    with session.output.busy("Retrying") as tell:
        for answer in _batches(session, reason, limit):
            retried += answer["retried"]
            refused |= {(recipient(item), item["notice_id"], item["channel"]): item for item in answer["refused"]}
            tell(f"{retried} queued again, {len(refused)} refused")
    if session.output.as_json:
        session.output.line({"retried": retried, "refused": list(refused.values())})
    else:
        session.output.say(f"{retried} queued again, {len(refused)} refused.")
        if refused:
            rows = [(*key, item["code"], item["message"]) for key, item in refused.items()]
            session.output.show(table(("recipient", "notice", "channel", "refused", "because"), rows))
    if refused:
        raise Exit(1)


def _batches(session: Session, reason: Reason, limit: int) -> Iterator[Json]:
    left = limit
    while left > 0:
        body = {"reason": reason.value, "limit": min(left, PAGE_ITEMS_MAX)}
        answer = session.api.post(*session.path("deliveries", "retry"), body=body)
        yield answer
        if not answer["retried"]:
            return
        left -= answer["retried"] + len(answer["refused"])
