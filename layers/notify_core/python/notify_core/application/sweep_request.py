"""Sweeping one request: whatever is overdue on it is done, and its next due time set.

A sweep replaces what was lost: a message, a follow-up, an answer. Running it twice, late or beside the first writer
changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from notify_core.application.begin_notice import Reader
from notify_core.application.end_notices import end_share
from notify_core.application.find_notices import find_notices
from notify_core.application.follow_up import dispatch, follow_up
from notify_core.application.ports import Conflict, Ports
from notify_core.application.publish_again import publish_again
from notify_core.application.retire_definition import close_if_retired
from notify_core.application.settle_send import settle_send
from notify_core.application.tasks import dispatch_task
from notify_core.domain.acceptance import expired, expiry_reason, waiting_due_at
from notify_core.domain.delivery_lifecycle import UNSENT, DeliveryState
from notify_core.domain.identifiers import Recipient, RequestId, WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import OVERDUE_SECONDS
from notify_core.domain.notice import Delivery, Notice, first_notice, has_ended_for_good
from notify_core.domain.request import (
    ManifestEntry,
    Request,
    carries,
    finished,
    next_check_at,
    no_later_than_expiry,
    rescheduled,
    settled,
)
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.sweeping import wakes_at


def sweep_request(workspace: WorkspaceId, request_id: RequestId, ports: Ports) -> None:
    """Do what is overdue on a request; a lost race leaves the rest to whoever won it."""
    request = ports.requests.get(workspace, request_id)
    now = ports.clock.now()
    if request is None or request.due_at is None or request.due_at > now:
        return
    try:
        if request.state is RequestState.QUEUED:
            _sweep_queued(request, ports, now=now)
        else:
            _sweep_accepted(_closed_if_retired(request, ports), ports, now=now)
    except Conflict:
        ports.telemetry.info("sweep_lost_race", request_id=request_id)


def _closed_if_retired(request: Request, ports: Ports) -> Request:
    """The request, closed if it was open though its definition was retired: what it still has to send goes out."""
    if request.state is not RequestState.OPEN:
        return request
    definition = ports.registry.definition(request.workspace_id, request.definition, consistent=True)
    return close_if_retired(request, definition, ports)


# ---------------------------------------------------------------- before acceptance


def _sweep_queued(request: Request, ports: Ports, *, now: datetime) -> None:
    """A waiting publication expires, or is published again with the exact delay."""
    if request.is_past(now):
        ports.requests.put(expired(request, expiry_reason(request), by=Actor.SWEEP, now=now), request)
        return
    if request.is_dead_lettered:
        ports.requests.put(rescheduled(request, request.expires_at), request)
        return  # only an operator publishes it again
    due_at = (
        waiting_due_at(request.not_before, now=now)
        if request.not_before is not None and request.not_before > now
        else next_check_at(request, now=now)
    )
    publish_again(request, ports, now=now)
    ports.requests.put(rescheduled(request, no_later_than_expiry(request, due_at)), request)


# ---------------------------------------------------------------- after acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    """What a request's notices still owe, once what is overdue was done."""

    wakes: tuple[datetime, ...]
    """When each delivery with work under way is to be looked at again."""
    receipts: tuple[datetime, ...]
    """When each receipt that is still owed times out."""


def _sweep_accepted(request: Request, ports: Ports, *, now: datetime) -> None:
    if request.is_finished and request.state is RequestState.OPEN and request.is_past(now):
        ports.requests.put(settled(request, now=now, due_at=None), request)
        return
    reader = Reader(ports=ports)
    notices = find_notices(request, ports, holds=has_ended_for_good)
    if _is_unfinished(request, notices):
        follow_up(request, reader, ports, is_new=False)
        notices = find_notices(request, ports)
    swept = ports.gather(
        [
            partial(_sweep_notice, request, entry, notices[entry.recipient], reader, ports, now=now)
            for entry in request.manifest
        ]
    )
    _redispatch([notice for notice in swept if notice is not None], ports, now=now)
    _put_due(request, _progress(request, swept, now=now), ports, now=now)


