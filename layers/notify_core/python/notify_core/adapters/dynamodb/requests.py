"""Requests, tombstones and replacement heads in DynamoDB."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from notify_core.adapters.dynamodb.client import bind
from notify_core.adapters.dynamodb.errors import translated
from notify_core.adapters.dynamodb.items import DeadLetteredIndex, HeadItem, HistoryIndex, RequestItem
from notify_core.adapters.dynamodb.notices import DynamoNoticeStore
from notify_core.adapters.dynamodb.reading import differ, get, get_many
from notify_core.adapters.dynamodb.text import (
    audience,
    audience_text,
    exclusions,
    exclusions_text,
    index_key,
    json_text,
    manifest,
    manifest_text,
    member,
    moment,
    moment_text,
    optional_integer,
    problems,
    problems_text,
)
from notify_core.adapters.dynamodb.writing import Put, commit, request_condition, token_of, unchanged
from notify_core.application.ports import DueRow, Head, HistoryRow, Page, PutHead, PutNotice, PutRequest, Write
from notify_core.domain.guard import guard_request
from notify_core.domain.identifiers import DefinitionKey, RequestId, WorkspaceId, head_id
from notify_core.domain.lifecycle import Actor
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_DERIVED: Final = ("due_shard", "due_at", "history_shard", "history_key", "dead_lettered_shard", "delete_at")
_PAST_TIME: Final = "$"
"""Added to a time, sorts after every index key that begins with it."""
_NEXT: Final = "!"
"""Added to an index key, sorts after it and before every other that does."""


class DynamoRequestStore:
    """ports.RequestStore over the requests table; its transactions reach the notices too."""

    def __init__(self, table: str, client: "DynamoDBClient", notices: DynamoNoticeStore) -> None:
        self._requests = bind(RequestItem, table, client)
        self._heads = bind(HeadItem, table, client)
        self._notices = notices

    def get(self, workspace: WorkspaceId, request: RequestId, *, consistent: bool = True) -> Request | None:
        """One request; without `consistent` it may be stale or missing, so only a conditional write decides."""
        item = get(self._requests, _pk(workspace, request), consistent=consistent)
        return None if item is None else request_of(item)

    def get_many(
        self, workspace: WorkspaceId, requests: Sequence[RequestId], *, consistent: bool = True
    ) -> Mapping[RequestId, Request]:
        """Those of the requests that exist."""
        keys = [{"pk": _pk(workspace, request)} for request in requests]
        found = (request_of(item) for item in get_many(self._requests, keys, consistent=consistent))
        return {request.request_id: request for request in found}

    def put(self, new: Request, was: Request | None) -> None:
        """Write a request's next version under guard_request."""
        self._put_request(new, was).make()

    def repair(self, new: Request, was: Request) -> None:
        """Write a request's next version, guarded by the version alone."""
        Put(request_item(self._requests, new), RequestItem.version == was.version).make()

    def damaged(self, workspace: WorkspaceId, requests: Sequence[RequestId]) -> Sequence[RequestId]:
        """Those of the requests of which an attribute that an index reads isn't what the content amounts to."""
        keys = [{"pk": _pk(workspace, request)} for request in requests]
        found = ((item, request_of(item)) for item in get_many(self._requests, keys))
        return [
            request.request_id
            for item, request in found
            if differ(item, request_item(self._requests, request), _DERIVED)
        ]

    def head(self, workspace: WorkspaceId, definition: DefinitionKey, replacement_key: str) -> Head | None:
        """A replacement key's head, strongly consistent."""
        item = get(self._heads, _head_pk(workspace, definition, replacement_key))
        return None if item is None else _head(item)

    def put_head(self, new: Head, was: Head | None) -> None:
        """Write a head's next version."""
        self._put_head(new, was).make()

    def commit(self, writes: Sequence[Write]) -> None:
        """Make all the writes or none (Conflict), over requests, heads and notices; repeated, none is made twice."""
        puts = [self._put(write) for write in writes]
        commit(puts, token=token_of(puts))

    def _put(self, write: Write) -> Put:
        match write:
            case PutRequest(new=request, was=was):
                return self._put_request(request, was)
            case PutHead(new=head, was=before):
                return self._put_head(head, before)
            case PutNotice(new=notice, was=earlier):
                return self._notices.put_of(notice, earlier)

    def due(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        until: datetime,
        position: Mapping[str, str] | None = None,
        limit: int,
    ) -> Page:
        """A page of DueRow, earliest first; the index may lag."""
        start = " " if position is None else position["due_at"] + _NEXT
        end = moment_text(until) + _PAST_TIME
        if start > end:
            return Page(items=[])
        with translated():
            items = list(
                self._requests.due.query(f"{workspace}#{shard}", RequestItem.due_at.between(start, end), limit=limit)
            )
        return Page(
            items=[_due_row(item) for item in items],
            position={"due_at": items[-1].due_at} if len(items) == limit else None,
        )

    def history(
        self, workspace: WorkspaceId, shard: int, *, before: tuple[datetime, RequestId] | None, limit: int
    ) -> Sequence[HistoryRow]:
        """HistoryRows of one shard, newest first, strictly before a place in it; the index may lag."""
        return _listed(self._requests.history, workspace, shard, before=before, limit=limit)

    def dead_lettered(
        self, workspace: WorkspaceId, shard: int, *, before: tuple[datetime, RequestId] | None, limit: int
    ) -> Sequence[HistoryRow]:
        """As history, of the dead-lettered requests alone."""
        return _listed(self._requests.dead_lettered, workspace, shard, before=before, limit=limit)

    def _put_request(self, new: Request, was: Request | None) -> Put:
        return Put(request_item(self._requests, new), request_condition(guard_request(new, was)))

    def _put_head(self, new: Head, was: Head | None) -> Put:
        item = self._heads(
            _head_pk(new.workspace_id, new.definition, new.replacement_key),
            version=new.version,
            definition=new.definition,
            replacement_key=new.replacement_key,
            current=new.current,
            current_published_at=new.current_published_at,
            withdrawn_at=new.withdrawn_at,
            keep_until=new.delete_at,
            delete_at=_epoch_seconds(new.delete_at),
        )
        return Put(item, unchanged(HeadItem, was))


