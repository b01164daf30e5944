"""How AWS's clients are made."""

from typing import Any

import pytest

from notify_core.adapters import dynamodb, secrets, sms, sqs


@pytest.mark.parametrize(
    "config", [dynamodb.CLIENT_CONFIG, secrets.CLIENT_CONFIG, sms.CLIENT_CONFIG, sqs.CLIENT_CONFIG]
)
def test_no_client_does_what_nobody_needs(config: Any) -> None:
    """Checks what the product itself has built, or composes a user agent for each call."""
    assert (config.parameter_validation, config.user_agent) == (False, "notify-platform")
