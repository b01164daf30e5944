"""The meter: stands where a process calls AWS, and keeps what each call is charged for."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from bench.meter import capacity
from bench.meter.capacity import TRANSACTION_FACTOR, Consumed, Table
from bench.meter.sizes import STORED_OVERHEAD_BYTES, Item, item_bytes

SQS_REQUEST_BYTES: Final = 64 * 1024
_REFUSED: Final = "ConditionalCheckFailedException"
_CANCELLED: Final = "TransactionCanceledException"
_CONTEXT: Final = "bench_meter_params"


class NotMetered(Exception):
    """A call whose price the meter doesn't know: it would rather fail than count nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to AWS: what was charged for it, and where. `requests` are SQS's, of 64 KB."""

    service: str
    operation: str
    place: str
    consumed: tuple[Consumed, ...] = ()
    requests: int = 0
    error: str | None = None

    @property
    def write_units(self) -> float:
        """Of the table, and of its indexes."""
        return capacity.total_write_units(self.consumed)

    @property
    def read_units(self) -> float:
        """Of the table or index that was read."""
        return capacity.total_read_units(self.consumed)


class Rows:
    """The rows of tables as their writes leave them: what a write is charged for depends on what it replaces."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, dict[tuple[str, ...], Item]] = defaultdict(dict)

    def get(self, table: Table, key: Item) -> Item | None:
        """A row by the item or key that names it."""
        return self._rows[table.name].get(table.key.of(key) or ())

    def put(self, table: Table, item: Item) -> None:
        """Keep a row in place of what it replaces."""
        self._rows[table.name][table.key.of(item) or ()] = item

    def delete(self, table: Table, key: Item) -> None:
        """Forget a row."""
        self._rows[table.name].pop(table.key.of(key) or (), None)

    def all(self, table: Table) -> Sequence[Item]:
        """Every row of a table."""
        return list(self._rows[table.name].values())


