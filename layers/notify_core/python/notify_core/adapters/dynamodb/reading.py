"""Reading rows: one, many, and how many."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pynamodb.constants import COUNT
from pynamodb.exceptions import DoesNotExist
from pynamodb.expressions.condition import Condition

from notify_core.adapters.dynamodb.client import table_of
from notify_core.adapters.dynamodb.errors import translated
from notify_core.adapters.dynamodb.items import Item
from notify_core.application.ports import StoreUnavailable

AnyItem = TypeVar("AnyItem", bound=Item)

BATCH_KEYS_MAX: Final = 100
"""DynamoDB's own limit."""
_WAITS_SECONDS: Final = (0.05, 0.1, 0.2, 0.4)
"""Before a batch read asks again for the keys that DynamoDB left over; from the start after each progress."""


def get(item: type[AnyItem], pk: str, sk: str | None = None, *, consistent: bool = True) -> AnyItem | None:
    """One row, or None."""
    with translated():
        try:
            return item.get(pk, sk, consistent_read=consistent)
        except DoesNotExist:
            return None


def get_many(item: type[AnyItem], keys: Sequence[Mapping[str, str]], *, consistent: bool = True) -> Iterator[AnyItem]:
    """Those of the rows that exist, in any order.

    Raises:
        StoreUnavailable: DynamoDB kept leaving keys over.
    """
    distinct = list({tuple(key.values()): key for key in keys}.values())
    for start in range(0, len(distinct), BATCH_KEYS_MAX):
        yield from _get_batch(item, distinct[start : start + BATCH_KEYS_MAX], consistent=consistent)


def _get_batch(item: type[AnyItem], keys: Sequence[Mapping[str, Any]], *, consistent: bool) -> Iterator[AnyItem]:
    table: Any = table_of(item)
    waits = iter(_WAITS_SECONDS)
    while keys:
        with translated():
            answer: dict[str, Any] = table.batch_get_item(keys, consistent_read=consistent)
        found = answer.get("Responses", {}).get(table.table_name, [])
        for raw in found:
            yield item.from_raw_data(raw)
        keys = answer.get("UnprocessedKeys", {}).get(table.table_name, {}).get("Keys", [])
        if keys:
            waits = iter(_WAITS_SECONDS) if found else waits
            wait_seconds = next(waits, None)
            if wait_seconds is None:
                raise StoreUnavailable(f"DynamoDB left {len(keys)} keys of a batch unread")
            time.sleep(wait_seconds)


def differ(found: Item, amounts_to: Item, attributes: Sequence[str]) -> bool:
    """Whether one of the attributes isn't the same in two rows."""
    return any(getattr(found, name) != getattr(amounts_to, name) for name in attributes)


def count(item: type[Item], index: str, pk: str, condition: Condition, *, limit: int) -> int:
    """How many rows an index shows, strongly consistent, counted up to the limit."""
    table: Any = table_of(item)
    counted = 0
    start: Mapping[str, Any] | None = None
    while counted < limit:
        with translated():
            page: dict[str, Any] = table.query(
                pk,
                condition,
                index_name=index,
                consistent_read=True,
                exclusive_start_key=start,
                limit=limit - counted,
                select=COUNT,
            )
        counted += page["Count"]
        start = page.get("LastEvaluatedKey")
        if start is None:
            break
    return counted
