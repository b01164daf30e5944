"""What can be switched while the simulator runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackRate:
    """How many posts a second a Slack workspace may make, and how long it is shut out when it makes more."""

    per_second: float
    retry_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The simulator's switches; a reset leaves them."""

    receipts_queue_url: str | None = None
    aws_endpoint_url: str | None = None
    region: str = "us-east-1"
    auto_receipts: str | None = None
    """The SMS event that follows every text by itself."""
    slack_rate: SlackRate | None = None
    latency_ms: float = 0
    """How long a provider takes to answer; what it sends goes out at once."""


class Switches:
    """The settings as they are now."""

    def __init__(self, settings: Settings) -> None:
        self.now = settings
