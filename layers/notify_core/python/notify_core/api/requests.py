"""The operators' routes of requests: publishing, withdrawing, the History."""

from typing import Any, cast

from notify_core.api.bodies import json_of, publication_in, withdrawal_in
from notify_core.api.call import Answer, Call
from notify_core.api.lists import limit_of, list_answer, place_at, place_json, position_of
from notify_core.api.paths import request_id_of, workspace_of
from notify_core.api.refusal import Kind, Refusal, refusal
from notify_core.api.request_shapes import history_json, request_json, withdrawal_json
from notify_core.api.routing import Api
from notify_core.application.publish_request import publish_request
from notify_core.application.read_history import HistoryQuery, read_history
from notify_core.application.read_request import read_request
from notify_core.application.refusals import request_not_found
from notify_core.application.reprocess_request import ReprocessRefusal, reprocess_request
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.identifiers import DefinitionKey, RequestId, is_identifier
from notify_core.domain.publication import check_withdrawal
from notify_core.domain.request import InvalidPublication, Publication
from notify_core.domain.request_lifecycle import RequestState


def post_request(call: Call, api: Api) -> Answer:
    """Publish, or see what publishing would do."""
    workspace, is_dry_run, body = workspace_of(call), _flag_of(call, "dry_run"), json_of(call)
    publication = publication_in(body, workspace)
    if is_dry_run:
        return _previewed(publication, api)
    fields = cast("dict[str, Any]", body)
    publish_request(workspace, {"type": "publish", "workspace_id": workspace, **fields}, api.ports)
    return Answer(status=202, body={"request_id": publication.request_id})


def _previewed(publication: Publication | InvalidPublication, api: Api) -> Answer:
    from notify_core.api.preview_shapes import preview_json  # noqa: PLC0415  (loads what checks data)
    from notify_core.application.preview_request import preview_request  # noqa: PLC0415  (the same)

    return Answer(status=200, body=preview_json(preview_request(publication, api.ports)))


def _flag_of(call: Call, name: str) -> bool:
    text = call.query.get(name, "false")
    if text not in {"true", "false"}:
        raise refusal(Kind.INVALID, name, "not_allowed", "use true or false")
    return text == "true"


def post_withdrawal(call: Call, api: Api) -> Answer:
    """Withdraw."""
    withdrawal = withdrawal_in(json_of(call), workspace_of(call))
    if problems := check_withdrawal(withdrawal, api.ports.clock.now()):
        raise Refusal(Kind.INVALID, *problems)
    return Answer(status=200, body=withdrawal_json(withdraw_request(withdrawal, api.ports)))


def get_requests(call: Call, api: Api) -> Answer:
    """The History, newest first."""
    workspace, state, definition = workspace_of(call), _state_of(call), _definition_of(call)
    dead_lettered = _flag_of(call, "dead_lettered")
    scope = (workspace, state or "", definition or "", str(dead_lettered))
    position = position_of(call, api, scope)
    query = HistoryQuery(
        workspace_id=workspace,
        limit=limit_of(call),
        state=state,
        definition=definition,
        dead_lettered=dead_lettered,
        before=(place_at(position), RequestId(position["id"])) if position else None,
    )
    page = read_history(query, api.ports)
    items = [history_json(row) for row in page.rows]
    return list_answer(call, api, scope, items, place_json(*page.before) if page.before else None)


def _state_of(call: Call) -> RequestState | None:
    text = call.asked("state")
    if text is None:
        return None
    try:
        return RequestState(text)
    except ValueError as error:
        names = ", ".join(RequestState)
        raise refusal(Kind.INVALID, "state", "unknown_state", f"the states are {names}") from error


def _definition_of(call: Call) -> DefinitionKey | None:
    text = call.asked("definition")
    if text is not None and not is_identifier(text):
        raise refusal(Kind.INVALID, "definition", "invalid_identifier", "name a definition by its key")
    return None if text is None else DefinitionKey(text)


def get_request(call: Call, api: Api) -> Answer:
    """One request."""
    return Answer(status=200, body=request_json(read_request(workspace_of(call), request_id_of(call), api.ports)))


def post_reprocess(call: Call, api: Api) -> Answer:
    """Process a dead-lettered publication again."""
    request_id = request_id_of(call)
    match reprocess_request(workspace_of(call), request_id, api.ports):
        case None:
            return Answer(status=202, body={"request_id": request_id})
        case ReprocessRefusal.NOT_FOUND:
            raise request_not_found()
        case ReprocessRefusal.NOT_DEAD_LETTERED:
            message = "only a publication that could not be processed is processed again"
            raise refusal(Kind.REFUSED, "request_id", "not_dead_lettered", message)
