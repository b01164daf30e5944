"""Notices: what one recipient is told, with its deliveries.

Every function here takes a notice and gives its next version: deliveries, status and timeline move in one value, which
a store writes under the guard of what was read.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import (
    ACTIVE,
    BUSY,
    DELIVERY_LIFECYCLE,
    ENDED_UNSENT,
    LATE_RECEIPT_REASONS,
    NEVER_SENT,
    RETRYABLE_REASONS,
    UNSENT,
    DeliveryEvent,
    DeliveryReason,
    DeliveryState,
)
from notify_core.domain.identifiers import (
    ClaimId,
    DefinitionKey,
    DeliveryId,
    NoticeId,
    Recipient,
    RequestId,
    WorkspaceId,
    delivery_id,
    unfolded_notice_id,
)
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONTRIBUTORS_MAX, KEEP_CLOSED_SECONDS, LEASE_SECONDS, TIMELINE_MAX
from notify_core.domain.notice_lifecycle import FOLDABLE, NoticeStatus, derive_status, ends_expired
from notify_core.domain.policy import backoff, is_exhausted
from notify_core.domain.request import ManifestEntry, Planned, Request
from notify_core.domain.send_result import (
    Accepted,
    Delivered,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One channel of a notice; `reason` is a DeliveryReason or a provider's own code.

    `address` is where it is being sent to, kept as long as the provider's record may have to be read there.
    """

    channel: Channel
    state: DeliveryState
    reason: str | None = None
    attempts: int = 0
    failing_since: datetime | None = None
    claim_id: ClaimId | None = None
    claimed_at: datetime | None = None
    address: str | None = None
    next_at: datetime | None = None
    provider_id: str | None = None
    provider_channel: str | None = None
    updated_at: datetime

    def lease_is_over(self, now: datetime) -> bool:
        """Whether whoever claimed it can't be sending any more."""
        return self.claimed_at is None or now >= self.claimed_at + timedelta(seconds=LEASE_SECONDS)

    def is_claimable(self, now: datetime) -> bool:
        """Whether a worker may claim it: queued, or deferred until a time that has come."""
        return self.state is DeliveryState.QUEUED or (
            self.state is DeliveryState.DEFERRED and (self.next_at is None or now >= self.next_at)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributor:
    """A request folded into a notice, or its only one; `left_at` is when it stopped carrying it."""

    request_id: RequestId
    published_at: datetime
    joined_at: datetime
    left_at: datetime | None = None

    @property
    def order(self) -> tuple[datetime, str]:
        """Its place among a notice's contributors: as published, whatever order the queue gave them in."""
        return (self.published_at, self.request_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleContent:
    """What the inbox shows."""

    title: str
    body: str
    category: str


class What(StrEnum):
    """What a notice's own line of the timeline tells; a delivery's line names its state instead."""

    CREATED = "created"
    FOLDED = "folded"
    HANDED_OVER = "handed_over"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One move: of a delivery where `channel` is set, else of the notice itself."""

    at: datetime
    channel: Channel | None
    source: str | None
    target: str
    by: Actor
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What one recipient is told; `version` 0 is not stored yet, `contributors` are in the order of publication."""

    workspace_id: WorkspaceId
    recipient: Recipient
    notice_id: NoticeId
    definition: DefinitionKey
    created_at: datetime
    expires_at: datetime
    contributors: tuple[Contributor, ...]
    deliveries: tuple[Delivery, ...]
    version: int = 0
    shard: int = 0
    ended: NoticeStatus | None = None
    content: ConsoleContent | None = None
    read_at: datetime | None = None
    timeline: tuple[TimelineEntry, ...] = ()
    unknown: Mapping[str, Any] | None = None
    """Attributes that a newer version of the code wrote; put back untouched."""

    @property
    def status(self) -> NoticeStatus:
        """Where the notice is: explicit once ended, else derived from its deliveries."""
        return self.ended or derive_status(self.deliveries)

    @property
    def owner(self) -> RequestId:
        """The oldest contributor that hasn't left; the newest of all once every one has."""
        return next(
            (item.request_id for item in self.contributors if item.left_at is None),
            self.contributors[-1].request_id,
        )

    @property
    def count(self) -> int:
        """How many requests it stands for: the contributors that haven't left, all of them once every one has."""
        return sum(item.left_at is None for item in self.contributors) or len(self.contributors)

    @property
    def has_console(self) -> bool:
        """Whether the inbox shows it: a console that is switched off doesn't."""
        item = self.delivery(Channel.CONSOLE)
        return item is not None and item.state is DeliveryState.DELIVERED

    @property
    def is_unread(self) -> bool:
        """Whether it counts as unread, short of the recipient's read-all mark."""
        return self.has_console and self.ended is None and self.read_at is None

    @property
    def failed_at(self) -> datetime | None:
        """Since when it needs an operator's attention; None once ended or without a failed delivery."""
        failed = [item.updated_at for item in self.deliveries if item.state is DeliveryState.FAILED]
        return min(failed) if failed and self.ended is None else None

    @property
    def delete_at(self) -> datetime:
        """When the row may be forgotten."""
        return self.expires_at + timedelta(seconds=KEEP_CLOSED_SECONDS)

    @property
    def is_active(self) -> bool:
        """Whether anything is still expected, a receipt included."""
        return any(item.state in ACTIVE for item in self.deliveries)

    @property
    def is_busy(self) -> bool:
        """Whether anything is still to be done before its request can settle."""
        return any(item.state in BUSY for item in self.deliveries)

    def delivery(self, channel: Channel) -> Delivery | None:
        """Its delivery over the channel."""
        return next((item for item in self.deliveries if item.channel is channel), None)

    def delivery_id(self, channel: Channel) -> DeliveryId:
        """The opaque identity of its delivery over the channel."""
        return delivery_id(self.workspace_id, self.recipient, self.notice_id, channel)

    def has_contributor(self, request: RequestId) -> bool:
        """Whether the request is folded into it, or its only one."""
        return any(item.request_id == request for item in self.contributors)

    def has_left(self, request: RequestId) -> bool:
        """Whether the request stopped carrying it and another contributor took it over."""
        return any(item.request_id == request and item.left_at is not None for item in self.contributors)

    def is_claimed_by(self, channel: Channel, claim: ClaimId) -> bool:
        """Whether the delivery is being sent under this very claim."""
        item = self.delivery(channel)
        return item is not None and item.state is DeliveryState.SENDING and item.claim_id == claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a contributor no longer carries a notice, and who says so."""

    status: NoticeStatus
    """`superseded` or `expired`."""
    reason: str
    by: Actor


_EXHAUSTED: Final = DeliveryReason.ATTEMPTS_EXHAUSTED


# ---------------------------------------------------------------- beginning


def first_notice(
    request: Request,
    entry: ManifestEntry,
    *,
    notice: NoticeId | None = None,
    begun_at: datetime | None = None,
    content: ConsoleContent | None = None,
) -> Notice:
    """The first value of a recipient's notice: a pure function of the accepted request and its manifest.

    `notice` and `begun_at` are those of a fold's generation, begun when it is written; `content` is what the inbox
    shows, where the value is about to be stored and has a console delivery.
    """
    if request.accepted_at is None or request.expires_at is None:
        raise ValueError(f"request {request.request_id} was never accepted")
    at = begun_at or request.accepted_at
    return Notice(
        workspace_id=request.workspace_id,
        recipient=entry.recipient,
        notice_id=notice or unfolded_notice_id(request.request_id),
        definition=request.definition,
        created_at=at,
        expires_at=request.expires_at,
        shard=request.shard,
        contributors=(_contributor(request, joined_at=at),),
        deliveries=tuple(
            Delivery(channel=planned.channel, state=planned.state, reason=planned.reason, updated_at=at)
            for planned in entry.plan
        ),
        content=content,
        timeline=(_entry(at, None, None, What.CREATED, Actor.PROCESSOR),),
    )


def created(notice: Notice) -> Notice:
    """The first value as it is stored where nothing else has happened yet."""
    return _next(notice, ())


# ---------------------------------------------------------------- folding


def can_join(notice: Notice, entry: ManifestEntry, *, accepted_at: datetime, within: timedelta, is_read: bool) -> bool:
    """Whether a request may fold into this live notice.

    Not when it is read, ended, full or older than the window, nor when it is over other channels than the request's
    plan, or one of them ended there without reaching anybody: that channel's message would never come.
    """
    return (
        notice.status in FOLDABLE
        and not is_read
        and len(notice.contributors) < CONTRIBUTORS_MAX
        and accepted_at < notice.created_at + within
        and entry.channels == frozenset(item.channel for item in notice.deliveries)
        and all(_can_carry(notice, planned) for planned in entry.plan)
    )


def _can_carry(notice: Notice, planned: Planned) -> bool:
    item = _delivery(notice, planned.channel)
    if planned.state is DeliveryState.QUEUED and item.state in NEVER_SENT:
        return False
    return item.state not in ENDED_UNSENT and not is_retryable(item)


def joined(notice: Notice, request: Request, content: ConsoleContent | None, *, now: datetime) -> Notice:
    """The notice with one contributor more, in the order of publication; its deliveries stay as they are.

    It shows the request's content where none that stays was published later.
    """
    if request.expires_at is None:
        raise ValueError(f"request {request.request_id} was never accepted")
    new = _contributor(request, joined_at=now)
    is_newest = all(item.order < new.order for item in notice.contributors if item.left_at is None)
    return _next(
        replace(
            notice,
            contributors=tuple(sorted((*notice.contributors, new), key=lambda item: item.order)),
            expires_at=max(notice.expires_at, request.expires_at),
            content=(content if is_newest else None) or notice.content,
        ),
        (_entry(now, None, None, What.FOLDED, Actor.PROCESSOR, request.request_id),),
    )


def _contributor(request: Request, *, joined_at: datetime) -> Contributor:
    published_at = request.published_at or joined_at
    return Contributor(request_id=request.request_id, published_at=published_at, joined_at=joined_at)


def left(
    notice: Notice,
    requests: Collection[RequestId],
    content: ConsoleContent | None,
    *,
    by: Actor,
    reason: str,
    now: datetime,
) -> Notice | None:
    """The notice once some contributors no longer carry it and another does, whose content it shows.

    None when they had left already and the content is the same.
    """
    contributors = tuple(
        replace(item, left_at=now) if item.request_id in requests and item.left_at is None else item
        for item in notice.contributors
    )
    shows = content or notice.content
    if contributors == notice.contributors and shows == notice.content:
        return None
    line = _entry(now, None, None, What.HANDED_OVER, by, reason)
    return _next(replace(notice, contributors=contributors, content=shows), (line,))


# ---------------------------------------------------------------- delivering


def claimed(notice: Notice, channel: Channel, claim: ClaimId, *, now: datetime, address: str | None = None) -> Notice:
    """The delivery taken by one worker, under a lease that outlives the worker's function."""
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.CLAIM,
        DeliveryState.SENDING,
        by=Actor.WORKER,
        now=now,
        claim_id=claim,
        claimed_at=now,
        address=address,
        next_at=None,
    )


def held(notice: Notice, channel: Channel, *, until: datetime, reason: str, now: datetime) -> Notice:
    """The delivery waiting for its channel, unclaimed: throttled, or behind an open circuit.

    Waiting on is one line of the timeline, however often it is found waiting; it isn't failing, and doesn't age it.
    """
    return _with_delivery(
        _without_last_wait(notice, channel, reason),
        channel,
        DeliveryEvent.HOLD,
        DeliveryState.DEFERRED,
        by=Actor.WORKER,
        now=now,
        reason=reason,
        next_at=until,
        failing_since=None,
    )


def _without_last_wait(notice: Notice, channel: Channel, reason: str) -> Notice:
    last = notice.timeline[-1] if notice.timeline else None
    waited_on = (channel, DeliveryState.DEFERRED, DeliveryState.DEFERRED, reason)
    if last is None or (last.channel, last.source, last.target, last.reason) != waited_on:
        return notice
    return replace(notice, timeline=notice.timeline[:-1])


def skipped(notice: Notice, channel: Channel, reason: DeliveryReason, *, now: datetime) -> Notice:
    """The delivery given up before sending: its person can't or doesn't want to be reached over the channel."""
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.SKIP,
        DeliveryState.SKIPPED,
        by=Actor.WORKER,
        now=now,
        reason=reason,
        **_DONE,
    )


