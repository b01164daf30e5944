"""When a delivery under way is looked at again, if nothing else happens to it before."""

from datetime import datetime, timedelta
from typing import Final

from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.limits import (
    EVIDENCE_PAUSE_SECONDS,
    LEASE_SECONDS,
    OVERDUE_SECONDS,
    RECEIPT_TIMEOUT_SECONDS,
    TEXT_EVIDENCE_SECONDS,
)
from notify_core.domain.notice import Delivery

_EVIDENCE_RETRY: Final = timedelta(seconds=EVIDENCE_PAUSE_SECONDS)
"""How soon an unreadable record is read again; then after as long as it has been unreadable, up to the check."""


def wakes_at(item: Delivery, *, check_at: datetime, expires_at: datetime | None, now: datetime) -> datetime | None:
    """When a sweep has to look at a delivery next; None when nothing is owed on it.

    `check_at` is the request's next regular look, `expires_at` its deadline, which ends what is unsent.
    """
    match item.state:
        case DeliveryState.QUEUED:
            return check_at if expires_at is None else min(check_at, expires_at)
        case DeliveryState.DEFERRED:
            lost_at = max(item.next_at or now, now) + timedelta(seconds=OVERDUE_SECONDS)
            return lost_at if expires_at is None else min(lost_at, expires_at)
        case DeliveryState.SENDING:
            at = evidence_ends_at(item, expires_at) if item.channel.has_receipts else evidence_at(item)
            return at if at > now else now + min(max(now - at, _EVIDENCE_RETRY), check_at - now)
        case DeliveryState.SENT:
            return receipt_ends_at(item)
        case _:
            return None


def evidence_at(item: Delivery) -> datetime:
    """From when the provider's record is complete for a claim: what it doesn't show wasn't sent."""
    return (item.claimed_at or item.updated_at) + timedelta(seconds=LEASE_SECONDS + EVIDENCE_PAUSE_SECONDS)


def evidence_ends_at(item: Delivery, expires_at: datetime | None) -> datetime:
    """Until when a send known by receipts only waits for one: its deadline or 24 hours, whichever is first.

    Never before its lease is over.
    """
    begun_at = item.claimed_at or item.updated_at
    latest = begun_at + timedelta(seconds=TEXT_EVIDENCE_SECONDS)
    lease_ends = begun_at + timedelta(seconds=LEASE_SECONDS)
    return max(lease_ends, latest if expires_at is None else min(latest, expires_at))


def receipt_ends_at(item: Delivery) -> datetime:
    """When a receipt that didn't come is given up."""
    return item.updated_at + timedelta(seconds=RECEIPT_TIMEOUT_SECONDS)
