"""Withdrawing: before, during and after the publication arrives, in any order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from notify_core.application.begin_notice import Reader
from notify_core.application.end_notices import end_notices
from notify_core.application.ports import Conflict, Head, Ports, PutHead, PutRequest
from notify_core.domain.acceptance import cancelled
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import Recipient, RequestId, request_id, shard_of
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX, KEEP_CLOSED_SECONDS
from notify_core.domain.notice import Delivery, Notice
from notify_core.domain.request import Request, Withdrawal, closed_by_producer
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState


class WithdrawalResult(StrEnum):
    """What a withdrawal did."""

    STOPPED = "stopped"
    """An accepted request was ended."""
    ON_ARRIVAL = "on_arrival"
    """Nothing is accepted yet: publications that it covers end when they arrive."""
    NOTHING = "nothing"
    """What it names had ended before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLate:
    """A recipient whom a channel had told, or may have told, before the withdrawal."""

    channel: Channel
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalAnswer:
    """What became of it; `recipients` maps each recipient to TooLate, or to None when stopped in time."""

    result: WithdrawalResult
    request_id: RequestId | None
    state: RequestState | None
    recipients: Mapping[Recipient, TooLate | None]


def withdraw_request(withdrawal: Withdrawal, ports: Ports) -> WithdrawalAnswer:
    """Withdraw by request key or by replacement key; repeating it finishes what was interrupted.

    Raises Conflict after too many lost races and StoreUnavailable: the withdrawal has to come again.
    """
    attempt = _withdraw_one if withdrawal.request_key is not None else _withdraw_key
    for _ in range(CONFLICTS_MAX):
        try:
            answer = attempt(withdrawal, ports)
        except _LostRace:
            continue
        ports.telemetry.count("withdrawals", result=answer.result.value)
        return answer
    raise Conflict("withdrawal kept losing its race")


class _LostRace(Exception):
    """The row that decides was written by somebody else; look again."""


# ---------------------------------------------------------------- by request key


def _withdraw_one(withdrawal: Withdrawal, ports: Ports) -> WithdrawalAnswer:
    identity = request_id(withdrawal.workspace_id, withdrawal.definition, withdrawal.request_key or "")
    row = ports.requests.get(withdrawal.workspace_id, identity)
    if row is None or row.state is RequestState.QUEUED:
        return _leave_tombstone(withdrawal, identity, row, ports)
    if row.state is RequestState.OPEN:
        now = ports.clock.now()
        superseded = closed_by_producer(row, RequestEvent.WITHDRAW, now=now)
        _put(superseded, row, ports)
        return _end(superseded, WithdrawalResult.STOPPED, ports)
    if row.state is RequestState.CANCELLED and row.reason is RequestReason.WITHDRAWN:
        return _answer(row, WithdrawalResult.ON_ARRIVAL, {})  # as the first time
    return _end(row, WithdrawalResult.NOTHING, ports)


def _leave_tombstone(
    withdrawal: Withdrawal, identity: RequestId, was: Request | None, ports: Ports
) -> WithdrawalAnswer:
    now = ports.clock.now()
    workspace = ports.registry.workspace(withdrawal.workspace_id)
    row = was or Request(
        workspace_id=withdrawal.workspace_id,
        request_id=identity,
        definition=withdrawal.definition,
        request_key=withdrawal.request_key or "",
        state=RequestState.QUEUED,
        recorded_at=now,
        shard=shard_of(identity, workspace.shards if workspace else 1),
    )
    tombstone = cancelled(row, RequestEvent.WITHDRAW, by=Actor.PRODUCER, reason=RequestReason.WITHDRAWN, now=now)
    _put(tombstone, was, ports)
    return _answer(tombstone, WithdrawalResult.ON_ARRIVAL, {})


# ---------------------------------------------------------------- by replacement key


def _withdraw_key(withdrawal: Withdrawal, ports: Ports) -> WithdrawalAnswer:
    """Mark the head and supersede the open request that it covers in one transaction: the withdrawal's instant."""
    key = withdrawal.replacement_key or ""
    head = ports.requests.head(withdrawal.workspace_id, withdrawal.definition, key)
    current = _covered(withdrawal, head, ports)
    is_marked = head is not None and head.withdrawn_at is not None and head.withdrawn_at >= withdrawal.withdrawn_at
    marked = _marked(withdrawal, head, key, ports)
    if current is not None and current.state is RequestState.OPEN:
        superseded = closed_by_producer(current, RequestEvent.WITHDRAW, now=ports.clock.now())
        writes = (
            PutRequest(new=superseded, was=current),
            *(() if is_marked else (PutHead(new=marked, was=head),)),
        )
        try:
            ports.requests.commit(writes)
        except Conflict as lost:
            _check_is_ours(superseded, lost, ports)
            _check_is_marked(withdrawal, lost, ports)
        return _end(superseded, WithdrawalResult.STOPPED, ports)
    if not is_marked:
        try:
            ports.requests.put_head(marked, head)
        except Conflict as lost:
            raise _LostRace from lost
    if current is None:
        return _answer(None, WithdrawalResult.ON_ARRIVAL, {})
    return _end(current, WithdrawalResult.NOTHING, ports)


