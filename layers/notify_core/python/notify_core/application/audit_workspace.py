"""The nightly audit of a workspace: what was opened, closed and remains, and whatever isn't as it has to be.

A difference is repaired where the tables say how, counted in a metric that has to be zero, and listed in the log.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from notify_core.application.find_notices import find_notices
from notify_core.application.history_walk import place_of, position_of
from notify_core.application.ports import Conflict, HistoryRow, Ports, QueueName
from notify_core.application.sweep_request import sweep_request
from notify_core.application.tasks import AuditTask, message_of
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import RequestId, WorkspaceId
from notify_core.domain.limits import CHECK_SECONDS_MAX, CLOSING_GRACE_SECONDS, KEEP_CLOSED_SECONDS, SPARE_SECONDS
from notify_core.domain.request import ManifestEntry, Request, rescheduled
from notify_core.domain.request_lifecycle import RequestState

_PAGE = 100
_LATE_SECONDS = 2 * CHECK_SECONDS_MAX


@dataclass(slots=True, kw_only=True)
class AuditReport:
    """What an audit has found: requests by state, and each difference as (kind, request, recipient)."""

    requests: Counter[str] = field(default_factory=Counter[str])
    differences: list[tuple[str, RequestId, str]] = field(default_factory=list[tuple[str, RequestId, str]])


def audit_workspace(workspace: WorkspaceId, ports: Ports, *, until: datetime) -> AuditReport:
    """Audit a workspace from its newest request on; what time doesn't allow goes on in a message of its own."""
    return continue_audit(AuditTask(workspace_id=workspace), ports, until=until)


def continue_audit(task: AuditTask, ports: Ports, *, until: datetime) -> AuditReport:
    """Audit on from where a task says; what this call has found."""
    report = AuditReport()
    workspace = ports.registry.workspace(task.workspace_id)
    place = place_of(task.position)
    while workspace is not None and place.shard < workspace.shards:
        if (until - ports.clock.now()).total_seconds() < 2 * SPARE_SECONDS:
            ports.queues.send(QueueName.RECONCILE, [message_of(replace(task, position=position_of(place)))])
            break
        rows = ports.requests.history(task.workspace_id, place.shard, before=place.before, limit=_PAGE)
        for row in rows:
            report.requests[row.state.value] += 1
        for found in ports.gather([partial(_audit_row, task.workspace_id, row, ports) for row in rows]):
            report.differences.extend(found)
        place = place.after(rows)
    _tell(task.workspace_id, report, ports)
    return report


def _tell(workspace: WorkspaceId, report: AuditReport, ports: Ports) -> None:
    for state, number in report.requests.items():
        ports.telemetry.count("audit_requests", number, state=state)
    ports.telemetry.count("audit_differences", len(report.differences))
    for kind, request_id, _recipient in report.differences:
        ports.telemetry.alarm("audit_difference", workspace_id=workspace, difference=kind, request_id=request_id)


def _audit_row(workspace: WorkspaceId, row: HistoryRow, ports: Ports) -> list[tuple[str, RequestId, str]]:
    """The differences of one request, each repaired by having the request swept now."""
    request = ports.requests.get(workspace, row.request_id)
    if request is None:
        is_forgotten = _may_be_forgotten(row.closed_at, ports.clock.now())
        return [] if is_forgotten else [("index_row_without_request", row.request_id, "")]
    found = _differences(request, ports)
    if found:
        _repair(request, ports)
    return found


def _differences(request: Request, ports: Ports) -> list[tuple[str, RequestId, str]]:
    now = ports.clock.now()
    found: list[tuple[str, RequestId, str]] = []
    if request.state in {RequestState.OPEN, RequestState.QUEUED} and request.due_at is None:
        found.append(("live_request_never_due", request.request_id, ""))
    if request.due_at is not None and request.due_at < now - timedelta(seconds=_LATE_SECONDS):
        found.append(("due_long_ago", request.request_id, ""))
    if request.state is RequestState.OPEN and _is_of_retired(request, ports):
        found.append(("open_though_retired", request.request_id, ""))
    is_settled_down = request.is_accepted and now > _settled_down_at(request)
    if is_settled_down and not _may_be_forgotten(request.expires_at, now):
        found.extend(_notice_differences(request, ports))
    return found


def _may_be_forgotten(kept_since: datetime | None, now: datetime) -> bool:
    """Whether a row may be deleted by now: a request from its closing on, a notice from its expiry on."""
    return kept_since is not None and now >= kept_since + timedelta(seconds=KEEP_CLOSED_SECONDS)


def _is_of_retired(request: Request, ports: Ports) -> bool:
    definition = ports.registry.definition(request.workspace_id, request.definition, consistent=True)
    return definition is not None and definition.has_retired(request.definition_version)


def _settled_down_at(request: Request) -> datetime:
    """From when nobody can be at work any more on what the last write of the request owes."""
    last = max(at for at in (request.accepted_at, request.closed_at, request.recorded_at) if at is not None)
    return last + timedelta(seconds=2 * CLOSING_GRACE_SECONDS)


def _notice_differences(request: Request, ports: Ports) -> list[tuple[str, RequestId, str]]:
    found: list[tuple[str, RequestId, str]] = []
    notices = find_notices(request, ports)
    for entry in request.manifest:
        notice = notices[entry.recipient]
        if notice is None:
            if _has_to_stand(request, entry):
                found.append(("notice_missing", request.request_id, entry.recipient))
        elif request.is_withdrawn and notice.ended is None and not notice.has_left(request.request_id):
            found.append(("withdrawn_notice_not_ended", request.request_id, entry.recipient))
        elif notice.is_active and request.due_at is None and notice.owner == request.request_id:
            found.append(("active_notice_never_due", request.request_id, entry.recipient))
    return found


def _has_to_stand(request: Request, entry: ManifestEntry) -> bool:
    """Whether a recipient's notice has to be stored: shown in an inbox, folded, or ended with its request.

    A request that was withdrawn before it was folded has none.
    """
    if request.is_withdrawn:
        return request.fold_key is None
    return request.fold_key is not None or Channel.CONSOLE in entry.channels


def _repair(request: Request, ports: Ports) -> None:
    """Have the request swept: a sweep does whatever its rows say is owed."""
    now = ports.clock.now()
    try:
        if request.due_at is None or request.due_at > now:
            ports.requests.put(rescheduled(request, now), request)
    except Conflict:
        return  # it moved: the next audit looks again
    sweep_request(request.workspace_id, request.request_id, ports)
