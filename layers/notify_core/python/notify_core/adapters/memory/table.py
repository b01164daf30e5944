"""Rows by key, the sorted indexes that follow them, and how far an eventual read may lag behind."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

Place = tuple[Hashable, tuple[Any, ...]]
"""Where an index shows a row: its partition, and its rank within it, unlike any other's."""

LAST: Final = "\U0010ffff"
"""Sorts after every identifier."""

_rank: Final = itemgetter(0)


class Lag(Protocol):
    """What eventual reads answer with instead of the present value: the one hook for staleness."""

    def wrote(self, table: str, key: Hashable, before: object | None) -> None:
        """Note that a row of `requests`, `definitions` or `notices` was written over `before`."""
        ...

    def answers(self, reader: str) -> Mapping[Any, Any]:
        """The rows that a reader still sees as they were (None: absent), by key.

        Readers are the tables `requests`, `definitions` and `notices`, and the indexes `due`, `history` and
        `attention`.
        """
        ...


class Index(Generic[Key, Value]):
    """The keys of a table's rows in order, one list a partition, without those that `place` has None for."""

    def __init__(self, place: Callable[[Value], Place | None]) -> None:
        self.place = place
        self._partitions: dict[Hashable, list[tuple[tuple[Any, ...], Key]]] = {}
        self._times_shown = Counter[Key]()

    def move(self, key: Key, before: Value | None, after: Value | None) -> None:
        """Follow a row from one value to the next; None where there is no row."""
        was = None if before is None else self.place(before)
        now = None if after is None else self.place(after)
        if was == now:
            return
        if was is not None:
            entries = self._partitions[was[0]]
            del entries[bisect_left(entries, was[1], key=_rank)]
            self._times_shown[key] -= 1
        if now is not None:
            self.show(key, now)

    def show(self, key: Key, place: Place) -> None:
        """Show a row at a place, whether or not it belongs there."""
        insort(self._partitions.setdefault(place[0], []), (place[1], key), key=_rank)
        self._times_shown[key] += 1

    def hide(self, key: Key) -> None:
        """Show a row nowhere, wherever it was shown."""
        for entries in self._partitions.values():
            entries[:] = [entry for entry in entries if entry[1] != key]
        del self._times_shown[key]

    def is_right(self, key: Key, value: Value) -> bool:
        """Whether it shows the row where it belongs; one that belongs nowhere, nowhere."""
        place = self.place(value)
        if place is None:
            return not self._times_shown[key]
        entries = self.entries(place[0])
        at = bisect_left(entries, place[1], key=_rank)
        return at < len(entries) and entries[at] == (place[1], key)

    def restore(self, key: Key, value: Value) -> None:
        """Show the row where it belongs, wherever it was shown."""
        self.hide(key)
        self.move(key, None, value)

    def entries(self, partition: Hashable) -> Sequence[tuple[tuple[Any, ...], Key]]:
        """A partition's ranks and keys, in order."""
        return self._partitions.get(partition, ())


class Table(Generic[Key, Value]):
    """Rows by key, held by reference; `name` is what a lag calls it by."""

    def __init__(self, name: str, lag: Lag | None, *indexes: Index[Key, Value]) -> None:
        self._name = name
        self._lag = lag
        self._indexes = indexes
        self._rows: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """The row as it is."""
        return self._rows.get(key)

    def get_eventual(self, key: Key) -> Value | None:
        """The row as it is, or as it was."""
        stale: Mapping[Key, Value | None] = {} if self._lag is None else self._lag.answers(self._name)
        return stale[key] if key in stale else self._rows.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Write the row and what the indexes show of it."""
        before = self._rows.get(key)
        for index in self._indexes:
            index.move(key, before, value)
        self._rows[key] = value
        if self._lag is not None:
            self._lag.wrote(self._name, key, before)

    def repair(self, key: Key, value: Value) -> None:
        """Write the row and all that the indexes show of it, whatever they showed."""
        for index in self._indexes:
            index.restore(key, self._rows[key])
        self.put(key, value)

    def is_right(self, key: Key) -> bool:
        """Whether every index shows the row where it belongs."""
        row = self._rows.get(key)
        return row is None or all(index.is_right(key, row) for index in self._indexes)

    def __iter__(self) -> Iterator[Value]:
        """Every row, in the order of its first write."""
        return iter(self._rows.values())

    def query(
        self,
        index: Index[Key, Value],
        partition: Hashable,
        *,
        after: tuple[Any, ...] = (),
        before: tuple[Any, ...] = (),
        reverse: bool = False,
        limit: int | None = None,
        reader: str | None = None,
    ) -> list[Value]:
        """Rows strictly between two ranks of a partition, up to a limit, as a lagging reader sees them."""
        stale: Mapping[Key, Value | None] = {}
        if reader is not None and self._lag is not None:
            stale = self._lag.answers(reader)
        entries = _overlaid(index, partition, stale) if stale else index.entries(partition)
        low = bisect_right(entries, after, key=_rank) if after else 0
        high = bisect_left(entries, before, key=_rank) if before else len(entries)
        if limit is not None:
            low, high = (max(low, high - limit), high) if reverse else (low, min(high, low + limit))
        found = (stale.get(key, self._rows.get(key)) for _, key in entries[low:high])
        values = [value for value in found if value is not None]
        return values[::-1] if reverse else values

    def count(self, index: Index[Key, Value], partition: Hashable, *, after: tuple[Any, ...] = ()) -> int:
        """How many rows of a partition stand strictly after a rank."""
        entries = index.entries(partition)
        return len(entries) - (bisect_right(entries, after, key=_rank) if after else 0)


def _overlaid(
    index: Index[Key, Value], partition: Hashable, stale: Mapping[Key, Value | None]
) -> Sequence[tuple[tuple[Any, ...], Key]]:
    """A partition as it was for the stale rows, and as it is for the others."""
    old = [
        (place[1], key)
        for key, value in stale.items()
        if value is not None and (place := index.place(value)) is not None and place[0] == partition
    ]
    return sorted([*(entry for entry in index.entries(partition) if entry[1] not in stale), *old], key=_rank)
