"""Reading an inbox: a person's own console notices, and how many are unread."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from notify_core.application.ports import Ports, ReadMark
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId
from notify_core.domain.limits import UNREAD_COUNT_MAX
from notify_core.domain.notice import Notice

InboxPlace = tuple[datetime, NoticeId]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """Notices newest first, the read mark that covers some of them, and the place that the next page is before."""

    notices: Sequence[Notice]
    mark: ReadMark | None
    before: InboxPlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """How many notices are unread; `is_more` when only so many were counted."""

    count: int
    is_more: bool


def read_inbox(
    workspace: WorkspaceId, recipient: Recipient, ports: Ports, *, before: InboxPlace | None, limit: int
) -> InboxPage:
    """A page of a person's inbox, strongly consistent."""
    found = ports.notices.inbox(workspace, recipient, before=before, limit=limit + 1)
    notices = found[:limit]
    return InboxPage(
        notices=notices,
        mark=ports.notices.read_mark(workspace, recipient),
        before=(notices[-1].created_at, notices[-1].notice_id) if len(found) > limit else None,
    )


def count_unread(workspace: WorkspaceId, recipient: Recipient, ports: Ports) -> Unread:
    """A person's unread total, exact up to a limit, strongly consistent."""
    mark = ports.notices.read_mark(workspace, recipient)
    counted = ports.notices.unread_count(
        workspace, recipient, after=mark.read_up_to if mark else None, limit=UNREAD_COUNT_MAX + 1
    )
    return Unread(count=min(counted, UNREAD_COUNT_MAX), is_more=counted > UNREAD_COUNT_MAX)


def read_at(notice: Notice, mark: ReadMark | None) -> datetime | None:
    """When the notice was read, on its own or with everything up to a time."""
    if notice.read_at is None and mark is not None and notice.created_at <= mark.read_up_to:
        return mark.marked_at
    return notice.read_at
