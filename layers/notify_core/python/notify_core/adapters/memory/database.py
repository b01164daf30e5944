"""What all memory stores share: the rows, the lock, and the guards of every write."""

from collections.abc import Callable
from threading import RLock

from notify_core.adapters.memory.table import Index, Lag, Place, Table
from notify_core.application.ports import Conflict, Head, NoticeKey, ReadMark
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import ChannelState, Person, Workspace
from notify_core.domain.guard import guard_notice, guard_request
from notify_core.domain.identifiers import (
    DefinitionKey,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
)
from notify_core.domain.ledger import Ledger
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request

RequestKey = tuple[WorkspaceId, RequestId]
HeadKey = tuple[WorkspaceId, DefinitionKey, str]
CurrentKey = tuple[WorkspaceId, DefinitionKey]
ChannelKey = tuple[WorkspaceId, Channel]
PersonKey = tuple[WorkspaceId, PersonId]
GroupKey = tuple[WorkspaceId, str, str]
"""A workspace, `team` or `role`, and its name."""

Checked = Callable[[], None]
"""A write whose guard held, ready to be made."""


class MemoryDatabase:
    """Every row, held by reference; one lock makes each operation atomic, transactions included."""

    def __init__(self, lag: Lag | None = None) -> None:
        self.lock = RLock()
        self.workspaces_by_id: Index[WorkspaceId, Workspace] = Index(_by_id)
        self.definitions_by_key: Index[CurrentKey, Definition] = Index(_by_key)
        self.due: Index[RequestKey, Request] = Index(_due)
        self.history: Index[RequestKey, Request] = Index(_history)
        self.dead_lettered: Index[RequestKey, Request] = Index(_dead_lettered)
        self.notices_by_id: Index[NoticeKey, Notice] = Index(_by_notice_id)
        self.inbox: Index[NoticeKey, Notice] = Index(_inbox)
        self.unread: Index[NoticeKey, Notice] = Index(_unread)
        self.attention: Index[NoticeKey, Notice] = Index(_attention)

        self.workspaces: Table[WorkspaceId, Workspace] = Table("workspaces", None, self.workspaces_by_id)
        self.definitions: Table[CurrentKey, Definition] = Table("definitions", lag, self.definitions_by_key)
        self.versions: dict[tuple[WorkspaceId, DefinitionKey, int], Definition] = {}
        self.channels: dict[ChannelKey, ChannelState] = {}
        self.ledgers: dict[WorkspaceId, Ledger] = {}
        self.people: dict[PersonKey, Person] = {}
        self.members: dict[GroupKey, set[PersonId]] = {}
        self.requests: Table[RequestKey, Request] = Table("requests", lag, self.due, self.history, self.dead_lettered)
        self.heads: dict[HeadKey, Head] = {}
        self.notices: Table[NoticeKey, Notice] = Table(
            "notices", lag, self.notices_by_id, self.inbox, self.unread, self.attention
        )
        self.marks: dict[tuple[WorkspaceId, Recipient], ReadMark] = {}

    def checked_request(self, new: Request, was: Request | None) -> Checked:
        """A request's write, its guard holding.

        Raises:
            Conflict: the row isn't what was read.
        """
        key = (new.workspace_id, new.request_id)
        guard, found = guard_request(new, was), self.requests.get(key)
        check_version(guard.version, None if found is None else found.version, key)
        if found is not None and found.state not in guard.states:
            raise Conflict(f"{key} is {found.state}")
        return lambda: self.requests.put(key, new)

    def checked_head(self, new: Head, was: Head | None) -> Checked:
        """A head's write, its guard holding.

        Raises:
            Conflict: the row isn't what was read.
        """
        key = (new.workspace_id, new.definition, new.replacement_key)
        check_read(was, self.heads.get(key), key)
        return lambda: self.heads.update({key: new})

    def checked_notice(self, new: Notice, was: Notice | None) -> Checked:
        """A notice's write, its guard holding.

        Raises:
            Conflict: the row isn't what was read.
        """
        key = notice_key(new)
        guard, found = guard_notice(new, was), self.notices.get(key)
        check_version(guard.version, None if found is None else found.version, key)
        for channel, states in guard.states.items():
            item = None if found is None else found.delivery(channel)
            if item is None or item.state not in states:
                raise Conflict(f"{key}: {channel} is {item and item.state}")
        return lambda: self.notices.put(key, new)


def check_read(
    was: Workspace | Person | ChannelState | Head | Ledger | None,
    found: Workspace | Person | ChannelState | Head | Ledger | None,
    key: object,
) -> None:
    """Raise Conflict unless the row has the version that was read; None and version 0 are an absent row."""
    expected = None if was is None or was.version == 0 else was.version
    check_version(expected, None if found is None else found.version, key)


def check_version(expected: int | None, found: int | None, key: object) -> None:
    """Raise Conflict unless the row has this version; None is an absent row."""
    if found != expected:
        raise Conflict(f"{key} has version {found}, expected {expected}")


def notice_key(notice: Notice) -> NoticeKey:
    """Where a notice stands."""
    return NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)


def _by_id(workspace: Workspace) -> Place:
    return None, (workspace.workspace_id,)


def _by_key(definition: Definition) -> Place:
    return definition.workspace_id, (definition.key,)


def _due(request: Request) -> Place | None:
    if request.due_at is None:
        return None
    return (request.workspace_id, request.shard), (request.due_at, request.request_id)


def _history(request: Request) -> Place:
    return (request.workspace_id, request.shard), (request.recorded_at, request.request_id)


def _dead_lettered(request: Request) -> Place | None:
    return _history(request) if request.is_dead_lettered else None


def _by_notice_id(notice: Notice) -> Place:
    return (notice.workspace_id, notice.recipient), (notice.notice_id,)


def _inbox(notice: Notice) -> Place | None:
    return (
        ((notice.workspace_id, notice.recipient), (notice.created_at, notice.notice_id)) if notice.has_console else None
    )


def _unread(notice: Notice) -> Place | None:
    return _inbox(notice) if notice.is_unread else None


def _attention(notice: Notice) -> Place | None:
    if notice.failed_at is None:
        return None
    return (
        (notice.workspace_id, notice.shard),
        (notice.failed_at, notice.recipient, notice.notice_id),
    )
