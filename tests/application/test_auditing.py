"""The nightly audit: what it finds is repaired, and what is as it has to be is no difference, even while rows are forgotten."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.ports import QueueName
from notify_core.domain.request import rescheduled
from notify_core.domain.request_lifecycle import RequestState
from tests.application.world import ACME, World


class Forgetful:
    """A store whose rows are deleted as soon as they may be."""

    def __init__(self, store: Any, world: World) -> None:
        self._store, self._world = store, world

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def _is_kept(self, row: Any) -> bool:
        return row is not None and (row.delete_at is None or self._world.clock.now() < row.delete_at)

    def get(self, *place: Any, **options: Any) -> Any:
        row = self._store.get(*place, **options)
        return row if self._is_kept(row) else None

    def get_many(self, *places: Any, **options: Any) -> Any:
        return {key: row for key, row in self._store.get_many(*places, **options).items() if self._is_kept(row)}


@pytest.mark.parametrize("forgotten", ["notices", "requests"])
@pytest.mark.parametrize("end", ["settled", "settled late", "withdrawn", "retired", "folded"])
def test_what_is_forgotten_after_its_ninety_days_is_no_difference(world: World, end: str, forgotten: str) -> None:
    """Rows are deleted one by one, in no order, some days after they may be."""
    world.register_definition(fold_within=timedelta(hours=1) if end == "folded" else None)
    world.publish("k1", fold_key="f" if end == "folded" else None)
    world.run()
    if end == "withdrawn":
        world.withdraw(request_key="k1")
    if end == "retired":
        world.retire()
    world.advance(minutes=5)
    world.skip(days=8 if end == "settled late" else 7)
    world.sweep()
    world.advance(minutes=5)
    world.ports = replace(world.ports, **{forgotten: Forgetful(getattr(world.ports, forgotten), world)})
    for _ in range(110):
        assert world.audit().differences == []
        world.skip(days=1)


def test_a_live_request_that_is_never_due_is_found_and_swept(world: World) -> None:
    world.publish("k1")
    world.run_only(QueueName.REQUESTS)
    row = world.request()
    world.ports.requests.put(rescheduled(row, None), row)
    world.queues.purge()
    assert world.audit().differences == [("live_request_never_due", row.request_id, "")]
    world.run()
    assert (world.chat.calls, world.request().due_at is None, world.audit().differences) == (1, False, [])


def test_a_request_due_long_ago_is_found_and_swept(world: World) -> None:
    """The scheduler was off."""
    world.publish("k1", deadline=world.clock.now() + timedelta(hours=1))
    world.run()
    world.skip(hours=4)
    assert world.audit().differences == [("due_long_ago", world.id_of("k1"), "")]
    assert world.request().state is RequestState.SETTLED
    assert world.audit().differences == []


def test_the_audit_counts_what_was_opened_what_was_closed_and_what_remains(world: World) -> None:
    until: datetime = world.clock.now() + timedelta(hours=1)
    world.publish("open")
    world.publish("settled", deadline=until)
    world.publish("waits", not_before=world.clock.now() + timedelta(days=1))
    world.publish("invalid", data={})
    world.publish("withdrawn")
    world.run()
    world.withdraw(request_key="withdrawn")
    world.withdraw(request_key="early")
    world.advance(hours=2)
    report = world.audit()
    assert dict(report.requests) == {
        "open": 1, "settled": 1, "queued": 1, "invalid": 1, "superseded": 1, "cancelled": 1,
    }  # fmt: skip
    assert report.differences == []
    assert world.telemetry.counted("audit_differences") == 0
    assert world.telemetry.counted("audit_requests") == 6


def test_an_audit_that_runs_out_of_time_goes_on_in_a_message_of_its_own(world: World) -> None:
    for number in range(250):
        world.publish(f"k{number}", data={})
    world.run()
    calls, found = 0, 0
    world.ports = replace(world.ports, requests=Slow(world.ports.requests, world))  # type: ignore[arg-type]
    found += sum(world.audit().requests.values())
    while world.waiting(QueueName.RECONCILE):
        world.run_only(QueueName.RECONCILE)
        calls += 1
    assert calls > 1
    assert found == 100
    assert world.telemetry.counted("audit_requests") == 250
    assert ACME in {workspace.workspace_id for workspace in world.database.workspaces}


class Slow:
    """A store whose pages of the history take most of a function's time."""

    def __init__(self, store: Any, world: World) -> None:
        self._store, self._world = store, world

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def history(self, *place: Any, **options: Any) -> Any:
        self._world.skip(seconds=45)
        return self._store.history(*place, **options)
