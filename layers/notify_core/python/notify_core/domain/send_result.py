"""What a provider's answer to one send amounts to: a closed union."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class RejectionScope(StrEnum):
    """Whom a refusal concerns: one person, this content, or everything the workspace sends on the channel."""

    PERSON = "person"
    CONTENT = "content"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The provider took it and confirms later by a receipt."""

    provider_id: str
    provider_channel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """It reached its recipient; `provider_channel` is the conversation it stands in."""

    provider_id: str
    provider_channel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttled:
    """Certainly not sent, too fast: the whole channel of the workspace waits. Not an attempt."""

    retry_after: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Certainly not sent; worth another attempt."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Certainly not sent; the same attempt would be refused again. `listed` is false for a code that no table names,
    `misconfigured` true where the provider account's own setup rules this recipient out.
    """

    reason: str
    scope: RejectionScope
    listed: bool = True
    misconfigured: bool = False

    @property
    def needs_operator(self) -> bool:
        """Whether somebody has to look: no code of ours, or a setup that can be mended."""
        return not self.listed or self.misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It may or may not have been sent; only evidence tells."""

    reason: str


SendResult = Accepted | Delivered | Throttled | Unavailable | Rejected | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The provider's own record shows that it was sent."""

    provider_id: str
    provider_channel: str | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider's own record shows that nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """The provider can't say, now or ever."""

    reason: str


Evidence = Found | Absent | Untold
