"""Deriving a notice that is not stored: every notice of an accepted request exists from its acceptance on."""

from datetime import datetime

from notify_core.application.end_notices import ending_of
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import Notice, ended, first_notice
from notify_core.domain.request import ManifestEntry, Request


def derive_notice(request: Request, entry: ManifestEntry, *, now: datetime) -> Notice:
    """A recipient's notice as the request and its closing make it: what the follow-up or a sweep will write.

    A pure function of its arguments; the moves carry the time of the closing or of the deadline.
    """
    first = first_notice(request, entry)
    ends_at = request.closed_at if request.is_withdrawn else request.expires_at
    if ends_at is None or now < ends_at:
        return first
    return ended(first, ending_of(request, by=Actor.SWEEP), now=ends_at) or first
