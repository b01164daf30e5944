"""Recording dead letters: what ran out of receives is written down where an operator finds it."""

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from notify_core.application.begin_notice import Reader, begin_notice
from notify_core.application.follow_up import dispatch
from notify_core.application.ports import Conflict, Ports, QueueName
from notify_core.application.publish_again import first_published
from notify_core.application.tasks import AuditTask, DispatchTask, RetireTask, SweepTask, Task, message_of
from notify_core.application.tell_failed_alert import tell_failed_alert
from notify_core.domain.acceptance import check_registered, expiry, queued_row, rejected, with_difference
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Notice, charged, exhausted
from notify_core.domain.policy import POLICIES
from notify_core.domain.problem import Problem
from notify_core.domain.request import InvalidPublication, Publication, Request
from notify_core.domain.request_lifecycle import RequestState

DEAD_LETTERED = Problem(
    field="",
    code="dead_lettered",
    message="processing failed repeatedly; find the cause, then reprocess the request",
)


def record_dead_publication(publication: Publication | InvalidPublication, ports: Ports) -> None:
    """Keep a publication that ran out of receives as a queued row with a problem; an operator may reprocess it.

    It is due at its deadline only, so that no sweep goes round with it. A recorded outcome stays as it is: a sweep does
    what an accepted one still owes. So does a publication that waits for its time: a sweep publishes it again.
    """
    for _ in range(CONFLICTS_MAX):
        was = ports.requests.get(publication.workspace_id, publication.request_id)
        if was is not None and was.state is not RequestState.QUEUED:
            return
        try:
            _put_dead(publication, was, ports, now=ports.clock.now())
        except Conflict:
            continue
        ports.telemetry.count("dead_letters_recorded", queue=QueueName.REQUESTS.value)
        return
    raise Conflict("dead letter kept losing its race")


def _put_dead(
    publication: Publication | InvalidPublication, was: Request | None, ports: Ports, *, now: datetime
) -> None:
    noted = was and with_difference(was, publication.content_hash, now=now)
    if noted is None or not _is_waiting(noted, now):
        ports.requests.put(_dead_row(first_published(was, publication), noted, ports, now=now), was)
    elif noted is not was:
        ports.requests.put(replace(noted, version=noted.version + 1), was)
    if noted is not was:
        ports.telemetry.count("publications_differing")


def _is_waiting(row: Request, now: datetime) -> bool:
    """Whether a sweep publishes it again when its time comes."""
    return row.not_before is not None and now < row.not_before and not row.problems


def _dead_row(
    publication: Publication | InvalidPublication, was: Request | None, ports: Ports, *, now: datetime
) -> Request:
    workspace = ports.registry.workspace(publication.workspace_id)
    definition = ports.registry.definition(publication.workspace_id, publication.definition)
    row = queued_row(publication, was, workspace, now=now)
    if isinstance(publication, InvalidPublication):
        return rejected(row, publication.problems, (), now=now)
    unregistered = check_registered(publication, workspace, definition)
    if unregistered or definition is None:
        return rejected(row, unregistered, (), now=now)
    expires_at, _ = expiry(publication, definition)
    return replace(row, version=row.version + 1, problems=(DEAD_LETTERED,), expires_at=expires_at, due_at=expires_at)


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
