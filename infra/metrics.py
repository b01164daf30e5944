"""The platform's own metrics, as CloudWatch knows them: each by its exact set of dimensions."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from notify_core.adapters.telemetry import NAMESPACE

ALARMS = "alarms"
"""The metric of what an operator has to know of, by its event."""


def own_metric(
    name: str, *, statistic: str = "Sum", period_minutes: int = 1, label: str | None = None, **dimensions: str
) -> cloudwatch.Metric:
    """A metric that the functions write; one that differs in a single dimension is another, and silent."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=Duration.minutes(period_minutes),
        label=label,
    )
