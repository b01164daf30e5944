"""`notify withdraw`: nobody more is told."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Option

from notify_cli import messages
from notify_cli.api import Json
from notify_cli.explaining import at_second
from notify_cli.names import check_identifier, check_key
from notify_cli.output import table
from notify_cli.request_view import recipient
from notify_cli.session import Session, with_session
from notify_cli.via import Via

_RESULTS: Final[Mapping[str, str]] = {
    "stopped": "stopped: what had not been sent is cancelled",
    "on_arrival": "on arrival: publications that it covers end when they arrive",
    "nothing": "nothing changed: it had ended before",
}
Keys = list[str]


@with_session
def withdraw(
    session: Session,
    definition: Annotated[str, Argument(help="The kind of notification.")],
    *,
    request_key: Annotated[Keys | None, Option(help="The request of this key; repeat it for more.")] = None,
    replacement_key: Annotated[Keys | None, Option(help="Whatever was published with this key until now.")] = None,
    reason: Annotated[str | None, Option(help="Why, for whoever reads the message.")] = None,
    via: Annotated[Via, Option(help="The way it takes; only http answers what became of it.")] = Via.HTTP,
) -> None:
    """Withdraws requests, before, during or after they arrive, and says for each recipient whether it was in time."""
    named = [
        *(("request_key", key) for key in request_key or ()),
        *(("replacement_key", key) for key in replacement_key or ()),
    ]
    if not named:
        raise BadParameter("say what is withdrawn: --request-key or --replacement-key")
    check_identifier(definition, "DEFINITION")
    for by, key in named:
        check_key(key, f"--{by.replace('_', '-')}")
    for by, key in named:
        body = messages.withdrawal(
            session.workspace, definition, by=by, key=key, withdrawn_at=session.now(), reason=reason
        )
        if via is Via.SQS:
            session.queues.send_request(body)
            _tell_sent(session, by, key)
        else:
            _tell_answer(session, by, key, session.api.post(*session.path("withdrawals"), body=body, repeat=True))


def _tell_sent(session: Session, by: str, key: str) -> None:
    if session.output.as_json:
        session.output.line({by: key, "via": Via.SQS.value})
    else:
        session.output.say(f"{key}: the queue has the withdrawal; it is done when it is processed.")


def _tell_answer(session: Session, by: str, key: str, answer: Mapping[str, Any]) -> None:
    if session.output.as_json:
        session.output.line({by: key, **answer})
        return
    state = f" (request {answer['request_id']}: {answer['state']})" if answer["request_id"] else ""
    session.output.say(f"{key}: {_RESULTS.get(answer['result'], answer['result'])}{state}")
    if answer["recipients"]:
        session.output.show(table(("recipient", "result", "told over", "since"), map(_row, answer["recipients"])))


def _row(item: Json) -> tuple[str, str, str | None, str | None]:
    return recipient(item), item["result"], item["channel"], item["since"] and at_second(item["since"])
