"""The audit of one request: whatever isn't as it has to be on its row and on its recipients' notices, and the repair.

Nothing is called a difference that somebody may still be at work on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from notify_core.application.begin_notice import Reader, begin_notice
from notify_core.application.find_notices import find_notices
from notify_core.application.ports import Conflict, HistoryRow, NoticeKey, Ports
from notify_core.application.sweep_request import sweep_request
from notify_core.domain.auditing import righted, state_amounted_to
from notify_core.domain.definition import Definition
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import (
    ClaimId,
    NoticeId,
    Recipient,
    RequestId,
    WorkspaceId,
    fold_id,
    generation_notice_id,
    generation_of,
)
from notify_core.domain.limits import (
    CHECK_SECONDS_MAX,
    CONFLICTS_MAX,
    KEEP_CLOSED_SECONDS,
    PROCESS_TIMEOUT_SECONDS,
    RECEIVES_MAX,
)
from notify_core.domain.notice import Notice, claimed, created, outcome_unknown
from notify_core.domain.request import ManifestEntry, Request, rescheduled
from notify_core.domain.request_lifecycle import RequestState

SETTLING_SECONDS: Final = RECEIVES_MAX * 6 * PROCESS_TIMEOUT_SECONDS
"""How long after its last move a request's message may still be received: its queue hides it six timeouts a time."""
_LATE_SECONDS: Final = 2 * CHECK_SECONDS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an audit found: of which kind, on which request and for whom, and how many that can't be named apart."""

    kind: str
    request_id: RequestId | None = None
    recipient: Recipient | None = None
    number: int = 1


def audit_request(workspace: WorkspaceId, row: HistoryRow, ports: Ports) -> list[Difference]:
    """The differences of one request, each repaired.

    A race with whoever moves the request meanwhile leaves the repair to the next audit.
    """
    request = ports.requests.get(workspace, row.request_id)
    if request is None:
        is_forgotten = may_be_forgotten(row.closed_at, ports.clock.now())
        return [] if is_forgotten else [Difference(kind="index_row_without_request", request_id=row.request_id)]
    found: list[Difference] = []
    try:
        request = _right_row(request, found, ports)
        retired = _retired_definition(request, ports)
        owed = [*_owed(request, retired, now=ports.clock.now()), *_audit_notices(request, found, ports)]
        found.extend(owed)
        if owed or retired is not None:
            _sweep_now(request, ports)
    except Conflict:
        ports.telemetry.info("audit_lost_race", request_id=row.request_id)
    return found


def may_be_forgotten(kept_since: datetime | None, now: datetime) -> bool:
    """Whether a row may be deleted by now: a request from its closing on, a notice from its expiry on."""
    return kept_since is not None and now >= kept_since + timedelta(seconds=KEEP_CLOSED_SECONDS)


# ---------------------------------------------------------------- the request's row


def _right_row(request: Request, found: list[Difference], ports: Ports) -> Request:
    """The request, righted where its state or what the indexes show of it contradicts the rest of its row."""
    kinds: list[str] = []
    state = state_amounted_to(request)
    if request.state is not state:
        kinds.append("request_state_altered")
    if ports.requests.damaged(request.workspace_id, [request.request_id]):
        kinds.append("request_shown_wrongly")
    if not kinds:
        return request
    found.extend(Difference(kind=kind, request_id=request.request_id) for kind in kinds)
    new = replace(request, state=state, version=request.version + 1)
    ports.requests.repair(new, request)
    return new


def _owed(request: Request, retired: Definition | None, *, now: datetime) -> Iterable[Difference]:
    """What a sweep repairs: a request that is never looked at, not in time, or open long after its definition."""
    late = now - timedelta(seconds=_LATE_SECONDS)
    if request.state in {RequestState.OPEN, RequestState.QUEUED} and request.due_at is None:
        yield Difference(kind="live_request_never_due", request_id=request.request_id)
    if request.due_at is not None and request.due_at < late:
        yield Difference(kind="due_long_ago", request_id=request.request_id)
    if retired is not None and retired.retired_at is not None and retired.retired_at < late:
        yield Difference(kind="open_though_retired", request_id=request.request_id)


def _retired_definition(request: Request, ports: Ports) -> Definition | None:
    """The definition of an open request that is to be closed by its retirement; None where there is none."""
    if request.state is not RequestState.OPEN:
        return None
    definition = ports.registry.definition(request.workspace_id, request.definition, consistent=True)
    return definition if definition is not None and definition.has_retired(request.definition_version) else None


def _sweep_now(request: Request, ports: Ports) -> None:
    """Have the request swept: a sweep does whatever its rows say is owed."""
    now = ports.clock.now()
    if request.due_at is None or request.due_at > now:
        ports.requests.put(rescheduled(request, now), request)
    sweep_request(request.workspace_id, request.request_id, ports)


