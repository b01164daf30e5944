"""Recording dead publications: what ran out of receives is written down where an operator finds it."""

from dataclasses import replace
from datetime import datetime

from notify_core.application.ports import Conflict, Ports, QueueName
from notify_core.application.publish_again import first_published
from notify_core.domain.acceptance import check_registered, expiry, queued_row, rejected, with_difference
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.problem import Problem
from notify_core.domain.request import InvalidPublication, Publication, Request
from notify_core.domain.request_lifecycle import RequestState

DEAD_LETTERED = Problem(
    field="",
    code="dead_lettered",
    message="processing failed repeatedly; find the cause, then reprocess the request",
)


def record_dead_publication(publication: Publication | InvalidPublication, ports: Ports) -> None:
    """Keep a publication that ran out of receives as a queued row with a problem; an operator may reprocess it.

    It is due at its deadline only, so that no sweep goes round with it. A recorded outcome stays as it is: a sweep does
    what an accepted one still owes. So does a publication that waits for its time: a sweep publishes it again.
    """
    for _ in range(CONFLICTS_MAX):
        was = ports.requests.get(publication.workspace_id, publication.request_id)
        if was is not None and was.state is not RequestState.QUEUED:
            return
        try:
            _put_dead(publication, was, ports, now=ports.clock.now())
        except Conflict:
            continue
        ports.telemetry.count("dead_letters_recorded", queue=QueueName.REQUESTS.value)
        return
    raise Conflict("dead letter kept losing its race")


def _put_dead(
    publication: Publication | InvalidPublication, was: Request | None, ports: Ports, *, now: datetime
) -> None:
    noted = was and with_difference(was, publication.content_hash, now=now)
    if noted is None or not _is_waiting(noted, now):
        ports.requests.put(_dead_row(first_published(was, publication), noted, ports, now=now), was)
    elif noted is not was:
        ports.requests.put(replace(noted, version=noted.version + 1), was)
    if noted is not was:
        ports.telemetry.count("publications_differing")


def _is_waiting(row: Request, now: datetime) -> bool:
    """Whether a sweep publishes it again when its time comes."""
    return row.not_before is not None and now < row.not_before and not row.problems


def _dead_row(
    publication: Publication | InvalidPublication, was: Request | None, ports: Ports, *, now: datetime
) -> Request:
    workspace = ports.registry.workspace(publication.workspace_id)
    definition = ports.registry.definition(publication.workspace_id, publication.definition)
    row = queued_row(publication, was, workspace, now=now)
    if isinstance(publication, InvalidPublication):
        return rejected(row, publication.problems, (), now=now)
    unregistered = check_registered(publication, workspace, definition)
    if unregistered or definition is None:
        return rejected(row, unregistered, (), now=now)
    expires_at, _ = expiry(publication, definition)
    return replace(row, version=row.version + 1, problems=(DEAD_LETTERED,), expires_at=expires_at, due_at=expires_at)
