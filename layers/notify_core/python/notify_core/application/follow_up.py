"""What an accepted request owes after its commit: its notices, their dispatch, and the end of what it replaced.

Everything here may be repeated: by a redelivered message, by a sweep, by a second processor at the same time.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from notify_core.application.begin_notice import Reader, begin_notice
from notify_core.application.end_notices import end_notices
from notify_core.application.find_notices import find_notices, unfolded_key
from notify_core.application.fold_in import fold_in
from notify_core.application.ports import Conflict, Message, Ports, QueueName
from notify_core.application.retire_definition import close_if_retired
from notify_core.application.tasks import QUEUE_OF, DispatchTask, dispatch_task, message_of
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import Recipient, unfolded_notice_id
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Notice, created
from notify_core.domain.request import ManifestEntry, Request
from notify_core.domain.request_lifecycle import RequestState


def follow_up(request: Request, reader: Reader, ports: Ports, *, is_new: bool) -> None:
    """Do, or do again, all that a request's outcome owes; `is_new` when this very call wrote the acceptance."""
    if request.state is RequestState.OPEN or request.is_retired:
        _begin(request, reader, ports, is_new=is_new)
        _end_replaced(request, reader, ports)
        _look_behind(request, reader, ports)
    elif request.is_withdrawn:
        end_notices(request, reader, ports, by=Actor.PROCESSOR)
        _end_replaced(request, reader, ports)


def _begin(request: Request, reader: Reader, ports: Ports, *, is_new: bool) -> None:
    """Store the notices that must be found in an inbox, then dispatch what is still queued."""
    reader.load_people(request.workspace_id, _stored_at_once(request))
    if request.fold_key is not None:
        folded = ports.gather([partial(fold_in, request, entry, reader, ports) for entry in request.manifest])
        dispatch(_owed(folded), ports)
        return
    stored: Mapping[Recipient, Notice | None] = {} if is_new else find_notices(request, ports)
    missing = [entry for entry in request.manifest if stored.get(entry.recipient) is None and entry.has_console]
    ports.gather([partial(_store_first, request, entry, reader, ports) for entry in missing])
    dispatch(_still_owed(request, stored, is_new=is_new), ports)


def _store_first(request: Request, entry: ManifestEntry, reader: Reader, ports: Ports) -> None:
    """Store a notice, unless it is there already, in this state or a later one."""
    for _ in range(CONFLICTS_MAX):
        try:
            ports.notices.put(created(begin_notice(request, entry, reader)), None)
        except Conflict:  # DynamoDB may also refuse for another write to the item that came to nothing
            if ports.notices.get(unfolded_key(request, entry.recipient)) is None:
                continue
        return
    raise Conflict(f"a first notice of {request.request_id} kept losing its race")


def _still_owed(request: Request, stored: Mapping[Recipient, Notice | None], *, is_new: bool) -> Iterable[DispatchTask]:
    """A dispatch for every delivery that is still queued; a notice not stored yet is in its first state."""
    for entry in request.manifest:
        notice = stored.get(entry.recipient)
        if notice is not None:
            yield from _owed((notice,))
            continue
        queued = [planned.channel for planned in entry.plan if planned.state is DeliveryState.QUEUED]
        for channel in queued:
            yield DispatchTask(
                workspace_id=request.workspace_id,
                recipient=entry.recipient,
                notice_id=unfolded_notice_id(request.request_id),
                request_id=request.request_id,
                channel=channel,
                is_first=is_new and not entry.has_console and len(queued) == 1,
            )


def _owed(notices: Iterable[Notice]) -> Iterable[DispatchTask]:
    for notice in notices:
        for item in notice.deliveries:
            if item.state is DeliveryState.QUEUED:
                yield dispatch_task(notice, item.channel)


def dispatch(tasks: Iterable[DispatchTask], ports: Ports) -> None:
    """Send the tasks to their channels' queues, ten a call."""
    by_queue: dict[QueueName, list[Message]] = {}
    for task in tasks:
        by_queue.setdefault(QUEUE_OF[task.channel], []).append(message_of(task))
    for queue, messages in by_queue.items():
        ports.queues.send(queue, messages)


def _end_replaced(request: Request, reader: Reader, ports: Ports) -> None:
    """End the notices of the request that this one replaced."""
    if request.replaces is None:
        return
    replaced = ports.requests.get(request.workspace_id, request.replaces)
    if replaced is not None and replaced.is_withdrawn:
        end_notices(replaced, reader, ports, by=Actor.REPLACEMENT)


def _look_behind(request: Request, reader: Reader, ports: Ports) -> None:
    """Read what may have happened behind this call's back: a retirement or a withdrawal, after everything it wrote."""
    definition = ports.registry.definition(request.workspace_id, request.definition, consistent=True)
    found = ports.requests.get(request.workspace_id, request.request_id)
    current = found and close_if_retired(found, definition, ports)
    if current is not None and current.is_withdrawn:
        end_notices(current, reader, ports, by=Actor.PROCESSOR)


def _stored_at_once(request: Request) -> list[Recipient]:
    return [entry.recipient for entry in request.manifest if entry.has_console]
