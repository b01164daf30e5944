"""Marking as read: one notice, or everything up to a time. One write each."""

from datetime import datetime

from notify_core.application.ports import Conflict, NoticeKey, Ports, ReadMark
from notify_core.application.read_inbox import read_at
from notify_core.application.refusals import notice_not_found
from notify_core.domain.identifiers import Recipient, WorkspaceId
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Notice, read


def mark_read(key: NoticeKey, ports: Ports) -> None:
    """Mark one notice of an inbox as read; a read one stays as it is.

    Raises:
        NotFound: the inbox doesn't show it.
        Conflict: deliveries of the notice kept being faster.
    """
    for _ in range(CONFLICTS_MAX):
        notice = ports.notices.get(key)
        if notice is None or not notice.has_console:
            raise notice_not_found()
        if _is_read(notice, ports):
            return
        try:
            ports.notices.put(read(notice, now=ports.clock.now()), notice)
        except Conflict:
            continue
        return
    raise Conflict(f"reading of {key.notice_id} kept losing its race")


def _is_read(notice: Notice, ports: Ports) -> bool:
    return read_at(notice, ports.notices.read_mark(notice.workspace_id, notice.recipient)) is not None


def mark_all_read(workspace: WorkspaceId, recipient: Recipient, up_to: datetime, ports: Ports) -> None:
    """Mark everything up to a time as read; nothing that is still to come, however late the time."""
    now = ports.clock.now()
    ports.notices.mark_read(workspace, recipient, ReadMark(read_up_to=min(up_to, now), marked_at=now))
