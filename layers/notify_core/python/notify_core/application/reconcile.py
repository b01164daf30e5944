"""Reconciling: whatever a message of the reconcile queue asks for."""

from datetime import datetime

from notify_core.application.audit_workspace import continue_audit
from notify_core.application.ports import Ports
from notify_core.application.retire_definition import close_retired
from notify_core.application.sweep_request import sweep_request
from notify_core.application.tasks import AuditTask, DispatchTask, RetireTask, SweepTask, Task


def reconcile(task: Task, ports: Ports, *, until: datetime) -> None:
    """Sweep a request, audit a workspace or close a retired definition's requests."""
    match task:
        case SweepTask(workspace_id=workspace, request_id=request_id):
            sweep_request(workspace, request_id, ports)
        case AuditTask():
            continue_audit(task, ports, until=until)
        case RetireTask():
            close_retired(task, ports, until=until)
        case DispatchTask():
            raise ValueError("a dispatch doesn't belong on the reconcile queue")
