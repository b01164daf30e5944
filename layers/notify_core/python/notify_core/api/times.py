"""Times and durations as JSON has them."""

from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS_SECONDS: Final = (("H", 3600), ("M", 60), ("S", 1))


def timestamp(at: datetime) -> str:
    """RFC 3339 in UTC; microseconds only where there are some, so that a time read is the time kept."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def optional_timestamp(at: datetime | None) -> str | None:
    """RFC 3339 in UTC, or null."""
    return None if at is None else timestamp(at)


def duration(length: timedelta) -> str:
    """ISO 8601 in days, hours, minutes and seconds: `P7D`, `PT1H30M`."""
    parts: list[str] = []
    rest = length.seconds
    for unit, seconds in _UNITS_SECONDS:
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count}{unit}")
    days = f"{length.days}D" if length.days or not parts else ""
    return f"P{days}{'T' if parts else ''}{''.join(parts)}"
