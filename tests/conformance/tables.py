"""The tables as the items declare them, and how to make them for a test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from notify_core.adapters.dynamodb import TableNames
from notify_core.adapters.dynamodb.items import Item, NoticeItem, PersonItem, RequestItem, WorkspaceItem

TABLES: Mapping[str, type[Item]] = {
    "registry": WorkspaceItem,
    "directory": PersonItem,
    "requests": RequestItem,
    "notices": NoticeItem,
}
"""For each table the item that has all of its indexes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key's attribute names; all are texts."""

    hash: str
    range: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index, local or global, with what it shows besides the keys."""

    key: Key
    is_local: bool
    projection: str
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table's keys, and its indexes by name."""

    key: Key
    indexes: Mapping[str, Index]


def declared(item: type[Item]) -> Table:
    """What the item declares of its table."""
    schema: Mapping[str, Any] = item._get_schema()  # noqa: SLF001  (what pynamodb itself would create)
    return Table(
        key=_key(schema["key_schema"]),
        indexes={
            index["index_name"]: Index(
                key=_key(index["key_schema"]),
                is_local=is_local,
                projection=index["projection"]["ProjectionType"],
                attributes=frozenset(index["projection"].get("NonKeyAttributes", ())),
            )
            for is_local in (True, False)
            for index in schema["local_secondary_indexes" if is_local else "global_secondary_indexes"]
        },
    )


def _key(elements: Sequence[Mapping[str, str]]) -> Key:
    return Key(**{element["KeyType"].lower(): element["AttributeName"] for element in elements})


def create_tables(client: Any) -> TableNames:
    """Four new tables, empty, with names of their own."""
    names = TableNames(**{table: f"{table}-{uuid4().hex[:12]}" for table in TABLES})
    for table, item in TABLES.items():
        client.create_table(TableName=getattr(names, table), **_creation(declared(item)))
    return names


def _creation(table: Table) -> dict[str, Any]:
    keys = [table.key, *(index.key for index in table.indexes.values())]
    attributes = {name for key in keys for name in (key.hash, key.range) if name is not None}
    locals_ = [_index_creation(name, index) for name, index in table.indexes.items() if index.is_local]
    globals_ = [_index_creation(name, index) for name, index in table.indexes.items() if not index.is_local]
    return {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in sorted(attributes)],
        "KeySchema": _schema(table.key),
        **({"LocalSecondaryIndexes": locals_} if locals_ else {}),
        **({"GlobalSecondaryIndexes": globals_} if globals_ else {}),
    }


def _index_creation(name: str, index: Index) -> dict[str, Any]:
    attributes = {"NonKeyAttributes": sorted(index.attributes)} if index.attributes else {}
    return {
        "IndexName": name,
        "KeySchema": _schema(index.key),
        "Projection": {"ProjectionType": index.projection, **attributes},
    }


def _schema(key: Key) -> list[dict[str, str]]:
    schema = [{"AttributeName": key.hash, "KeyType": "HASH"}]
    return [*schema, {"AttributeName": key.range, "KeyType": "RANGE"}] if key.range else schema
