"""Secrets from AWS Secrets Manager, remembered for a while."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from notify_core.adapters.aws import client_config
from notify_core.application.ports import StoreUnavailable
from notify_core.domain.limits import STORE_TIMEOUT_SECONDS, STORE_TRIES_MAX

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

KEEP_SECONDS: Final = 300
"""How long a value is remembered, and how long that there is none: a workspace without a secret of its own
costs one call in that time, whatever it sends."""
STALE_RETRY_SECONDS: Final = 15
"""How long a value that could not be renewed is still used before the next try."""
CLIENT_CONFIG: Final = client_config(
    connect_seconds=STORE_TIMEOUT_SECONDS / 4, read_seconds=STORE_TIMEOUT_SECONDS * 3 / 4, tries_max=STORE_TRIES_MAX
)
_ABSENT: Final = frozenset({"ResourceNotFoundException"})


class SecretUnavailable(StoreUnavailable):
    """A secret could not be read for now, and none is remembered."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    value: str | None
    until: float


class Secrets:
    """The secrets of a process, each read by one thread at a time."""

    def __init__(self, client: "SecretsManagerClient", *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._monotonic = monotonic
        self._remembered: dict[str, _Remembered] = {}
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)

    def read(self, name: str) -> str | None:
        """The secret's text without white space around it; None when there is no such secret or it is empty.

        Raises:
            SecretUnavailable: it can't be read, and never was.
        """
        if (fresh := self._fresh(name)) is not None:
            return fresh.value
        with self._locks[name]:
            return (self._fresh(name) or self._renew(name)).value

    def forget(self, name: str, *, refused: str | None) -> None:
        """Read it anew next time, unless it has another value than the one refused by now."""
        known = self._remembered.get(name)
        if known is not None and known.value == refused:
            self._remembered.pop(name, None)

    def _fresh(self, name: str) -> _Remembered | None:
        known = self._remembered.get(name)
        return known if known is not None and self._monotonic() < known.until else None

    def _renew(self, name: str) -> _Remembered:
        known = self._remembered.get(name)
        try:
            renewed = _Remembered(self._fetch(name), self._monotonic() + KEEP_SECONDS)
        except (ClientError, BotoCoreError) as failure:
            if known is None:
                raise SecretUnavailable(f"secret {name} can't be read: {type(failure).__name__}") from failure
            renewed = _Remembered(known.value, self._monotonic() + STALE_RETRY_SECONDS)
        self._remembered[name] = renewed
        return renewed

    def _fetch(self, name: str) -> str | None:
        try:
            return self._client.get_secret_value(SecretId=name).get("SecretString", "").strip() or None
        except ClientError as failure:
            if failure.response.get("Error", {}).get("Code") in _ABSENT:
                return None
            raise
