"""How every table of the process is called, and the items bound to the tables of one deploy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from notify_core.adapters.aws import client_config
from notify_core.adapters.dynamodb.items import Item
from notify_core.domain.limits import STORE_TIMEOUT_SECONDS, STORE_TRIES_MAX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from pynamodb.connection import TableConnection

AnyItem = TypeVar("AnyItem", bound=Item)

_CONNECT_SECONDS: Final = STORE_TIMEOUT_SECONDS / 4

CLIENT_CONFIG: Final = client_config(
    connect_seconds=_CONNECT_SECONDS,
    read_seconds=STORE_TIMEOUT_SECONDS - _CONNECT_SECONDS,
    tries_max=STORE_TRIES_MAX,
)
"""What the one client of a process is made with: every write is conditional, so that trying again does no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    """What the tables of a deploy are called."""

    registry: str
    directory: str
    requests: str
    notices: str


def bind(item: type[AnyItem], table: str, client: "DynamoDBClient") -> type[AnyItem]:
    """The item over one table, called through the client: pynamodb would make another for every item."""
    kind = cast("Any", type(item))
    meta = type("Meta", (), {"table_name": table})
    bound: Any = kind(item.__name__, (item,), {"Meta": meta, "__module__": item.__module__})
    connection: Any = table_of(bound).connection
    connection._client = client  # noqa: SLF001  (pynamodb has no other way to share one)
    return cast("type[AnyItem]", bound)


def table_of(item: type[Item]) -> "TableConnection":
    """Where a bound item's calls go."""
    kind: Any = item
    return cast("TableConnection", kind._get_connection())  # noqa: SLF001  (the calls are public, the way is not)
