from datetime import datetime, timedelta

import pytest

from notify_core.domain.audit_turns import has_turn
from notify_core.domain.identifiers import RequestId
from tests.builders import NOON, at

A, B = RequestId("request-1"), RequestId("request-2")


def nights(
    request: RequestId, *, closed_at: datetime | None = None, first: int = 3, number: int = 28, step: int = 1
) -> list[int]:
    """On which nights after its recording an audit looks at a request, audited from one night to the next."""
    return [
        night
        for night in range(first, first + number, step)
        if has_turn(request, recorded_at=NOON, closed_at=closed_at, since=at(days=night - step), until=at(days=night))
    ]


@pytest.mark.parametrize("request_id", [A, B])
@pytest.mark.parametrize("first", [3, 40])
def test_an_old_request_has_one_turn_in_28_nights(request_id: RequestId, first: int) -> None:
    assert len(nights(request_id, first=first)) == 1


def test_requests_take_turns() -> None:
    assert nights(A) != nights(B)


def test_what_was_recorded_or_closed_in_the_last_two_days_is_looked_at_every_night() -> None:
    assert nights(A, first=0, number=3) == [0, 1, 2]
    assert set(nights(A, closed_at=at(days=10), first=10, number=6)) >= {10, 11, 12}


def test_a_turn_on_a_night_without_an_audit_is_caught_up() -> None:
    assert [len(nights(A, number=28, step=step)) for step in (1, 2, 4, 7)] == [1, 1, 1, 1]


def test_two_audits_of_one_day_look_once() -> None:
    (turn,) = nights(A)
    assert not has_turn(A, recorded_at=NOON, closed_at=None, since=at(days=turn), until=at(days=turn, hours=1))


def test_the_first_audit_looks_at_everything() -> None:
    assert has_turn(A, recorded_at=NOON, closed_at=None, since=None, until=NOON + timedelta(days=60))
