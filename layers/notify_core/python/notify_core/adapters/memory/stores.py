"""The stores' ports over one memory database."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice

from notify_core.adapters.memory.database import (
    Checked,
    MemoryDatabase,
    RequestKey,
    check_read,
    check_version,
    notice_key,
)
from notify_core.adapters.memory.table import LAST, Index
from notify_core.application.ports import (
    Conflict,
    DueRow,
    Head,
    HistoryRow,
    NoticeKey,
    Page,
    PutHead,
    PutNotice,
    PutRequest,
    ReadMark,
    Write,
)
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition, DefinitionState
from notify_core.domain.directory import ChannelState, Person, Workspace
from notify_core.domain.identifiers import (
    DefinitionKey,
    NoticeId,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
)
from notify_core.domain.ledger import Ledger
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request


class MemoryRegistryStore:
    """ports.RegistryStore in memory."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def workspace(self, workspace: WorkspaceId) -> Workspace | None:
        """The workspace, strongly consistent."""
        with self._database.lock:
            return self._database.workspaces.get(workspace)

    def workspaces(self, position: Mapping[str, str] | None = None, *, limit: int = 100) -> Page:
        """A page of all workspaces, in the order of their ids."""
        after = () if position is None else (position["workspace_id"],)
        with self._database.lock:
            found = self._database.workspaces.query(self._database.workspaces_by_id, None, after=after, limit=limit)
        return Page(items=found, position={"workspace_id": found[-1].workspace_id} if len(found) == limit else None)

    def put_workspace(self, new: Workspace, was: Workspace | None) -> None:
        """Write a workspace's next version."""
        with self._database.lock:
            found = self._database.workspaces.get(new.workspace_id)
            check_read(was, found, new.workspace_id)
            self._database.workspaces.put(new.workspace_id, new)

    def definition(self, workspace: WorkspaceId, key: DefinitionKey, *, consistent: bool = False) -> Definition | None:
        """The current version of a definition, retired or not."""
        with self._database.lock:
            definitions = self._database.definitions
            row = (workspace, key)
            return definitions.get(row) if consistent else definitions.get_eventual(row)

    def definition_version(self, workspace: WorkspaceId, key: DefinitionKey, version: int) -> Definition | None:
        """One version of a definition, as it was registered."""
        with self._database.lock:
            return self._database.versions.get((workspace, key, version))

    def definitions(self, workspace: WorkspaceId, position: Mapping[str, str] | None = None, *, limit: int) -> Page:
        """A page of current definitions, in the order of their keys."""
        after = () if position is None else (position["key"],)
        with self._database.lock:
            found = self._database.definitions.query(
                self._database.definitions_by_key, workspace, after=after, limit=limit
            )
        return Page(items=found, position={"key": found[-1].key} if len(found) == limit else None)

    def put_definition(self, new: Definition, was: Definition | None) -> None:
        """Write the current definition; a new version is kept for ever beside it."""
        key = (new.workspace_id, new.key)
        with self._database.lock:
            found = self._database.definitions.get(key)
            if _standing(found) != _standing(was):
                raise Conflict(f"{key} is {_standing(found)}, expected {_standing(was)}")
            if was is None or was.version != new.version:
                self._database.versions[(*key, new.version)] = new
            self._database.definitions.put(key, new)

    def channel_state(self, workspace: WorkspaceId, channel: Channel) -> ChannelState | None:
        """What is known of a channel of a workspace; None when nothing ever was."""
        with self._database.lock:
            return self._database.channels.get((workspace, channel))

    def put_channel_state(self, new: ChannelState, was: ChannelState | None) -> None:
        """Write a channel state's next version."""
        key = (new.workspace_id, new.channel)
        with self._database.lock:
            found = self._database.channels.get(key)
            check_read(was, found, key)
            self._database.channels[key] = new

    def ledger(self, workspace: WorkspaceId) -> Ledger | None:
        """What the last audit of a workspace left; None before the first."""
        with self._database.lock:
            return self._database.ledgers.get(workspace)

    def put_ledger(self, new: Ledger, was: Ledger | None) -> None:
        """Write a ledger's next version."""
        with self._database.lock:
            check_read(was, self._database.ledgers.get(new.workspace_id), new.workspace_id)
            self._database.ledgers[new.workspace_id] = new


