"""The search for an order that explains the answers: it finds one where there is one, and none where there is none."""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from greenlet import greenlet

from tests.simulation.kernel import Process
from tests.simulation.linearizability import Facts, Key, Object, Outcome, is_linearizable
from tests.simulation.operations import Operation, WithdrawalResultOnly
from tests.simulation.world import BEGIN

OLD, NEW = ("reminder", "old"), ("reminder", "new")
PUBLISHED = {OLD: 0, NEW: 10}
"""When each was published, in seconds; both expire after an hour."""


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def operation(kind: str, asked: Any, began: float, over: float, answer: Any = None) -> Operation:
    """An operation; without an answer it failed, and its effect may land up to two seconds later."""
    process = Process("p", lambda: None, greenlet(lambda: None), None)
    made = Operation(kind=kind, asked=asked, began=at(began), process=process)
    if answer is None:
        made.failed_at = at(over)
    else:
        made.answer, made.answered_at = answer, at(over)
    return made


def process(began: float, over: float, answer: str | None, key: Key = NEW) -> Operation:
    return operation("process", SimpleNamespace(definition=key[0], request_key=key[1]), began, over, answer)


def withdraw(began: float, over: float, answer: str | None, key: Key = NEW) -> Operation:
    asked = SimpleNamespace(definition=key[0], request_key=key[1])
    return operation("withdraw", asked, began, over, answer and WithdrawalResultOnly(answer))


def withdraw_key(began: float, over: float, answer: str, until: float) -> Operation:
    asked = SimpleNamespace(definition="reminder", replacement_key="r", withdrawn_at=at(until))
    return operation("withdraw_key", asked, began, over, WithdrawalResultOnly(answer))


def read(began: float, over: float, *answer: str | None, key: Key = NEW) -> Operation:
    return operation("read", key, began, over, answer)


def explained(*operations: Operation, replacement_key: str | None = None, **ends: Outcome) -> bool:
    facts = {
        key: Facts(
            published_at=at(seconds),
            request_id=key[1],
            expires_at=at(seconds + 3600),
            not_before=None,
            replacement_key=replacement_key,
        )
        for key, seconds in PUBLISHED.items()
    }
    ended = {("reminder", key): end for key, end in ends.items()}
    return is_linearizable(Object(operations=operations, keys=[OLD, NEW], facts=facts, ends=ended))


OPEN: Outcome = ("open", None)
WITHDRAWN: Outcome = ("superseded", "withdrawn")
TOMBSTONE: Outcome = ("cancelled", "withdrawn")


@pytest.mark.parametrize(
    ("history", "end"),
    [
        ([process(0, 1, "open"), withdraw(2, 3, "stopped")], WITHDRAWN),
        ([withdraw(0, 1, "on_arrival"), process(2, 3, "repeated")], TOMBSTONE),
        ([process(0, 3, "open"), withdraw(1, 2, "stopped")], WITHDRAWN),
        ([process(0, 3, "repeated"), withdraw(1, 2, "on_arrival")], TOMBSTONE),
        ([process(0, 1, None), withdraw(2, 3, "stopped")], WITHDRAWN),
        ([process(0, 1, None), withdraw(4, 5, "on_arrival")], TOMBSTONE),
        ([process(0, 1, None), read(2.5, 2.6, *OPEN), withdraw(4, 5, "stopped")], WITHDRAWN),
        ([process(0, 1, "open"), read(2, 3, *OPEN), read(3700, 3701, "settled", None)], ("settled", None)),
    ],
    ids=[
        "withdrawn_after", "withdrawn_before", "while_it_is_accepted", "while_it_arrives", "its_answer_was_lost",
        "it_never_was", "it_landed_late", "it_settled_in_between",
    ],
)  # fmt: skip
def test_what_one_request_could_have_answered_is_explained(history: list[Operation], end: Outcome) -> None:
    assert explained(*history, new=end)


@pytest.mark.parametrize(
    ("history", "end"),
    [
        ([withdraw(0, 1, "on_arrival"), process(2, 3, "open")], OPEN),
        ([process(0, 1, "open"), withdraw(2, 3, "on_arrival")], WITHDRAWN),
        ([process(0, 1, "open"), withdraw(2, 3, "stopped"), read(4, 5, *OPEN)], WITHDRAWN),
        ([process(0, 1, "open"), withdraw(2, 3, "stopped"), withdraw(4, 5, "stopped")], WITHDRAWN),
        ([process(0, 1, "open"), process(2, 3, "open")], OPEN),
        ([process(0, 1, None), withdraw(4, 5, "on_arrival"), read(6, 7, *OPEN)], OPEN),
        ([process(0, 1, "open"), read(2, 3, "settled", None)], ("settled", None)),
        ([process(0, 1, "open"), withdraw(2, 3, "stopped")], OPEN),
    ],
    ids=[
        "accepted_though_withdrawn", "missed_though_accepted", "still_read_as_open", "stopped_twice",
        "two_outcomes", "landed_too_late", "settled_too_soon", "undone_in_the_end",
    ],
)  # fmt: skip
def test_what_no_request_could_have_answered_is_found(history: list[Operation], end: Outcome) -> None:
    assert not explained(*history, new=end)


REPLACED: Outcome = ("superseded", "replaced")
TOO_LATE: Outcome = ("cancelled", "replaced_before_acceptance")


@pytest.mark.parametrize(
    ("is_explained", "history", "ends"),
    [
        (True, [process(20, 21, "open", OLD), process(22, 23, "open")], (REPLACED, OPEN)),
        (True, [process(20, 21, "open"), process(22, 23, "cancelled", OLD)], (TOO_LATE, OPEN)),
        (True, [process(20, 21, "open", OLD), withdraw_key(22, 23, "stopped", until=5)], (WITHDRAWN, None)),
        (True, [withdraw_key(20, 21, "on_arrival", until=5), process(22, 23, "cancelled", OLD)], (TOMBSTONE, None)),
        (True, [withdraw_key(20, 21, "on_arrival", until=5), process(22, 23, "open")], (None, OPEN)),
        (False, [process(20, 21, "open"), process(22, 23, "open", OLD)], (OPEN, REPLACED)),
        (False, [withdraw_key(20, 21, "on_arrival", until=15), process(22, 23, "open")], (None, OPEN)),
        (False, [process(20, 21, "open", OLD), withdraw_key(22, 23, "on_arrival", until=5)], (WITHDRAWN, None)),
        (False, [process(20, 21, "open", OLD), process(22, 23, "open")], (OPEN, OPEN)),
    ],
    ids=[
        "replaced", "the_older_comes_late", "stopped_by_key", "covered_on_arrival", "published_after_it",
        "an_older_one_replaces", "covered_and_accepted", "covered_and_missed", "two_are_open",
    ],
)  # fmt: skip
def test_requests_of_one_replacement_key_are_one_object(
    is_explained: bool, history: list[Operation], ends: tuple[Outcome | None, Outcome | None]
) -> None:
    known = {key: end for key, end in zip(("old", "new"), ends, strict=True) if end is not None}
    assert explained(*history, replacement_key="r", **known) is is_explained
