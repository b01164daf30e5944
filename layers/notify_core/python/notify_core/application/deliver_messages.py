"""Delivering what a batch of dispatch messages asks for."""

from collections.abc import Mapping
from datetime import datetime

from notify_core.application.deliver_notices import deliver_notices
from notify_core.application.ports import Ports
from notify_core.application.tasks import DispatchTask, NoTask, read_task


def deliver_messages(bodies: Mapping[str, str], ports: Ports, *, until: datetime) -> set[str]:
    """Deliver the dispatches in messages by id; gives the ids of those that have to come again.

    A body that is no dispatch comes again too, until it lies among the dead letters, where it stays.
    """
    tasks: dict[str, DispatchTask] = {}
    for message_id, body in bodies.items():
        task = _read(body, ports)
        if task is not None:
            tasks[message_id] = task
    failed = deliver_notices(list(tasks.values()), ports, until=until) if tasks else set[DispatchTask]()
    return {message_id for message_id in bodies if message_id not in tasks or tasks[message_id] in failed}


def _read(body: str, ports: Ports) -> DispatchTask | None:
    try:
        task = read_task(body)
    except NoTask:
        task = None
    if isinstance(task, DispatchTask):
        return task
    ports.telemetry.count("messages_unreadable")
    return None
