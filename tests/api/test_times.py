"""Times and durations as JSON has them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from notify_core.api.times import duration, optional_timestamp, timestamp


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 11, 30, 10, tzinfo=UTC), "2026-11-30T10:00:00Z"),
        (datetime(2026, 11, 30, 10, 0, 0, 120_000, tzinfo=UTC), "2026-11-30T10:00:00.120000Z"),
        (datetime(2026, 11, 30, 10, 0, 0, 1, tzinfo=UTC), "2026-11-30T10:00:00.000001Z"),
        (datetime(2026, 11, 30, 12, tzinfo=timezone(timedelta(hours=2))), "2026-11-30T10:00:00Z"),
    ],
)
def test_a_time_is_in_utc_with_its_microseconds_where_it_has_some(at: datetime, text: str) -> None:
    assert timestamp(at) == text
    assert datetime.fromisoformat(text) == at


def test_no_time_is_null() -> None:
    assert optional_timestamp(None) is None


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(days=7), "P7D"),
        (timedelta(hours=1), "PT1H"),
        (timedelta(minutes=90), "PT1H30M"),
        (timedelta(minutes=1), "PT1M"),
        (timedelta(seconds=61), "PT1M1S"),
        (timedelta(days=1, hours=12), "P1DT12H"),
        (timedelta(hours=24), "P1D"),
        (timedelta(days=90), "P90D"),
    ],
)
def test_a_duration_is_in_days_and_time(length: timedelta, text: str) -> None:
    assert duration(length) == text
