"""Every move of a request and of a delivery is counted once, by the state it leads to."""

import io
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from notify_core.adapters.counting import counting_notices, counting_requests
from notify_core.adapters.telemetry import PowertoolsTelemetry
from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.ports import Conflict, Ports
from notify_core.application.tasks import message_of
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS
from notify_core.domain.request_lifecycle import RequestState
from tests.application.delivery import accept_only, accepted, deliver
from tests.application.world import World


@pytest.fixture
def world() -> World:
    """The platform with ana and bob, told of overdue invoices in the app and on Slack."""
    world = World()
    world.register_people("ana", "bob")
    world.register_definition()
    world.ports = counting(world.ports)
    return world


def counting(ports: Ports) -> Ports:
    """The ports, their stores counted as the functions have them."""
    return replace(
        ports,
        requests=counting_requests(ports.requests, ports.telemetry),
        notices=counting_notices(ports.notices, ports.telemetry),
    )


def moves(world: World, metric: str) -> dict[tuple[str, ...], int]:
    return {
        tuple(value for _, value in dimensions): number
        for (name, dimensions), number in world.telemetry.counts.items()
        if name == metric
    }


def test_a_request_and_its_deliveries_are_counted_as_far_as_they_come(world: World) -> None:
    deliver(world, accepted(world, "ana", "bob"))
    assert moves(world, "request_moves") == {("open",): 1}
    assert moves(world, "delivery_moves") == {("console", "delivered"): 2, ("chat", "delivered"): 2}


def test_a_withdrawal_counts_what_it_stops(world: World) -> None:
    accepted(world, "ana", "bob")
    world.withdraw(request_key="k1")
    accept_only(world)
    assert moves(world, "request_moves") == {("open",): 1, ("superseded",): 1}
    assert moves(world, "delivery_moves") == {("console", "delivered"): 2, ("chat", "cancelled"): 2}


def test_a_replacement_counts_what_it_replaces_though_it_is_a_transaction(world: World) -> None:
    world.register_definition(replace_previous=True)
    for key in ("k1", "k2"):
        world.publish(key, "ana", replacement_key="r")
        accept_only(world)
    assert moves(world, "request_moves") == {("open",): 2, ("superseded",): 1}


def test_a_write_that_loses_its_race_counts_nothing(world: World) -> None:
    accepted(world, "ana")
    stale = world.request("k1")
    world.withdraw(request_key="k1")
    accept_only(world)
    before = moves(world, "request_moves")
    with pytest.raises(Conflict):
        world.ports.requests.put(replace(stale, state=RequestState.SETTLED, version=stale.version + 1), stale)
    assert moves(world, "request_moves") == before


def test_a_happy_batch_of_ten_logs_less_than_two_hundred_bytes_a_delivery(world: World) -> None:
    people = [f"p{number}" for number in range(10)]
    world.register_people(*people)
    tasks = accepted(world, *people)
    output = io.StringIO()
    telemetry = PowertoolsTelemetry(service="deliver_chat", stream=output)
    ports = counting(replace(world.ports, telemetry=telemetry))
    bodies = {str(number): json.dumps(message_of(task).body) for number, task in enumerate(tasks)}
    with telemetry.invocation("5f1c3c5e-6f4e-4d8e-9d55-0a6d5a2d3f11"):
        until = world.clock.now() + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)
        assert deliver_messages(bodies, ports, until=until) == set()
    written = output.getvalue()
    assert [json.loads(line).get("sends") for line in written.splitlines()].count(10) == 1
    assert len(written.encode()) < 200 * len(people)
