"""Sweeps requests, audits workspaces and closes retired definitions' requests."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.reconcile import reconcile
from notify_core.application.tasks import read_task
from notify_core.wiring import BatchResponse, Context, Record, clock, deadline, entry, ports, process_each


@entry
def handler(event: Mapping[str, Any], context: Context) -> BatchResponse:
    """Do what a batch of reconcile messages asks for."""
    until = deadline(context, clock())

    def do(record: Record) -> bool:
        reconcile(read_task(record.body), ports(), until=until)
        return True

    return process_each(event, do)
