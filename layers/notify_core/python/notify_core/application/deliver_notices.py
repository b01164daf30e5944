"""Delivering: claim, look again, send, record; a batch costs about one provider call.

A claim is a conditional write. Only after it are the requests read, strongly: a withdrawal recorded before the claim is
seen by this reader, and one recorded after it sees the claim.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from notify_core.application.begin_notice import Reader, begin_notice
from notify_core.application.channel_gate import ChannelGate
from notify_core.application.end_notices import ending_of
from notify_core.application.ports import (
    Conflict,
    NoticeKey,
    Outgoing,
    Ports,
    StoreUnavailable,
)
from notify_core.application.render_for import render_for
from notify_core.application.tasks import QUEUE_OF, DispatchTask, message_of
from notify_core.application.tell_failed_alert import tell_failed_alert
from notify_core.domain.channel import Channel
from notify_core.domain.circuit import Wait
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.directory import Person
from notify_core.domain.identifiers import HQ, ClaimId, Recipient, RequestId, WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX, SEND_SECONDS_MAX, SPARE_SECONDS
from notify_core.domain.notice import Delivery, Ending, Notice, claimed, ended, held, put_back, skipped, with_result
from notify_core.domain.planning import skip_reason
from notify_core.domain.policy import backoff
from notify_core.domain.rendering import CannotRender, ChatContent, TextContent
from notify_core.domain.request import Request, carries
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Rejected, RejectionScope, SendResult, Unavailable, Unknown

_Item = TypeVar("_Item", "DispatchTask", "_Claim", "_Sending")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A delivery taken by this call, and its notice as last written or read."""

    task: DispatchTask
    claim_id: ClaimId
    notice: Notice

    @property
    def channel(self) -> Channel:
        return self.task.channel


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sending:
    """A claim with what is sent for it and what came of that; without either, the delivery is put back unsent."""

    claim: _Claim
    outgoing: Outgoing | None = None
    owed_since: datetime | None = None
    result: SendResult | None = None
    pause: timedelta = timedelta(0)
    """How long it waits where it is put back."""

    @property
    def task(self) -> DispatchTask:
        return self.claim.task


@dataclass(slots=True, kw_only=True)
class _Batch:
    """One call: what it reads and remembers, which tasks must come again, and which wait for a time."""

    ports: Ports
    until: datetime
    reader: Reader
    gate: ChannelGate
    failed: set[DispatchTask] = field(default_factory=set[DispatchTask])
    waiting: dict[DispatchTask, datetime] = field(default_factory=dict[DispatchTask, datetime])

    def each(
        self,
        items: Sequence[_Item],
        step: Callable[[_Item], _Value | None],
        task: Callable[[_Item], DispatchTask],
    ) -> list[_Value]:
        """Take a step with every item at once; an item whose step fails has its message come again, alone."""

        def guarded(item: _Item) -> _Value | None:
            try:
                return step(item)
            except Exception as error:  # noqa: BLE001  (one bad record never fails its neighbours; it is reported)
                self.ports.telemetry.info("delivery_failed_to_process", error=type(error).__name__)
                self.failed.add(task(item))
                return None

        values = self.ports.gather([partial(guarded, item) for item in items])
        return [value for value in values if value is not None]


def deliver_notices(tasks: Sequence[DispatchTask], ports: Ports, *, until: datetime) -> set[DispatchTask]:
    """Send what is still owed of the tasks; gives those whose messages have to come again.

    `until` is when the function ends: nothing is claimed that couldn't be sent and recorded before it. What the claims
    or the reads then took the time for is put back, for another function to send.
    """
    distinct = list(dict.fromkeys(tasks))
    batch = _Batch(ports=ports, until=until, reader=Reader(ports=ports), gate=ChannelGate(ports=ports))
    if not _has_time(batch):
        return set(distinct)
    notices = _load(distinct, batch)
    claims = batch.each(distinct, lambda task: _claim(task, notices.get(task.key), batch), _itself)
    newest = _look_again(claims, batch)
    sendings = batch.each(claims, lambda claim: _check_or_put_back(claim, newest, batch), _task_of)
    answered = batch.each(sendings, lambda sending: _send(sending, batch), _task_of)
    batch.each(answered, lambda sending: _record(sending, batch), _task_of)
    _send_copies(batch)
    return batch.failed


