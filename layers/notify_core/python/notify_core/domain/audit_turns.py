"""Whose turn it is in a night's audit: what isn't closed every night, and of everything older one request in 28."""

from datetime import datetime, timedelta
from zlib import crc32

from notify_core.domain.identifiers import RequestId
from notify_core.domain.limits import AUDIT_LATELY_SECONDS, AUDIT_TURN_DAYS


def has_turn(request: RequestId, *, closed_at: datetime | None, since: datetime | None, until: datetime) -> bool:
    """Whether a request is looked at in full by the audit of the time from `since` to `until`.

    What is open or waits is, every night, and so is what was closed lately. The day of any other comes once in
    AUDIT_TURN_DAYS, whenever an audit runs on that day, and is caught up when none did. The first audit, which nothing
    was before, looks at everything.
    """
    if since is None or closed_at is None or until - closed_at <= timedelta(seconds=AUDIT_LATELY_SECONDS):
        return True
    today = until.date().toordinal()
    last_turn = today - (today - crc32(request.encode())) % AUDIT_TURN_DAYS
    return last_turn == today or last_turn > since.date().toordinal()
