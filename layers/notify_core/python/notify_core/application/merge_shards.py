"""Merging the shards of an index into one list, newest first, with bounded work a page."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar

from notify_core.application.ports import Gather

Row = TypeVar("Row")
Place = TypeVar("Place")

Fetch = Callable[[int, Place | None, int], Sequence[Row]]
"""Gives a shard's rows strictly before a place, newest first; fewer than asked for only at its end."""

ROWS_SCANNED_MAX: Final = 1_000
"""How many rows one page looks at; a filter that skips more gives a short page with a cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage(Generic[Row, Place]):
    """The rows wanted, and the place that the next page is strictly before; None at the end of the list."""

    rows: Sequence[Row]
    before: Place | None


@dataclass(slots=True, kw_only=True)
class _Stream(Generic[Row, Place]):
    """One shard, read as far as the merge has come."""

    shard: int
    before: Place | None
    is_at_end: bool = False
    rows: deque[Row] = field(default_factory=deque[Row])

    def fill(self, fetch: Fetch[Place, Row], place_of: Callable[[Row], Place], limit: int) -> None:
        found = fetch(self.shard, self.before, limit)
        self.is_at_end = len(found) < limit
        self.rows.extend(found)
        if found:
            # The oldest, not the last: a lagging index may list a row where it no longer stands.
            self.before = min((place_of(row) for row in found), key=_comparable)


def merge_shards(
    fetch: Fetch[Place, Row],
    place_of: Callable[[Row], Place],
    is_wanted: Callable[[Row], bool],
    *,
    shards: int,
    before: Place | None,
    limit: int,
    gather: Gather,
) -> MergedPage[Row, Place]:
    """A page of the rows wanted over all shards; places are comparable, a later one is newer."""
    streams = [_Stream[Row, Place](shard=shard, before=before) for shard in range(shards)]
    wanted: list[Row] = []
    last = before
    for _ in range(ROWS_SCANNED_MAX):
        if len(wanted) == limit:
            break
        _fill_empty(streams, fetch, place_of, limit, gather)
        waiting = [stream for stream in streams if stream.rows]
        if not waiting:
            return MergedPage(rows=wanted, before=None)
        row = _newest(waiting, place_of).rows.popleft()
        last = place_of(row)
        if is_wanted(row):
            wanted.append(row)
    is_over = all(stream.is_at_end and not stream.rows for stream in streams)
    return MergedPage(rows=wanted, before=None if is_over else last)


def _fill_empty(
    streams: Sequence[_Stream[Row, Place]],
    fetch: Fetch[Place, Row],
    place_of: Callable[[Row], Place],
    limit: int,
    gather: Gather,
) -> None:
    empty = [stream for stream in streams if not stream.rows and not stream.is_at_end]
    if empty:
        # One shard's page in one query; of many shards twice the fair share, so that few are asked again.
        share = min(limit + 1, 2 * limit // len(streams) + 3)
        gather([partial(stream.fill, fetch, place_of, share) for stream in empty])


def _newest(streams: Sequence[_Stream[Row, Place]], place_of: Callable[[Row], Place]) -> _Stream[Row, Place]:
    return max(streams, key=lambda stream: _comparable(place_of(stream.rows[0])))


def _comparable(place: object) -> Any:  # noqa: ANN401  (a tuple that begins with a time)
    return place