def with_result(
    notice: Notice, channel: Channel, result: SendResult, *, now: datetime, until: datetime | None = None
) -> Notice | None:
    """The delivery after the provider's answer; None when the answer tells nothing and it stays `sending`.

    `until` is when its channel may be tried again, where the answer concerns the channel.
    """
    match result:
        case Unknown():
            return None
        case Delivered() | Accepted():
            return _accepted(notice, channel, result, now=now)
        case Throttled():
            until = until or now + result.retry_after
            return _postponed(notice, channel, until, DeliveryReason.THROTTLED, now=now, failing_since=None)
        case Rejected(scope=RejectionScope.WORKSPACE):
            return _postponed(notice, channel, until or now, DeliveryReason.CIRCUIT_OPEN, now=now, failing_since=None)
        case Rejected():
            return _failed(notice, channel, DeliveryEvent.REJECT, result.reason, by=Actor.WORKER, now=now, attempts=1)
        case Unavailable():
            return _unavailable(notice, channel, result.reason, now=now)


def put_back(notice: Notice, channel: Channel, *, now: datetime, until: datetime | None = None) -> Notice:
    """The delivery whose claimant certainly didn't send, to be taken by another, at once or then. Not an attempt."""
    return _postponed(notice, channel, until or now, None, now=now)


