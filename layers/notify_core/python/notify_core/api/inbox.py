"""The routes of an inbox: the caller's own, whatever the call says besides its token."""

from typing import Final

from notify_core.api.access import Scope, owner_of
from notify_core.api.bodies import read_all_body
from notify_core.api.call import Answer, Call
from notify_core.api.inbox_shapes import inbox_json
from notify_core.api.lists import PAGING, limit_of, list_answer, place_at, place_json, position_of
from notify_core.api.paths import notice_id_of
from notify_core.api.routing import Api, Route, routes
from notify_core.application.mark_read import mark_all_read, mark_read
from notify_core.application.ports import NoticeKey
from notify_core.application.read_inbox import count_unread, read_inbox
from notify_core.domain.identifiers import NoticeId


def get_inbox(call: Call, api: Api) -> Answer:
    """The caller's notices, newest first."""
    owner = owner_of(call.claims)
    scope = (owner.workspace_id, owner.recipient)
    position = position_of(call, api, scope)
    before = (place_at(position), NoticeId(position["id"])) if position else None
    page = read_inbox(owner.workspace_id, owner.recipient, api.ports, before=before, limit=limit_of(call))
    items = [inbox_json(notice, page.mark) for notice in page.notices]
    return list_answer(call, api, scope, items, place_json(*page.before) if page.before else None)


def get_unread(call: Call, api: Api) -> Answer:
    """How many of the caller's notices are unread."""
    owner = owner_of(call.claims)
    unread = count_unread(owner.workspace_id, owner.recipient, api.ports)
    return Answer(status=200, body={"unread": unread.count, "more": unread.is_more})


def post_read(call: Call, api: Api) -> Answer:
    """Mark one of the caller's notices as read."""
    owner = owner_of(call.claims)
    key = NoticeKey(workspace_id=owner.workspace_id, recipient=owner.recipient, notice_id=notice_id_of(call))
    mark_read(key, api.ports)
    return Answer(status=204)


def post_read_all(call: Call, api: Api) -> Answer:
    """Mark the caller's notices up to a time as read."""
    owner = owner_of(call.claims)
    mark_all_read(owner.workspace_id, owner.recipient, read_all_body(call).up_to, api.ports)
    return Answer(status=204)


ROUTES: Final = routes(
    Scope.INBOX,
    (
        Route("GET /v1/inbox", get_inbox, PAGING),
        Route("GET /v1/inbox/unread", get_unread),
        Route("POST /v1/inbox/{notice_id}/read", post_read),
        Route("POST /v1/inbox/read_all", post_read_all),
    ),
)
