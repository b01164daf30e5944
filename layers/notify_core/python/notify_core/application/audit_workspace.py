"""The nightly audit of a workspace: what was opened, closed and remains, and whatever isn't as it has to be.

It walks through the whole history, accounts for every request, and looks at those in full whose turn it is: what isn't
closed or was in the last two days, and one in 28 of everything older. A difference is repaired where the rows say how,
counted in a metric that has to be zero, and listed in the log. It is found

- on a request's own row, or on the notices of its recipients, by whatever contradicts the rest (audit_request);
- on an inbox, by counting (audit_inbox);
- in the history as a whole, by the ledger that the last audit left: a removed request.

What it can't find: a request removed before any audit has accounted for it, unless a notice in an inbox names it; which
requests are missing, where several of one day are and no inbox names them; a notice of no inbox that was removed while
its request is looked at again within the hour, which is then begun anew; a state altered together with all that tells
of it. A removed request is told once and remembered as lost: nothing says what it was, so nothing rebuilds it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from notify_core.application.audit_inbox import audit_inbox
from notify_core.application.audit_request import Difference, audit_request
from notify_core.application.history_walk import place_of, position_of
from notify_core.application.ports import Conflict, HistoryRow, Ports, QueueName
from notify_core.application.tasks import AuditTask, message_of
from notify_core.domain.audit_turns import has_turn
from notify_core.domain.identifiers import HQ, Recipient, RequestId, WorkspaceId
from notify_core.domain.ledger import LIVE, Account, Ledger, Missing, bucket_of, missing

T = TypeVar("T")

_PAGE: Final = 25
_PAGE_SECONDS: Final = 15
"""What a page of requests for the most recipients may take."""
_LISTED_MAX: Final = 50
_LOST_MAX: Final = 1_000
"""Removed requests that a ledger remembers, the newest."""
_WRITING_SECONDS: Final = 300
"""How long after its own times a row may still be on its way into the history."""


@dataclass(slots=True, kw_only=True)
class AuditReport:
    """What one call has found: requests by state, and the differences."""

    requests: Counter[str] = field(default_factory=Counter[str])
    differences: list[Difference] = field(default_factory=list[Difference])


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What a walk carries along: the accounts as of the last audit's moment and of its own, and what is lost."""

    since: datetime | None
    until: datetime
    before: dict[str, Account] = field(default_factory=dict[str, Account])
    after: dict[str, Account] = field(default_factory=dict[str, Account])
    opened: int = 0
    closed: Counter[str] = field(default_factory=Counter[str])
    lost: list[RequestId] = field(default_factory=list[RequestId])
    seen: set[Recipient] = field(default_factory=set[Recipient])
    """Recipients audited by this call."""

    def account_for(self, row: HistoryRow) -> None:
        if self.since is not None:
            _add(self.before, row, self.since)
        _add(self.after, row, self.until)
        self.opened += self._is_new(row.recorded_at)
        if row.closed_at is not None and self._is_new(row.closed_at):
            self.closed[row.state.value] += 1

    def looks_at(self, row: HistoryRow) -> bool:
        """Whether it is the request's turn."""
        return has_turn(row.request_id, closed_at=row.closed_at, since=self.since, until=self.until)

    def _is_new(self, at: datetime) -> bool:
        return (self.since is None or self.since < at) and at <= self.until

    def remember(self, found: Iterable[Difference]) -> list[Difference]:
        """The differences without the removed requests that were told before; those told now are remembered."""
        news: list[Difference] = []
        for difference in found:
            if difference.kind != "request_missing" or difference.request_id is None:
                news.append(difference)
            elif difference.request_id not in self.lost:
                news.append(difference)
                self.lost.append(difference.request_id)
        return news


def _add(accounts: dict[str, Account], row: HistoryRow, at: datetime) -> None:
    bucket = bucket_of(row.recorded_at, row.closed_at, at=at)
    if bucket is not None:
        accounts[bucket] = accounts.get(bucket, Account()).plus(row.request_id)