def _accepted(notice: Notice, channel: Channel, result: Accepted | Delivered, *, now: datetime) -> Notice:
    is_final = isinstance(result, Delivered)
    item = _delivery(notice, channel)
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.DELIVER if is_final else DeliveryEvent.ACCEPT,
        DeliveryState.DELIVERED if is_final else DeliveryState.SENT,
        by=Actor.WORKER,
        now=now,
        attempts=item.attempts + 1,
        provider_id=result.provider_id,
        provider_channel=result.provider_channel,
    )


def _unavailable(notice: Notice, channel: Channel, reason: str, *, now: datetime) -> Notice:
    item = _delivery(notice, channel)
    attempts, failing_since = item.attempts + 1, item.failing_since or now
    if is_exhausted(channel, attempts, failing_since=failing_since, now=now):
        return _failed(notice, channel, DeliveryEvent.EXHAUST, _EXHAUSTED, by=Actor.WORKER, now=now, attempts=1)
    until = now + backoff(notice.delivery_id(channel), channel, attempts)
    return _postponed(notice, channel, until, reason, now=now, attempts=attempts, failing_since=failing_since)


def _postponed(
    notice: Notice, channel: Channel, until: datetime, reason: str | None, *, now: datetime, **changes: Any
) -> Notice:
    if notice.ended is not None:
        return _released(notice, channel, by=Actor.WORKER, now=now, **changes)
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.DEFER,
        DeliveryState.DEFERRED,
        by=Actor.WORKER,
        now=now,
        reason=reason,
        next_at=until,
        claim_id=None,
        claimed_at=None,
        **changes,
    )


