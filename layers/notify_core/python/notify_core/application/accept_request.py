"""Accepting a publication: its one outcome, and what that outcome owes."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from notify_core.application.begin_notice import Reader
from notify_core.application.follow_up import follow_up
from notify_core.application.judge_content import Judgement, judge_content
from notify_core.application.ports import Conflict, Head, Ports, PutHead, PutRequest, Write
from notify_core.application.publish_again import first_published
from notify_core.domain.acceptance import (
    accepted,
    cancelled,
    check_registered,
    deferred,
    expired,
    expiry,
    ordering,
    queued_row,
    rejected,
    told_nobody,
    with_difference,
)
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Workspace
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX, KEEP_CLOSED_SECONDS
from notify_core.domain.publication import check_times
from notify_core.domain.request import InvalidPublication, Publication, Request, closed_by_producer
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The publication has its outcome, and all that the outcome owes is done."""

    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """The publication isn't due: its message comes back at `due_at`, or goes where a sweep will publish it again."""

    request: Request
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The row to be written, what is written together with it, and the content that an acceptance rests on."""

    new: Request
    with_head: tuple[Write, ...] = ()
    reader: Reader
    judgement: Judgement | None = None


def accept_request(publication: Publication | InvalidPublication, ports: Ports) -> Done | Later:
    """Give the publication its one outcome, or find the one it has, and do what the outcome owes.

    A key that waits is judged on what it was first published with. Repeating it changes nothing and resumes what is
    unfinished. Raises Conflict after too many lost races and StoreUnavailable: the message has to come again.
    """
    row = ports.requests.get(publication.workspace_id, publication.request_id, consistent=False)
    for _ in range(CONFLICTS_MAX):
        if row is not None and row.state is not RequestState.QUEUED:
            return _repeat(row, publication, ports)
        noted = row and with_difference(row, publication.content_hash, now=ports.clock.now())
        decision = decide(first_published(row, publication), noted, ports)
        try:
            _write(decision, row, ports)
        except Conflict:
            row = ports.requests.get(publication.workspace_id, publication.request_id)
            continue
        if noted is not row:
            ports.telemetry.count("publications_differing")
        return _told(decision, ports)
    raise Conflict(f"acceptance of {publication.request_id} kept losing its race")


# ---------------------------------------------------------------- what was there before


def _repeat(row: Request, publication: Publication | InvalidPublication, ports: Ports) -> Done:
    """The outcome stands; a repeat with other content is noted, and what the outcome owes is done again."""
    ports.telemetry.count("publications_repeated")
    row = _note_difference(row, publication, ports)
    follow_up(row, Reader(ports=ports), ports, is_new=False)
    return Done(request=row)


def _note_difference(row: Request, publication: Publication | InvalidPublication, ports: Ports) -> Request:
    for _ in range(CONFLICTS_MAX):
        noted = with_difference(row, publication.content_hash, now=ports.clock.now())
        if noted is row:
            return row
        noted = replace(noted, version=row.version + 1)
        try:
            ports.requests.put(noted, row)
        except Conflict:
            row = ports.requests.get(row.workspace_id, row.request_id) or row
            continue
        ports.telemetry.count("publications_differing")
        return noted
    raise Conflict(f"repeat of {row.request_id} kept losing its race")


# ---------------------------------------------------------------- deciding


def decide(publication: Publication | InvalidPublication, was: Request | None, ports: Ports) -> Decision:
    """The checks in their order: shape, definition and workspace, cancellation, deadline, time to wait, content."""
    now = ports.clock.now()
    workspace = ports.registry.workspace(publication.workspace_id)
    row = queued_row(publication, was, workspace, now=now)
    reader = Reader(ports=ports)
    shape = publication.problems if isinstance(publication, InvalidPublication) else check_times(publication, now)
    if isinstance(publication, InvalidPublication) or shape:
        return Decision(new=rejected(row, shape, (), now=now), reader=reader)
    definition = ports.registry.definition(publication.workspace_id, publication.definition)
    unregistered = check_registered(publication, workspace, definition)
    if unregistered or workspace is None or definition is None:
        return Decision(new=rejected(row, unregistered, (), now=now), reader=reader)
    expires_at, by_rule = expiry(publication, definition)
    row = replace(row, expires_at=expires_at, definition_version=definition.version)
    head = _head(publication, ports)
    if (reason := _cancellation(publication, head)) is not None:
        return Decision(new=_cancelled(row, reason, now=now), reader=reader)
    if now >= expires_at:
        return Decision(new=expired(row, by_rule, by=Actor.PROCESSOR, now=now), reader=reader)
    if publication.not_before is not None and now < publication.not_before:
        return Decision(new=deferred(row, now=now), reader=reader)
    return _decide_content(publication, row, definition, workspace, head, reader, ports, now=now)


def _decide_content(  # noqa: PLR0913  (what the checks before it have found)
    publication: Publication,
    row: Request,
    definition: Definition,
    workspace: Workspace,
    head: Head | None,
    reader: Reader,
    ports: Ports,
    *,
    now: datetime,
) -> Decision:
    judgement = judge_content(publication, definition, workspace, ports)
    if judgement.problems:
        return Decision(new=rejected(row, judgement.problems, judgement.exclusions, now=now), reader=reader)
    if not judgement.manifest:
        return Decision(new=told_nobody(row, judgement.exclusions, now=now), reader=reader)
    reader.remember(row.workspace_id, judgement.people)
    preceding = _preceding(row, head, ports)
    new = accepted(
        row,
        judgement.manifest,
        judgement.exclusions,
        replaces=preceding.request_id if preceding else None,
        now=now,
    )
    return Decision(
        new=new,
        with_head=_with_head(new, head, preceding, now=now),
        reader=reader,
        judgement=judgement,
    )


# ---------------------------------------------------------------- replacement


def _head(publication: Publication, ports: Ports) -> Head | None:
    key = publication.replacement_key
    return None if key is None else ports.requests.head(publication.workspace_id, publication.definition, key)


def _cancellation(publication: Publication, head: Head | None) -> RequestReason | None:
    """Why the replacement key's head leaves nothing to accept: withdrawn since, or replaced by a later publication."""
    if head is None:
        return None
    if head.withdrawn_at is not None and publication.published_at <= head.withdrawn_at:
        return RequestReason.WITHDRAWN
    if head.current is not None and head.current_published_at is not None and head.current != publication.request_id:
        current = ordering(head.current_published_at, head.current)
        if current > ordering(publication.published_at, publication.request_id):
            return RequestReason.REPLACED_BEFORE_ACCEPTANCE
    return None


