"""Which outcome a publication gets: the checks in their order, and the row that records each outcome."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from notify_core.domain.definition import Definition
from notify_core.domain.directory import Workspace
from notify_core.domain.identifiers import RequestId, shard_of
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import (
    DELAY_SECONDS_MAX,
    OVERDUE_SECONDS,
    PROBLEMS_MAX,
    REPUBLISH_AHEAD_SECONDS,
)
from notify_core.domain.problem import Problem
from notify_core.domain.request import (
    Exclusion,
    InvalidPublication,
    ManifestEntry,
    Publication,
    Request,
    first_due_at,
    moved,
    no_later_than_expiry,
)
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState

_NO_CONTENT: Mapping[str, Any] = {"data": None, "audience": None}


# ---------------------------------------------------------------- checks


def check_registered(
    publication: Publication | InvalidPublication, workspace: Workspace | None, definition: Definition | None
) -> tuple[Problem, ...]:
    """Whether workspace and definition take publications, and this one has the keys that the definition wants."""
    if workspace is None:
        return (_problem("workspace_id", "unknown_workspace", "register the workspace first"),)
    if not workspace.is_operational:
        return (_problem("workspace_id", "workspace_suspended", "the workspace is suspended; ask its operator"),)
    if definition is None:
        return (_problem("definition", "unknown_definition", "register the definition in this workspace first"),)
    if not definition.is_active:
        return (_problem("definition", "definition_retired", "the definition is retired; register it again to use it"),)
    return _check_keys(publication, definition) if isinstance(publication, Publication) else ()


def _check_keys(publication: Publication, definition: Definition) -> tuple[Problem, ...]:
    problems: list[Problem] = []
    if definition.replace_previous and publication.replacement_key is None:
        problems.append(_problem("replacement_key", "required", "the definition replaces: name what is replaced"))
    if not definition.replace_previous and publication.replacement_key is not None:
        problems.append(_problem("replacement_key", "not_allowed", "leave it out: the definition doesn't replace"))
    if definition.fold_within is None and publication.fold_key is not None:
        problems.append(_problem("fold_key", "not_allowed", "leave it out: the definition doesn't fold"))
    if publication.not_before is not None and publication.not_before >= expiry(publication, definition)[0]:
        problems.append(
            _problem("not_before", "contradictory_times", "it must lie before the deadline and expires_after")
        )
    if publication.audience is not None and publication.audience.hq != definition.is_hq_alert:
        problems.append(
            _problem(
                "audience",
                "audience_mismatch",
                'name people, teams or roles; {"hq": true} goes with the channels ["slack_system"] alone',
            )
        )
    return tuple(problems)


def expiry(publication: Publication, definition: Definition) -> tuple[datetime, RequestReason]:
    """When the request expires and by which rule: its own deadline, or the definition's age limit."""
    by_age = publication.published_at + definition.expires_after
    if publication.deadline is not None and publication.deadline <= by_age:
        return publication.deadline, RequestReason.DEADLINE
    return by_age, RequestReason.AGE


def expiry_reason(request: Request) -> RequestReason:
    """By which rule a request expires."""
    own = request.deadline is not None and request.deadline == request.expires_at
    return RequestReason.DEADLINE if own else RequestReason.AGE


def ordering(published_at: datetime, request: RequestId) -> tuple[datetime, str]:
    """The order of publications under one replacement key; equal times are ordered by request id."""
    return (published_at, request)


