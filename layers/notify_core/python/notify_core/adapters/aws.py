"""How AWS is called: one configuration for every service's client."""

from typing import Final

from botocore.config import Config

CONNECTIONS_MAX: Final = 32
"""As many as there are threads to use them."""


def client_config(*, connect_seconds: float, read_seconds: float, tries_max: int) -> Config:
    """What a service's one client of a process is made with.

    Without a user agent of one's own, botocore composes one for each call, at a sixth of the call's CPU.
    """
    return Config(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        retries={"total_max_attempts": tries_max, "mode": "standard"},
        max_pool_connections=CONNECTIONS_MAX,
        parameter_validation=False,
        user_agent="notify-platform",
    )
