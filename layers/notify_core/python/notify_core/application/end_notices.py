"""The closing follow-up: ending a request's share in its notices.

A notice that another contributor carries is handed over; one that nobody carries ends. What was sent stays sent.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from notify_core.application.begin_notice import Reader, begin_notice, console_content
from notify_core.application.find_notices import find_notice
from notify_core.application.ports import Conflict, Ports
from notify_core.application.tell_failed_alert import tell_failed_alert
from notify_core.domain.acceptance import expiry_reason
from notify_core.domain.identifiers import Recipient, RequestId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Ending, Notice, ended, left
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import ManifestEntry, Request, carries, rescheduled


def ending_of(request: Request, *, by: Actor) -> Ending:
    """How a request that no longer carries ends its notices: superseded when withdrawn or replaced, else expired."""
    if request.is_withdrawn:
        reason = request.reason.value if request.reason else "withdrawn"
        return Ending(status=NoticeStatus.SUPERSEDED, reason=reason, by=request.caused_by or by)
    return Ending(status=NoticeStatus.EXPIRED, reason=expiry_reason(request).value, by=by)


def end_notices(request: Request, reader: Reader, ports: Ports, *, by: Actor) -> Mapping[Recipient, Notice]:
    """End the request's share in every recipient's notice; the notices as they are after it."""
    reader.load_people(request.workspace_id, (entry.recipient for entry in request.manifest))
    notices = ports.gather([partial(end_share, request, entry, reader, ports, by=by) for entry in request.manifest])
    return {notice.recipient: notice for notice in notices if notice is not None}


def end_share(request: Request, entry: ManifestEntry, reader: Reader, ports: Ports, *, by: Actor) -> Notice | None:
    """End the request's share in one recipient's notice; None where a folded request had no notice yet."""
    for _ in range(CONFLICTS_MAX):
        stored = find_notice(request, entry, ports)
        if stored is None and request.fold_key is not None:
            return None
        was = stored or begin_notice(request, entry, reader)
        try:
            new = _without(request, was, reader, ports, by=by)
            if new is None:
                return was
            ports.notices.put(new, was)
        except Conflict:
            continue
        tell_failed_alert(was, new, ports)
        return new
    raise Conflict(f"closing of {request.request_id} kept losing its race")


def _without(request: Request, notice: Notice, reader: Reader, ports: Ports, *, by: Actor) -> Notice | None:
    """The notice without the request's share; None when nothing changes.

    A share that was handed over is no longer this request's to end, whatever becomes of those that took it.
    """
    if notice.has_left(request.request_id):
        return None
    now = ports.clock.now()
    ending = ending_of(request, by=by)
    others = other_contributors(notice, request.request_id, ports)
    carrying = [item for item in others if carries(item, now)]
    if not carrying:
        return ended(notice, ending, now=now)
    if notice.is_active:
        make_due(carrying[0], ports, now=now)
    staying = {item.request_id for item in carrying}
    leaving = {item.request_id for item in notice.contributors} - staying
    content = console_content(carrying[-1], notice.recipient, reader) if notice.has_console else None
    return left(notice, leaving, content, by=ending.by, reason=ending.reason, now=now)


def other_contributors(notice: Notice, request: RequestId, ports: Ports) -> Sequence[Request]:
    """The notice's other contributors as they are now, oldest first, strongly consistent."""
    others = [item.request_id for item in notice.contributors if item.request_id != request]
    if not others:
        return ()
    found = ports.requests.get_many(notice.workspace_id, others)
    return [found[item] for item in others if item in found]


def make_due(request: Request, ports: Ports, *, now: datetime) -> None:
    """Have a contributor looked at soon, because work that nobody else watches is handed to it."""
    if request.due_at is None or request.due_at > now:
        ports.requests.put(rescheduled(request, now), request)
