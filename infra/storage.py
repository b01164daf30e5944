"""The tables: on demand, one kind of thing each."""

from collections.abc import Mapping

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings import Settings
from infra.specs import Index, Table, pascal

DELETE_AT = "delete_at"
"""When DynamoDB may delete a row, in epoch seconds."""

LISTED = (
    "definition",
    "definition_version",
    "request_key",
    "replacement_key",
    "fold_key",
    "state",
    "reason",
    "published_at",
    "not_before",
    "expires_at",
    "recorded_at",
    "closed_at",
    "differing_repeat_at",
)
"""What a list of requests shows."""


def add_tables(scope: Construct, settings: Settings) -> Mapping[Table, dynamodb.Table]:
    """Adds the four tables with their indexes."""
    registry = _table(scope, settings, Table.REGISTRY, sort_key="sk")
    directory = _table(scope, settings, Table.DIRECTORY, sort_key="sk")
    requests = _table(scope, settings, Table.REQUESTS, delete_at=DELETE_AT)
    notices = _table(scope, settings, Table.NOTICES, sort_key="sk", delete_at=DELETE_AT)
    _index_requests(requests)
    _index_notices(notices)
    return {
        Table.REGISTRY: registry,
        Table.DIRECTORY: directory,
        Table.REQUESTS: requests,
        Table.NOTICES: notices,
    }


def _index_requests(requests: dynamodb.Table) -> None:
    requests.add_global_secondary_index(
        index_name=Index.DUE,
        partition_key=_text("due_shard"),
        sort_key=_text("due_at"),
        projection_type=dynamodb.ProjectionType.INCLUDE,
        non_key_attributes=["definition", "state", "version"],
    )
    for index in (Index.HISTORY, Index.DEAD_LETTERED):
        requests.add_global_secondary_index(
            index_name=index,
            partition_key=_text(f"{index}_shard"),
            sort_key=_text("history_key"),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=list(LISTED),
        )


def _index_notices(notices: dynamodb.Table) -> None:
    notices.add_local_secondary_index(
        index_name=Index.INBOX,
        sort_key=_text("inbox"),
        projection_type=dynamodb.ProjectionType.KEYS_ONLY,
    )
    notices.add_global_secondary_index(
        index_name=Index.ATTENTION,
        partition_key=_text("attention_shard"),
        sort_key=_text("failed_at"),
        projection_type=dynamodb.ProjectionType.KEYS_ONLY,
    )


def _table(
    scope: Construct,
    settings: Settings,
    name: Table,
    *,
    sort_key: str | None = None,
    delete_at: str | None = None,
) -> dynamodb.Table:
    return dynamodb.Table(
        scope,
        f"{pascal(name)}Table",
        partition_key=_text("pk"),
        sort_key=_text(sort_key) if sort_key else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        time_to_live_attribute=delete_at,
        deletion_protection=settings.protect,
        removal_policy=RemovalPolicy.RETAIN if settings.protect else RemovalPolicy.DESTROY,
    )


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