# ---------------------------------------------------------------- its notices


def _audit_notices(request: Request, found: list[Difference], ports: Ports) -> list[Difference]:
    """The differences that a sweep repairs; those repaired here are added to what was found."""
    now = ports.clock.now()
    if not request.is_accepted or may_be_forgotten(request.expires_at, now):
        return []
    stored = find_notices(request, ports)
    keys = [key_of(notice) for notice in stored.values() if notice is not None]
    damaged = frozenset(ports.notices.damaged(keys))
    reader = Reader(ports=ports)
    is_settled_down = now > _settled_down_at(request)
    owed: list[Difference] = []
    for entry in request.manifest:
        notice = stored[entry.recipient]
        if notice is None:
            if is_settled_down and _has_to_stand(request, entry, now):
                _rebuild(request, entry, reader, ports)
                owed.append(_on(request, entry, "notice_missing"))
            continue
        new = righted(notice, request, entry)
        kinds = [
            *(["notice_state_altered"] if new != notice else []),
            *(["notice_shown_wrongly"] if key_of(notice) in damaged else []),
        ]
        if kinds:
            found.extend(_on(request, entry, kind) for kind in kinds)
            new = replace(new, version=notice.version + 1)
            ports.notices.repair(new, notice)
        if is_settled_down:
            owed.extend(_on(request, entry, kind) for kind in _unfinished(request, new))
    return owed


def _settled_down_at(request: Request) -> datetime:
    """From when nobody can be at work any more on what the last move of the request owes."""
    last = max(at for at in (request.accepted_at, request.closed_at, request.recorded_at) if at is not None)
    return last + timedelta(seconds=SETTLING_SECONDS)


def _unfinished(request: Request, notice: Notice) -> Iterable[str]:
    if request.is_withdrawn and notice.ended is None and not notice.has_left(request.request_id):
        yield "withdrawn_notice_not_ended"
    elif notice.is_active and notice.owner == request.request_id and (request.due_at is None or request.is_finished):
        yield "active_notice_never_due"


def _has_to_stand(request: Request, entry: ManifestEntry, now: datetime) -> bool:
    """Whether a recipient's notice has to be stored: shown in an inbox, folded, begun to be sent, or ended.

    A request that was withdrawn before it was folded has none. While a sweep is still owed that would store it, a
    notice that was never begun looks the same as one that was removed.
    """
    if request.due_at is not None and request.due_at <= now:
        return False
    if request.is_withdrawn:
        return request.fold_key is None
    if request.fold_key is not None or entry.has_console:
        return True
    is_looked_at_soon = request.due_at is not None and request.due_at <= now + timedelta(seconds=CHECK_SECONDS_MAX)
    has_work = any(planned.state is DeliveryState.QUEUED for planned in entry.plan)
    return has_work and (request.state is RequestState.SETTLED or not is_looked_at_soon)


def _rebuild(request: Request, entry: ManifestEntry, reader: Reader, ports: Ports) -> None:
    """Store a removed notice again. Whether it was sent nobody knows any more, so that it isn't sent again."""
    for _ in range(CONFLICTS_MAX):
        first = begin_notice(request, entry, reader, notice=_free_id(request, entry, ports))
        try:
            ports.notices.put(_with_lost_outcomes(first, ports.new_claim_id(), ports.clock.now()), None)
        except Conflict:
            if find_notices(request, ports)[entry.recipient] is None:
                continue
        return
    raise Conflict(f"a notice of {request.request_id} kept losing its race")


def _free_id(request: Request, entry: ManifestEntry, ports: Ports) -> NoticeId | None:
    """The id of a new generation; None for the only notice of an unfolded request."""
    if request.fold_key is None:
        return None
    fold = fold_id(request.definition, request.fold_key)
    newest = next(ports.notices.generations(request.workspace_id, entry.recipient, fold), None)
    return generation_notice_id(fold, generation_of(newest.notice_id) + 1 if newest else 1)


def _with_lost_outcomes(first: Notice, claim: ClaimId, now: datetime) -> Notice:
    notice = created(first)
    for item in first.deliveries:
        if item.state is DeliveryState.QUEUED:
            notice = outcome_unknown(claimed(notice, item.channel, claim, now=now), item.channel, now=now)
    return replace(notice, version=1)


def key_of(notice: Notice) -> NoticeKey:
    """Where a notice stands."""
    return NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)


def _on(request: Request, entry: ManifestEntry, kind: str) -> Difference:
    return Difference(kind=kind, request_id=request.request_id, recipient=entry.recipient)