class Meter:
    """Keeps the calls of every client that is made from a session it was attached to."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """`tables` are those of the deploy by the names they have there; every write to them has to be seen."""
        self._tables = tables
        self._rows = Rows()
        self._lock = Lock()
        self.calls: list[Call] = []

    def attach(self, events: Any) -> None:  # noqa: ANN401  (a botocore session, or a client's `meta.events`)
        """Count what is called through a session's later clients, or through one client."""
        events.register("provide-client-params", _keep_params)
        events.register("response-received", self.received)

    def take(self) -> list[Call]:
        """The calls since the last time."""
        with self._lock:
            taken, self.calls = self.calls, []
            return taken

    def rows(self, table: str) -> Sequence[Item]:
        """The rows of a table, as the writes left them."""
        return self._rows.all(self._named(table))

    def lay(self, table: str, item: Item) -> None:
        """Know of a row that wasn't written through a client."""
        self._rows.put(self._named(table), item)

    def _named(self, table: str) -> Table:
        return next(item for item in self._tables.values() if item.name == table)

    def stored_bytes(self) -> Counter[str]:
        """What the rows take up, by table and index, each with the overhead that its storage is charged for."""
        return Counter(
            {
                place: sum(item_bytes(item) + STORED_OVERHEAD_BYTES for item in items)
                for table in self._tables.values()
                for place, items in table.shown(self._rows.all(table))
            }
        )

    def received(
        self,
        event_name: str,
        context: Mapping[str, Any],
        parsed_response: Mapping[str, Any] | None,
        **_: object,
    ) -> None:
        """One answer, or the lack of one: a call that is repeated by the client is charged again."""
        service, operation = event_name.split(".")[1:]
        params = params_of(context)
        error = None if parsed_response is None else parsed_response.get("Error", {}).get("Code")
        with self._lock:
            self.calls.append(self._call(service, operation, params, parsed_response, error))

    def _call(
        self,
        service: str,
        operation: str,
        params: Mapping[str, Any],
        answer: Mapping[str, Any] | None,
        error: str | None,
    ) -> Call:
        match service:
            case "dynamodb":
                return self._dynamodb(operation, params, answer or {}, error)
            case "sqs":
                queue = str(params.get("QueueUrl", "")).rpartition("/")[2]
                requests = sqs_requests(operation, params, answer or {})
                return Call(service=service, operation=operation, place=queue, requests=requests, error=error)
            case _:
                return Call(service=service, operation=operation, place="", error=error)

    # ---------------------------------------------------------------- DynamoDB

    def _dynamodb(
        self, operation: str, params: Mapping[str, Any], answer: Mapping[str, Any], error: str | None
    ) -> Call:
        is_charged = error in {None, _REFUSED, _CANCELLED}
        consumed = tuple(self._charged(operation, params, answer, error)) if is_charged else ()
        places = sorted({item.place.partition(".")[0] for item in consumed})
        return Call(service="dynamodb", operation=operation, place="+".join(places), consumed=consumed, error=error)

    def _charged(
        self, operation: str, params: Mapping[str, Any], answer: Mapping[str, Any], error: str | None
    ) -> Iterator[Consumed]:
        match operation:
            case "GetItem":
                return self._get_item(params, answer)
            case "BatchGetItem":
                return self._batch_get_item(params, answer)
            case "Query":
                return self._query(params, answer)
            case "PutItem":
                return self._write(self._table(params), params["Item"], params["Item"], error)
            case "DeleteItem":
                return self._write(self._table(params), params["Key"], None, error)
            case "TransactWriteItems":
                return self._transact_write_items(params, error)
            case _:
                raise NotMetered(f"dynamodb {operation}")

    def _get_item(self, params: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[Consumed]:
        table = self._table(params)
        yield capacity.read(
            table,
            _hash(table, params["Key"]),
            answer.get("Item"),
            consistent=params.get("ConsistentRead", False),
        )

    def _batch_get_item(self, params: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[Consumed]:
        for name, asked in params["RequestItems"].items():
            table = self._tables[name]
            found = {table.key.of(item): item for item in answer.get("Responses", {}).get(name, [])}
            left = [table.key.of(key) for key in answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])]
            for key in asked["Keys"]:
                if table.key.of(key) not in left:
                    item = found.get(table.key.of(key))
                    consistent = asked.get("ConsistentRead", False)
                    yield capacity.read(table, _hash(table, key), item, consistent=consistent)

    def _query(self, params: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[Consumed]:
        if "FilterExpression" in params:
            raise NotMetered("a query that filters is charged for what it leaves out")
        table, index = self._table(params), params.get("IndexName")
        condition = KeyCondition.of(params)
        items: Iterable[Item] = answer.get("Items", ())
        if params.get("Select") == "COUNT":
            key = table.key if index is None else table.indexes[index].key
            matching = [item for item in self._rows.all(table) if key.of(item) is not None and condition.holds(item)]
            items = sorted(matching, key=lambda item: key.of(item) or ())[: answer["ScannedCount"]]
        elif index is not None:
            # What the emulators answer from an index may be more than it shows.
            items = [self._rows.get(table, item) or item for item in items]
        yield capacity.query(table, index, condition.partition, items, consistent=params.get("ConsistentRead", False))

    def _transact_write_items(self, params: Mapping[str, Any], error: str | None) -> Iterator[Consumed]:
        for action in params["TransactItems"]:
            ((kind, asked),) = action.items()
            table = self._table(asked)
            match kind:
                case "Put":
                    yield from self._write(table, asked["Item"], asked["Item"], error, factor=TRANSACTION_FACTOR)
                case "Delete":
                    yield from self._write(table, asked["Key"], None, error, factor=TRANSACTION_FACTOR)
                case "ConditionCheck":
                    found = self._rows.get(table, asked["Key"])
                    yield capacity.refused(table, found, found or asked["Key"], factor=TRANSACTION_FACTOR)
                case _:
                    raise NotMetered(f"dynamodb TransactWriteItems {kind}")

    def _write(
        self, table: Table, key: Item, after: Item | None, error: str | None, *, factor: int = 1
    ) -> Iterator[Consumed]:
        before = self._rows.get(table, key)
        if error is not None:
            yield capacity.refused(table, before, after, factor=factor)
            return
        yield from capacity.write(table, before, after, factor=factor)
        if after is None:
            self._rows.delete(table, key)
        else:
            self._rows.put(table, after)

    def _table(self, params: Mapping[str, Any]) -> Table:
        return self._tables[params["TableName"]]


def _keep_params(params: Mapping[str, Any], context: dict[str, Any], **_: object) -> None:
    context[_CONTEXT] = params


def params_of(context: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a call was made with, as botocore keeps it on the way."""
    params: Mapping[str, Any] = context.get(_CONTEXT, {})
    return params


def _hash(table: Table, key: Item) -> str:
    return str(next(iter(key[table.key.hash].values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCondition:
    """A query's condition on the keys, in the forms that pynamodb writes."""

    partition_name: str
    partition: str
    range_name: str | None = None
    operator: str = ""
    operands: tuple[str, ...] = ()

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "KeyCondition":
        """What a query asks for."""
        text: str = params["KeyConditionExpression"]
        names = params.get("ExpressionAttributeNames", {})
        values = params["ExpressionAttributeValues"]

        def name(token: str) -> str:
            return str(names.get(token, token))

        def value(token: str) -> str:
            return str(next(iter(values[token].values())))

        first, _, rest = text.strip().removeprefix("(").removesuffix(")").partition(" AND ")
        hash_name, hash_value = re.fullmatch(r"(\S+) = (\S+)", first.strip("() ")).groups()  # type: ignore[union-attr]
        found = cls(partition_name=name(hash_name), partition=value(hash_value))
        if not rest:
            return found
        for pattern, operator in _RANGE_FORMS:
            match = pattern.search(rest)
            if match:
                groups = match.groups()
                operands = tuple(value(token) for token in groups if token.startswith(":"))
                named = next(token for token in groups if not token.startswith(":") and token not in _COMPARISONS)
                kind = operator or next(token for token in groups if token in _COMPARISONS)
                return cls(
                    partition_name=found.partition_name,
                    partition=found.partition,
                    range_name=name(named),
                    operator=kind,
                    operands=operands,
                )
        raise NotMetered(f"the key condition {text}")

    def holds(self, item: Item) -> bool:
        """Whether an item meets it."""
        if self.partition_name not in item or _text(item, self.partition_name) != self.partition:
            return False
        if self.range_name is None:
            return True
        found = _text(item, self.range_name)
        if self.operator == "begins_with":
            return found.startswith(self.operands[0])
        if self.operator == "BETWEEN":
            return self.operands[0] <= found <= self.operands[1]
        return _COMPARISONS[self.operator](found, self.operands[0])

    def bounds(self) -> tuple[str | None, str | None]:
        """Between which range keys (the first included, the second not) everything lies that can meet it."""
        match self.operator:
            case "begins_with":
                return self.operands[0], self.operands[0] + _LAST
            case "BETWEEN":
                return self.operands[0], self.operands[1] + _LAST
            case "<" | "<=":
                return None, self.operands[0] + _LAST
            case ">" | ">=":
                return self.operands[0], None
            case "=":
                return self.operands[0], self.operands[0] + _LAST
            case _:
                return None, None


_LAST: Final = "\U0010ffff"
"""Sorts after every character of ours."""
_COMPARISONS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": lambda found, operand: found == operand,
    "<": lambda found, operand: found < operand,
    "<=": lambda found, operand: found <= operand,
    ">": lambda found, operand: found > operand,
    ">=": lambda found, operand: found >= operand,
}
_RANGE_FORMS: Final = (
    (re.compile(r"begins_with\s*\((\S+),\s*(:\w+)\)"), "begins_with"),
    (re.compile(r"(#?\w+) BETWEEN (:\w+) AND (:\w+)"), "BETWEEN"),
    (re.compile(r"(#?\w+) (<=|>=|=|<|>) (:\w+)"), ""),
)


def _text(item: Item, name: str) -> str:
    return str(next(iter(item[name].values())))


# ---------------------------------------------------------------- SQS


def sqs_requests(operation: str, params: Mapping[str, Any], answer: Mapping[str, Any]) -> int:
    """Requests that SQS charges for one call: each 64 KB of what it carries is one."""
    match operation:
        case "SendMessage":
            carried = _message_bytes(params["MessageBody"], params.get("MessageAttributes", {}))
        case "SendMessageBatch":
            carried = sum(
                _message_bytes(entry["MessageBody"], entry.get("MessageAttributes", {})) for entry in params["Entries"]
            )
        case "ReceiveMessage":
            carried = sum(
                _message_bytes(message["Body"], message.get("MessageAttributes", {}))
                for message in answer.get("Messages", [])
            )
        case _:
            carried = 0
    return max(1, -(-carried // SQS_REQUEST_BYTES))


def _message_bytes(body: str, attributes: Mapping[str, Any]) -> int:
    return len(body.encode()) + len(json.dumps(attributes).encode() if attributes else b"")


# ---------------------------------------------------------------- sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What several calls came to."""

    write_units: float
    read_units: float
    sqs_requests: int
    calls: Mapping[str, int]
    """How many there were of each kind: `dynamodb PutItem notices`."""

    @classmethod
    def of(cls, calls: Sequence[Call]) -> "Usage":
        """The sum of some calls."""
        return cls(
            write_units=sum(call.write_units for call in calls),
            read_units=sum(call.read_units for call in calls),
            sqs_requests=sum(call.requests for call in calls),
            calls=dict(Counter(f"{call.service} {call.operation} {call.place}".strip() for call in calls)),
        )
