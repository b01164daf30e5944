"""The stack: everything the platform runs on, in one account and region."""

from collections.abc import Mapping

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra import outputs
from infra.acknowledgments import acknowledge_findings
from infra.alarms import Watched, add_alarms
from infra.api import add_api
from infra.dashboard import add_dashboard
from infra.functions import Resources, add_functions
from infra.queues import add_queues
from infra.schedules import add_schedules
from infra.settings import Settings
from infra.specs import FUNCTIONS, Queue, Secret, Table
from infra.storage import add_tables

CURSOR_SECRET_CHARACTERS = 64


class NotifyStack(Stack):
    """Tables, queues, functions, HTTP API, schedules, alarms and a dashboard."""

    def __init__(self, scope: Construct, name: str, settings: Settings) -> None:
        super().__init__(
            scope,
            name,
            description="Notification platform: tells people what happened, once.",
            termination_protection=settings.protect,
        )
        resources = Resources(
            tables=add_tables(self, settings),
            queues=add_queues(self, settings),
            cursor=_cursor_secret(self),
        )
        functions = add_functions(self, resources, settings)
        api = add_api(self, functions, settings)
        add_schedules(self, functions, settings)
        watched = Watched(queues=resources.queues, functions=functions, api=api)
        add_dashboard(self, watched, add_alarms(self, watched, settings))
        acknowledge_findings(self)
        _output(self, outputs.API_ID, api.api_id)
        _output(self, outputs.API_URL, api.api_endpoint)
        _tell(self, resources, functions)


def _cursor_secret(scope: Construct) -> secretsmanager.Secret:
    return secretsmanager.Secret(
        scope,
        "CursorSecret",
        secret_name=Secret.CURSOR.value,
        description="Signs the cursors of lists.",
        generate_secret_string=secretsmanager.SecretStringGenerator(
            password_length=CURSOR_SECRET_CHARACTERS, exclude_punctuation=True
        ),
    )


def _tell(scope: Construct, resources: Resources, functions: Mapping[str, lambda_.Function]) -> None:
    for table in Table:
        _output(scope, outputs.table_output(table), resources.tables[table].table_name)
    for queue in Queue:
        pair = resources.queues[queue]
        _output(scope, outputs.queue_output(queue), pair.queue.queue_url)
        _output(scope, outputs.dead_letters_output(queue), pair.dead_letters.queue_url)
    for spec in FUNCTIONS:
        _output(scope, outputs.function_output(spec), functions[spec.folder].function_name)


def _output(scope: Construct, name: str, value: str) -> None:
    CfnOutput(scope, name, value=value)