def audit_workspace(workspace: WorkspaceId, ports: Ports, *, until: datetime) -> AuditReport:
    """Audit a workspace from its newest request on; what time doesn't allow goes on in a message of its own."""
    return continue_audit(AuditTask(workspace_id=workspace), ports, until=until)


def continue_audit(task: AuditTask, ports: Ports, *, until: datetime) -> AuditReport:
    """Audit on from where a task says; what this call has found."""
    report = AuditReport()
    workspace = ports.registry.workspace(task.workspace_id)
    if workspace is None:
        return report
    place = place_of(task.position)
    walk = _begun(task.workspace_id, ports) if task.position is None else _walk_of(task.position)
    while place.shard < workspace.shards:
        if (until - ports.clock.now()).total_seconds() < _PAGE_SECONDS:
            position = {**position_of(place), "walk": _walk_text(walk)}
            ports.queues.send(QueueName.RECONCILE, [message_of(replace(task, position=position))])
            _tell(task.workspace_id, report, ports)
            return report
        rows = ports.requests.history(task.workspace_id, place.shard, before=place.before, limit=_PAGE)
        report.requests.update(row.state.value for row in rows)
        report.differences.extend(walk.remember(_audit_page(task.workspace_id, rows, walk, ports)))
        place = place.after(rows)
    _close(task.workspace_id, walk, report, ports)
    return report


# ---------------------------------------------------------------- a page


def _audit_page(workspace: WorkspaceId, rows: Sequence[HistoryRow], walk: _Walk, ports: Ports) -> list[Difference]:
    """Inboxes first: auditing a request repairs what would have made their totals wrong."""
    for row in rows:
        walk.account_for(row)
    rows = [row for row in rows if walk.looks_at(row)]
    recipients = set(_gathered(workspace, [partial(_recipients, workspace, rows, ports)], ports)) - walk.seen
    walk.seen |= recipients
    inboxes = [partial(audit_inbox, workspace, recipient, ports) for recipient in sorted(recipients)]
    return [
        *_gathered(workspace, inboxes, ports),
        *_gathered(workspace, [partial(audit_request, workspace, row, ports) for row in rows], ports),
    ]


def _recipients(workspace: WorkspaceId, rows: Sequence[HistoryRow], ports: Ports) -> Sequence[Recipient]:
    """Everybody told by one of the requests; HQ has no inbox."""
    requests = ports.requests.get_many(workspace, [row.request_id for row in rows]).values()
    return [entry.recipient for request in requests for entry in request.manifest if entry.recipient != HQ]


def _gathered(workspace: WorkspaceId, tasks: Sequence[Callable[[], Sequence[T]]], ports: Ports) -> list[T]:
    """What the tasks give together; one row's trouble stops no other, and is told."""
    failures: list[Exception] = []

    def tried(task: Callable[[], Sequence[T]]) -> Sequence[T]:
        try:
            return task()
        except Exception as failure:  # noqa: BLE001  (told below)
            failures.append(failure)
            return ()

    found = ports.gather([partial(tried, task) for task in tasks])
    if failures:
        kind = type(failures[0]).__name__
        ports.telemetry.alarm("audit_of_rows_failed", workspace_id=workspace, error=kind, count=len(failures))
    return [item for items in found for item in items]


# ---------------------------------------------------------------- the ledger


def _begun(workspace: WorkspaceId, ports: Ports) -> _Walk:
    ledger = ports.registry.ledger(workspace)
    until = ports.clock.now() - timedelta(seconds=_WRITING_SECONDS)
    if ledger is None:
        return _Walk(since=None, until=until)
    return _Walk(since=ledger.taken_at, until=max(until, ledger.taken_at), lost=list(ledger.lost))


