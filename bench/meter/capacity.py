"""The read and write units of one access, by DynamoDB's documented rules.

The emulators charge reads a flat sum, so nothing they say of units is used. A write is charged for the larger of the
item before and after it, in steps of 1 KB; each index is charged for what the write changes in it: one write for an
entry that appears, disappears or shows something else, two where its key changes. A refused conditional write is
charged like a made one, without the indexes. In a transaction every write counts twice, those to the indexes too
(AWS doesn't say, and this is the dearer reading). A read is charged in steps of 4 KB, half of it when it may be
stale, and never for nothing; the items of a query's page are added up before they are rounded, and counting them costs
as much as fetching them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.meter.sizes import Item, item_bytes

WRITE_BYTES: Final = 1024
READ_BYTES: Final = 4096
TRANSACTION_FACTOR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key's attribute names."""

    hash: str
    range: str | None = None

    def of(self, item: Item) -> tuple[str, ...] | None:
        """The key's values in an item; None where one is missing, so that a sparse index doesn't show the item."""
        names = (self.hash,) if self.range is None else (self.hash, self.range)
        if any(name not in item for name in names):
            return None
        return tuple(str(next(iter(item[name].values()))) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index's key, and the attributes that it shows besides the keys; None shows all."""

    key: Key
    shown: frozenset[str] | None = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table's name, key and indexes."""

    name: str
    key: Key
    indexes: Mapping[str, Index]

    def entry(self, index: str, item: Item | None) -> Item | None:
        """What an index shows of an item; None when it isn't in it."""
        if item is None or self.indexes[index].key.of(item) is None:
            return None
        shown = self.indexes[index].shown
        if shown is None:
            return item
        keys = (self.key, self.indexes[index].key)
        names = shown | {name for key in keys for name in (key.hash, key.range) if name is not None}
        return {name: value for name, value in item.items() if name in names}

    def shown(self, items: Sequence[Item]) -> Iterator[tuple[str, Sequence[Item]]]:
        """What the table and each of its indexes hold of these items."""
        yield self.name, items
        for name in self.indexes:
            entries = (self.entry(name, item) for item in items)
            yield f"{self.name}.{name}", [entry for entry in entries if entry is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    """Units taken from one partition key of a table or of an index (`requests.due`)."""

    place: str
    partition: str
    write_units: float = 0
    read_units: float = 0


def write(table: Table, before: Item | None, after: Item | None, *, factor: int = 1) -> Iterator[Consumed]:
    """A put or delete that was made; `after` is None for a delete."""
    yield refused(table, before, after, factor=factor)
    for name, index in table.indexes.items():
        old, new = table.entry(name, before), table.entry(name, after)
        for entry, units in _entry_writes(index, old, new):
            yield Consumed(
                place=f"{table.name}.{name}",
                partition=_partition(index.key, entry),
                write_units=units * factor,
            )


def refused(table: Table, before: Item | None, after: Item | None, *, factor: int = 1) -> Consumed:
    """A write whose condition failed: only the table is charged."""
    written = after or before or {}
    size = max(item_bytes(item) for item in (before or {}, after or {}))
    return Consumed(place=table.name, partition=_partition(table.key, written), write_units=write_units(size) * factor)


def _entry_writes(index: Index, old: Item | None, new: Item | None) -> Iterator[tuple[Item, int]]:
    if old is None and new is None:
        return
    if old is not None and new is not None and index.key.of(old) == index.key.of(new):
        if old != new:
            yield new, write_units(max(item_bytes(old), item_bytes(new)))
        return
    for entry in (old, new):
        if entry is not None:
            yield entry, write_units(item_bytes(entry))


def read(table: Table, partition: str, item: Item | None, *, consistent: bool) -> Consumed:
    """One item by its key, alone or in a batch; None for one that isn't there."""
    return Consumed(
        place=table.name,
        partition=partition,
        read_units=read_units(0 if item is None else item_bytes(item), consistent=consistent),
    )


def query(table: Table, index: str | None, partition: str, items: Iterable[Item], *, consistent: bool) -> Consumed:
    """One page of a query, of the table or of an index, whatever is selected of it; `items` as the table has them."""
    entries = items if index is None else (table.entry(index, item) or {} for item in items)
    size = sum(map(item_bytes, entries))
    return Consumed(
        place=table.name if index is None else f"{table.name}.{index}",
        partition=partition,
        read_units=read_units(size, consistent=consistent),
    )


def write_units(size_bytes: int) -> int:
    """Units of one write of this size."""
    return max(1, -(-size_bytes // WRITE_BYTES))


def read_units(size_bytes: int, *, consistent: bool) -> float:
    """Units of one read of this size."""
    return max(1, -(-size_bytes // READ_BYTES)) * (1 if consistent else 0.5)


def total_write_units(consumed: Sequence[Consumed]) -> float:
    """The write units of several."""
    return sum(item.write_units for item in consumed)


def total_read_units(consumed: Sequence[Consumed]) -> float:
    """The read units of several."""
    return sum(item.read_units for item in consumed)


def _partition(key: Key, item: Item) -> str:
    values = key.of(item)
    return values[0] if values else ""
