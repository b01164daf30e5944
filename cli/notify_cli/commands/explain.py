"""`notify explain`: why was this person told, or not?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from typer import Argument, BadParameter

from notify_cli.api import NOT_FOUND, Json
from notify_cli.commands.watch import find_request
from notify_cli.explaining import HQ, Explanation
from notify_cli.explaining import explain as explained
from notify_cli.failures import Failure
from notify_cli.names import FoldedNotice, check_identifier, resolve_subject
from notify_cli.output import table
from notify_cli.request_view import recipient
from notify_cli.session import Session, with_session

ARGUMENTS_MIN, ARGUMENTS_MAX = 2, 3


@with_session
def explain(
    session: Session,
    about: Annotated[
        list[str],
        Argument(
            metavar="[WORKSPACE] PERSON REQUEST|NOTICE",
            help="The person (- for the headquarters), and a request (its id, or DEFINITION/KEY) or a notice's id.",
        ),
    ],
) -> None:
    """Says in plain sentences why a person was told, or was not."""
    if not ARGUMENTS_MIN <= len(about) <= ARGUMENTS_MAX:
        raise BadParameter("give a person and a request or notice, with the workspace before them if you like")
    *workspace, person, subject = about
    session = replace(session, named_workspace=workspace[0]) if workspace else session
    if person != HQ:
        check_identifier(person, "PERSON")
    named = resolve_subject(session.workspace, subject)
    explanation = (
        _of_notice(session, person, named) if isinstance(named, FoldedNotice) else _of_request(session, person, named)
    )
    _tell(session, explanation)


def _of_request(session: Session, person: str, request_id: str) -> Explanation:
    """By a request; one that is forgotten may still have its notice, under the same id."""
    request = find_request(session, request_id)
    if request is None:
        notice = _find_notice(session, person, request_id)
        return explained(person, [], notice)
    summary = next((item for item in request["notices"] if recipient(item) == person), None)
    if summary is None or summary["notice_id"] is None:
        return explained(person, [request], summary)
    return explained(person, [request], _find_notice(session, person, summary["notice_id"]))


def _of_notice(session: Session, person: str, named: FoldedNotice) -> Explanation:
    """By a folded notice, and the requests behind it that are still known."""
    notice = _find_notice(session, person, named.notice_id)
    if notice is None:
        raise Failure(f"{person} has no notice {named.notice_id}", "Its id is in `notify request` and in the inbox")
    return explained(person, _behind(session, notice), notice)


def _behind(session: Session, notice: Json) -> Sequence[Json]:
    found = (find_request(session, item["request_id"]) for item in notice["contributors"])
    return [request for request in found if request is not None]


def _find_notice(session: Session, person: str, notice_id: str) -> Json | None:
    try:
        return session.api.get(*session.path("notices", person, notice_id))
    except Failure as failure:
        if failure.status == NOT_FOUND and "notice_not_found" in failure.codes:
            return None
        raise


def _tell(session: Session, explanation: Explanation) -> None:
    if session.output.as_json:
        session.output.line(explanation.as_json())
        return
    session.output.say(explanation.verdict, "bold")
    session.output.show(table(("about", "why"), [(line.about, line.sentence) for line in explanation.lines]))
