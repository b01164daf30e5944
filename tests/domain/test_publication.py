from datetime import datetime

import pytest

from notify_core.domain.problem import Problem
from notify_core.domain.publication import check_times, check_withdrawal, publication_body
from notify_core.domain.request import Audience, Publication, Withdrawal
from tests.builders import ACME, INVOICE, NOON, a_publication, at

AHEAD = "it lies more than 5 minutes ahead; check the clock"
TOO_FAR = Problem(field="not_before", code="too_far_ahead", message="it may lie 60 days after published_at at most")
CONTRADICTORY = Problem(field="not_before", code="contradictory_times", message="it must lie before the deadline")


@pytest.mark.parametrize(
    ("publication", "problems"),
    [
        (a_publication(), ()),
        (a_publication(published_at=at(minutes=5)), ()),
        (
            a_publication(published_at=at(minutes=5, microseconds=1)),
            (Problem(field="published_at", code="in_future", message=AHEAD),),
        ),
        (a_publication(published_at=at(days=-400)), ()),
        (a_publication(not_before=at(days=60)), ()),
        (a_publication(not_before=at(days=60, microseconds=1)), (TOO_FAR,)),
        (a_publication(not_before=at(hours=1), deadline=at(hours=1, microseconds=1)), ()),
        (a_publication(not_before=at(hours=1), deadline=at(hours=1)), (CONTRADICTORY,)),
        (a_publication(deadline=at(hours=-1)), ()),
        (a_publication(not_before=at(days=61), deadline=at(days=1)), (TOO_FAR, CONTRADICTORY)),
    ],
    ids=[
        "now", "as_far_ahead_as_a_clock_may_be", "too_far_ahead", "long_ago", "sixty_days", "more",
        "before_its_deadline", "at_its_deadline", "past_its_deadline", "both",
    ],
)  # fmt: skip
def test_the_times_of_a_publication_make_sense(publication: Publication, problems: tuple[Problem, ...]) -> None:
    assert check_times(publication, NOON) == problems


@pytest.mark.parametrize(("withdrawn_at", "is_right"), [(at(minutes=5), True), (at(minutes=6), False)])
def test_a_withdrawal_was_made_by_now(withdrawn_at: datetime, *, is_right: bool) -> None:
    withdrawal = Withdrawal(workspace_id=ACME, definition=INVOICE, withdrawn_at=withdrawn_at, request_key="k")
    expected = () if is_right else (Problem(field="withdrawn_at", code="in_future", message=AHEAD),)
    assert check_withdrawal(withdrawal, NOON) == expected


def test_a_publication_is_written_as_its_producer_would() -> None:
    publication = a_publication(
        not_before=at(hours=1),
        deadline=at(hours=2),
        replacement_key="inv-42",
        fold_key="inv",
        audience=Audience(people=("ana",), teams=("billing",), roles=("approver",)),
    )
    assert publication_body(publication) == {
        "type": "publish",
        "version": 1,
        "workspace_id": "acme",
        "definition": "invoice.overdue",
        "request_key": "inv-42:1",
        "published_at": "2026-11-30T12:00:00+00:00",
        "data": {"number": "42"},
        "audience": {"people": ["ana"], "teams": ["billing"], "roles": ["approver"]},
        "not_before": "2026-11-30T13:00:00+00:00",
        "deadline": "2026-11-30T14:00:00+00:00",
        "replacement_key": "inv-42",
        "fold_key": "inv",
    }


def test_what_a_publication_leaves_out_is_null_and_headquarters_are_named_alone() -> None:
    body = publication_body(a_publication(audience=Audience(hq=True)))
    assert body["audience"] == {"hq": True}
    assert [body[field] for field in ("not_before", "deadline", "replacement_key", "fold_key")] == [None] * 4
    assert publication_body(a_publication(audience=None))["audience"] is None