def _standing(definition: Definition | None) -> tuple[int, DefinitionState] | None:
    return None if definition is None else (definition.version, definition.state)


class MemoryDirectoryStore:
    """ports.DirectoryStore in memory."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def people(self, workspace: WorkspaceId, people: Sequence[PersonId]) -> Mapping[PersonId, Person]:
        """Those of the people who are known in the workspace, strongly consistent."""
        with self._database.lock:
            found = ((person, self._database.people.get((workspace, person))) for person in people)
            return {person: item for person, item in found if item is not None}

    def team(self, workspace: WorkspaceId, team: str) -> Sequence[PersonId]:
        """A team's members, in the order of their ids; empty when it isn't known."""
        return self._members(workspace, "team", team)

    def role(self, workspace: WorkspaceId, role: str) -> Sequence[PersonId]:
        """A role's holders, in the order of their ids; empty when it isn't known."""
        return self._members(workspace, "role", role)

    def _members(self, workspace: WorkspaceId, kind: str, name: str) -> Sequence[PersonId]:
        with self._database.lock:
            return sorted(self._database.members.get((workspace, kind, name), ()))

    def put_person(self, new: Person, was: Person | None) -> None:
        """Write a person's next version with its memberships, in one transaction."""
        key = (new.workspace_id, new.person_id)
        with self._database.lock:
            found = self._database.people.get(key)
            check_read(was, found, key)
            for group in _groups(was):
                self._database.members[group].discard(new.person_id)
            for group in _groups(new):
                self._database.members.setdefault(group, set()).add(new.person_id)
            self._database.people[key] = new


def _groups(person: Person | None) -> Iterator[tuple[WorkspaceId, str, str]]:
    if person is not None:
        yield from ((person.workspace_id, "team", team) for team in person.teams)
        yield from ((person.workspace_id, "role", role) for role in person.roles)


