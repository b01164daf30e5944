"""The small bodies of calls over HTTP, which no queue carries."""

from typing import Literal

from pydantic import Field

from notify_core.domain.limits import PAGE_ITEMS, PAGE_ITEMS_MAX
from notify_core.messages.fields import Body, Time


class ReadAllBody(Body):
    """Up to when everything is read."""

    up_to: Time


class RetryBody(Body):
    """Which failed deliveries are retried, and how many at most."""

    reason: Literal["attempts_exhausted"] = "attempts_exhausted"
    limit: int = Field(default=PAGE_ITEMS, ge=1, le=PAGE_ITEMS_MAX)