def _itself(task: DispatchTask) -> DispatchTask:
    return task


def _task_of(item: "_Claim | _Sending") -> DispatchTask:
    return item.task


def _has_time(batch: _Batch) -> bool:
    return batch.ports.clock.now() + timedelta(seconds=SEND_SECONDS_MAX + SPARE_SECONDS) <= batch.until


# ---------------------------------------------------------------- loading


def _load(tasks: Sequence[DispatchTask], batch: _Batch) -> Mapping[NoticeKey, Notice]:
    """The notices as stored, or derived from their request; only the conditional claim decides if they are current."""
    ports = batch.ports
    batch.gate.load({(task.workspace_id, task.channel) for task in tasks})
    known = [task.key for task in tasks if not task.is_first]
    stored: Mapping[NoticeKey, Notice] = ports.notices.get_many(known, consistent=False) if known else {}
    missing = [task for task in tasks if task.key not in stored]
    requests = _requests(((task.workspace_id, task.request_id) for task in missing), ports, consistent=False)
    derived = {task.key: notice for task in missing if (notice := _derive(task, requests, batch)) is not None}
    notices = {**stored, **derived}
    _load_people([task for task in tasks if _may_claim(notices.get(task.key), task, batch)], batch)
    return notices


def _load_people(tasks: Sequence[DispatchTask], batch: _Batch) -> None:
    """Read whom a claim may be for, before it is written: it keeps the address that the message goes to."""
    by_workspace: dict[WorkspaceId, set[Recipient]] = {}
    for task in tasks:
        by_workspace.setdefault(task.workspace_id, set()).add(task.recipient)
    batch.ports.gather([partial(batch.reader.load_people, *item) for item in by_workspace.items()])


def _derive(
    task: DispatchTask, requests: Mapping[tuple[WorkspaceId, RequestId], Request], batch: _Batch
) -> Notice | None:
    """The first value of a notice that isn't stored; None where its request owes nothing (any more)."""
    request = requests.get((task.workspace_id, task.request_id))
    if not _owes(request):
        request = batch.ports.requests.get(task.workspace_id, task.request_id)
    if request is None or not _owes(request) or request.fold_key is not None:
        return None
    entry = request.entry(task.recipient)
    return None if entry is None else begin_notice(request, entry, batch.reader)


def _owes(request: Request | None) -> bool:
    return request is not None and (request.state is RequestState.OPEN or request.is_retired)


def _requests(
    wanted: Iterable[tuple[WorkspaceId, RequestId]], ports: Ports, *, consistent: bool = True
) -> Mapping[tuple[WorkspaceId, RequestId], Request]:
    by_workspace: dict[WorkspaceId, dict[RequestId, None]] = {}
    for workspace, request in wanted:
        by_workspace.setdefault(workspace, {})[request] = None
    found = ports.gather(
        [
            partial(ports.requests.get_many, workspace, list(ids), consistent=consistent)
            for workspace, ids in by_workspace.items()
        ]
    )
    return {
        (workspace, request_id): request
        for workspace, requests in zip(by_workspace, found, strict=True)
        for request_id, request in requests.items()
    }


# ---------------------------------------------------------------- claiming


