import pytest

from notify_core.domain.delivery_lifecycle import (
    ACTIVE,
    BUSY,
    DELIVERY_LIFECYCLE,
    ENDED_UNSENT,
    LATE_RECEIPT_REASONS,
    RETRYABLE_REASONS,
    UNSENT,
    DeliveryEvent,
    DeliveryState,
)
from tests.domain.tables import allowed, typed

MOVES = """
    claim     queued    sending    worker
    claim     deferred  sending    worker
    hold      queued    deferred   worker
    hold      deferred  deferred   worker
    accept    sending   sent       worker
    deliver   sending   delivered  worker sweep receipt
    bounce    sending   bounced    receipt
    defer     sending   deferred   worker
    reject    sending   failed     worker
    exhaust   sending   failed     worker sweep
    lose      sending   failed     sweep
    requeue   sending   queued     sweep
    cancel    sending   cancelled  worker sweep
    expire    sending   expired    worker
    skip      sending   skipped    worker
    deliver   sent      delivered  receipt
    bounce    sent      bounced    receipt
    time_out  sent      failed     sweep
    cancel    queued    cancelled  producer replacement processor worker sweep
    cancel    deferred  cancelled  producer replacement processor worker sweep
    expire    queued    expired    worker sweep
    expire    deferred  expired    worker sweep
    skip      queued    skipped    worker
    skip      deferred  skipped    worker
    exhaust   queued    failed     worker
    exhaust   deferred  failed     worker
    retry     failed    queued     operator
    deliver   failed    delivered  receipt
    bounce    failed    bounced    receipt
"""


def test_these_moves_and_no_others_are_allowed() -> None:
    assert set(allowed(DELIVERY_LIFECYCLE, DeliveryState, DeliveryEvent)) == typed(MOVES)


def test_a_delivery_begins_queued_or_ends_where_it_begins() -> None:
    assert DELIVERY_LIFECYCLE.initial == {"queued", "skipped", "unavailable", "delivered"}


def test_nothing_leaves_an_end_but_a_failure() -> None:
    assert DELIVERY_LIFECYCLE.final() == {
        "delivered", "bounced", "cancelled", "expired", "skipped", "unavailable",
    }  # fmt: skip


def test_an_operators_retry_is_the_only_way_back_to_the_queue_from_an_end() -> None:
    back = [move for move in DELIVERY_LIFECYCLE if move.target == "queued" and move.source not in ACTIVE]
    assert [(move.event, move.by) for move in back] == [("retry", ("operator",))]


@pytest.mark.parametrize(
    ("group", "members"),
    [
        (UNSENT, {"queued", "deferred"}),
        (BUSY, {"queued", "deferred", "sending"}),
        (ACTIVE, {"queued", "deferred", "sending", "sent"}),
        (ENDED_UNSENT, {"cancelled", "expired"}),
        (RETRYABLE_REASONS, {"attempts_exhausted"}),
        (LATE_RECEIPT_REASONS, {"outcome_unknown", "receipt_timeout"}),
    ],
    ids=["unsent", "busy", "active", "ended_unsent", "retryable", "late_receipt"],
)
def test_the_groups_are_those_of_the_design(group: frozenset[str], members: set[str]) -> None:
    assert group == members
