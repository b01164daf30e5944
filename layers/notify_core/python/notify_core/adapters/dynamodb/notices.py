"""Notices with their deliveries, inboxes and read marks in DynamoDB."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from notify_core.adapters.dynamodb.client import bind
from notify_core.adapters.dynamodb.errors import translated
from notify_core.adapters.dynamodb.items import NoticeItem, ReadMarkItem
from notify_core.adapters.dynamodb.reading import count, differ, get, get_many
from notify_core.adapters.dynamodb.text import (
    contributors,
    contributors_text,
    deliveries,
    deliveries_text,
    index_key,
    json_text,
    member,
    moment_text,
    timeline,
    timeline_text,
)
from notify_core.adapters.dynamodb.writing import STATES, Put, notice_condition
from notify_core.application.ports import Conflict, NoticeKey, ReadMark
from notify_core.domain.channel import Channel
from notify_core.domain.guard import guard_notice
from notify_core.domain.identifiers import DefinitionKey, NoticeId, Recipient, WorkspaceId
from notify_core.domain.notice import ConsoleContent, Notice
from notify_core.domain.notice_lifecycle import NoticeStatus

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from pynamodb.expressions.condition import Condition

_MARK: Final = "!mark"
_UNREAD: Final = "U#"
_OTHER: Final = "R#"
_PAST_TIME: Final = "$"
"""Added to a time, sorts after every index key that begins with it."""
_GENERATIONS_PAGE: Final = 4
_DERIVED: Final = ("inbox", "attention_shard", "failed_at", "delete_at")
_STATE_ATTRIBUTES: Final = {channel: attribute.attr_name for channel, attribute in STATES.items()}


class DynamoNoticeStore:
    """ports.NoticeStore over the notices table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._notices = bind(NoticeItem, table, client)
        self._marks = bind(ReadMarkItem, table, client)

    def get(self, key: NoticeKey) -> Notice | None:
        """One notice, strongly consistent."""
        item = get(self._notices, _pk(key.workspace_id, key.recipient), key.notice_id)
        return None if item is None else notice_of(item)

    def get_many(self, keys: Sequence[NoticeKey], *, consistent: bool = True) -> Mapping[NoticeKey, Notice]:
        """Those of the notices that are stored."""
        rows = [{"pk": _pk(key.workspace_id, key.recipient), "sk": key.notice_id} for key in keys]
        found = (notice_of(item) for item in get_many(self._notices, rows, consistent=consistent))
        return {_key(notice): notice for notice in found}

    def put(self, new: Notice, was: Notice | None) -> None:
        """Write a notice's next version under guard_notice."""
        self.put_of(new, was).make()

    def repair(self, new: Notice, was: Notice) -> None:
        """Write a notice's next version, guarded by the version alone."""
        Put(notice_item(self._notices, new), NoticeItem.version == was.version).make()

    def damaged(self, keys: Sequence[NoticeKey]) -> Sequence[NoticeKey]:
        """Those of the notices of which an attribute that an index reads isn't what the content amounts to."""
        rows = [{"pk": _pk(key.workspace_id, key.recipient), "sk": key.notice_id} for key in keys]
        found = ((item, notice_of(item)) for item in get_many(self._notices, rows))
        return [_key(notice) for item, notice in found if differ(item, notice_item(self._notices, notice), _DERIVED)]

    def put_of(self, new: Notice, was: Notice | None) -> Put:
        """The write of a notice's next version, for a transaction."""
        return Put(notice_item(self._notices, new), notice_condition(guard_notice(new, was)))

    def generations(self, workspace: WorkspaceId, recipient: Recipient, fold: str) -> Iterator[Notice]:
        """The generations of a fold key, newest first, strongly consistent, read as far as they are asked for."""
        items = self._notices.query(
            _pk(workspace, recipient),
            NoticeItem.sk.startswith(f"{fold}."),
            consistent_read=True,
            scan_index_forward=False,
            page_size=_GENERATIONS_PAGE,
        )
        while True:
            with translated():
                item = next(items, None)
            if item is None:
                return
            yield notice_of(item)

    def read_mark(self, workspace: WorkspaceId, recipient: Recipient) -> ReadMark | None:
        """A recipient's read mark, strongly consistent."""
        item = get(self._marks, _pk(workspace, recipient), _MARK)
        return None if item is None else ReadMark(read_up_to=item.read_up_to, marked_at=item.marked_at)

    def mark_read(self, workspace: WorkspaceId, recipient: Recipient, mark: ReadMark) -> None:
        """Move the mark forward, in one write; one that lies further already stays."""
        item = self._marks(_pk(workspace, recipient), _MARK, read_up_to=mark.read_up_to, marked_at=mark.marked_at)
        condition = ReadMarkItem.pk.does_not_exist() | (ReadMarkItem.read_up_to < mark.read_up_to)
        try:
            Put(item, condition).make()
        except Conflict:
            return

    def unread_count(self, workspace: WorkspaceId, recipient: Recipient, *, after: datetime | None, limit: int) -> int:
        """How many unread notices were created after a moment, counted up to the limit, strongly consistent."""
        condition: Condition = NoticeItem.inbox.startswith(_UNREAD)
        if after is not None:
            condition = NoticeItem.inbox > f"{_UNREAD}{moment_text(after)}{_PAST_TIME}"
        return count(
            self._notices, NoticeItem.inbox_index.Meta.index_name, _pk(workspace, recipient), condition, limit=limit
        )

    def inbox(
        self,
        workspace: WorkspaceId,
        recipient: Recipient,
        *,
        before: tuple[datetime, NoticeId] | None,
        limit: int,
    ) -> Sequence[Notice]:
        """Console notices of a recipient, newest first, strictly before a place, strongly consistent.

        Unread ones are listed first: one that is read or ended meanwhile shows in both lists, and never in none.
        """
        pk = _pk(workspace, recipient)
        unread = self._listed(pk, _UNREAD, before, limit)
        others = self._listed(pk, _OTHER, before, limit)
        places = dict.fromkeys(merge(unread, others, reverse=True))
        keys = [
            NoticeKey(workspace_id=workspace, recipient=recipient, notice_id=NoticeId(place.partition("#")[2]))
            for place in islice(places, limit)
        ]
        found = self.get_many(keys)
        return [found[key] for key in keys if key in found]

    def _listed(self, pk: str, kind: str, before: tuple[datetime, NoticeId] | None, limit: int) -> list[str]:
        """The places (`created_at#notice_id`) of one kind of entry, newest first."""
        place = None if before is None else index_key(*before)
        condition: Condition = NoticeItem.inbox.startswith(kind)
        if place is not None:
            condition = NoticeItem.inbox.between(kind, f"{kind}{place}")
        # The range takes in the place itself, which is then left out.
        wanted = limit if place is None else limit + 1
        with translated():
            items = self._notices.inbox_index.query(
                pk, condition, consistent_read=True, scan_index_forward=False, limit=wanted
            )
            listed = [item.inbox.removeprefix(kind) for item in items]
        return [found for found in listed if found != place][:limit]

    def attention(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        before: tuple[datetime, NoticeKey] | None,
        limit: int,
    ) -> Sequence[Notice]:
        """Notices with a failed delivery, the latest failed_at first; the index may lag."""
        return list(islice(self._needing_attention(f"{workspace}#{shard}", before, limit), limit))

    def _needing_attention(self, shard: str, before: tuple[datetime, NoticeKey] | None, page: int) -> Iterator[Notice]:
        condition: Condition | None = None
        if before is not None:
            condition = NoticeItem.failed_at < index_key(before[0], before[1].recipient, before[1].notice_id)
        items = self._notices.attention_index.query(shard, condition, scan_index_forward=False, page_size=page)
        while True:
            with translated():
                keys = [_key_of(item) for item in islice(items, page)]
            if not keys:
                return
            found = self.get_many(keys)
            yield from (found[key] for key in keys if key in found and found[key].failed_at is not None)