def _released(notice: Notice, channel: Channel, *, by: Actor, now: datetime, **changes: Any) -> Notice:
    """The delivery of a superseded notice, known not to have been sent: cancelled, for the notice's own reason.

    A notice that expired has nothing `sending` left to release.
    """
    told = (line.reason for line in reversed(notice.timeline) if line.target == What.SUPERSEDED)
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.CANCEL,
        DeliveryState.CANCELLED,
        by=by,
        now=now,
        reason=next(told, DeliveryReason.WITHDRAWN),
        **{**changes, **_DONE},
    )


def _failed(
    notice: Notice,
    channel: Channel,
    event: DeliveryEvent,
    reason: str,
    *,
    by: Actor,
    now: datetime,
    attempts: int,
) -> Notice:
    tried = _delivery(notice, channel).attempts + attempts
    return _with_delivery(
        notice,
        channel,
        event,
        DeliveryState.FAILED,
        by=by,
        now=now,
        reason=reason,
        attempts=tried,
        **_DONE,
    )


# ---------------------------------------------------------------- evidence and receipts


def proved_sent(
    notice: Notice,
    channel: Channel,
    *,
    provider_id: str,
    provider_channel: str | None,
    by: Actor,
    now: datetime,
) -> Notice:
    """An unknown send that the provider's own record, or a receipt, shows to have reached its recipient."""
    item = _delivery(notice, channel)
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.DELIVER,
        DeliveryState.DELIVERED,
        by=by,
        now=now,
        attempts=item.attempts + (item.state is DeliveryState.SENDING),
        provider_id=provider_id,
        provider_channel=provider_channel or item.provider_channel,
    )


