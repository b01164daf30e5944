"""What a function is told by its environment: nothing else reads it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from notify_core.application.ports import QueueName


class SettingUnusable(Exception):
    """A variable is missing or malformed; the message begins with its name and says what it should hold."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The variables of one function, each looked at when asked for: a function has only what it needs."""

    _variables: Mapping[str, str] = field(repr=False)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """The settings in an environment, as it is now."""
        return cls({name: value for name, value in environ.items() if name.startswith(("NOTIFY_", "AWS_LAMBDA_"))})

    @property
    def function_name(self) -> str:
        """The function's own name, as its log lines show it."""
        return self._optional("AWS_LAMBDA_FUNCTION_NAME", default="notify")

    @property
    def registry_table(self) -> str:
        """The table of workspaces and definitions."""
        return self._required("NOTIFY_REGISTRY_TABLE", "the name of the registry table")

    @property
    def directory_table(self) -> str:
        """The table of people."""
        return self._required("NOTIFY_DIRECTORY_TABLE", "the name of the directory table")

    @property
    def requests_table(self) -> str:
        """The table of requests."""
        return self._required("NOTIFY_REQUESTS_TABLE", "the name of the requests table")

    @property
    def notices_table(self) -> str:
        """The table of notices."""
        return self._required("NOTIFY_NOTICES_TABLE", "the name of the notices table")

    def queue_url(self, queue: QueueName) -> str:
        """A queue's URL."""
        return self._url(f"NOTIFY_{queue.upper()}_QUEUE_URL", f"the URL of the queue {queue}")

    def dead_letter_queue_url(self, queue: QueueName) -> str:
        """The URL of a queue's dead-letter queue."""
        name = f"NOTIFY_{queue.upper()}_DEAD_LETTER_QUEUE_URL"
        return self._url(name, f"the URL of the dead-letter queue of {queue}")

    @property
    def slack_base_url(self) -> str:
        """Where Slack's Web API is; ends in a slash."""
        name = "NOTIFY_SLACK_BASE_URL"
        value = self._optional(name, default="https://slack.com/api/")
        if not value.endswith("/"):
            raise SettingUnusable(f"{name} is {value!r}: it must end in a slash")
        return self._checked_url(name, value)

    @property
    def slack_secret_prefix(self) -> str:
        """What the names of Slack's secrets begin with: a workspace, `default` or `hq` follows."""
        return self._optional("NOTIFY_SLACK_SECRET_PREFIX", default="notify/slack/")

    @property
    def hq_channel(self) -> str:
        """The id of the headquarters' Slack channel; empty when there is none."""
        return self._optional("NOTIFY_HQ_CHANNEL")

    @property
    def sms_origination_identity(self) -> str:
        """The number, sender id or pool that texts come from; empty lets the service choose."""
        return self._optional("NOTIFY_SMS_ORIGINATION_IDENTITY")

    @property
    def sms_configuration_set(self) -> str:
        """The configuration set whose events go to the `receipts` queue; empty for the account's own."""
        return self._optional("NOTIFY_SMS_CONFIGURATION_SET")

    @property
    def cursor_secret(self) -> str:
        """The name of the secret that signs cursors."""
        return self._optional("NOTIFY_CURSOR_SECRET", default="notify/cursor")

    def _optional(self, name: str, *, default: str = "") -> str:
        return self._variables.get(name, "").strip() or default

    def _required(self, name: str, meaning: str) -> str:
        value = self._optional(name)
        if not value:
            raise SettingUnusable(f"{name} is not set: give the function {meaning}")
        return value

    def _url(self, name: str, meaning: str) -> str:
        return self._checked_url(name, self._required(name, meaning))

    @staticmethod
    def _checked_url(name: str, value: str) -> str:
        if not value.startswith(("https://", "http://")):
            raise SettingUnusable(f"{name} is {value!r}: it must be a URL, https://…")
        return value
