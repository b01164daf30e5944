"""What a publication says of time, and its JSON."""

from datetime import datetime, timedelta
from typing import Any

from notify_core.domain.limits import CLOCK_SKEW_SECONDS, DEFER_SECONDS_MAX
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Publication, Withdrawal


def check_times(publication: Publication, now: datetime) -> tuple[Problem, ...]:
    """Whether its times make sense at all; those that depend on the definition are checked with it."""
    problems: list[Problem] = []
    published_at, not_before, deadline = (
        publication.published_at,
        publication.not_before,
        publication.deadline,
    )
    problems.extend(_check_clock("published_at", published_at, now))
    if not_before is not None and not_before > published_at + timedelta(seconds=DEFER_SECONDS_MAX):
        problems.append(_problem("not_before", "too_far_ahead", "it may lie 60 days after published_at at most"))
    if not_before is not None and deadline is not None and not_before >= deadline:
        problems.append(_problem("not_before", "contradictory_times", "it must lie before the deadline"))
    return tuple(problems)


def check_withdrawal(withdrawal: Withdrawal, now: datetime) -> tuple[Problem, ...]:
    """Whether it was made by now."""
    return _check_clock("withdrawn_at", withdrawal.withdrawn_at, now)


def _check_clock(field: str, at: datetime, now: datetime) -> tuple[Problem, ...]:
    if at <= now + timedelta(seconds=CLOCK_SKEW_SECONDS):
        return ()
    return (_problem(field, "in_future", "it lies more than 5 minutes ahead; check the clock"),)


def publication_body(publication: Publication) -> dict[str, Any]:
    """The publication as the JSON object that a producer would send."""
    return {
        "type": "publish",
        "version": 1,
        "workspace_id": publication.workspace_id,
        "definition": publication.definition,
        "request_key": publication.request_key,
        "published_at": _text(publication.published_at),
        "data": publication.data,
        "audience": None if publication.audience is None else _audience(publication.audience),
        "not_before": _text(publication.not_before),
        "deadline": _text(publication.deadline),
        "replacement_key": publication.replacement_key,
        "fold_key": publication.fold_key,
    }


def _audience(audience: Audience) -> dict[str, Any]:
    if audience.hq:
        return {"hq": True}
    return {"people": list(audience.people), "teams": list(audience.teams), "roles": list(audience.roles)}


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _problem(field: str, code: str, message: str) -> Problem:
    return Problem(field=field, code=code, message=message)
