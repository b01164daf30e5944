"""Walking through a workspace's history in pages, over its shards, with a place that fits into a message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from notify_core.application.ports import HistoryRow
from notify_core.domain.identifiers import RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a walk stands: in a shard, before a row."""

    shard: int = 0
    before: tuple[datetime, RequestId] | None = None

    def after(self, rows: Sequence[HistoryRow]) -> "Place":
        """The place behind a page; an empty page ends its shard."""
        if not rows:
            return Place(shard=self.shard + 1)
        return Place(shard=self.shard, before=(rows[-1].recorded_at, rows[-1].request_id))


def position_of(place: Place) -> Mapping[str, Any]:
    """The place as JSON."""
    before = None if place.before is None else [place.before[0].isoformat(), place.before[1]]
    return {"shard": place.shard, "before": before}


def place_of(position: Mapping[str, Any] | None) -> Place:
    """The place in JSON; the beginning where there is none."""
    if position is None:
        return Place()
    before = position["before"]
    if before is None:
        return Place(shard=int(position["shard"]))
    return Place(shard=int(position["shard"]), before=(datetime.fromisoformat(before[0]), RequestId(before[1])))
