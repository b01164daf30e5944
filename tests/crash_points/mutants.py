"""Faults put into the product by hand, each of which some crash point must show: the test of the tester."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from unittest.mock import patch

from notify_core.adapters.dynamodb.requests import DynamoRequestStore
from notify_core.application import deliver_notices, record_receipt, retry_delivery, settle_send, sweep_request
from notify_core.application.ports import Write
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.notice import Delivery, proved_unsent
from notify_core.domain.request import Request, rescheduled
from tests.crash_points.boundary import Side

Break = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is broken, how, and where it shows: in a scenario, without a fault or at calls of a label."""

    name: str
    make: Break
    scenario: str
    label: str = ""
    side: Side = Side.DIED_AFTER


def _commit_one_by_one(store: DynamoRequestStore, writes: Sequence[Write]) -> None:
    for write in writes:
        store._put(write).make()  # noqa: SLF001  (what a careless commit would do)


def _requeued_on_a_guess(notice: Any, item: Delivery, ports: Any) -> Any:
    return proved_unsent(notice, item.channel, now=ports.clock.now())


def _watched_as_before(carrier: Request, due_at: datetime | None) -> Request:
    return rescheduled(carrier, carrier.due_at if due_at is not None else None)


MUTANTS: Sequence[Mutant] = (
    Mutant(
        "a sweep doesn't resume an acceptance",
        lambda: patch.object(sweep_request, "_is_unfinished", lambda *_: False),
        "every message of the inbox is lost",
        "PutItem requests",
    ),
    Mutant(
        "a sweep doesn't dispatch again",
        lambda: patch.object(sweep_request, "_redispatch", lambda *_, **__: None),
        "every message is lost",
    ),
    Mutant(
        "a sweep doesn't repeat a closing",
        lambda: patch.object(sweep_request, "_has_to_end", lambda *_, **__: False),
        "withdrawn over http, given up",
        "PutItem requests",
    ),
    Mutant(
        "a receipt that comes before its send is recorded is dropped",
        lambda: patch.object(record_receipt, "believes_receipt", lambda item: item.state is DeliveryState.SENT),
        "receipt before its record",
    ),
    Mutant(
        "an unknown send is taken for unsent",
        lambda: patch.object(settle_send, "_by_record", _requeued_on_a_guess),
        "told over every channel",
        "send chat",
    ),
    Mutant(
        "a transaction's writes are made one by one",
        lambda: patch.object(DynamoRequestStore, "commit", _commit_one_by_one),
        "replaced",
    ),
    Mutant(
        "a retry has nobody look at its request",
        lambda: patch.object(retry_delivery, "rescheduled", _watched_as_before),
        "exhausted and retried, given up",
        "TransactWriteItems",
    ),
    Mutant(
        "a delivery is sent without looking again after its claim",
        lambda: patch.object(deliver_notices, "carries", lambda *_: True),
        "withdrawn while it is claimed",
    ),
)


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The product with the fault in it."""
    with mutant.make():
        yield
