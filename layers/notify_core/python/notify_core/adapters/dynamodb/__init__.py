"""The stores in DynamoDB."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from notify_core.adapters.dynamodb.client import CLIENT_CONFIG, TableNames
from notify_core.adapters.dynamodb.directory import DynamoDirectoryStore
from notify_core.adapters.dynamodb.notices import DynamoNoticeStore
from notify_core.adapters.dynamodb.registry import DynamoRegistryStore
from notify_core.adapters.dynamodb.requests import DynamoRequestStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "CLIENT_CONFIG",
    "DynamoDirectoryStore",
    "DynamoNoticeStore",
    "DynamoRegistryStore",
    "DynamoRequestStore",
    "DynamoStores",
    "TableNames",
    "connect",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoStores:
    """The four stores of one deploy, over one client."""

    registry: DynamoRegistryStore
    directory: DynamoDirectoryStore
    requests: DynamoRequestStore
    notices: DynamoNoticeStore


def connect(tables: TableNames, client: "DynamoDBClient") -> DynamoStores:
    """The stores over the tables, through a client made with CLIENT_CONFIG; nothing is called yet."""
    notices = DynamoNoticeStore(tables.notices, client)
    return DynamoStores(
        registry=DynamoRegistryStore(tables.registry, client),
        directory=DynamoDirectoryStore(tables.directory, client),
        requests=DynamoRequestStore(tables.requests, client, notices),
        notices=notices,
    )
