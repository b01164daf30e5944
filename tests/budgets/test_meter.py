"""The meter: it sees every call of a client, and finds the same on tables in memory as on an emulator."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import boto3
import pytest

from bench import growth
from bench.meter.meter import Meter, NotMetered, Usage
from bench.meter.schema import metered_tables
from bench.meter.sizes import Item
from bench.meter.tables import metered_stores
from notify_core.adapters.dynamodb import connect
from tests.conformance.backends import Dynamo, moto

FEW = 120
"""More than a page."""


@pytest.fixture
def dynamo() -> Iterator[Dynamo]:
    with moto() as dynamo:
        yield dynamo


def attached(dynamo: Dynamo) -> Meter:
    meter = Meter(metered_tables(dynamo.tables))
    meter.attach(dynamo.client.meta.events)
    return meter


def put(dynamo: Dynamo, table: str, item: Item) -> None:
    dynamo.client.put_item(TableName=getattr(dynamo.tables, table), Item=item)


def person(version: str) -> dict[str, Any]:
    return {"pk": {"S": "P#acme#ana"}, "sk": {"S": "person"}, "version": {"N": version}}


def test_tables_in_memory_are_asked_and_charged_like_an_emulator(dynamo: Dynamo) -> None:
    on_moto = growth.metered(connect(dynamo.tables, dynamo.client), attached(dynamo), FEW, partial(put, dynamo))
    assert growth.in_memory(FEW) == on_moto
    assert set(on_moto) == set(growth.OPERATIONS)


def test_a_refused_write_is_seen_and_charged(dynamo: Dynamo) -> None:
    meter = attached(dynamo)
    put(dynamo, "directory", person("1"))
    with pytest.raises(dynamo.client.exceptions.ConditionalCheckFailedException):
        dynamo.client.put_item(
            TableName=dynamo.tables.directory, Item=person("2"), ConditionExpression="attribute_not_exists(pk)"
        )
    calls = meter.take()
    assert [(call.operation, call.write_units, call.error) for call in calls] == [
        ("PutItem", 1, None),
        ("PutItem", 1, "ConditionalCheckFailedException"),
    ]
    assert meter.rows("directory") == [person("1")]


def test_what_the_meter_has_no_price_for_is_refused(dynamo: Dynamo) -> None:
    attached(dynamo)
    with pytest.raises(NotMetered):
        dynamo.client.scan(TableName=dynamo.tables.directory)


def test_a_queue_is_charged_for_what_is_asked_of_it(dynamo: Dynamo) -> None:
    meter = Meter(metered_tables(dynamo.tables))
    sqs = boto3.Session(region_name="us-east-1").client("sqs")
    url = sqs.create_queue(QueueName="requests")["QueueUrl"]
    meter.attach(sqs.meta.events)
    sqs.send_message(QueueUrl=url, MessageBody="x" * 100_000)
    sqs.receive_message(QueueUrl=url)
    usage = Usage.of(meter.take())
    assert (usage.sqs_requests, usage.calls) == (4, {"sqs SendMessage requests": 1, "sqs ReceiveMessage requests": 1})


def test_the_stores_in_memory_begin_empty() -> None:
    _, meter, _ = metered_stores()
    assert (meter.take(), sum(meter.stored_bytes().values())) == ([], 0)
