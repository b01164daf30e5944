"""The nightly audit looks at what moved lately, and at one in 28 of everything older: no damage stays for longer."""

from dataclasses import replace

from notify_core.application.audit_workspace import audit_workspace
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from tests.application.damage import alter_delivery, remove_request
from tests.application.steps import Steps
from tests.application.world import ACME, World


def settled_long_ago(world: World) -> None:
    world.register_definition("chat")
    world.publish("k1", "ana", "bob")
    world.advance(minutes=30)
    world.audit()
    world.skip(days=7)
    world.sweep()
    world.audit()
    world.skip(days=10)
    world.audit()


def night(world: World) -> list[str]:
    """What the next night's audit finds."""
    world.skip(days=1)
    return [difference.kind for difference in world.audit().differences]


def test_an_altered_row_that_is_old_is_found_once_within_28_nights(world: World) -> None:
    settled_long_ago(world)
    alter_delivery(world, Channel.CHAT, state=DeliveryState.FAILED)
    found = [night(world) for _ in range(28)]
    assert [kinds for kinds in found if kinds] == [["notice_state_altered"]]
    assert world.states() == {"chat": "delivered"}


def test_a_removed_row_is_found_the_next_night_however_old_it_is(world: World) -> None:
    settled_long_ago(world)
    remove_request(world, "k1")
    assert night(world) == ["request_missing"]


def test_an_old_request_is_accounted_for_without_a_read_of_it_or_its_notices(world: World) -> None:
    settled_long_ago(world)
    nights: list[int] = []
    for _ in range(28):
        world.skip(days=1)
        steps = Steps(replace(world.ports))
        report = audit_workspace(ACME, steps.ports, until=world.clock.now().replace(minute=59))
        assert report.requests == {"settled": 1}
        nights.append(sum(name.startswith("notices.") for name in steps.names()))
    assert sorted(nights)[:-1] == [0] * 27
