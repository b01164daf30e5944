"""What a call's path names; identifiers were checked before, and ids of ours that can't be any lead nowhere."""

import re
from typing import Final

from notify_core.api.call import Call
from notify_core.application.ports import NoticeKey
from notify_core.application.refusals import notice_not_found, request_not_found
from notify_core.domain.identifiers import (
    DefinitionKey,
    NoticeId,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
)

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_~]{22}")
_NOTICE_ID: Final = re.compile(r"[A-Za-z0-9_~]{22}(\.[0-9]{6,12})?")


def workspace_of(call: Call) -> WorkspaceId:
    """The workspace."""
    return WorkspaceId(call.path["ws"])


def person_of(call: Call) -> PersonId:
    """The person."""
    return PersonId(call.path["person"])


def definition_of(call: Call) -> DefinitionKey:
    """The definition."""
    return DefinitionKey(call.path["key"])


def request_id_of(call: Call) -> RequestId:
    """The request; NotFound for what can't be one."""
    if not _REQUEST_ID.fullmatch(call.path["request_id"]):
        raise request_not_found()
    return RequestId(call.path["request_id"])


def notice_id_of(call: Call) -> NoticeId:
    """The notice; NotFound for what can't be one."""
    if not _NOTICE_ID.fullmatch(call.path["notice_id"]):
        raise notice_not_found()
    return NoticeId(call.path["notice_id"])


def notice_key_of(call: Call) -> NoticeKey:
    """The notice of a recipient in a workspace."""
    return NoticeKey(
        workspace_id=workspace_of(call),
        recipient=Recipient(call.path["recipient"]),
        notice_id=notice_id_of(call),
    )
