"""The ports in memory: for tests, and for the simulation of the whole platform."""

from notify_core.adapters.memory.database import MemoryDatabase
from notify_core.adapters.memory.stores import (
    MemoryDirectoryStore,
    MemoryNoticeStore,
    MemoryRegistryStore,
    MemoryRequestStore,
)
from notify_core.adapters.memory.table import Lag
from notify_core.adapters.memory.world import (
    FixedClock,
    MemoryQueues,
    MemoryTelemetry,
    SequentialClaimIds,
    gather,
)
from notify_core.application.ports import Ports

__all__ = [
    "FixedClock",
    "Lag",
    "MemoryDatabase",
    "MemoryDirectoryStore",
    "MemoryNoticeStore",
    "MemoryQueues",
    "MemoryRegistryStore",
    "MemoryRequestStore",
    "MemoryTelemetry",
    "SequentialClaimIds",
    "gather",
    "memory_ports",
]


def memory_ports(clock: FixedClock, database: MemoryDatabase | None = None) -> Ports:
    """All ports in memory, without senders: `replace` adds what a test brings of its own."""
    database = database or MemoryDatabase()
    return Ports(
        registry=MemoryRegistryStore(database),
        directory=MemoryDirectoryStore(database),
        requests=MemoryRequestStore(database),
        notices=MemoryNoticeStore(database),
        queues=MemoryQueues(),
        clock=clock,
        gather=gather,
        telemetry=MemoryTelemetry(),
        new_claim_id=SequentialClaimIds(),
    )