def bounded(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Each problem once, in the order found, a hundred at most."""
    return tuple(dict.fromkeys(problems))[:PROBLEMS_MAX]


# ---------------------------------------------------------------- rows


def queued_row(
    publication: Publication | InvalidPublication,
    was: Request | None,
    workspace: Workspace | None,
    *,
    now: datetime,
) -> Request:
    """The row that a publication is judged on: as recorded before, or new and not stored yet."""
    row = was or Request(
        workspace_id=publication.workspace_id,
        request_id=publication.request_id,
        definition=publication.definition,
        request_key=publication.request_key,
        state=RequestState.QUEUED,
        recorded_at=now,
        shard=shard_of(publication.request_id, workspace.shards if workspace else 1),
        content_hash=publication.content_hash,
    )
    if isinstance(publication, InvalidPublication):
        return row
    return replace(
        row,
        replacement_key=publication.replacement_key,
        fold_key=publication.fold_key,
        published_at=publication.published_at,
        not_before=publication.not_before,
        deadline=publication.deadline,
        data=publication.data,
        audience=publication.audience,
        problems=(),
    )


def with_difference(row: Request, content_hash: str, *, now: datetime) -> Request:
    """The row, saying since when its key was also published with other content; in the same version still."""
    if not row.content_hash or row.content_hash == content_hash or row.differing_repeat_at is not None:
        return row
    return replace(row, differing_repeat_at=now)


def rejected(
    row: Request, problems: tuple[Problem, ...], exclusions: tuple[Exclusion, ...], *, now: datetime
) -> Request:
    """The publication is invalid; its key is kept, so a correction needs another."""
    return moved(
        row,
        RequestEvent.REJECT,
        RequestState.INVALID,
        by=Actor.PROCESSOR,
        now=now,
        problems=bounded(problems),
        exclusions=exclusions,
        due_at=None,
        **_NO_CONTENT,
    )


def told_nobody(row: Request, exclusions: tuple[Exclusion, ...], *, now: datetime) -> Request:
    """The audience has no eligible people."""
    return moved(
        row,
        RequestEvent.FIND_NOBODY,
        RequestState.NO_RECIPIENTS,
        by=Actor.PROCESSOR,
        now=now,
        exclusions=exclusions,
        due_at=None,
        **_NO_CONTENT,
    )


def expired(row: Request, reason: RequestReason, *, by: Actor, now: datetime) -> Request:
    """The deadline passed before acceptance."""
    return moved(
        row,
        RequestEvent.EXPIRE,
        RequestState.EXPIRED,
        by=by,
        now=now,
        reason=reason,
        due_at=None,
        **_NO_CONTENT,
    )


def cancelled(row: Request, event: RequestEvent, *, by: Actor, reason: RequestReason, now: datetime) -> Request:
    """Withdrawn, or replaced by a later publication, before it was accepted."""
    return moved(row, event, RequestState.CANCELLED, by=by, now=now, reason=reason, due_at=None, **_NO_CONTENT)


def deferred(row: Request, *, now: datetime) -> Request:
    """Not due yet: kept with its content until its time comes."""
    if row.not_before is None:
        raise ValueError(f"request {row.request_id} has no time to wait for")
    return moved(
        row,
        RequestEvent.DEFER,
        RequestState.QUEUED,
        by=Actor.PROCESSOR,
        now=now,
        due_at=no_later_than_expiry(row, waiting_due_at(row.not_before, now=now)),
    )


def waiting_due_at(not_before: datetime, *, now: datetime) -> datetime:
    """When a sweep has to look at a request waiting for its time.

    Nearer than a message can be delayed: a little after its time, in case the message is lost. Later: early enough
    to publish it again with the exact delay.
    """
    is_near = not_before - now <= timedelta(seconds=DELAY_SECONDS_MAX)
    shift_seconds = OVERDUE_SECONDS if is_near else -REPUBLISH_AHEAD_SECONDS
    return not_before + timedelta(seconds=shift_seconds)


def accepted(
    row: Request,
    manifest: tuple[ManifestEntry, ...],
    exclusions: tuple[Exclusion, ...],
    *,
    replaces: RequestId | None,
    now: datetime,
) -> Request:
    """The commit record: from this write on every recipient has a notice."""
    if row.expires_at is None:
        raise ValueError(f"request {row.request_id} has no expires_at")
    return moved(
        row,
        RequestEvent.ACCEPT,
        RequestState.OPEN,
        by=Actor.PROCESSOR,
        now=now,
        accepted_at=now,
        manifest=manifest,
        exclusions=exclusions,
        replaces=replaces,
        audience=None,
        due_at=first_due_at(manifest, is_folded=row.fold_key is not None, now=now, expires_at=row.expires_at),
    )


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