def _cancelled(row: Request, reason: RequestReason, *, now: datetime) -> Request:
    if reason is RequestReason.WITHDRAWN:
        return cancelled(row, RequestEvent.WITHDRAW, by=Actor.PROCESSOR, reason=reason, now=now)
    return cancelled(row, RequestEvent.REPLACE, by=Actor.REPLACEMENT, reason=reason, now=now)


def _preceding(row: Request, head: Head | None, ports: Ports) -> Request | None:
    """The open request that this one replaces; never itself, where an old read still shows it waiting."""
    if head is None or head.current is None or head.current == row.request_id:
        return None
    current = ports.requests.get(row.workspace_id, head.current)
    return current if current is not None and current.state is RequestState.OPEN else None


def _with_head(new: Request, head: Head | None, preceding: Request | None, *, now: datetime) -> tuple[Write, ...]:
    """What a request with a replacement key is committed with: the head, and the open request before it."""
    if new.replacement_key is None:
        return ()
    was = head or Head(workspace_id=new.workspace_id, definition=new.definition, replacement_key=new.replacement_key)
    next_head = replace(
        was,
        current=new.request_id,
        current_published_at=new.published_at,
        version=was.version + 1,
        delete_at=(new.expires_at or now) + timedelta(seconds=KEEP_CLOSED_SECONDS),
    )
    writes: tuple[Write, ...] = (PutHead(new=next_head, was=head),)
    if preceding is not None:
        superseded = closed_by_producer(preceding, RequestEvent.REPLACE, now=now)
        writes = (*writes, PutRequest(new=superseded, was=preceding))
    return writes


# ---------------------------------------------------------------- writing and telling


def _write(decision: Decision, was: Request | None, ports: Ports) -> None:
    if decision.with_head:
        ports.requests.commit((PutRequest(new=decision.new, was=was), *decision.with_head))
    elif not _is_deferred_again(decision.new, was):
        ports.requests.put(decision.new, was)


def _is_deferred_again(new: Request, was: Request | None) -> bool:
    """Whether the row says already that the request waits, and until when."""
    return new.state is RequestState.QUEUED and was is not None and replace(new, version=was.version) == was


def _told(decision: Decision, ports: Ports) -> Done | Later:
    request = decision.new
    if request.state is RequestState.QUEUED and request.not_before is not None:
        return Later(request=request, due_at=request.not_before)
    if request.published_at is not None:
        waited = ports.clock.now() - max(request.published_at, request.not_before or request.published_at)
        ports.telemetry.observe("publication_to_outcome", max(0.0, waited.total_seconds()))
    follow_up(request, decision.reader, ports, is_new=True)
    return Done(request=request)
