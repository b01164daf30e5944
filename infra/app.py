"""The CDK app: `cdk synth`, `cdk deploy` (cdk.json starts it)."""

import sys

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from infra.layers import LayerBuildFailed
from infra.outputs import STACK_NAME
from infra.settings import ContextInvalid, read_settings
from infra.stack import NotifyStack


def make_app(app: App) -> NotifyStack:
    """Fills an app with the stack and, before it goes to an account, the rules it is checked by."""
    settings = read_settings(app.node)
    stack = NotifyStack(app, STACK_NAME, settings)
    if not settings.local:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return stack


def main() -> None:
    """Writes the cloud assembly; ends with a message when something is missing for it."""
    app = App()
    try:
        make_app(app)
    except (ContextInvalid, LayerBuildFailed) as problem:
        sys.exit(str(problem))
    app.synth()


if __name__ == "__main__":
    main()
