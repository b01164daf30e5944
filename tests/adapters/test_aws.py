"""How AWS's clients are made."""

from typing import Any

import botocore.session
import pytest

from notify_core import wiring
from notify_core.adapters import dynamodb, secrets, sms, sqs


@pytest.mark.parametrize(
    "config", [dynamodb.CLIENT_CONFIG, secrets.CLIENT_CONFIG, sms.CLIENT_CONFIG, sqs.CLIENT_CONFIG]
)
def test_no_client_does_what_nobody_needs(config: Any) -> None:
    """Checks what the product itself has built, or composes a user agent for each call."""
    assert (config.parameter_validation, config.user_agent) == (False, "notify-platform")


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1"])
@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("dynamodb", "PutItem"),
        ("sqs", "SendMessageBatch"),
        ("secretsmanager", "GetSecretValue"),
        ("pinpoint-sms-voice-v2", "SendTextMessage"),
    ],
)
def test_a_client_s_own_address_is_the_one_that_its_rules_give(service: str, operation: str, region: str) -> None:
    """The clients ask the rules no more: they call the address that they were made with."""
    client: Any = botocore.session.Session().create_client(
        service, region_name=region, aws_access_key_id="test", aws_secret_access_key="test"
    )
    context: dict[str, Any] = {}
    model = client.meta.service_model.operation_model(operation)
    address, headers, properties = client._resolve_endpoint_ruleset(model, {}, context)  # noqa: SLF001  (the rules' own answer)
    assert (address, headers, properties, context) == (client.meta.endpoint_url, {}, {}, {})


@pytest.mark.parametrize(("setting", "is_its_own"), [("AWS_USE_DUALSTACK_ENDPOINT", False), ("AWS_MAX_ATTEMPTS", True)])
def test_rules_that_a_setting_changes_are_still_asked(
    monkeypatch: pytest.MonkeyPatch, setting: str, is_its_own: bool
) -> None:
    monkeypatch.setenv(setting, "true" if setting.endswith("ENDPOINT") else "2")
    client: Any = botocore.session.Session().create_client(
        "secretsmanager", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    assert wiring._rules_give_its_own_address(client) == is_its_own  # noqa: SLF001  (it decides before any call)