class MemoryRequestStore:
    """ports.RequestStore in memory."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def get(self, workspace: WorkspaceId, request: RequestId, *, consistent: bool = True) -> Request | None:
        """One request; without `consistent` as stale as the database's lag has it."""
        with self._database.lock:
            requests = self._database.requests
            key = (workspace, request)
            return requests.get(key) if consistent else requests.get_eventual(key)

    def get_many(
        self, workspace: WorkspaceId, requests: Sequence[RequestId], *, consistent: bool = True
    ) -> Mapping[RequestId, Request]:
        """Those of the requests that exist."""
        found = ((request, self.get(workspace, request, consistent=consistent)) for request in requests)
        return {request: item for request, item in found if item is not None}

    def put(self, new: Request, was: Request | None) -> None:
        """Write a request's next version under guard_request."""
        with self._database.lock:
            self._database.checked_request(new, was)()

    def repair(self, new: Request, was: Request) -> None:
        """Write a request's next version, guarded by the version alone."""
        key = (new.workspace_id, new.request_id)
        with self._database.lock:
            found = self._database.requests.get(key)
            check_version(was.version, None if found is None else found.version, key)
            self._database.requests.repair(key, new)

    def damaged(self, workspace: WorkspaceId, requests: Sequence[RequestId]) -> Sequence[RequestId]:
        """Those of the requests that an index shows otherwise than their content amounts to."""
        with self._database.lock:
            return [item for item in requests if not self._database.requests.is_right((workspace, item))]

    def head(self, workspace: WorkspaceId, definition: DefinitionKey, replacement_key: str) -> Head | None:
        """A replacement key's head, strongly consistent."""
        with self._database.lock:
            return self._database.heads.get((workspace, definition, replacement_key))

    def put_head(self, new: Head, was: Head | None) -> None:
        """Write a head's next version."""
        with self._database.lock:
            self._database.checked_head(new, was)()

    def commit(self, writes: Sequence[Write]) -> None:
        """Make all the writes or none (Conflict), over requests, heads and notices.

        Raises:
            ValueError: a row is named twice, which DynamoDB refuses.
        """
        if len({_row_of(write) for write in writes}) < len(writes):
            raise ValueError("a transaction names a row twice")
        with self._database.lock:
            for write in [self._checked(write) for write in writes]:
                write()

    def _checked(self, write: Write) -> Checked:
        match write:
            case PutRequest(new=request, was=was):
                return self._database.checked_request(request, was)
            case PutHead(new=head, was=before):
                return self._database.checked_head(head, before)
            case PutNotice(new=notice, was=earlier):
                return self._database.checked_notice(notice, earlier)

    def due(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        until: datetime,
        position: Mapping[str, str] | None = None,
        limit: int,
    ) -> Page:
        """A page of DueRow, earliest first; as stale as the database's lag has it."""
        after = (
            () if position is None else (datetime.fromisoformat(position["due_at"]), RequestId(position["request_id"]))
        )
        with self._database.lock:
            found = self._database.requests.query(
                self._database.due,
                (workspace, shard),
                after=after,
                before=(until, LAST),
                limit=limit,
                reader="due",
            )
        rows = [_due_row(request) for request in found]
        return Page(items=rows, position=_due_position(rows[-1]) if len(rows) == limit else None)

    def history(
        self, workspace: WorkspaceId, shard: int, *, before: tuple[datetime, RequestId] | None, limit: int
    ) -> Sequence[HistoryRow]:
        """HistoryRows of one shard, newest first, strictly before a place; as stale as the lag has it."""
        return self._listed(self._database.history, workspace, shard, before, limit)

    def dead_lettered(
        self, workspace: WorkspaceId, shard: int, *, before: tuple[datetime, RequestId] | None, limit: int
    ) -> Sequence[HistoryRow]:
        """As history, of the dead-lettered requests alone."""
        return self._listed(self._database.dead_lettered, workspace, shard, before, limit)

    def _listed(
        self,
        index: Index[RequestKey, Request],
        workspace: WorkspaceId,
        shard: int,
        before: tuple[datetime, RequestId] | None,
        limit: int,
    ) -> Sequence[HistoryRow]:
        with self._database.lock:
            found = self._database.requests.query(
                index, (workspace, shard), before=before or (), reverse=True, limit=limit, reader="history"
            )
        return [_history_row(request) for request in found]


def _row_of(write: Write) -> object:
    match write:
        case PutRequest(new=request):
            return request.workspace_id, request.request_id
        case PutHead(new=head):
            return head.workspace_id, head.definition, head.replacement_key
        case PutNotice(new=notice):
            return notice_key(notice)


def _due_row(request: Request) -> DueRow:
    assert request.due_at is not None
    return DueRow(
        request_id=request.request_id,
        due_at=request.due_at,
        definition=request.definition,
        state=request.state,
    )


def _due_position(row: DueRow) -> Mapping[str, str]:
    return {"due_at": row.due_at.isoformat(), "request_id": row.request_id}


def _history_row(request: Request) -> HistoryRow:
    return HistoryRow(
        request_id=request.request_id,
        definition=request.definition,
        definition_version=request.definition_version,
        request_key=request.request_key,
        replacement_key=request.replacement_key,
        fold_key=request.fold_key,
        state=request.state,
        reason=request.reason,
        published_at=request.published_at,
        not_before=request.not_before,
        expires_at=request.expires_at,
        recorded_at=request.recorded_at,
        closed_at=request.closed_at,
        differing_repeat_at=request.differing_repeat_at,
    )