def _claim(task: DispatchTask, notice: Notice | None, batch: _Batch) -> _Claim | None:
    """Take the delivery, or leave it: done already, another's, waiting, behind a closed gate, or come to too late."""
    ports = batch.ports
    claim_id = ports.new_claim_id()
    is_let_through = False
    if not _may_claim(notice, task, batch):
        notice = ports.notices.get(task.key)  # an eventual read may be old: it is no reason to leave anything
    for _ in range(CONFLICTS_MAX):
        item = notice.delivery(task.channel) if notice else None
        now = ports.clock.now()
        if notice is None or item is None:
            return None
        if _is_left(item, task, batch, now=now):
            return None
        delivery = notice.delivery_id(task.channel)
        wait = None if is_let_through else batch.gate.wait(task.workspace_id, task.channel, delivery, now=now)
        is_let_through = wait is None
        new = (
            held(notice, task.channel, until=wait.until, reason=wait.reason, now=now)
            if wait
            else claimed(notice, task.channel, claim_id, address=_kept_address(task, batch), now=now)
        )
        try:
            ports.notices.put(new, notice)
        except (Conflict, StoreUnavailable) as error:
            notice = ports.notices.get(task.key)
            if notice is not None and notice.is_claimed_by(task.channel, claim_id):
                return _Claim(task=task, claim_id=claim_id, notice=notice)  # our own write, its answer lost
            if isinstance(error, StoreUnavailable):
                raise
            continue
        if wait:
            batch.waiting[task] = wait.until
            return None
        return _Claim(task=task, claim_id=claim_id, notice=new)
    raise Conflict("claim kept losing its race")


def _is_left(item: Delivery, task: DispatchTask, batch: _Batch, *, now: datetime) -> bool:
    """Whether a delivery isn't taken: it can't be now, or there is no time left to send it and its message comes again.

    The time is asked for again after each race that the claim lost, for it takes two calls more.
    """
    if not item.is_claimable(now):
        if item.state is DeliveryState.DEFERRED and item.next_at is not None:
            batch.waiting[task] = item.next_at
        return True
    if not _has_time(batch):
        batch.failed.add(task)
        return True
    return False


def _may_claim(notice: Notice | None, task: DispatchTask, batch: _Batch) -> bool:
    item = notice.delivery(task.channel) if notice else None
    return item is not None and item.is_claimable(batch.ports.clock.now())


def _address(task: DispatchTask, batch: _Batch) -> str:
    if task.recipient == HQ:
        return batch.ports.hq_channel
    person = batch.reader.person(task.workspace_id, task.recipient)
    return (person.address(task.channel) if person else None) or ""


def _kept_address(task: DispatchTask, batch: _Batch) -> str | None:
    """Where the provider's record would show the message; a text is known by its receipt instead."""
    return None if task.channel.has_receipts else _address(task, batch) or None


# ---------------------------------------------------------------- looking again, after the claims


_Requests = Mapping[tuple[WorkspaceId, RequestId], Request]


def _look_again(claims: Sequence[_Claim], batch: _Batch) -> _Requests | None:
    """One strong read of the distinct newest contributors, after every claim; None when it fails, or comes too late."""
    if not _has_time(batch):
        return None
    newest = ((claim.task.workspace_id, claim.notice.contributors[-1].request_id) for claim in claims)
    try:
        return _requests(newest, batch.ports)
    except StoreUnavailable:
        return None


def _check_or_put_back(claim: _Claim, newest: _Requests | None, batch: _Batch) -> _Sending | None:
    """What to send for a claim; what can't be looked up now is put back, so that its claim isn't taken for a send.

    What can't be prepared for another reason is charged as an attempt, so that it doesn't go round for ever.
    """
    if newest is None or not _has_time(batch):
        return _put_back_for_now(claim)
    try:
        return _check(claim, newest, batch)
    except (StoreUnavailable, Conflict) as error:
        batch.ports.telemetry.info("delivery_put_back", error=type(error).__name__)
        return _put_back_for_now(claim)
    except Exception as error:  # noqa: BLE001  (only this call knows for certain that nothing was sent)
        batch.ports.telemetry.alarm("delivery_not_prepared", error=type(error).__name__)
        return _Sending(claim=claim, result=Unavailable(reason="not_prepared"))


def _put_back_for_now(claim: _Claim) -> _Sending:
    """Without an attempt, but after a pause: whatever was slow or out of reach needs no more calls at once."""
    return _Sending(claim=claim, pause=backoff(claim.notice.delivery_id(claim.channel), claim.channel, 1))