def proved_unsent(notice: Notice, channel: Channel, *, now: datetime) -> Notice:
    """An unknown send that the provider's own record shows never to have happened: queued again, as one attempt."""
    item = _delivery(notice, channel)
    attempts, failing_since = item.attempts + 1, item.failing_since or now
    if notice.ended is not None:
        return _released(notice, channel, by=Actor.SWEEP, now=now, attempts=attempts)
    if is_exhausted(channel, attempts, failing_since=failing_since, now=now):
        return _failed(notice, channel, DeliveryEvent.EXHAUST, _EXHAUSTED, by=Actor.SWEEP, now=now, attempts=1)
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.REQUEUE,
        DeliveryState.QUEUED,
        by=Actor.SWEEP,
        now=now,
        attempts=attempts,
        **{**_DONE, "failing_since": failing_since},
    )


def outcome_unknown(notice: Notice, channel: Channel, *, now: datetime) -> Notice:
    """A send that no evidence will ever settle."""
    return _failed(
        notice,
        channel,
        DeliveryEvent.LOSE,
        DeliveryReason.OUTCOME_UNKNOWN,
        by=Actor.SWEEP,
        now=now,
        attempts=1,
    )


def receipt_timed_out(notice: Notice, channel: Channel, *, now: datetime) -> Notice:
    """An accepted send whose receipt never came."""
    return _failed(
        notice,
        channel,
        DeliveryEvent.TIME_OUT,
        DeliveryReason.RECEIPT_TIMEOUT,
        by=Actor.SWEEP,
        now=now,
        attempts=0,
    )


def bounced(notice: Notice, channel: Channel, reason: str, *, provider_id: str, now: datetime) -> Notice:
    """A send that a receipt shows not to have reached its recipient."""
    item = _delivery(notice, channel)
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.BOUNCE,
        DeliveryState.BOUNCED,
        by=Actor.RECEIPT,
        now=now,
        reason=reason,
        attempts=item.attempts + (item.state is DeliveryState.SENDING),
        provider_id=provider_id,
    )


def believes_receipt(item: Delivery) -> bool:
    """Whether a receipt still moves the delivery: sent, being sent, or given up without an answer."""
    return item.state in {DeliveryState.SENT, DeliveryState.SENDING} or (
        item.state is DeliveryState.FAILED and item.reason in LATE_RECEIPT_REASONS
    )


# ---------------------------------------------------------------- ending, exhausting, retrying, reading


def ended(notice: Notice, ending: Ending, *, now: datetime, claim_of: Channel | None = None) -> Notice | None:
    """The notice once nobody carries it: what is unsent ends, and the claim on `claim_of` is released with it.

    An expiry ends the notice itself only where nothing was sent; None when nothing would change.
    """
    expiring = ending.status is NoticeStatus.EXPIRED
    event = DeliveryEvent.EXPIRE if expiring else DeliveryEvent.CANCEL
    target = DeliveryState.EXPIRED if expiring else DeliveryState.CANCELLED
    stops = [item for item in notice.deliveries if item.state in UNSENT or item.channel is claim_of]
    after = notice
    for item in stops:
        by = Actor.WORKER if item.channel is claim_of else ending.by
        after = _moved(after, item, event, target, by=by, now=now, reason=ending.reason, **_DONE)
    if not expiring and notice.ended is None:
        line = _entry(now, None, notice.status, What.SUPERSEDED, ending.by, ending.reason)
        after = replace(after, ended=NoticeStatus.SUPERSEDED, timeline=(*after.timeline, line))
    return None if after is notice else _next(after, ())


