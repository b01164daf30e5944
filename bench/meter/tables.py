"""DynamoDB's tables in memory, as fast with ten thousand rows as with one: the real stores call them, under the meter.

They answer what the stores ask, indexes included, strongly always. Conditions aren't checked: the growth of a cost is
measured where nobody races. That the same calls are made here as on an emulator is held by a test.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import botocore.session
from botocore.awsrequest import AWSResponse

from bench.meter.capacity import Key, Table
from bench.meter.meter import KeyCondition, Meter, NotMetered, params_of
from bench.meter.schema import metered_tables
from bench.meter.sizes import Item
from notify_core.adapters.dynamodb import CLIENT_CONFIG, DynamoStores, TableNames, connect

NAMES: Final = TableNames(registry="registry", directory="directory", requests="requests", notices="notices")
_Place = tuple[str, str | None]
_Rank = tuple[str, ...]


class MemoryTables:
    """Rows by key, and for the table and each index the keys of every partition in order."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._rows: dict[str, dict[_Rank, Item]] = {name: {} for name in tables}
        self._order: defaultdict[tuple[_Place, str], list[tuple[_Rank, _Rank]]] = defaultdict(list)

    def answer(self, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What DynamoDB would answer."""
        match operation:
            case "GetItem":
                found = self.get(params["TableName"], params["Key"])
                return {} if found is None else {"Item": found}
            case "BatchGetItem":
                asked = params["RequestItems"].items()
                return {
                    "Responses": {name: list(self._found(name, what["Keys"])) for name, what in asked},
                    "UnprocessedKeys": {},
                }
            case "Query":
                return self._query(params)
            case "PutItem":
                self.put(params["TableName"], params["Item"])
            case "DeleteItem":
                self.delete(params["TableName"], params["Key"])
            case "TransactWriteItems":
                for action in params["TransactItems"]:
                    if "Put" in action:
                        self.put(action["Put"]["TableName"], action["Put"]["Item"])
                    if "Delete" in action:
                        self.delete(action["Delete"]["TableName"], action["Delete"]["Key"])
            case _:
                raise NotMetered(f"dynamodb {operation}")
        return {}

    def get(self, table: str, key: Item) -> Item | None:
        """A row."""
        return self._rows[table].get(self._tables[table].key.of(key) or ())

    def put(self, table: str, item: Item) -> None:
        """Write a row."""
        self.delete(table, item)
        identity = self._tables[table].key.of(item) or ()
        self._rows[table][identity] = item
        for place, rank in self._places(table, item):
            insort(self._order[place, rank[0]], (rank[1:], identity))

    def delete(self, table: str, key: Item) -> None:
        """Forget a row."""
        identity = self._tables[table].key.of(key) or ()
        before = self._rows[table].pop(identity, None)
        if before is not None:
            for place, rank in self._places(table, before):
                entries = self._order[place, rank[0]]
                del entries[bisect_left(entries, (rank[1:], identity))]

    def _found(self, table: str, keys: Iterable[Item]) -> Iterator[Item]:
        for key in keys:
            found = self.get(table, key)
            if found is not None:
                yield found

    def _places(self, table: str, item: Item) -> Iterator[tuple[_Place, _Rank]]:
        schema = self._tables[table]
        keys: Sequence[tuple[str | None, Key]] = [
            (None, schema.key),
            *((name, index.key) for name, index in schema.indexes.items()),
        ]
        for name, key in keys:
            rank = key.of(item)
            if rank is not None:
                yield (table, name), rank

    def _query(self, params: Mapping[str, Any]) -> dict[str, Any]:
        table, index = params["TableName"], params.get("IndexName")
        condition = KeyCondition.of(params)
        entries = self._order[(table, index), condition.partition]
        low, high = condition.bounds()
        begin = 0 if low is None else bisect_left(entries, ((low,), ()))
        end = len(entries) if high is None else bisect_left(entries, ((high,), ()))
        names = [identity for _, identity in entries[begin:end]]
        if not params.get("ScanIndexForward", True):
            names.reverse()
        key = self._tables[table].key
        if (start := params.get("ExclusiveStartKey")) is not None:
            names = names[names.index(key.of(start) or ()) + 1 :]
        matching = (item for name in names if condition.holds(item := self._rows[table][name]))
        limit = params.get("Limit")
        items = list(islice(matching, limit))
        answer: dict[str, Any] = {"Count": len(items), "ScannedCount": len(items)}
        if limit is not None and next(matching, None) is not None:
            attributes = {name for found in (key, *self._keys(table, index)) for name in (found.hash, found.range)}
            answer["LastEvaluatedKey"] = {name: items[-1][name] for name in attributes if name is not None}
        if params.get("Select") != "COUNT":
            answer["Items"] = items
        return answer

    def _keys(self, table: str, index: str | None) -> Iterator[Key]:
        if index is not None:
            yield self._tables[table].indexes[index].key


def metered_stores() -> tuple[DynamoStores, Meter, MemoryTables]:
    """The real stores over tables in memory, with the meter between them."""
    schemas = metered_tables(NAMES)
    meter, tables = Meter(schemas), MemoryTables(schemas)
    client: Any = botocore.session.Session().create_client(
        "dynamodb",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=CLIENT_CONFIG,
    )
    meter.attach(client.meta.events)

    def answer(model: Any, context: Mapping[str, Any], **_: object) -> tuple[AWSResponse, dict[str, Any]]:  # noqa: ANN401
        answered = tables.answer(model.name, params_of(context))
        meter.received(f"response-received.dynamodb.{model.name}", context, answered)
        http: Any = AWSResponse
        return http("", 200, {}, None), answered

    client.meta.events.register("before-call.dynamodb", answer)
    return connect(NAMES, client), meter, tables