def _is_unfinished(request: Request, notices: Mapping[Recipient, Notice | None]) -> bool:
    """Whether a notice that has to be found in an inbox, or in a fold, isn't stored yet."""
    if request.is_withdrawn or request.state is RequestState.SETTLED:
        return False
    return any(
        notices[entry.recipient] is None and (request.fold_key is not None or entry.has_console)
        for entry in request.manifest
    )


def _sweep_notice(
    request: Request,
    entry: ManifestEntry,
    stored: Notice | None,
    reader: Reader,
    ports: Ports,
    *,
    now: datetime,
) -> Notice | None:
    """One recipient's notice after the sweep; None where a folded request has none, or it now is another's to watch."""
    notice = stored
    if _has_to_end(request, entry, notice, now=now):
        notice = end_share(request, entry, reader, ports, by=Actor.SWEEP)
    if notice is None:
        return None if request.fold_key is not None else first_notice(request, entry)
    if notice.has_left(request.request_id) and notice.ended is None:
        return None
    for item in notice.deliveries:
        if item.state in {DeliveryState.SENDING, DeliveryState.SENT}:
            notice = settle_send(notice, item.channel, ports)
    return notice


def _has_to_end(request: Request, entry: ManifestEntry, notice: Notice | None, *, now: datetime) -> bool:
    if request.is_withdrawn:
        return notice is None or notice.ended is None
    if not request.is_past(now):
        return False
    if notice is not None:
        return _is_held_with_others(request, notice) or any(item.state in UNSENT for item in notice.deliveries)
    return any(planned.state is DeliveryState.QUEUED for planned in entry.plan)


def _is_held_with_others(request: Request, notice: Notice) -> bool:
    """Whether it is one of several that stand behind the notice: another may have to take it over."""
    return notice.ended is None and notice.count > 1 and not notice.has_left(request.request_id)


def _redispatch(notices: list[Notice], ports: Ports, *, now: datetime) -> None:
    """Replace the messages of deliveries whose time has come: they may be lost."""
    owed = [
        dispatch_task(notice, item.channel)
        for notice in notices
        for item in notice.deliveries
        if notice.ended is None and _is_overdue(item, now=now)
    ]
    if owed:
        ports.telemetry.count("deliveries_redispatched", len(owed))
    dispatch(owed, ports)


def _is_overdue(item: Delivery, *, now: datetime) -> bool:
    """Whether its message is lost; one whose time has only just come is about to be handled."""
    if item.state is DeliveryState.QUEUED:
        return True
    return item.state is DeliveryState.DEFERRED and (
        item.next_at is None or now >= item.next_at + timedelta(seconds=OVERDUE_SECONDS)
    )


def _progress(request: Request, notices: list[Notice | None], *, now: datetime) -> _Progress:
    check_at = next_check_at(request, now=now)
    wakes: list[datetime] = []
    receipts: list[datetime] = []
    for notice in notices:
        for item in notice.deliveries if notice else ():
            at = wakes_at(item, check_at=check_at, expires_at=request.expires_at, now=now)
            if at is not None:
                (receipts if item.state is DeliveryState.SENT else wakes).append(max(at, now))
    return _Progress(wakes=tuple(wakes), receipts=tuple(receipts))


def _put_due(request: Request, progress: _Progress, ports: Ports, *, now: datetime) -> None:
    """Set when the request is looked at again; settle it once nothing is queued, deferred or sending past its deadline.

    The write names the version that was read before the notices: whatever handed work to this request since then
    has moved it.
    """
    ends = () if request.expires_at is None or not _ends_at_deadline(request, now) else (request.expires_at,)
    first = min((*progress.wakes, *progress.receipts, *ends), default=None)
    soonest = None if first is None else max(first, now + timedelta(seconds=1))
    if request.state is RequestState.OPEN and request.is_past(now) and not progress.wakes:
        ports.requests.put(settled(request, now=now, due_at=soonest), request)
    elif request.fold_key is None and not progress.wakes and not progress.receipts:
        ports.requests.put(finished(request, soonest), request)
    else:
        ports.requests.put(rescheduled(request, soonest), request)


def _ends_at_deadline(request: Request, now: datetime) -> bool:
    """Whether something is owed at its deadline though nothing waits: its settling, or its leaving a folded notice."""
    return carries(request, now) and (request.state is RequestState.OPEN or request.fold_key is not None)
