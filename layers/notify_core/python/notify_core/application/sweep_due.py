"""The minute's sweep: every due request of every workspace becomes one message to reconcile."""

from collections.abc import Iterator
from datetime import datetime

from notify_core.application.ports import DueRow, Ports, QueueName
from notify_core.application.tasks import AuditTask, SweepTask, message_of
from notify_core.domain.directory import Workspace
from notify_core.domain.limits import RECONCILE_BACKLOG_MAX, SPARE_SECONDS

_PAGE = 100


def sweep_due(ports: Ports, *, until: datetime) -> int:
    """Send one message a due request; how many. Nothing while the reconcile queue holds too much already.

    One workspace's trouble stops no other; what time doesn't allow is due still in a minute.
    """
    backlog = ports.queues.backlog(QueueName.RECONCILE)
    if backlog > RECONCILE_BACKLOG_MAX:
        ports.telemetry.alarm("reconcile_backlog", count=backlog)
        return 0
    room = RECONCILE_BACKLOG_MAX - backlog
    sent = 0
    for workspace in _workspaces(ports):
        if sent >= room or (until - ports.clock.now()).total_seconds() < SPARE_SECONDS:
            ports.telemetry.info("sweep_stopped_early", count=sent)
            break
        try:
            sent += _sweep_workspace(workspace, room - sent, ports)
        except Exception as error:  # noqa: BLE001  (one workspace's trouble stops no other; it is reported)
            ports.telemetry.alarm(
                "sweep_of_workspace_failed", workspace_id=workspace.workspace_id, error=type(error).__name__
            )
    ports.telemetry.count("requests_due", sent)
    return sent


def _workspaces(ports: Ports) -> Iterator[Workspace]:
    position = None
    while True:
        page = ports.registry.workspaces(position, limit=_PAGE)
        yield from page.items
        position = page.position
        if position is None:
            return


def _sweep_workspace(workspace: Workspace, room: int, ports: Ports) -> int:
    sent = 0
    for shard in range(workspace.shards):
        position = None
        while sent < room:
            page = ports.requests.due(
                workspace.workspace_id,
                shard,
                until=ports.clock.now(),
                position=position,
                limit=min(_PAGE, room - sent),
            )
            rows: list[DueRow] = list(page.items)
            ports.queues.send(
                QueueName.RECONCILE,
                [message_of(SweepTask(workspace_id=workspace.workspace_id, request_id=row.request_id)) for row in rows],
            )
            sent += len(rows)
            position = page.position
            if position is None:
                break
    return sent


def sweep_nightly(ports: Ports) -> int:
    """Send one message a workspace, for its audit; how many."""
    sent = 0
    for workspace in _workspaces(ports):
        ports.queues.send(QueueName.RECONCILE, [message_of(AuditTask(workspace_id=workspace.workspace_id))])
        sent += 1
    ports.telemetry.count("workspaces_audited", sent)
    return sent
