"""What the tests of the API start from: a registered workspace in memory, and callers."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from notify_core.adapters.memory import FixedClock, MemoryQueues, MemoryTelemetry, memory_ports
from notify_core.api.cursors import Cursors
from notify_core.api.routing import Api
from notify_core.application.ports import Ports
from tests.api.client import Client, inbox_of
from tests.application.world import World as Platform

CURSORS = Cursors(lambda: b"a secret of the tests")
NOW = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)


@dataclass
class World:
    """The ports in memory, and what the tests look at."""

    clock: FixedClock
    ports: Ports

    @property
    def queues(self) -> MemoryQueues:
        return cast("MemoryQueues", self.ports.queues)

    @property
    def telemetry(self) -> MemoryTelemetry:
        return cast("MemoryTelemetry", self.ports.telemetry)

    @property
    def api(self) -> Api:
        return Api(ports=self.ports, cursors=CURSORS)

    def without(self, **broken: Any) -> Api:
        """The API with some ports taken by others."""
        return replace(self.api, ports=replace(self.ports, **broken))

    def inbox(self, person: str, workspace: str = "acme") -> Client:
        """A person's caller."""
        return Client(self.api, inbox_of(person, workspace))


@pytest.fixture
def world() -> World:
    clock = FixedClock(NOW)
    return World(clock, memory_ports(clock))


@pytest.fixture
def platform() -> Platform:
    """The whole platform in one thread, for what a call sets going."""
    return Platform()


@pytest.fixture
def producer(platform: Platform) -> Client:
    """An operator's caller on the whole platform."""
    return Client(Api(ports=platform.ports, cursors=CURSORS))


@pytest.fixture
def operator(world: World) -> Client:
    return Client(world.api)
