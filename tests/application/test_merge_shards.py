"""Merging shards: one list, newest first, whatever the spread, the page size or the filter."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.adapters.memory import gather
from notify_core.application.merge_shards import ROWS_SCANNED_MAX, MergedPage, merge_shards

Row = tuple[datetime, str]
START = datetime(2026, 11, 30, 10, tzinfo=UTC)


class Shards:
    """Rows by shard, counting what is asked of them."""

    def __init__(self, *shards: Sequence[Row]) -> None:
        self.shards = [sorted(rows, reverse=True) for rows in shards]
        self.queries = 0
        self.rows_read = 0

    def fetch(self, shard: int, before: Row | None, limit: int) -> Sequence[Row]:
        rows = [row for row in self.shards[shard] if before is None or row < before][:limit]
        self.queries += 1
        self.rows_read += len(rows)
        return rows

    def page(self, before: Row | None = None, limit: int = 3, wanted: str = "") -> MergedPage[Row, Row]:
        return merge_shards(
            self.fetch,
            lambda row: row,
            lambda row: wanted in row[1],
            shards=len(self.shards),
            before=before,
            limit=limit,
            gather=gather,
        )

    def pages(self, limit: int, wanted: str = "") -> list[Sequence[Row]]:
        pages = [self.page(None, limit, wanted)]
        while pages[-1].before is not None:
            pages.append(self.page(pages[-1].before, limit, wanted))
        return [page.rows for page in pages]


def row(second: int, name: str) -> Row:
    return (START + timedelta(seconds=second), name)


def test_the_shards_make_one_list_newest_first() -> None:
    shards = Shards([row(1, "a"), row(4, "d")], [row(3, "c"), row(2, "b")], [])
    assert shards.pages(limit=3) == [[row(4, "d"), row(3, "c"), row(2, "b")], [row(1, "a")]]


def test_equal_times_in_two_shards_are_ordered_by_name_over_the_pages() -> None:
    shards = Shards([row(1, "b")], [row(1, "a")], [row(1, "c")])
    assert shards.pages(limit=1) == [[row(1, "c")], [row(1, "b")], [row(1, "a")]]


def test_a_page_that_ends_one_shard_exactly_says_that_the_list_is_over() -> None:
    shards = Shards([row(2, "b"), row(1, "a")])
    assert shards.page(limit=2) == MergedPage(rows=[row(2, "b"), row(1, "a")], before=None)


def test_a_page_of_one_shard_is_one_query() -> None:
    shards = Shards([row(second, "a") for second in range(1_000)])
    shards.page(limit=50)
    assert (shards.queries, shards.rows_read) == (1, 51)


def test_a_page_of_many_shards_asks_each_of_them_once() -> None:
    shards = Shards(*[[row(64 * second + shard, "a") for second in range(100)] for shard in range(64)])
    shards.page(limit=50)
    assert (shards.queries, shards.rows_read) == (64, 64 * 4)


def test_a_filter_that_skips_many_gives_a_short_page_that_goes_on() -> None:
    shards = Shards([row(second, "yes" if second == 0 else "no") for second in range(ROWS_SCANNED_MAX + 1)])
    assert shards.page(wanted="yes") == MergedPage(rows=[], before=row(1, "no"))
    assert shards.page(row(1, "no"), wanted="yes") == MergedPage(rows=[row(0, "yes")], before=None)


def test_rows_that_arrive_between_two_pages_move_nothing() -> None:
    shards = Shards([row(3, "c"), row(2, "b"), row(1, "a")])
    first = shards.page(limit=2)
    shards.shards[0].insert(0, row(4, "d"))
    assert shards.page(first.before, limit=2).rows == [row(1, "a")]


def test_a_row_listed_where_it_no_longer_stands_hides_none_before_it() -> None:
    class Lagging(Shards):
        def fetch(self, shard: int, before: Row | None, limit: int) -> Sequence[Row]:
            rows = super().fetch(shard, before, limit)
            return [row(9, "moved") if item == row(2, "b") else item for item in rows]

    shards = Lagging([row(3, "c"), row(2, "b"), row(1, "a")])
    assert [name for _, name in shards.page(limit=3).rows] == ["c", "moved", "a"]


@pytest.mark.parametrize("limit", [1, 2, 7])
@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.text("abc", min_size=1, max_size=3)), unique=True),
    count=st.integers(1, 5),
    wanted=st.sampled_from(["", "a"]),
)
def test_the_pages_together_are_every_row_wanted_once_and_in_order(
    limit: int, rows: list[tuple[int, str]], count: int, wanted: str
) -> None:
    placed = [row(second, name) for second, name in rows]
    shards = Shards(*[placed[shard::count] for shard in range(count)])
    pages = shards.pages(limit, wanted)
    assert [item for page in pages for item in page] == sorted(
        (item for item in placed if wanted in item[1]), reverse=True
    )
    assert all(len(page) <= limit for page in pages)
