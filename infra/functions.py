"""The functions, built from the table of specs: code, role, log group, event sources."""

# In jsii's stubs a class and its protocol name parameters differently; mypy checks the arguments all the same.
# pyright: reportArgumentType=false

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Arn, ArnComponents, ArnFormat, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra import layers
from infra.queues import QueuePair
from infra.settings import Settings
from infra.specs import FUNCTIONS, INDEXES, FunctionSpec, Queue, Secret, Table, looping
from notify_core.domain import limits

RUNTIME: Final = lambda_.Runtime.PYTHON_3_13
LOG_GROUP_PREFIX: Final = "/notify/"
LOG_RETENTION: Final = logs.RetentionDays.ONE_MONTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What the functions work on."""

    tables: Mapping[Table, dynamodb.Table]
    queues: Mapping[Queue, QueuePair]
    cursor: secretsmanager.Secret


def add_functions(scope: Construct, resources: Resources, settings: Settings) -> Mapping[str, lambda_.Function]:
    """Adds every function of the table, by its folder."""
    shared = _layers(scope, settings)
    return {spec.folder: _function(scope, spec, shared, resources, settings) for spec in FUNCTIONS}


def architecture(settings: Settings) -> lambda_.Architecture:
    """Arm in the cloud, where it costs a fifth less; this machine's own locally."""
    if settings.local and platform.machine() in {"x86_64", "AMD64"}:
        return lambda_.Architecture.X86_64
    return lambda_.Architecture.ARM_64


def _layers(scope: Construct, settings: Settings) -> list[lambda_.LayerVersion]:
    target = layers.LOCAL if settings.local else layers.CLOUD
    dependencies = layers.build_dependencies(target)
    built = {
        "Dependencies": layers.build_pointer(dependencies) if settings.local else dependencies,
        "Core": layers.build_core(target),
    }
    return [
        lambda_.LayerVersion(
            scope,
            f"{name}Layer",
            code=lambda_.Code.from_asset(str(layer.path), asset_hash=layer.digest),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[architecture(settings)],
        )
        for name, layer in built.items()
    ]


