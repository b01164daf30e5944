"""DynamoDB as it can be: calls that interleave, are refused, lose their answers, land late, or show what was."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from notify_core.application.ports import Conflict, StoreUnavailable
from notify_core.domain.limits import STORE_TIMEOUT_SECONDS
from tests.simulation.narration import told_call

if TYPE_CHECKING:
    from tests.simulation.world import World

ROW_LAG_SECONDS_MAX = 3.0
INDEX_LAG_SECONDS_MAX = 60.0
THROTTLED_SECONDS_MAX = 3.0

_INDEX_OF = {"due": "requests", "history": "requests", "attention": "notices"}
_WRITES = {
    "put", "put_head", "commit", "repair", "mark_read", "put_channel_state", "put_definition", "put_workspace",
    "put_ledger", "put_person",
}  # fmt: skip
_TRANSACTED = {"put", "put_head", "commit"}
"""Writes of items that another transaction may hold at the moment."""


class _Old(dict[Hashable, object | None]):
    """Rows as they were; reading one is counted."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def __getitem__(self, key: Hashable) -> object | None:
        self._world.happened("stale read")
        return super().__getitem__(key)


class Lag:
    """adapters.memory.Lag: an eventual read may see any row, an index any entry, as it was before its last writes."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._rows = {table: _Old(world) for table in ("requests", "definitions", "notices")}
        self._entries: dict[str, dict[Hashable, object | None]] = {"requests": {}, "notices": {}}

    def wrote(self, table: str, key: Hashable, before: object | None) -> None:
        world = self._world
        if world.chance(world.faults.stale, "stale read"):
            self._keep(self._rows[table], key, before, ROW_LAG_SECONDS_MAX)
        if table in self._entries and world.chance(world.faults.index_lag, "index lag"):
            self._keep(self._entries[table], key, before, INDEX_LAG_SECONDS_MAX)

    def _keep(self, old: dict[Hashable, object | None], key: Hashable, before: object | None, seconds: float) -> None:
        if key not in old:
            old[key] = before
            kernel = self._world.kernel
            kernel.after(kernel.draw("lag") * seconds, lambda: old.pop(key, None))

    def answers(self, reader: str) -> Mapping[Any, Any]:
        table = _INDEX_OF.get(reader)
        if table is None:
            return self._rows[reader]
        if self._entries[table]:
            self._world.happened("index lag")
        return self._entries[table]


class Interleaved:
    """A store whose every call may be overtaken, refused or late, die before or after its effect, or lose its answer.

    `store` is one of the memory stores; the names of its calls are those of the history.
    """

    def __init__(self, store: Any, name: str, world: "World") -> None:
        self._store = store
        self._name = name
        self._world = world

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._store, method)
        if method == "generations":
            return lambda *args: self._pages(call(*args), method)
        if method == "definition_version":
            return self._remembered(call, method)
        bound = self._write(call, method) if method in _WRITES else self._read(call, method)
        setattr(self, method, bound)
        return bound

    def _pages(self, values: Iterator[Any], method: str) -> Iterator[Any]:
        while True:
            self._world.reach(f"{self._name}.{method}", self._name)
            value = next(values, None)
            if value is None:
                return
            yield value

    def _remembered(self, call: Callable[..., Any], method: str) -> Callable[..., Any]:
        """What never changes is read once, as by the real store."""
        made, known = self._read(call, method), dict[tuple[Any, ...], Any]()

        def remembered(*args: Any) -> Any:
            if known.get(args) is None:
                known[args] = made(*args)
            return known[args]

        setattr(self, method, remembered)
        return remembered

    def _read(self, call: Callable[..., Any], method: str) -> Callable[..., Any]:
        world, store = self._world, self._name
        label = f"{store}.{method}"

        def made(*args: Any, **kwargs: Any) -> Any:
            world.reach(label, store)
            value = call(*args, **kwargs)
            if world.kernel.history is not None:
                world.kernel.tell(told_call(label, args, value))
            return value

        return made

    def _write(self, call: Callable[..., Any], method: str) -> Callable[..., Any]:
        world, store = self._world, self._name
        label = f"{store}.{method}"
        is_transacted = method in _TRANSACTED and store in {"requests", "notices"}

        def made(*args: Any, **kwargs: Any) -> Any:
            world.reach(label, store)
            faults = world.faults
            if is_transacted and world.chance(faults.causeless_conflict, "conflict without cause"):
                world.happened("conflict without cause", label)
                raise Conflict(f"{label}: another transaction holds the item")
            if world.chance(faults.late_write, "write lands late"):
                self._land_late(call, label, args, kwargs)
                raise StoreUnavailable(f"{label}: no answer yet")
            try:
                value = call(*args, **kwargs)
            except Conflict:
                if world.kernel.history is not None:
                    world.kernel.tell(told_call(label, args, None, conflicts=True))
                raise
            if world.kernel.history is not None:
                world.kernel.tell(told_call(label, args, value))
            world.answered(label)
            return value

        return made

    def _land_late(
        self, call: Callable[..., Any], label: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """The caller gives the write up; it is made all the same, a little later, if its condition still holds."""
        world = self._world
        world.happened("write lands late", label)

        def land() -> None:
            try:
                call(*args, **kwargs)
            except Conflict:
                world.kernel.tell(f"(late) {label} is refused by now")
            else:
                world.kernel.tell(f"(late) {told_call(label, args, None)}")

        world.kernel.after(world.kernel.draw("late write") * STORE_TIMEOUT_SECONDS, land)