def _check(claim: _Claim, newest: _Requests, batch: _Batch) -> _Sending | None:
    """What to send for a claim; None when nobody carries its notice or the person can't be reached any more.

    A claim that nobody carries is released unsent and, in the same write, its notice ends.
    """
    for _ in range(CONFLICTS_MAX):
        carrier = _carrier(claim.notice, newest, batch.ports)
        if isinstance(carrier, Request):
            return _prepare(claim, carrier, batch)
        now = batch.ports.clock.now()
        new = ended(claim.notice, carrier, now=now, claim_of=claim.channel)
        again = None if new is None else _put_own(claim, new, batch.ports)
        if again is None:
            return None
        claim, newest = again, {}
    raise Conflict("release kept losing its race")


def _put_own(claim: _Claim, new: Notice, ports: Ports) -> _Claim | None:
    """Write under a claim; the claim with the notice read again when another write came first, None once it is done."""
    try:
        ports.notices.put(new, claim.notice)
    except Conflict:
        current = ports.notices.get(claim.task.key)
        if current is not None and current.is_claimed_by(claim.channel, claim.claim_id):
            return _Claim(task=claim.task, claim_id=claim.claim_id, notice=current)
    else:
        tell_failed_alert(claim.notice, new, ports)
    return None


def _carrier(notice: Notice, newest: _Requests, ports: Ports) -> Request | Ending:
    """The newest contributor that carries the notice, or how it ends because none does."""
    first = newest.get((notice.workspace_id, notice.contributors[-1].request_id))
    if first is not None and carries(first, ports.clock.now()):
        return first
    ids = [item.request_id for item in reversed(notice.contributors)]
    found = ports.requests.get_many(notice.workspace_id, ids)
    requests = [found[item] for item in ids if item in found]
    now = ports.clock.now()
    carrying = next((item for item in requests if carries(item, now)), None)
    if carrying is not None:
        return carrying
    if not requests:
        raise LookupError(f"no contributor of {notice.notice_id} exists")
    expired = next((item for item in requests if item.state is RequestState.OPEN or item.is_retired), None)
    return ending_of(expired or requests[0], by=Actor.WORKER)


# ---------------------------------------------------------------- preparing and sending


def _prepare(claim: _Claim, request: Request, batch: _Batch) -> _Sending | None:
    definition = batch.reader.definition(request)
    person = batch.reader.person(request.workspace_id, claim.notice.recipient)
    if claim.notice.recipient != HQ:
        reason = skip_reason(definition, person, claim.channel)
        if reason is not None:
            _write_own(claim, lambda notice, now: skipped(notice, claim.channel, reason, now=now), batch)
            return None
    try:
        outgoing = _outgoing(claim, request, person, batch)
    except CannotRender:
        refusal = Rejected(reason="not_rendered", scope=RejectionScope.CONTENT)
        return _Sending(claim=claim, result=refusal)
    owed_since = request.published_at and max(request.published_at, request.not_before or request.published_at)
    return _Sending(claim=claim, outgoing=outgoing, owed_since=owed_since)


def _outgoing(claim: _Claim, request: Request, person: Person | None, batch: _Batch) -> Outgoing:
    notice, now = claim.notice, batch.ports.clock.now()
    content = render_for(
        batch.reader.definition(request), claim.channel, request.data or {}, person, others=notice.count - 1
    )
    match content:
        case ChatContent(text=text, blocks=blocks):
            pass
        case TextContent(body=text):
            blocks = None
        case _:
            raise TypeError(f"{claim.channel} is not sent")
    left_seconds = int(((request.expires_at or now) - now).total_seconds())
    return Outgoing(
        workspace_id=notice.workspace_id,
        recipient=notice.recipient,
        notice_id=notice.notice_id,
        channel=claim.channel,
        delivery_id=notice.delivery_id(claim.channel),
        claim_id=claim.claim_id,
        address=_address(claim.task, batch),
        text=text,
        blocks=blocks,
        time_to_live_seconds=left_seconds,
    )


