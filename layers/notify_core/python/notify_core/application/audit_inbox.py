"""The audit of one recipient's inbox: its unread total, and requests that only its notices still tell of."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from notify_core.application.audit_request import Difference, key_of
from notify_core.application.ports import Conflict, Ports
from notify_core.domain.identifiers import Recipient, WorkspaceId
from notify_core.domain.limits import DAY_SECONDS, KEEP_CLOSED_SECONDS, UNREAD_COUNT_MAX
from notify_core.domain.notice import Notice

_TRIES: Final = 3
"""How often more a total has to be wrong before it is believed: a recipient may be reading."""
_REMEMBERED_SECONDS: Final = KEEP_CLOSED_SECONDS - DAY_SECONDS
"""How long after it joined a notice a request's row certainly stands."""


def audit_inbox(workspace: WorkspaceId, recipient: Recipient, ports: Ports) -> list[Difference]:
    """The differences in the newest thousand notices of an inbox; a wrong total is repaired with its notices."""
    notices, is_right = _read(workspace, recipient, ports)
    found = _orphans(workspace, recipient, notices, ports)
    if is_right or any(_read(workspace, recipient, ports)[1] for _ in range(_TRIES)):
        return found
    _show_rightly(notices, ports)
    return [Difference(kind="unread_total_wrong", recipient=recipient), *found]


def _read(workspace: WorkspaceId, recipient: Recipient, ports: Ports) -> tuple[Sequence[Notice], bool]:
    """The newest notices, and whether the index counts as many unread ones as they amount to."""
    mark = ports.notices.read_mark(workspace, recipient)
    notices = ports.notices.inbox(workspace, recipient, before=None, limit=UNREAD_COUNT_MAX)
    since = _counted_since(notices, mark.read_up_to if mark else None)
    counted = ports.notices.unread_count(workspace, recipient, after=since, limit=UNREAD_COUNT_MAX + 1)
    return notices, counted == sum(item.is_unread and (since is None or item.created_at > since) for item in notices)


def _show_rightly(notices: Sequence[Notice], ports: Ports) -> None:
    by_key = {key_of(notice): notice for notice in notices}
    for key in ports.notices.damaged(list(by_key)):
        notice = by_key[key]
        try:
            ports.notices.repair(replace(notice, version=notice.version + 1), notice)
        except Conflict:
            continue  # it moved, and its place with it


def _counted_since(notices: Sequence[Notice], read_up_to: datetime | None) -> datetime | None:
    """After which moment both the index and the page hold all there is."""
    if len(notices) < UNREAD_COUNT_MAX:
        return read_up_to
    oldest = notices[-1].created_at
    return oldest if read_up_to is None else max(oldest, read_up_to)


def _orphans(workspace: WorkspaceId, recipient: Recipient, notices: Sequence[Notice], ports: Ports) -> list[Difference]:
    """The requests that a notice names and that have no row, though they can't have been forgotten."""
    since = ports.clock.now() - timedelta(seconds=_REMEMBERED_SECONDS)
    named = {item.request_id for notice in notices for item in notice.contributors if item.joined_at > since}
    known = ports.requests.get_many(workspace, sorted(named))
    return [
        Difference(kind="request_missing", request_id=request, recipient=recipient)
        for request in sorted(named - known.keys())
    ]
