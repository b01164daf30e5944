"""A platform whose eventual reads answer what a test has them answer."""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from notify_core.adapters.memory import FixedClock, MemoryDatabase, memory_ports
from tests.application.world import NOON, World


class Shown:
    """adapters.memory.Lag: rows that eventual readers still see as they were."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[Hashable, object | None]] = {}

    def wrote(self, table: str, key: Hashable, before: object | None) -> None:
        pass

    def answers(self, reader: str) -> Mapping[Any, Any]:
        return self.rows.get(reader, {})


class Stale(World):
    """The platform over a database that lags where it is told to."""

    def __init__(self) -> None:
        self._shown = Shown()
        database = MemoryDatabase(self._shown)
        super().__init__(memory_ports(FixedClock(NOON), database))
        self.database = database

    @contextmanager
    def showing(self, table: str, key: Hashable, value: object | None) -> Iterator[None]:
        """Have eventual readers of a table see a row so (None: absent)."""
        self._shown.rows[table] = {key: value}
        try:
            yield
        finally:
            self._shown.rows.clear()