def _function(
    scope: Construct,
    spec: FunctionSpec,
    shared: list[lambda_.LayerVersion],
    resources: Resources,
    settings: Settings,
) -> lambda_.Function:
    log_group = logs.LogGroup(
        scope,
        f"{spec.name}Logs",
        log_group_name=f"{LOG_GROUP_PREFIX}{spec.folder}",
        retention=LOG_RETENTION,
        removal_policy=RemovalPolicy.DESTROY,
    )
    role = iam.Role(scope, f"{spec.name}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    log_group.grant_write(role)
    function = lambda_.Function(
        scope,
        f"{spec.name}Function",
        runtime=RUNTIME,
        architecture=architecture(settings),
        handler="handler.handler",
        code=lambda_.Code.from_asset(str(layers.ROOT / "functions" / spec.folder), exclude=["**/__pycache__"]),
        layers=shared,
        role=role,
        log_group=log_group,
        logging_format=lambda_.LoggingFormat.JSON,
        application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
        system_log_level_v2=lambda_.SystemLogLevel.WARN,
        timeout=Duration.seconds(spec.timeout_seconds),
        memory_size=spec.memory_mb,
        environment=environment(spec, resources, settings),
        recursive_loop=_recursive_loop(spec),
    )
    for statement in statements(spec, resources, settings, Stack.of(scope)):
        function.add_to_role_policy(statement)
    _add_event_sources(function, spec, resources, settings)
    return function


def _recursive_loop(spec: FunctionSpec) -> lambda_.RecursiveLoop:
    if spec.folder in looping(FUNCTIONS):
        return lambda_.RecursiveLoop.ALLOW
    return lambda_.RecursiveLoop.TERMINATE


def _add_event_sources(
    function: lambda_.Function, spec: FunctionSpec, resources: Resources, settings: Settings
) -> None:
    consumed = [resources.queues[name].queue for name in spec.consumes]
    consumed += [resources.queues[name].dead_letters for name in spec.consumes_dead_letters]
    for queue in consumed:
        function.add_event_source(
            event_sources.SqsEventSource(
                queue,
                batch_size=limits.BATCH_MESSAGES,
                report_batch_item_failures=True,
                max_concurrency=min(spec.concurrency_max, settings.concurrency_max or spec.concurrency_max),
            )
        )


def environment(spec: FunctionSpec, resources: Resources, settings: Settings) -> dict[str, str]:
    """The variables of one function: only what its spec lets it reach."""
    variables = {f"NOTIFY_{table.upper()}_TABLE": resources.tables[table].table_name for table in spec.tables}
    for index in spec.indexes:
        table = INDEXES[index]
        variables[f"NOTIFY_{table.upper()}_TABLE"] = resources.tables[table].table_name
    for queue in dict.fromkeys((*spec.consumes, *spec.sends, *spec.measures)):
        variables[f"NOTIFY_{queue.upper()}_QUEUE_URL"] = resources.queues[queue].queue.queue_url
    for queue in dict.fromkeys((*spec.consumes_dead_letters, *spec.sends_dead_letters)):
        url = resources.queues[queue].dead_letters.queue_url
        variables[f"NOTIFY_{queue.upper()}_DEAD_LETTER_QUEUE_URL"] = url
    return variables | _provider_variables(spec, settings) | dict(settings.environment)


def _provider_variables(spec: FunctionSpec, settings: Settings) -> dict[str, str]:
    variables: dict[str, str] = {}
    if Secret.CURSOR in spec.secrets:
        variables["NOTIFY_CURSOR_SECRET"] = Secret.CURSOR.value
    if {Secret.SLACK_WORKSPACES, Secret.SLACK_HQ} & set(spec.secrets):
        variables["NOTIFY_SLACK_BASE_URL"] = settings.slack_base_url
        variables["NOTIFY_SLACK_SECRET_PREFIX"] = Secret.SLACK_WORKSPACES.removesuffix("*")
    if Secret.SLACK_HQ in spec.secrets:
        variables["NOTIFY_HQ_CHANNEL"] = settings.hq_channel
    if spec.sends_texts:
        variables["NOTIFY_SMS_ORIGINATION_IDENTITY"] = settings.sms_origination_identity
        variables["NOTIFY_SMS_CONFIGURATION_SET"] = settings.sms_configuration_set
    return variables


def statements(
    spec: FunctionSpec, resources: Resources, settings: Settings, stack: Stack
) -> Iterator[iam.PolicyStatement]:
    """What a function's role allows besides writing its log and reading the queues that start it."""
    for table, actions in spec.tables.items():
        yield _allow(list(actions), resources.tables[table].table_arn)
    for index in spec.indexes:
        yield _allow(["dynamodb:Query"], f"{resources.tables[INDEXES[index]].table_arn}/index/{index}")
    # AWS has one action for one message and for ten; the emulator, where it enforces roles, asks for two.
    sending = ["sqs:SendMessage", *(["sqs:SendMessageBatch"] if settings.local else [])]
    for queue in spec.sends:
        yield _allow(sending, resources.queues[queue].queue.queue_arn)
    for queue in spec.sends_dead_letters:
        yield _allow(sending, resources.queues[queue].dead_letters.queue_arn)
    for queue in spec.measures:
        yield _allow(["sqs:GetQueueAttributes"], resources.queues[queue].queue.queue_arn)
    for secret in spec.secrets:
        yield _allow(["secretsmanager:GetSecretValue"], _secret_arn(secret, resources, stack))
    if spec.sends_texts:
        yield _allow(["sms-voice:SendTextMessage"], _arn(stack, "sms-voice", "*"))


def _allow(actions: list[str], resource: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=[resource])


def _secret_arn(secret: Secret, resources: Resources, stack: Stack) -> str:
    if secret is Secret.CURSOR:
        return resources.cursor.secret_arn
    # Secrets Manager ends a secret's ARN with a hyphen and six characters of its own.
    name = secret.value if secret.value.endswith("*") else f"{secret.value}-??????"
    return _arn(stack, "secretsmanager", f"secret:{name}")


def _arn(stack: Stack, service: str, resource: str) -> str:
    return Arn.format(ArnComponents(service=service, resource=resource, arn_format=ArnFormat.NO_RESOURCE_NAME), stack)
