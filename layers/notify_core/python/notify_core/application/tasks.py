"""What lies in our own queues: one delivery to send, or one thing to reconcile.

Tasks name rows and carry no content, so a message of any age finds the present state.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from notify_core.application.ports import Message, NoticeKey, QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DefinitionKey, NoticeId, Recipient, RequestId, WorkspaceId
from notify_core.domain.limits import DELAY_SECONDS_MAX
from notify_core.domain.notice import Notice

QUEUE_OF: Final[Mapping[Channel, QueueName]] = {
    Channel.CHAT: QueueName.CHAT,
    Channel.TEXT: QueueName.TEXT,
    Channel.SLACK_SYSTEM: QueueName.SYSTEM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTask:
    """One delivery to be sent; `request_id` is the contributor that it was dispatched for."""

    workspace_id: WorkspaceId
    recipient: Recipient
    notice_id: NoticeId
    request_id: RequestId
    channel: Channel
    is_first: bool = field(default=False, compare=False)
    """Whether its notice wasn't stored when this was written: the claim will tell, so that nobody looks before."""

    @property
    def key(self) -> NoticeKey:
        """Where its notice stands."""
        return NoticeKey(workspace_id=self.workspace_id, recipient=self.recipient, notice_id=self.notice_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTask:
    """One request whose due_at has come."""

    workspace_id: WorkspaceId
    request_id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTask:
    """One workspace to be audited; `position` is where the audit goes on."""

    workspace_id: WorkspaceId
    position: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireTask:
    """One retired definition whose open requests are to be closed; `position` is where the paging goes on."""

    workspace_id: WorkspaceId
    definition: DefinitionKey
    position: Mapping[str, Any] | None = None


Task = DispatchTask | SweepTask | AuditTask | RetireTask


class NoTask(ValueError):
    """A message body that is no task of this version."""


def message_of(task: Task, *, delay_seconds: float = 0) -> Message:
    """The task as a message, hidden for up to fifteen minutes."""
    body: dict[str, Any] = {"version": 1, "workspace_id": task.workspace_id}
    match task:
        case DispatchTask():
            body |= {
                "task": "dispatch",
                "recipient": task.recipient,
                "notice_id": task.notice_id,
                "request_id": task.request_id,
                "channel": task.channel.value,
                **({"first": True} if task.is_first else {}),
            }
        case SweepTask():
            body |= {"task": "sweep", "request_id": task.request_id}
        case AuditTask():
            body |= {"task": "audit", "position": task.position}
        case RetireTask():
            body |= {"task": "retire", "definition": task.definition, "position": task.position}
    delay = min(max(0, -int(-delay_seconds // 1)), DELAY_SECONDS_MAX)
    return Message(body=body, group=task.workspace_id, delay_seconds=delay)


def read_task(text: str) -> Task:
    """The task in a message's body; NoTask when it isn't one, however deep its brackets go."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise NoTask("not JSON") from None
    return parse_task(body)


def parse_task(body: object) -> Task:
    """The task in a decoded message body; NoTask when it isn't one."""
    if not isinstance(body, Mapping):
        raise NoTask("not an object")
    return _parse(cast("Mapping[str, Any]", body))


def _parse(body: Mapping[str, Any]) -> Task:
    if body.get("version") != 1:
        raise NoTask("not a task of version 1")
    try:
        workspace = WorkspaceId(_text(body, "workspace_id"))
        match body.get("task"):
            case "dispatch":
                return DispatchTask(
                    workspace_id=workspace,
                    recipient=Recipient(_text(body, "recipient")),
                    notice_id=NoticeId(_text(body, "notice_id")),
                    request_id=RequestId(_text(body, "request_id")),
                    channel=Channel(_text(body, "channel")),
                    is_first=body.get("first") is True,
                )
            case "sweep":
                return SweepTask(workspace_id=workspace, request_id=RequestId(_text(body, "request_id")))
            case "audit":
                return AuditTask(workspace_id=workspace, position=body.get("position"))
            case "retire":
                return RetireTask(
                    workspace_id=workspace,
                    definition=DefinitionKey(_text(body, "definition")),
                    position=body.get("position"),
                )
            case other:
                raise NoTask(f"unknown task {other!r}")
    except (KeyError, ValueError) as error:
        raise NoTask(str(error)) from error


def dispatch_task(notice: Notice, channel: Channel) -> DispatchTask:
    """The task that sends one delivery of a notice."""
    return DispatchTask(
        workspace_id=notice.workspace_id,
        recipient=notice.recipient,
        notice_id=notice.notice_id,
        request_id=notice.owner,
        channel=channel,
    )


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body[field]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{field} is not a text")
    return value
