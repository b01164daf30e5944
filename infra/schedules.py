"""The sweeps' schedules."""

# In jsii's stubs a class and its protocol name parameters differently; mypy checks the arguments all the same.
# pyright: reportArgumentType=false

from collections.abc import Mapping

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from infra.settings import Settings
from infra.specs import FUNCTIONS


def add_schedules(scope: Construct, functions: Mapping[str, lambda_.Function], settings: Settings) -> None:
    """Schedules the functions whose spec says when.

    A failed run is tried once more within its minute: the next run does its work anyway.
    """
    scheduled = [(spec.name, spec.schedule, functions[spec.folder]) for spec in FUNCTIONS if spec.schedule is not None]
    role = _role(scope, [function.function_arn for _, _, function in scheduled])
    for name, schedule, function in scheduled:
        scheduler.Schedule(
            scope,
            f"{name}Schedule",
            schedule=scheduler.ScheduleExpression.expression(schedule),
            target=targets.LambdaInvoke(
                function,
                # The target would add every version and alias of the function to the role.
                role=role.without_policy_updates(),
                input=scheduler.ScheduleTargetInput.from_object({}),
                retry_attempts=1,
                max_event_age=Duration.minutes(1),
            ),
            enabled=settings.schedules,
        )


def _role(scope: Construct, function_arns: list[str]) -> iam.Role:
    role = iam.Role(
        scope,
        "SchedulerRole",
        assumed_by=iam.ServicePrincipal(
            "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        ),
    )
    role.add_to_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=function_arns))
    return role