def notice_item(kind: type[NoticeItem], notice: Notice) -> NoticeItem:
    """The row that holds a notice."""
    base = notice.created_at
    failed_at = notice.failed_at
    item = kind(
        _pk(notice.workspace_id, notice.recipient),
        notice.notice_id,
        inbox=_inbox_key(notice),
        attention_shard=None if failed_at is None else f"{notice.workspace_id}#{notice.shard}",
        failed_at=None if failed_at is None else index_key(failed_at, notice.recipient, notice.notice_id),
        version=notice.version,
        shard=notice.shard,
        definition=notice.definition,
        created_at=base,
        expires_at=notice.expires_at,
        deliveries=deliveries_text(notice.deliveries, base),
        contributors=contributors_text(notice.contributors, base),
        ended=notice.ended,
        content=_content_text(notice.content),
        read_at=notice.read_at,
        timeline=timeline_text(notice.timeline, base),
        delete_at=int(notice.delete_at.timestamp()),
    )
    for delivery in notice.deliveries:
        setattr(item, _STATE_ATTRIBUTES[delivery.channel], delivery.state)
    item.unknown = notice.unknown
    return item


def notice_of(item: NoticeItem) -> Notice:
    """The notice in a row."""
    base = item.created_at
    workspace, _, recipient = item.pk.partition("#")
    return Notice(
        workspace_id=WorkspaceId(workspace),
        recipient=Recipient(recipient),
        notice_id=NoticeId(item.sk),
        definition=DefinitionKey(item.definition),
        created_at=base,
        expires_at=item.expires_at,
        contributors=contributors(item.contributors, base),
        deliveries=deliveries(item.deliveries, _states(item), base),
        version=int(item.version),
        shard=int(item.shard),
        ended=member(NoticeStatus, item.ended) if item.ended else None,
        content=_content(item.content),
        read_at=item.read_at,
        timeline=timeline(item.timeline, base),
        unknown=item.unknown,
    )


def _states(item: NoticeItem) -> Mapping[Channel, str]:
    return {channel: getattr(item, name) for channel, name in _STATE_ATTRIBUTES.items()}


def _content_text(content: ConsoleContent | None) -> str | None:
    return None if content is None else json_text((content.title, content.body, content.category))


def _content(text: str | None) -> ConsoleContent | None:
    if text is None:
        return None
    title, body, category = json.loads(text)
    return ConsoleContent(title=title, body=body, category=category)


def _inbox_key(notice: Notice) -> str | None:
    if not notice.has_console:
        return None
    return (_UNREAD if notice.is_unread else _OTHER) + index_key(notice.created_at, notice.notice_id)


def _pk(workspace: WorkspaceId, recipient: Recipient) -> str:
    return f"{workspace}#{recipient}"


def _key(notice: Notice) -> NoticeKey:
    return NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)


def _key_of(item: NoticeItem) -> NoticeKey:
    workspace, _, recipient = item.pk.partition("#")
    return NoticeKey(workspace_id=WorkspaceId(workspace), recipient=Recipient(recipient), notice_id=NoticeId(item.sk))
