"""The tables of a deploy as the meter has to know them: taken from the items, which declare them."""

from collections.abc import Mapping
from typing import Any, Final

from bench.meter.capacity import Index, Key, Table
from notify_core.adapters.dynamodb import TableNames
from notify_core.adapters.dynamodb.items import Item, NoticeItem, PersonItem, RequestItem, WorkspaceItem

_ITEMS: Final[Mapping[str, type[Item]]] = {
    "registry": WorkspaceItem,
    "directory": PersonItem,
    "requests": RequestItem,
    "notices": NoticeItem,
}
"""For each table the item that has all of its indexes."""


def metered_tables(names: TableNames) -> Mapping[str, Table]:
    """The four tables by the names that they have in a deploy."""
    return {getattr(names, name): table_of(name) for name in _ITEMS}


def table_of(name: str) -> Table:
    """One of our tables: registry, directory, requests or notices."""
    item: Any = _ITEMS[name]
    schema: Mapping[str, Any] = item._get_schema()  # noqa: SLF001  (what pynamodb itself would create)
    indexes = [*schema["local_secondary_indexes"], *schema["global_secondary_indexes"]]
    return Table(
        name=name,
        key=_key(schema["key_schema"]),
        indexes={index["index_name"]: _index(index) for index in indexes},
    )


def _index(index: Mapping[str, Any]) -> Index:
    projection = index["projection"]
    shows_all = projection["ProjectionType"] == "ALL"
    shown = None if shows_all else frozenset(projection.get("NonKeyAttributes", ()))
    return Index(key=_key(index["key_schema"]), shown=shown)


def _key(elements: list[Mapping[str, str]]) -> Key:
    names = {element["KeyType"]: element["AttributeName"] for element in elements}
    return Key(hash=names["HASH"], range=names.get("RANGE"))