def request_item(kind: type[RequestItem], request: Request) -> RequestItem:
    """The row that holds a request."""
    shard = f"{request.workspace_id}#{request.shard}"
    item = kind(
        _pk(request.workspace_id, request.request_id),
        due_shard=None if request.due_at is None else shard,
        due_at=None if request.due_at is None else index_key(request.due_at, request.request_id),
        history_shard=shard,
        history_key=index_key(request.recorded_at, request.request_id),
        dead_lettered_shard=shard if request.is_dead_lettered else None,
        version=request.version,
        shard=request.shard,
        state=request.state,
        reason=request.reason,
        caused_by=request.caused_by,
        definition=request.definition,
        definition_version=request.definition_version,
        request_key=request.request_key,
        replacement_key=request.replacement_key,
        fold_key=request.fold_key,
        published_at=request.published_at,
        not_before=request.not_before,
        deadline=request.deadline,
        expires_at=request.expires_at,
        recorded_at=request.recorded_at,
        accepted_at=request.accepted_at,
        closed_at=request.closed_at,
        differing_repeat_at=request.differing_repeat_at,
        finished_version=request.finished_version,
        data=None if request.data is None else json_text(request.data),
        audience=audience_text(request.audience),
        content_hash=request.content_hash,
        problems=problems_text(request.problems),
        exclusions=exclusions_text(request.exclusions),
        manifest=manifest_text(request.manifest),
        replaces=request.replaces,
        delete_at=_epoch_seconds(request.delete_at),
    )
    item.unknown = request.unknown
    return item


def request_of(item: RequestItem) -> Request:
    """The request in a row."""
    workspace, request = _ids(item)
    return Request(
        workspace_id=workspace,
        request_id=request,
        definition=DefinitionKey(item.definition),
        request_key=item.request_key,
        state=member(RequestState, item.state),
        recorded_at=item.recorded_at,
        version=int(item.version),
        shard=int(item.shard),
        definition_version=optional_integer(item.definition_version),
        replacement_key=item.replacement_key,
        fold_key=item.fold_key,
        reason=member(RequestReason, item.reason) if item.reason else None,
        caused_by=member(Actor, item.caused_by) if item.caused_by else None,
        published_at=item.published_at,
        not_before=item.not_before,
        deadline=item.deadline,
        expires_at=item.expires_at,
        accepted_at=item.accepted_at,
        closed_at=item.closed_at,
        differing_repeat_at=item.differing_repeat_at,
        due_at=moment(item.due_at) if item.due_at else None,
        finished_version=optional_integer(item.finished_version),
        data=json.loads(item.data) if item.data else None,
        audience=audience(item.audience),
        content_hash=item.content_hash,
        problems=problems(item.problems),
        exclusions=exclusions(item.exclusions),
        manifest=manifest(item.manifest),
        replaces=RequestId(item.replaces) if item.replaces else None,
        unknown=item.unknown,
    )


def _pk(workspace: WorkspaceId, request: RequestId) -> str:
    return f"R#{workspace}#{request}"


def _head_pk(workspace: WorkspaceId, definition: DefinitionKey, replacement_key: str) -> str:
    return f"H#{workspace}#{head_id(definition, replacement_key)}"


def _epoch_seconds(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())


def _ids(item: RequestItem) -> tuple[WorkspaceId, RequestId]:
    _, workspace, request = item.pk.split("#")
    return WorkspaceId(workspace), RequestId(request)


def _head(item: HeadItem) -> Head:
    return Head(
        workspace_id=WorkspaceId(item.pk.split("#")[1]),
        definition=DefinitionKey(item.definition),
        replacement_key=item.replacement_key,
        current=RequestId(item.current) if item.current else None,
        current_published_at=item.current_published_at,
        withdrawn_at=item.withdrawn_at,
        version=int(item.version),
        delete_at=item.keep_until,
    )


def _due_row(item: RequestItem) -> DueRow:
    return DueRow(
        request_id=_ids(item)[1],
        due_at=moment(item.due_at),
        definition=DefinitionKey(item.definition),
        state=member(RequestState, item.state),
    )


def _listed(
    index: HistoryIndex | DeadLetteredIndex,
    workspace: WorkspaceId,
    shard: int,
    *,
    before: tuple[datetime, RequestId] | None,
    limit: int,
) -> Sequence[HistoryRow]:
    condition = None if before is None else RequestItem.history_key < index_key(*before)
    with translated():
        items = list(index.query(f"{workspace}#{shard}", condition, scan_index_forward=False, limit=limit))
    return [_history_row(item) for item in items]


def _history_row(item: RequestItem) -> HistoryRow:
    return HistoryRow(
        request_id=_ids(item)[1],
        definition=DefinitionKey(item.definition),
        definition_version=optional_integer(item.definition_version),
        request_key=item.request_key,
        replacement_key=item.replacement_key,
        fold_key=item.fold_key,
        state=member(RequestState, item.state),
        reason=member(RequestReason, item.reason) if item.reason else None,
        published_at=item.published_at,
        not_before=item.not_before,
        expires_at=item.expires_at,
        recorded_at=item.recorded_at,
        closed_at=item.closed_at,
        differing_repeat_at=item.differing_repeat_at,
    )