def _close(workspace: WorkspaceId, walk: _Walk, report: AuditReport, ports: Ports) -> None:
    """Tell all, with what the last ledger holds and the walk hasn't seen; then the walk's own ledger takes its place.

    An audit that another has overtaken leaves the ledger to that one.
    """
    ledger = ports.registry.ledger(workspace)
    is_overtaken = (None if ledger is None else ledger.taken_at) != walk.since
    told: Sequence[Missing] = (
        () if ledger is None or is_overtaken else missing(ledger, walk.before, now=ports.clock.now())
    )
    found = [Difference(kind="request_missing", request_id=item.request_id, number=item.number) for item in told]
    report.differences.extend(walk.remember(found))
    _tell(workspace, report, ports)
    new = Ledger(
        workspace_id=workspace,
        taken_at=walk.until,
        accounts=walk.after,
        lost=tuple(walk.lost[-_LOST_MAX:]),
        version=1 if ledger is None else ledger.version + 1,
    )
    if is_overtaken or not _is_put(new, ledger, ports):
        ports.telemetry.info("audit_overtaken", workspace_id=workspace)
        return
    _tell_balance(workspace, walk, ports)


def _is_put(new: Ledger, was: Ledger | None, ports: Ports) -> bool:
    try:
        ports.registry.put_ledger(new, was)
    except Conflict:
        return False
    return True


def _walk_text(walk: _Walk) -> Mapping[str, Any]:
    """The walk as JSON; its recipients are of one call."""
    return {
        "since": None if walk.since is None else walk.since.isoformat(),
        "until": walk.until.isoformat(),
        "before": _accounts_text(walk.before),
        "after": _accounts_text(walk.after),
        "opened": walk.opened,
        "closed": walk.closed,
        "lost": walk.lost[-_LOST_MAX:],
    }


def _accounts_text(accounts: Mapping[str, Account]) -> Mapping[str, tuple[int, str]]:
    return {bucket: (account.count, f"{account.mixed:x}") for bucket, account in accounts.items()}


def _walk_of(position: Mapping[str, Any]) -> _Walk:
    text = position["walk"]
    return _Walk(
        since=None if text["since"] is None else datetime.fromisoformat(text["since"]),
        until=datetime.fromisoformat(text["until"]),
        before=_accounts(text["before"]),
        after=_accounts(text["after"]),
        opened=text["opened"],
        closed=Counter(text["closed"]),
        lost=list(text["lost"]),
    )


def _accounts(text: Mapping[str, tuple[int, str]]) -> dict[str, Account]:
    return {bucket: Account(count=count, mixed=int(mixed, 16)) for bucket, (count, mixed) in text.items()}


# ---------------------------------------------------------------- telling


def _tell(workspace: WorkspaceId, report: AuditReport, ports: Ports) -> None:
    """Count everything; list as many differences as a reader looks at."""
    for state, number in report.requests.items():
        ports.telemetry.count("audit_requests", number, state=state)
    ports.telemetry.count("audit_differences", sum(item.number for item in report.differences))
    for item in report.differences[:_LISTED_MAX]:
        ports.telemetry.alarm(
            "audit_difference",
            workspace_id=workspace,
            kind=item.kind,
            request_id=item.request_id,
            recipient=item.recipient,
            count=item.number,
        )
    unlisted = len(report.differences) - _LISTED_MAX
    if unlisted > 0:
        ports.telemetry.alarm("audit_differences_unlisted", workspace_id=workspace, count=unlisted)


def _tell_balance(workspace: WorkspaceId, walk: _Walk, ports: Ports) -> None:
    """What was opened since the last audit, closed by outcome, and remains."""
    remains = sum(account.count for bucket, account in walk.after.items() if bucket.startswith(LIVE))
    ports.telemetry.count("audit_opened", walk.opened)
    ports.telemetry.count("audit_remains", remains)
    ports.telemetry.info("audit_opened", workspace_id=workspace, count=walk.opened)
    ports.telemetry.info("audit_remains", workspace_id=workspace, count=remains)
    for state, number in sorted(walk.closed.items()):
        ports.telemetry.count("audit_closed", number, state=state)
        ports.telemetry.info("audit_closed", workspace_id=workspace, state=state, count=number)
