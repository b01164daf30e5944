"""The minute's sweep: bounded by its time and by what waits already; one workspace's trouble is nobody else's."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from notify_core.adapters.memory import MemoryQueues
from notify_core.application.ports import Message, Ports, QueueName, StoreUnavailable
from notify_core.application.sweep_due import sweep_due, sweep_nightly
from notify_core.domain.identifiers import WorkspaceId
from notify_core.domain.limits import RECONCILE_BACKLOG_MAX, SPARE_SECONDS
from tests.application.faulty import watched
from tests.application.world import World

WORKSPACES = [WorkspaceId(name) for name in ("first", "second", "third")]


def a_day_due(world: World, *, each: int = 3) -> Ports:
    """Some due requests in each of three workspaces, and queues that are read by nobody."""
    for workspace in WORKSPACES:
        world.register_workspace(workspace)
        world.register_people("ana", workspace=workspace)
        world.register_definition(workspace=workspace)
        for number in range(each):
            world.publish(f"k{number}", workspace_id=workspace)
    world.run_only(QueueName.REQUESTS)
    world.skip(minutes=2)
    return replace(world.ports, queues=MemoryQueues())


def swept(ports: Ports, **time: float) -> list[str]:
    """The workspaces of the requests that a sweep with so much time has sent a message for."""
    until = ports.clock.now() + timedelta(**(time or {"seconds": 50}))
    sent = sweep_due(ports, until=until)
    found = taken(ports)
    assert len(found) == sent
    return found


def taken(ports: Ports) -> list[str]:
    queues: Any = ports.queues
    return [message.group for message in queues.take(QueueName.RECONCILE)]


def test_every_due_request_of_every_workspace_becomes_one_message(world: World) -> None:
    assert swept(a_day_due(world)) == [workspace for workspace in WORKSPACES for _ in range(3)]


@pytest.mark.parametrize("troubled", WORKSPACES)
def test_one_workspaces_trouble_stops_no_other_and_is_told(world: World, troubled: WorkspaceId) -> None:
    def fail(workspace: WorkspaceId, *_: object, **__: object) -> None:
        if workspace == troubled:
            raise StoreUnavailable("throttled")

    ports = watched(a_day_due(world), "requests.due", before=fail)
    assert swept(ports) == [workspace for workspace in WORKSPACES if workspace != troubled for _ in range(3)]
    assert world.telemetry.alarms == [
        ("sweep_of_workspace_failed", {"workspace_id": troubled, "error": "StoreUnavailable"})
    ]


def test_a_sweep_whose_time_ends_leaves_the_rest_to_the_next(world: World) -> None:
    ports = a_day_due(world)

    def wait(*_: object, **__: object) -> None:
        world.skip(seconds=20)

    slow = watched(ports, "requests.due", before=wait)
    assert swept(slow, seconds=20 + SPARE_SECONDS) == ["first"] * 3
    assert swept(ports) == [workspace for workspace in WORKSPACES for _ in range(3)]


@pytest.mark.parametrize(
    ("waiting", "sent"), [(RECONCILE_BACKLOG_MAX - 4, 4), (RECONCILE_BACKLOG_MAX, 0), (RECONCILE_BACKLOG_MAX + 1, 0)]
)
def test_a_sweep_adds_no_more_than_there_is_room_for(world: World, waiting: int, sent: int) -> None:
    ports = a_day_due(world)
    ports.queues.send(QueueName.RECONCILE, [Message(body={}, group="before")] * waiting)
    assert sweep_due(ports, until=ports.clock.now() + timedelta(seconds=50)) == sent
    assert len(taken(ports)) == waiting + sent
    told = [("reconcile_backlog", {"count": waiting})] if waiting > RECONCILE_BACKLOG_MAX else []
    assert world.telemetry.alarms == told


def test_a_sweep_run_twice_or_late_does_everything_once(world: World) -> None:
    a_day_due(world)
    world.skip(hours=12)
    world.sweep_only()
    world.sweep_only()
    world.run()
    assert world.chat.calls == 9


def test_every_workspace_is_audited_every_night(world: World) -> None:
    ports = a_day_due(world)
    count = sweep_nightly(ports)
    found = taken(ports)
    assert (len(found), set(found) >= set(WORKSPACES)) == (count, True)
