from collections import Counter
from datetime import datetime, timedelta

import pytest

from notify_core.domain.audit_turns import has_turn
from notify_core.domain.identifiers import DefinitionKey, RequestId, request_id
from tests.builders import ACME, NOON, at

INVOICES = DefinitionKey("invoice.overdue")
A, B = RequestId("request-1"), RequestId("request-2")


def nights(
    request: RequestId, *, closed_at: datetime | None = NOON, first: int = 3, number: int = 28, step: int = 1
) -> list[int]:
    """On which nights after NOON an audit looks at a request, audited from one night to the next."""
    return [
        night
        for night in range(first, first + number, step)
        if has_turn(request, closed_at=closed_at, since=at(days=night - step), until=at(days=night))
    ]


@pytest.mark.parametrize("request_id", [A, B])
@pytest.mark.parametrize("first", [3, 40])
def test_an_old_request_has_one_turn_in_28_nights(request_id: RequestId, first: int) -> None:
    assert len(nights(request_id, first=first)) == 1


def test_requests_take_turns() -> None:
    assert nights(A) != nights(B)


def test_every_night_has_as_many_turns() -> None:
    requests = [request_id(ACME, INVOICES, f"k{number}") for number in range(2_800)]
    turns = Counter(nights(request)[0] for request in requests)
    assert len(turns) == 28
    assert max(turns.values()) < 150


def test_what_is_not_closed_or_was_lately_is_looked_at_every_night() -> None:
    assert nights(A, closed_at=None, first=0, number=60) == list(range(60))
    assert set(nights(A, closed_at=at(days=10), first=10, number=6)) >= {10, 11, 12}


def test_a_turn_on_a_night_without_an_audit_is_caught_up() -> None:
    assert [len(nights(A, number=28, step=step)) for step in (1, 2, 4, 7)] == [1, 1, 1, 1]


def test_an_audit_that_is_repeated_on_its_day_looks_again() -> None:
    """Where one failed on some rows, an operator runs it again."""
    (turn,) = nights(A)
    assert has_turn(A, closed_at=NOON, since=at(days=turn), until=at(days=turn, hours=1))
    assert not has_turn(A, closed_at=NOON, since=at(days=turn), until=at(days=turn + 1))


def test_the_first_audit_looks_at_everything() -> None:
    assert has_turn(A, closed_at=NOON, since=None, until=NOON + timedelta(days=60))
