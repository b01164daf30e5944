"""The HTTP header `Retry-After`, as providers use it."""

from datetime import timedelta

from notify_core.domain.limits import DAY_SECONDS


def read_retry_after(header: str | None, *, default_seconds: int) -> timedelta:
    """How long to wait, from a second to a day; the default where the header isn't whole seconds."""
    text = (header or "").strip()
    seconds = int(text) if text.isascii() and text.isdecimal() else default_seconds
    return timedelta(seconds=min(max(seconds, 1), DAY_SECONDS))
