"""What the tests of the use cases start from."""

from collections.abc import Iterator

import pytest

from tests.application.world import World


@pytest.fixture
def world() -> Iterator[World]:
    """The platform with ana and bob, told of overdue invoices in the app and on Slack; no call may fail unnoticed."""
    world = World()
    world.register_people("ana", "bob")
    world.register_definition()
    yield world
    assert world.failures == []
