from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from notify_core.domain.identifiers import RequestId, WorkspaceId
from notify_core.domain.ledger import Account, Ledger, Missing, bucket_of, missing

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
A, B, C = RequestId("kQ3~_a"), RequestId("Zz9-77"), RequestId("a")


def account(*requests: RequestId) -> Account:
    total = Account()
    for request in requests:
        total = total.plus(request)
    return total


def a_ledger(**accounts: Account) -> Ledger:
    named = {bucket.replace("_", " ").replace("t", "-"): value for bucket, value in accounts.items()}
    return Ledger(workspace_id=WorkspaceId("acme"), taken_at=NOON, accounts=named, version=1)


@pytest.mark.parametrize(
    ("recorded", "closed", "bucket"),
    [
        (0, None, "live 2026-11-30"),
        (-2, None, "live 2026-11-28"),
        (-2, 1, "live 2026-11-28"),
        (-2, 0, "closed 2026-11-30"),
        (-2, -1, "closed 2026-11-29"),
        (1, None, None),
        (1, 2, None),
    ],
)
def test_a_request_is_accounted_for_as_it_was_at_the_moment(
    recorded: int, closed: int | None, bucket: str | None
) -> None:
    closed_at = None if closed is None else NOON + closed * DAY
    assert bucket_of(NOON + recorded * DAY, closed_at, at=NOON) == bucket


def test_an_account_doesnt_depend_on_the_order() -> None:
    assert account(A, B, C) == account(C, A, B)


def test_the_same_accounts_miss_nothing() -> None:
    ledger = a_ledger(live_2026t11t30=account(A, B))
    assert missing(ledger, {"live 2026-11-30": account(B, A)}, now=NOON + DAY) == []


def test_a_request_is_named_by_its_whole_identifier() -> None:
    long = RequestId("zzO3Jc~x0sBw5wRhZPMAZA")
    found = missing(a_ledger(closed_2026t11t29=account(A, long)), {"closed 2026-11-29": account(A)}, now=NOON)
    assert found == [Missing(number=1, request_id=long)]


@pytest.mark.parametrize("gone", [A, B, C])
def test_a_single_missing_request_is_named(gone: RequestId) -> None:
    found = {"closed 2026-11-29": account(*({A, B, C} - {gone}))}
    assert missing(a_ledger(closed_2026t11t29=account(A, B, C)), found, now=NOON) == [
        Missing(number=1, request_id=gone)
    ]


def test_a_day_without_any_row_left_misses_all_of_it() -> None:
    assert missing(a_ledger(live_2026t11t30=account(A)), {}, now=NOON) == [Missing(number=1, request_id=A)]
    assert missing(a_ledger(live_2026t11t30=account(A, B)), {}, now=NOON) == [Missing(number=2)]


def test_another_request_in_the_place_of_a_missing_one_doesnt_hide_it() -> None:
    ledger = a_ledger(live_2026t11t30=account(A, B))
    assert missing(ledger, {"live 2026-11-30": account(A, C)}, now=NOON) == [Missing(number=1)]


def test_more_than_there_was_is_an_index_that_lagged() -> None:
    ledger = a_ledger(live_2026t11t30=account(A))
    assert missing(ledger, {"live 2026-11-30": account(A, B)}, now=NOON) == []


def test_what_may_be_forgotten_is_not_missing() -> None:
    """Closed that day: from ninety days after its midnight on. Live then: from ninety days after the ledger on."""
    closed, live = a_ledger(closed_2026t11t30=account(A)), a_ledger(live_2026t10t01=account(A))
    midnight = NOON.replace(hour=0)
    second = timedelta(seconds=1)
    assert [missing(closed, {}, now=midnight + 90 * DAY - second), missing(closed, {}, now=midnight + 90 * DAY)] == [
        [Missing(number=1, request_id=A)],
        [],
    ]
    assert [missing(live, {}, now=NOON + 90 * DAY - second), missing(live, {}, now=NOON + 90 * DAY)] == [
        [Missing(number=1, request_id=A)],
        [],
    ]


def test_a_difference_that_is_no_identifier_is_counted_without_a_name() -> None:
    ledger = replace(a_ledger(), accounts={"live 2026-11-30": Account(count=1, mixed=255)})
    assert missing(ledger, {}, now=NOON) == [Missing(number=1)]