class MemoryNoticeStore:
    """ports.NoticeStore in memory."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def get(self, key: NoticeKey) -> Notice | None:
        """One notice, strongly consistent."""
        with self._database.lock:
            return self._database.notices.get(key)

    def get_many(self, keys: Sequence[NoticeKey], *, consistent: bool = True) -> Mapping[NoticeKey, Notice]:
        """Those of the notices that are stored."""
        with self._database.lock:
            notices = self._database.notices
            found = ((key, notices.get(key) if consistent else notices.get_eventual(key)) for key in keys)
            return {key: item for key, item in found if item is not None}

    def put(self, new: Notice, was: Notice | None) -> None:
        """Write a notice's next version under guard_notice."""
        with self._database.lock:
            self._database.checked_notice(new, was)()

    def repair(self, new: Notice, was: Notice) -> None:
        """Write a notice's next version, guarded by the version alone."""
        key = notice_key(new)
        with self._database.lock:
            found = self._database.notices.get(key)
            check_version(was.version, None if found is None else found.version, key)
            self._database.notices.repair(key, new)

    def damaged(self, keys: Sequence[NoticeKey]) -> Sequence[NoticeKey]:
        """Those of the notices that an index shows otherwise than their content amounts to."""
        with self._database.lock:
            return [key for key in keys if not self._database.notices.is_right(key)]

    def generations(self, workspace: WorkspaceId, recipient: Recipient, fold: str) -> Iterator[Notice]:
        """The generations of a fold key, newest first, each read when it is asked for."""
        before = f"{fold}.{LAST}"
        while True:
            with self._database.lock:
                found = self._database.notices.query(
                    self._database.notices_by_id,
                    (workspace, recipient),
                    after=(f"{fold}.",),
                    before=(before,),
                    reverse=True,
                    limit=1,
                )
            if not found:
                return
            yield found[0]
            before = found[0].notice_id

    def read_mark(self, workspace: WorkspaceId, recipient: Recipient) -> ReadMark | None:
        """A recipient's read mark, strongly consistent."""
        with self._database.lock:
            return self._database.marks.get((workspace, recipient))

    def mark_read(self, workspace: WorkspaceId, recipient: Recipient, mark: ReadMark) -> None:
        """Move the mark forward; one that lies further already stays."""
        with self._database.lock:
            found = self._database.marks.get((workspace, recipient))
            if found is None or found.read_up_to < mark.read_up_to:
                self._database.marks[workspace, recipient] = mark

    def unread_count(self, workspace: WorkspaceId, recipient: Recipient, *, after: datetime | None, limit: int) -> int:
        """How many unread notices were created after a moment, counted up to the limit."""
        with self._database.lock:
            rank = () if after is None else (after, LAST)
            found = self._database.notices.count(self._database.unread, (workspace, recipient), after=rank)
        return min(found, limit)

    def inbox(
        self,
        workspace: WorkspaceId,
        recipient: Recipient,
        *,
        before: tuple[datetime, NoticeId] | None,
        limit: int,
    ) -> Sequence[Notice]:
        """Console notices of a recipient, newest first by (created_at, id), strictly before a place."""
        with self._database.lock:
            return self._database.notices.query(
                self._database.inbox,
                (workspace, recipient),
                before=before or (),
                reverse=True,
                limit=limit,
            )

    def attention(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        before: tuple[datetime, NoticeKey] | None,
        limit: int,
    ) -> Sequence[Notice]:
        """Notices with a failed delivery, the latest failed_at first; as incomplete as the lag has it."""
        rank = () if before is None else (before[0], before[1].recipient, before[1].notice_id)
        with self._database.lock:
            listed = self._database.notices.query(
                self._database.attention,
                (workspace, shard),
                before=rank,
                reverse=True,
                reader="attention",
            )
            present = (self._database.notices.get(notice_key(notice)) for notice in listed)
            failed = (notice for notice in present if notice is not None and notice.failed_at is not None)
            return list(islice(failed, limit))
