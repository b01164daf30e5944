"""The findings of cdk-nag that we accept, each with its reason."""

from aws_cdk import Acknowledgment, Stack, Validations

from infra.specs import FUNCTIONS, Secret

ANY_WORKSPACE = (
    "A workspace brings its own Slack token while we run: its secret's name, and the six characters "
    "that Secrets Manager adds to it, aren't known when we deploy."
)
ANY_SENDER = (
    "What a text is sent from, a number, a pool or a sender, is chosen by a setting; the action itself "
    "is the one that sends a text, and only this function has it."
)
OLDER_RUNTIME = "Python 3.11 to 3.13 is what the project's tests run on, and 3.13 the newest of them."
NO_ROTATION = (
    "The secret signs cursors and nothing else: changing it makes readers start their lists again, "
    "so it is changed by hand when it must be."
)


def acknowledge_findings(stack: Stack) -> None:
    """Records which findings are meant to stay."""
    for spec in FUNCTIONS:
        _acknowledge(stack, f"{spec.name}Function", "AwsSolutions-L1", OLDER_RUNTIME)
        if Secret.SLACK_WORKSPACES in spec.secrets:
            resource = _arn("secretsmanager", f"secret:{Secret.SLACK_WORKSPACES.value}")
            _acknowledge(stack, f"{spec.name}Role", f"AwsSolutions-IAM5[Resource::{resource}]", ANY_WORKSPACE)
        if spec.sends_texts:
            resource = _arn("sms-voice", "*")
            _acknowledge(stack, f"{spec.name}Role", f"AwsSolutions-IAM5[Resource::{resource}]", ANY_SENDER)
    _acknowledge(stack, "CursorSecret", "AwsSolutions-SMG4", NO_ROTATION)


def _acknowledge(stack: Stack, child: str, rule: str, reason: str) -> None:
    Validations.of(stack.node.find_child(child)).acknowledge(Acknowledgment(id=rule, reason=reason))


def _arn(service: str, resource: str) -> str:
    """An ARN as cdk-nag writes it in its findings."""
    return f"arn:<AWS::Partition>:{service}:<AWS::Region>:<AWS::AccountId>:{resource}"
