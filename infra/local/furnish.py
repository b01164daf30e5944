"""What a deployed stack needs before it can work: Slack tokens, the receipts queue, an operator's token."""

from typing import TYPE_CHECKING, Final

import boto3

from infra.local import web
from infra.local.dummy_keys import REGION
from infra.local.services import Address
from infra.specs import Scope

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

SLACK_TOKENS: Final = {
    "notify/slack/default": "xoxb-local-default",
    "notify/slack/hq": "xoxb-local-hq",
}
HQ_CHANNEL: Final = "C0HQ"
SMS_ORIGINATION_IDENTITY: Final = "+15550100"
SMS_CONFIGURATION_SET: Final = "notify-local"
OPERATOR_TOKEN_SECONDS: Final = 365 * 86_400


def keep_slack_tokens(address: Address) -> None:
    """Creates the default secrets, or puts their values back."""
    secrets = _secrets_client(address)
    for name, token in SLACK_TOKENS.items():
        try:
            secrets.create_secret(Name=name, SecretString=token)
        except secrets.exceptions.ResourceExistsException:
            secrets.put_secret_value(SecretId=name, SecretString=token)


def name_receipts_queue(address: Address, queue_url: str) -> None:
    """Tells the simulator where receipts go."""
    web.post(f"{address.simulator_url}/_simulator/config", {"receipts_queue_url": queue_url})


def operator_token(address: Address) -> str:
    """A token that may do what an operator may, for a year."""
    wanted = {"sub": "operator", "scope": Scope.OPERATOR.value, "seconds": OPERATOR_TOKEN_SECONDS}
    token: str = web.post(f"{address.simulator_url}/_simulator/tokens", wanted)["token"]
    return token


def _secrets_client(address: Address) -> "SecretsManagerClient":
    return boto3.client(  # pyright: ignore[reportUnknownMemberType] - the stubs know some services only
        "secretsmanager",
        endpoint_url=address.endpoint_url,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