def _send(sending: _Sending, batch: _Batch) -> _Sending:
    """One wire call; where the function would end before its answer, the delivery is put back."""
    if sending.outgoing is None:
        return sending
    if not _has_time(batch):
        return _put_back_for_now(sending.claim)
    ports = batch.ports
    if sending.owed_since is not None:
        waited = (ports.clock.now() - sending.owed_since).total_seconds()
        ports.telemetry.observe("publication_to_provider", max(0.0, waited))
    return replace(sending, result=ports.senders[sending.claim.channel].send(sending.outgoing))


# ---------------------------------------------------------------- recording


def _record(sending: _Sending, batch: _Batch) -> None:
    claim, result = sending.claim, sending.result
    if result is None:
        new = _write_own(
            claim, lambda notice, now: put_back(notice, claim.channel, now=now, until=now + sending.pause), batch
        )
    else:
        wait = _learn(claim, result, batch) if sending.outgoing is not None else None
        until = wait.until if wait else None
        new = _write_own(
            claim, lambda notice, now: with_result(notice, claim.channel, result, now=now, until=until), batch
        )
    item = new.delivery(claim.channel) if new else None
    if item is not None and item.state is DeliveryState.DEFERRED and item.next_at is not None:
        batch.waiting[claim.task] = item.next_at
    if result is not None:
        _tell(claim.channel, result, batch.ports)
    if new is not None:
        tell_failed_alert(claim.notice, new, batch.ports)


def _learn(claim: _Claim, result: SendResult, batch: _Batch) -> Wait | None:
    """What an answer says of the channel, which only the provider's own can."""
    delivery, now = claim.notice.delivery_id(claim.channel), batch.ports.clock.now()
    return batch.gate.learn(claim.task.workspace_id, claim.channel, delivery, result, now=now)


def _write_own(claim: _Claim, make: Callable[[Notice, datetime], Notice | None], batch: _Batch) -> Notice | None:
    """Write what `make` gives for as long as the claim is ours; what stands then, None when it wasn't written by us."""
    again: _Claim | None = claim
    for _ in range(CONFLICTS_MAX):
        if again is None:
            return None
        new = make(again.notice, batch.ports.clock.now())
        if new is None:
            return None
        try:
            batch.ports.notices.put(new, again.notice)
        except Conflict:
            current = batch.ports.notices.get(claim.task.key)
            if current is not None and current.delivery(claim.channel) == new.delivery(claim.channel):
                return current  # our own write, its answer lost
            is_ours = current is not None and current.is_claimed_by(claim.channel, claim.claim_id)
            again = replace(again, notice=current) if is_ours and current else None
            continue
        return new
    raise Conflict("record kept losing its race")


def _tell(channel: Channel, result: SendResult, ports: Ports) -> None:
    ports.telemetry.count("sends", channel=channel.value, result=type(result).__name__.lower())
    if isinstance(result, Rejected) and result.needs_operator:
        ports.telemetry.alarm("provider_needs_operator", channel=channel.value, code=result.reason)
    if isinstance(result, Unknown):
        ports.telemetry.info("send_result_unknown", channel=channel.value, reason=result.reason)


def _send_copies(batch: _Batch) -> None:
    """A waiting delivery never rests on its message's receives: a fresh delayed message takes its place."""
    now = batch.ports.clock.now()
    by_channel: dict[Channel, list[DispatchTask]] = {}
    for task in batch.waiting:
        by_channel.setdefault(task.channel, []).append(task)
    for channel, tasks in by_channel.items():
        messages = [
            message_of(replace(task, is_first=False), delay_seconds=(batch.waiting[task] - now).total_seconds())
            for task in tasks
        ]
        try:
            batch.ports.queues.send(QUEUE_OF[channel], messages)
        except StoreUnavailable:
            batch.failed.update(tasks)