def _covered(withdrawal: Withdrawal, head: Head | None, ports: Ports) -> Request | None:
    """The head's current request, where the withdrawal covers its publication."""
    if head is None or head.current is None or head.current_published_at is None:
        return None
    if head.current_published_at > withdrawal.withdrawn_at:
        return None
    return ports.requests.get(withdrawal.workspace_id, head.current)


def _marked(withdrawal: Withdrawal, head: Head | None, key: str, ports: Ports) -> Head:
    was = head or Head(workspace_id=withdrawal.workspace_id, definition=withdrawal.definition, replacement_key=key)
    keep_until = ports.clock.now() + timedelta(seconds=KEEP_CLOSED_SECONDS)
    return replace(
        was,
        withdrawn_at=withdrawal.withdrawn_at,
        version=was.version + 1,
        delete_at=max(keep_until, was.delete_at or keep_until),
    )


# ---------------------------------------------------------------- the follow-up and the answer


def _put(new: Request, was: Request | None, ports: Ports) -> None:
    try:
        ports.requests.put(new, was)
    except Conflict as lost:
        _check_is_ours(new, lost, ports)


def _check_is_ours(new: Request, lost: Conflict, ports: Ports) -> None:
    """Raise _LostRace unless the row is what this call wrote: only the answer was lost."""
    found = ports.requests.get(new.workspace_id, new.request_id)
    if found is None or found.version < new.version or _closing_of(found) != _closing_of(new):
        raise _LostRace from lost


def _closing_of(request: Request) -> tuple[object, ...]:
    """What tells one closing from another, and stays when others write on: several may close at the same moment."""
    return request.closed_at, request.state, request.reason, request.caused_by


def _check_is_marked(withdrawal: Withdrawal, lost: Conflict, ports: Ports) -> None:
    """Raise _LostRace unless the head says so too: a withdrawal by request key closes the request as this one does."""
    head = ports.requests.head(withdrawal.workspace_id, withdrawal.definition, withdrawal.replacement_key or "")
    if head is None or head.withdrawn_at is None or head.withdrawn_at < withdrawal.withdrawn_at:
        raise _LostRace from lost


def _end(request: Request, result: WithdrawalResult, ports: Ports) -> WithdrawalAnswer:
    """End the notices of a request that was withdrawn or replaced, now or before; leave those of any other."""
    if not request.is_withdrawn:
        return _answer(request, result, {})
    notices = end_notices(request, Reader(ports=ports), ports, by=Actor.PRODUCER)
    recipients = {entry.recipient: too_late(notices.get(entry.recipient)) for entry in request.manifest}
    return _answer(request, result, recipients)


def too_late(notice: Notice | None) -> TooLate | None:
    """Which channel had told the recipient, or may have, before the notice was ended; the earliest of them."""
    told = [item for item in notice.deliveries if _may_have_told(item)] if notice else []
    first = min(told, key=_told_since, default=None)
    return None if first is None else TooLate(channel=first.channel, since=_told_since(first))


def _told_since(item: Delivery) -> datetime:
    """When the delivery was taken to be sent; a receipt that came since moves nothing."""
    return item.claimed_at or item.updated_at


def _may_have_told(item: Delivery) -> bool:
    return item.channel.is_sent and (
        item.state in _BEYOND or (item.state is DeliveryState.FAILED and item.reason in _PERHAPS)
    )


_BEYOND = frozenset({DeliveryState.SENDING, DeliveryState.SENT, DeliveryState.DELIVERED, DeliveryState.BOUNCED})
_PERHAPS = frozenset({DeliveryReason.OUTCOME_UNKNOWN, DeliveryReason.RECEIPT_TIMEOUT})


def _answer(
    request: Request | None, result: WithdrawalResult, recipients: Mapping[Recipient, TooLate | None]
) -> WithdrawalAnswer:
    return WithdrawalAnswer(
        result=result,
        request_id=request.request_id if request else None,
        state=request.state if request else None,
        recipients=recipients,
    )
