"""The stack deploys the tables that the items expect."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from infra.local.cdk import find_node
from infra.settings import Settings
from notify_core.adapters.dynamodb.items import NoticeItem, RequestItem
from tests.conformance.tables import TABLES, Index, Key, Table, declared


def deployed() -> Mapping[str, Mapping[str, Any]]:
    """The properties of each table in the template."""
    os.environ["JSII_NODE"] = str(find_node())
    # Importing them starts Node: only here, where it is needed.
    from aws_cdk import App, Stack  # noqa: PLC0415
    from aws_cdk.assertions import Template  # noqa: PLC0415

    from infra.storage import add_tables  # noqa: PLC0415

    stack = Stack(App(), "storage")
    tables = add_tables(stack, Settings(issuer_url="https://issuer.example.com"))
    found = Template.from_stack(stack).find_resources("AWS::DynamoDB::Table")
    ids = {table.value: stack.get_logical_id(tables[table].node.default_child) for table in tables}
    return {table: found[logical_id]["Properties"] for table, logical_id in ids.items()}


def _table(properties: Mapping[str, Any]) -> Table:
    return Table(
        key=_key(properties["KeySchema"]),
        indexes={
            index["IndexName"]: Index(
                key=_key(index["KeySchema"]),
                is_local=is_local,
                projection=index["Projection"]["ProjectionType"],
                attributes=frozenset(index["Projection"].get("NonKeyAttributes", ())),
            )
            for is_local in (True, False)
            for index in properties.get("LocalSecondaryIndexes" if is_local else "GlobalSecondaryIndexes", ())
        },
    )


def _key(elements: Sequence[Mapping[str, str]]) -> Key:
    return Key(**{element["KeyType"].lower(): element["AttributeName"] for element in elements})


def test_the_stack_deploys_the_tables_that_the_items_expect() -> None:
    template = deployed()
    assert {table: _table(properties) for table, properties in template.items()} == {
        table: declared(item) for table, item in TABLES.items()
    }
    assert {
        attribute["AttributeType"]
        for properties in template.values()
        for attribute in properties["AttributeDefinitions"]
    } == {"S"}
    assert {
        table: properties["TimeToLiveSpecification"]["AttributeName"]
        for table, properties in template.items()
        if "TimeToLiveSpecification" in properties
    } == {"requests": RequestItem.delete_at.attr_name, "notices": NoticeItem.delete_at.attr_name}


LISTED = frozenset(
    {
        "definition",
        "definition_version",
        "request_key",
        "replacement_key",
        "fold_key",
        "state",
        "reason",
        "published_at",
        "not_before",
        "expires_at",
        "recorded_at",
        "closed_at",
        "differing_repeat_at",
    }
)


def test_the_items_declare_the_indexes_of_the_design() -> None:
    assert {table: declared(item) for table, item in TABLES.items()} == {
        "registry": Table(key=Key(hash="pk", range="sk"), indexes={}),
        "directory": Table(key=Key(hash="pk", range="sk"), indexes={}),
        "requests": Table(
            key=Key(hash="pk"),
            indexes={
                "due": Index(
                    key=Key(hash="due_shard", range="due_at"),
                    is_local=False,
                    projection="INCLUDE",
                    attributes=frozenset({"definition", "state", "version"}),
                ),
                "history": Index(
                    key=Key(hash="history_shard", range="history_key"),
                    is_local=False,
                    projection="INCLUDE",
                    attributes=LISTED,
                ),
                "dead_lettered": Index(
                    key=Key(hash="dead_lettered_shard", range="history_key"),
                    is_local=False,
                    projection="INCLUDE",
                    attributes=LISTED,
                ),
            },
        ),
        "notices": Table(
            key=Key(hash="pk", range="sk"),
            indexes={
                "inbox": Index(key=Key(hash="pk", range="inbox"), is_local=True, projection="KEYS_ONLY"),
                "attention": Index(
                    key=Key(hash="attention_shard", range="failed_at"),
                    is_local=False,
                    projection="KEYS_ONLY",
                ),
            },
        ),
    }
