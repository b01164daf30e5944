"""The channels a notice can travel over."""

from enum import StrEnum


class Channel(StrEnum):
    """One way to reach a person: `slack_system` reaches the headquarters' Slack channel instead."""

    CONSOLE = "console"
    CHAT = "chat"
    TEXT = "text"
    SLACK_SYSTEM = "slack_system"

    @property
    def is_sent(self) -> bool:
        """Whether a provider is called for it; the console is a row of our own."""
        return self is not Channel.CONSOLE

    @property
    def has_receipts(self) -> bool:
        """Whether the provider confirms later what it first only accepted."""
        return self is Channel.TEXT
