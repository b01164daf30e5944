"""The meter's calculator: DynamoDB's and SQS's documented rules on rows small enough to count by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from bench.meter import capacity
from bench.meter.capacity import Consumed, Index, Key, Table
from bench.meter.meter import KeyCondition, NotMetered, sqs_requests
from bench.meter.sizes import item_bytes

TABLE = Table(
    name="t",
    key=Key(hash="pk"),
    indexes={"due": Index(key=Key(hash="shard", range="at"), shown=frozenset({"state"}))},
)


def row(**attributes: str) -> dict[str, dict[str, str]]:
    return {name: {"S": value} for name, value in attributes.items()}


def written(before: Any, after: Any, **how: int) -> dict[str, float]:
    """The write units of each place, in all."""
    found: dict[str, float] = {}
    for item in capacity.write(TABLE, before, after, **how):
        found[item.place] = found.get(item.place, 0) + item.write_units
    return found


@pytest.mark.parametrize(
    ("item", "size_bytes"),
    [
        ({"pk": {"S": "abc"}}, 5),
        ({"é": {"S": "€"}}, 5),
        ({"n": {"N": "0"}}, 2),
        ({"n": {"N": "12"}}, 3),
        ({"n": {"N": "-123"}}, 5),
        ({"n": {"N": "1200"}}, 3),
        ({"b": {"BOOL": True}}, 2),
        ({"e": {"NULL": True}}, 2),
        ({"b": {"B": b"1234"}}, 5),
        ({"l": {"L": []}}, 4),
        ({"l": {"L": [{"S": "ab"}, {"BOOL": True}]}}, 9),
        ({"m": {"M": {"k": {"S": "ab"}}}}, 8),
        ({"s": {"SS": ["ab", "c"]}}, 4),
    ],
)
def test_a_size_is_that_of_the_names_and_values(item: Mapping[str, Mapping[str, Any]], size_bytes: int) -> None:
    assert item_bytes(item) == size_bytes


@pytest.mark.parametrize(("size_bytes", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (400 * 1024, 400)])
def test_a_write_unit_is_a_kilobyte(size_bytes: int, units: int) -> None:
    assert capacity.write_units(size_bytes) == units


@pytest.mark.parametrize(
    ("size_bytes", "strong", "eventual"), [(0, 1, 0.5), (4096, 1, 0.5), (4097, 2, 1), (3 * 4096 + 1, 4, 2)]
)
def test_a_read_unit_is_four_kilobytes_and_half_when_it_may_be_stale(
    size_bytes: int, strong: float, eventual: float
) -> None:
    assert capacity.read_units(size_bytes, consistent=True) == strong
    assert capacity.read_units(size_bytes, consistent=False) == eventual


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, row(pk="a"), {"t": 1}),
        (None, row(pk="a", shard="s", at="1"), {"t": 1, "t.due": 1}),
        (row(pk="a", shard="s", at="1"), row(pk="a", shard="s", at="1", text="x"), {"t": 1}),
        (row(pk="a", shard="s", at="1"), row(pk="a", shard="s", at="1", state="x"), {"t": 1, "t.due": 1}),
        (row(pk="a", shard="s", at="1"), row(pk="a", shard="s", at="2"), {"t": 1, "t.due": 2}),
        (row(pk="a", shard="s", at="1"), row(pk="a", shard="s"), {"t": 1, "t.due": 1}),
        (row(pk="a", shard="s", at="1"), None, {"t": 1, "t.due": 1}),
        (None, row(pk="a", text="x" * 2000), {"t": 2}),
        (row(pk="a", text="x" * 2000), row(pk="a"), {"t": 2}),
        (row(pk="a", text="x" * 2000), None, {"t": 2}),
        (None, row(pk="a", shard="s", at="1", state="x" * 1100), {"t": 2, "t.due": 2}),
        (None, row(pk="a", shard="s", at="1", text="x" * 1100), {"t": 2, "t.due": 1}),
    ],
    ids=[
        "not in the index",
        "enters the index",
        "changes nothing the index shows",
        "changes what the index shows",
        "changes the index's key",
        "leaves the index",
        "is deleted",
        "is large",
        "was larger",
        "was large, and is deleted",
        "shows much",
        "is large where the index doesn't show it",
    ],
)
def test_a_write_is_charged_for_the_larger_row_and_for_each_index_it_changes(
    before: Any, after: Any, units: Mapping[str, float]
) -> None:
    assert written(before, after) == units


def test_a_transaction_counts_every_write_twice() -> None:
    before, after = row(pk="a", shard="s", at="1"), row(pk="a", shard="s", at="2")
    assert written(before, after, factor=capacity.TRANSACTION_FACTOR) == {"t": 2, "t.due": 4}


def test_a_refused_write_is_charged_without_the_indexes() -> None:
    before, after = row(pk="a", shard="s", at="1", text="x" * 1100), row(pk="a", shard="s", at="2")
    assert capacity.refused(TABLE, before, after) == Consumed(place="t", partition="a", write_units=2)


def test_units_are_taken_from_the_partition_that_a_row_stands_in() -> None:
    taken = list(capacity.write(TABLE, None, row(pk="a", shard="s", at="1")))
    assert [(item.place, item.partition) for item in taken] == [("t", "a"), ("t.due", "s")]


def test_a_query_adds_up_what_its_page_shows_before_it_rounds() -> None:
    items = [row(pk=str(number), shard="s", at=str(number), text="x" * 3000) for number in range(4)]
    assert capacity.query(TABLE, None, "a", items, consistent=True).read_units == 3
    assert capacity.query(TABLE, "due", "s", items, consistent=False).read_units == 0.5
    assert capacity.query(TABLE, None, "a", [], consistent=True).read_units == 1


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("#0 = :0", ["1", "2", "31"]),
        ("(#0 = :0 AND begins_with (#1, :1))", ["31"]),
        ("(#0 = :0 AND #1 BETWEEN :2 AND :1)", ["2"]),
        ("(#0 = :0 AND #1 < :1)", ["1", "2"]),
        ("(#0 = :0 AND #1 >= :1)", ["31"]),
    ],
)
def test_a_key_condition_is_read_as_pynamodb_writes_it(expression: str, matching: list[str]) -> None:
    condition = KeyCondition.of(
        {
            "KeyConditionExpression": expression,
            "ExpressionAttributeNames": {"#0": "shard", "#1": "at"},
            "ExpressionAttributeValues": {":0": {"S": "s"}, ":1": {"S": "3"}, ":2": {"S": "2"}},
        }
    )
    rows = [row(pk="a", shard=shard, at=at) for shard, at in (("s", "1"), ("s", "2"), ("s", "31"), ("other", "1"))]
    assert [item["at"]["S"] for item in rows if condition.holds(item)] == matching


def test_a_key_condition_of_another_form_is_refused() -> None:
    with pytest.raises(NotMetered):
        KeyCondition.of(
            {"KeyConditionExpression": "pk = :0 AND contains(at, :0)", "ExpressionAttributeValues": {":0": {"S": "a"}}}
        )


def entries(*bodies: str) -> dict[str, Any]:
    return {"Entries": [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]}


@pytest.mark.parametrize(
    ("operation", "params", "answer", "requests"),
    [
        ("SendMessage", {"MessageBody": "x"}, {}, 1),
        ("SendMessage", {"MessageBody": "x" * 64 * 1024}, {}, 1),
        ("SendMessage", {"MessageBody": "x" * (64 * 1024 + 1)}, {}, 2),
        ("SendMessageBatch", entries(*["x"] * 10), {}, 1),
        ("SendMessageBatch", entries("x" * 40_000, "x" * 40_000), {}, 2),
        ("ReceiveMessage", {}, {}, 1),
        ("ReceiveMessage", {}, {"Messages": [{"Body": "x" * 40_000}] * 4}, 3),
        ("DeleteMessageBatch", {}, {}, 1),
    ],
)
def test_sqs_counts_a_request_for_each_64_kilobytes(
    operation: str, params: Mapping[str, Any], answer: Mapping[str, Any], requests: int
) -> None:
    assert sqs_requests(operation, params, answer) == requests