def exhausted(notice: Notice, channel: Channel, *, by: Actor, now: datetime) -> Notice:
    """A delivery whose message ran out of receives, as its last attempt."""
    return _failed(notice, channel, DeliveryEvent.EXHAUST, _EXHAUSTED, by=by, now=now, attempts=1)


def charged(notice: Notice, channel: Channel) -> Notice:
    """A queued delivery whose message was dead-lettered: one attempt more."""
    item = _delivery(notice, channel)
    return _next(replace(notice, deliveries=_with(notice, replace(item, attempts=item.attempts + 1))), ())


def retried(notice: Notice, channel: Channel, *, now: datetime) -> Notice:
    """An exhausted delivery, queued again by an operator with all its attempts before it."""
    return _with_delivery(
        notice,
        channel,
        DeliveryEvent.RETRY,
        DeliveryState.QUEUED,
        by=Actor.OPERATOR,
        now=now,
        attempts=0,
        **_DONE,
    )


def is_retryable(item: Delivery) -> bool:
    """Whether an operator may try it again: only what ran out of attempts."""
    return item.state is DeliveryState.FAILED and item.reason in RETRYABLE_REASONS


def has_ended_for_good(notice: Notice) -> bool:
    """Whether no delivery is under way, nor can be again: however old a reading that says so is, it holds."""
    return not notice.is_active and not any(map(is_retryable, notice.deliveries))


def read(notice: Notice, *, now: datetime) -> Notice:
    """The notice read by its recipient."""
    line = _entry(now, None, None, What.READ, Actor.RECIPIENT)
    return _next(replace(notice, read_at=now), (line,))


# ---------------------------------------------------------------- the next version

_DONE: Final[dict[str, Any]] = {"claim_id": None, "claimed_at": None, "next_at": None, "failing_since": None}


def _delivery(notice: Notice, channel: Channel) -> Delivery:
    item = notice.delivery(channel)
    if item is None:
        raise ValueError(f"notice {notice.notice_id} has no delivery over {channel}")
    return item


def _with(notice: Notice, item: Delivery) -> tuple[Delivery, ...]:
    """The notice's deliveries, with this one in its place."""
    return tuple(item if old.channel is item.channel else old for old in notice.deliveries)


def _moved(
    notice: Notice,
    item: Delivery,
    event: DeliveryEvent,
    target: DeliveryState,
    *,
    by: Actor,
    now: datetime,
    **changes: Any,
) -> Notice:
    """The notice with one delivery moved and its line added, in the same version still."""
    DELIVERY_LIFECYCLE.check(event, item.state, target, by=by)
    changes = {"reason": None, "address": None, **changes}
    after = _with(notice, replace(item, state=target, updated_at=now, **changes))
    line = _entry(now, item.channel, item.state, target, by, changes["reason"])
    return replace(notice, deliveries=after, timeline=(*notice.timeline, line))


def _with_delivery(
    notice: Notice,
    channel: Channel,
    event: DeliveryEvent,
    target: DeliveryState,
    *,
    by: Actor,
    now: datetime,
    **changes: Any,
) -> Notice:
    return _next(_moved(notice, _delivery(notice, channel), event, target, by=by, now=now, **changes), ())


def _next(notice: Notice, lines: tuple[TimelineEntry, ...]) -> Notice:
    """The next version: whichever write leaves nothing to do past the deadline ends the notice as expired."""
    timeline = (*notice.timeline, *lines)
    ended_as = notice.ended
    if ended_as is None and ends_expired(notice.deliveries):
        ended_as = NoticeStatus.EXPIRED
        last = timeline[-1]
        reason = next(item.reason for item in notice.deliveries if item.state is DeliveryState.EXPIRED)
        timeline = (*timeline, _entry(last.at, None, None, What.EXPIRED, last.by, reason))
    return replace(notice, version=notice.version + 1, ended=ended_as, timeline=timeline[-TIMELINE_MAX:])


def _entry(
    at: datetime,
    channel: Channel | None,
    source: str | None,
    target: str,
    by: Actor,
    reason: str | None = None,
) -> TimelineEntry:
    return TimelineEntry(at=at, channel=channel, source=source, target=target, by=by, reason=reason)
