"""Requests: what a producer asked for, and the one outcome it got."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import DefinitionKey, Recipient, RequestId, WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import (
    CHECK_SECONDS_MAX,
    CLOSING_GRACE_SECONDS,
    FIRST_CHECK_SECONDS,
    KEEP_CLOSED_SECONDS,
)
from notify_core.domain.problem import Problem
from notify_core.domain.request_lifecycle import (
    REQUEST_LIFECYCLE,
    RequestEvent,
    RequestReason,
    RequestState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Whom a publication names; `hq` stands alone."""

    people: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    hq: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Somebody named who is not told: `kind` is person, team or role; `reason` from a closed list."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """How one channel of one notice begins."""

    channel: Channel
    state: DeliveryState
    reason: DeliveryReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One recipient of an accepted request, with each channel's plan in the definition's order."""

    recipient: Recipient
    plan: tuple[Planned, ...]

    @property
    def has_console(self) -> bool:
        """Whether the recipient's inbox shows the notice, so that it has to be stored at once."""
        return any(item.channel is Channel.CONSOLE and item.state is DeliveryState.DELIVERED for item in self.plan)

    @property
    def channels(self) -> frozenset[Channel]:
        """The channels that the plan names, whatever their state."""
        return frozenset(planned.channel for planned in self.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A producer's message, well formed; times are aware UTC."""

    workspace_id: WorkspaceId
    definition: DefinitionKey
    request_key: str
    request_id: RequestId
    published_at: datetime
    data: Mapping[str, Any]
    audience: Audience | None
    not_before: datetime | None = None
    deadline: datetime | None = None
    replacement_key: str | None = None
    fold_key: str | None = None
    content_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidPublication:
    """A producer's message whose identity is well formed and the rest is not: it is recorded as invalid."""

    workspace_id: WorkspaceId
    definition: DefinitionKey
    request_key: str
    request_id: RequestId
    problems: tuple[Problem, ...]
    content_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A producer's wish that nobody more is told; it names exactly one of the two keys."""

    workspace_id: WorkspaceId
    definition: DefinitionKey
    withdrawn_at: datetime
    request_key: str | None = None
    replacement_key: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """A message that names no request: it goes to the dead letters; `reason` is a fact without content."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request row; `version` 0 is not stored yet, and `data` and `audience` are kept while they are needed."""

    workspace_id: WorkspaceId
    request_id: RequestId
    definition: DefinitionKey
    request_key: str
    state: RequestState
    recorded_at: datetime
    version: int = 0
    shard: int = 0
    definition_version: int | None = None
    replacement_key: str | None = None
    fold_key: str | None = None
    reason: RequestReason | None = None
    caused_by: Actor | None = None
    published_at: datetime | None = None
    not_before: datetime | None = None
    deadline: datetime | None = None
    expires_at: datetime | None = None
    accepted_at: datetime | None = None
    closed_at: datetime | None = None
    differing_repeat_at: datetime | None = None
    due_at: datetime | None = None
    finished_version: int | None = None
    """The version with which a sweep noted that nothing of it can be under way any more; a later one says nothing."""
    data: Mapping[str, Any] | None = None
    audience: Audience | None = None
    content_hash: str = ""
    problems: tuple[Problem, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    manifest: tuple[ManifestEntry, ...] = ()
    replaces: RequestId | None = None
    unknown: Mapping[str, Any] | None = None
    """Attributes that a newer version of the code wrote; put back untouched."""

    @property
    def is_accepted(self) -> bool:
        """Whether it was accepted, at whatever stage it is now."""
        return self.accepted_at is not None

    @property
    def is_retired(self) -> bool:
        """Whether it was accepted and closed by its definition's retirement, which ends nothing."""
        return self.is_accepted and self.state is RequestState.CANCELLED

    @property
    def is_withdrawn(self) -> bool:
        """Whether it was accepted and then withdrawn or replaced: its notices have to end."""
        return self.state is RequestState.SUPERSEDED

    @property
    def is_dead_lettered(self) -> bool:
        """Whether it could not be processed and waits for an operator."""
        return self.state is RequestState.QUEUED and bool(self.problems)

    @property
    def is_finished(self) -> bool:
        """Whether a sweep found every delivery ended, and nothing was written since: only its settling is left."""
        return self.finished_version == self.version

    @property
    def is_closed(self) -> bool:
        """Whether its outcome stays."""
        return self.state not in _LIVE

    @property
    def delete_at(self) -> datetime | None:
        """When the row may be forgotten; None while it is live, and while a retired one still carries its notices."""
        if self.closed_at is None:
            return None
        carries_until = self.expires_at if self.is_retired else None
        return max(self.closed_at, carries_until or self.closed_at) + timedelta(seconds=KEEP_CLOSED_SECONDS)

    def is_past(self, now: datetime) -> bool:
        """Whether its expires_at has come."""
        return self.expires_at is not None and now >= self.expires_at

    def entry(self, recipient: Recipient) -> ManifestEntry | None:
        """The recipient's line of the manifest."""
        return next((entry for entry in self.manifest if entry.recipient == recipient), None)


_FOLLOWED_UP: Final = frozenset({DeliveryState.QUEUED, DeliveryState.DELIVERED})
_LIVE: Final = frozenset({RequestState.QUEUED, RequestState.OPEN})


def carries(request: Request | None, now: datetime) -> bool:
    """Whether a contributor still justifies a notice: not past its expires_at, and open or closed by retirement."""
    return (
        request is not None and not request.is_past(now) and (request.state is RequestState.OPEN or request.is_retired)
    )


def moved(
    request: Request,
    event: RequestEvent,
    target: RequestState,
    *,
    by: Actor,
    now: datetime,
    reason: RequestReason | None = None,
    **changes: Any,
) -> Request:
    """The request's next version after a move of its lifecycle; closing it stamps closed_at."""
    REQUEST_LIFECYCLE.check(event, request.state, target, by=by)
    closing = target not in _LIVE
    return replace(
        request,
        state=target,
        version=request.version + 1,
        reason=reason,
        caused_by=by,
        closed_at=now if closing else None,
        **changes,
    )


def closed_by_producer(request: Request, event: RequestEvent, *, now: datetime) -> Request:
    """An open request, withdrawn or replaced: its closing follow-up is owed from `due_at` on."""
    by, reason = (
        (Actor.PRODUCER, RequestReason.WITHDRAWN)
        if event is RequestEvent.WITHDRAW
        else (Actor.REPLACEMENT, RequestReason.REPLACED)
    )
    return moved(request, event, RequestState.SUPERSEDED, by=by, now=now, reason=reason, due_at=closing_due_at(now))


def retired(request: Request, *, now: datetime) -> Request:
    """An open request whose definition was retired: closed, with its notices and deliveries left as they are."""
    return moved(
        request,
        RequestEvent.RETIRE,
        RequestState.CANCELLED,
        by=Actor.RETIREMENT,
        now=now,
        reason=RequestReason.DEFINITION_RETIRED,
        due_at=closing_due_at(now),
    )


def settled(request: Request, *, now: datetime, due_at: datetime | None) -> Request:
    """An open request past its deadline with nothing left to do; `due_at` stays while a receipt is owed."""
    return moved(request, RequestEvent.SETTLE, RequestState.SETTLED, by=Actor.SWEEP, now=now, due_at=due_at)


def rescheduled(request: Request, due_at: datetime | None) -> Request:
    """The same request, to be looked at again at another moment; None when nothing is owed any more."""
    return replace(request, version=request.version + 1, due_at=due_at)


def finished(request: Request, due_at: datetime | None) -> Request:
    """The same request, every delivery of which has ended; whatever starts one again writes the request too."""
    return replace(rescheduled(request, due_at), finished_version=request.version + 1)


def closing_due_at(now: datetime) -> datetime:
    """When a sweep repeats the closing follow-up of a request closed now."""
    return now + timedelta(seconds=CLOSING_GRACE_SECONDS)


def first_due_at(
    manifest: tuple[ManifestEntry, ...], *, is_folded: bool, now: datetime, expires_at: datetime
) -> datetime:
    """When a request accepted now is looked at first: soon if anything follows its commit, else at its deadline.

    Sending follows, storing what the inbox shows, and folding: a function that dies in between leaves it to the first
    check.
    """
    follows = is_folded or any(planned.state in _FOLLOWED_UP for entry in manifest for planned in entry.plan)
    return min(now + timedelta(seconds=FIRST_CHECK_SECONDS), expires_at) if follows else expires_at


def no_later_than_expiry(request: Request, at: datetime) -> datetime:
    """When a request that waits is looked at, if not before: expiring is owed at its expires_at."""
    return at if request.expires_at is None else min(at, request.expires_at)


def next_check_at(request: Request, *, now: datetime) -> datetime:
    """When a request with work under way is looked at again: its age doubles each time, up to an hour."""
    age_seconds = (now - (request.accepted_at or request.recorded_at)).total_seconds()
    return now + timedelta(seconds=min(max(age_seconds, FIRST_CHECK_SECONDS), CHECK_SECONDS_MAX))
