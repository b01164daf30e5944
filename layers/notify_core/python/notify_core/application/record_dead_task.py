"""Recording dead tasks: a dispatch or sweep that ran out of receives."""

from typing import assert_never

from notify_core.application.begin_notice import Reader, begin_notice
from notify_core.application.follow_up import dispatch
from notify_core.application.ports import Conflict, Ports, QueueName
from notify_core.application.tasks import AuditTask, DispatchTask, RetireTask, SweepTask, Task, message_of
from notify_core.application.tell_failed_alert import tell_failed_alert
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Notice, charged, exhausted
from notify_core.domain.policy import POLICIES
from notify_core.domain.request_lifecycle import RequestState


def record_dead_task(task: Task, ports: Ports) -> None:
    """A dispatch counts as an attempt unless its delivery only waits; the tables bring sweeps and audits back."""
    match task:
        case DispatchTask():
            _record_dead_dispatch(task, ports)
        case SweepTask() | AuditTask():
            return
        case RetireTask():
            ports.queues.send(QueueName.RECONCILE, [message_of(task, delay_seconds=900)])
        case _:
            assert_never(task)


def _record_dead_dispatch(task: DispatchTask, ports: Ports) -> None:
    reader = Reader(ports=ports)
    for _ in range(CONFLICTS_MAX):
        notice = ports.notices.get(task.key)
        was = notice or _first(task, reader, ports)
        item = was.delivery(task.channel) if was else None
        if was is None or item is None:
            return
        if item.state is DeliveryState.DEFERRED:
            dispatch((task,), ports)
            return
        if item.state is not DeliveryState.QUEUED:
            return
        is_last = item.attempts + 1 >= POLICIES[task.channel].attempts_max
        now = ports.clock.now()
        new = exhausted(was, task.channel, by=Actor.WORKER, now=now) if is_last else charged(was, task.channel)
        try:
            ports.notices.put(new, was)
        except Conflict:
            continue
        if not is_last:
            dispatch((task,), ports)
        tell_failed_alert(was, new, ports)
        ports.telemetry.count("dead_letters_recorded", queue=task.channel.value)
        return
    raise Conflict("dead letter kept losing its race")


def _first(task: DispatchTask, reader: Reader, ports: Ports) -> Notice | None:
    request = ports.requests.get(task.workspace_id, task.request_id)
    entry = request.entry(task.recipient) if request else None
    if request is None or entry is None or request.fold_key is not None:
        return None
    if request.state is not RequestState.OPEN and not request.is_retired:
        return None
    return begin_notice(request, entry, reader)
