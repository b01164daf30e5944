"""Whose turn it is in a night's audit: what moved lately every night, and of everything older one request in 28."""

from datetime import datetime, timedelta

from notify_core.domain.identifiers import RequestId
from notify_core.domain.limits import AUDIT_LATELY_SECONDS, AUDIT_TURN_DAYS


def has_turn(
    request: RequestId, *, recorded_at: datetime, closed_at: datetime | None, since: datetime | None, until: datetime
) -> bool:
    """Whether a request is looked at in full by the audit of the time from `since` to `until`.

    Its day comes once in AUDIT_TURN_DAYS, and is caught up when no audit ran on it. The first audit, which nothing
    was before, looks at everything.
    """
    if since is None or until - max(recorded_at, closed_at or recorded_at) <= timedelta(seconds=AUDIT_LATELY_SECONDS):
        return True
    today = until.date().toordinal()
    last_turn = today - (today - int.from_bytes(request.encode())) % AUDIT_TURN_DAYS
    return last_turn > since.date().toordinal()
