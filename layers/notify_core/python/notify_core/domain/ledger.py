"""The ledger of a workspace's requests: an account that the audits keep apart from the rows themselves.

An audit accounts for every request as it was at one moment. The next one accounts for that same moment again from the
rows that it finds: whatever is missing was removed. The account of a day is a count and the exclusive or of the
identifiers, so a single missing request is also named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from notify_core.domain.identifiers import RequestId, WorkspaceId
from notify_core.domain.limits import KEEP_CLOSED_SECONDS

LIVE: Final = "live"
CLOSED: Final = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """How many requests, and the exclusive or of their identifiers, each read as a number."""

    count: int = 0
    mixed: int = 0

    def plus(self, request: RequestId) -> "Account":
        """The account with a request more."""
        return Account(count=self.count + 1, mixed=self.mixed ^ int.from_bytes(request.encode()))


Accounts = Mapping[str, Account]
"""By `live` or `closed` and a day: those live by the day they were recorded, the others by that of their closing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What stood in the history at `taken_at`; `lost` names what is known to be gone. Version 0 isn't stored yet."""

    workspace_id: WorkspaceId
    taken_at: datetime
    accounts: Accounts = field(default_factory=dict[str, Account])
    lost: tuple[RequestId, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Requests that an account held and no row shows any more; named when it is only one."""

    number: int
    request_id: RequestId | None = None


def bucket_of(recorded_at: datetime, closed_at: datetime | None, *, at: datetime) -> str | None:
    """The account of a request as it was at a moment; None when it wasn't recorded yet."""
    if recorded_at > at:
        return None
    if closed_at is None or closed_at > at:
        return f"{LIVE} {recorded_at:%Y-%m-%d}"
    return f"{CLOSED} {closed_at:%Y-%m-%d}"


def missing(ledger: Ledger, found: Accounts, *, now: datetime) -> Sequence[Missing]:
    """What the ledger holds and the rows found now don't show, but for what may have been forgotten since."""
    return [
        told
        for bucket, before in sorted(ledger.accounts.items())
        if not _may_be_forgotten(bucket, ledger, now)
        if (told := _missing(before, found.get(bucket, Account()))) is not None
    ]


def _missing(before: Account, after: Account) -> Missing | None:
    number = before.count - after.count
    if number < 0 or before == after:
        return None  # more than there was: an index that lagged behind
    if number != 1:
        return Missing(number=max(number, 1))
    return Missing(number=1, request_id=_named(before.mixed ^ after.mixed))


def _named(mixed: int) -> RequestId | None:
    try:
        return RequestId(mixed.to_bytes((mixed.bit_length() + 7) // 8).decode("ascii"))
    except UnicodeDecodeError:
        return None


def _may_be_forgotten(bucket: str, ledger: Ledger, now: datetime) -> bool:
    """Whether a row of the account can have been deleted: one that was live may have closed right after."""
    kind, _, day = bucket.partition(" ")
    closed_at = ledger.taken_at if kind == LIVE else datetime.fromisoformat(day).replace(tzinfo=ledger.taken_at.tzinfo)
    return now >= closed_at + timedelta(seconds=KEEP_CLOSED_SECONDS)
