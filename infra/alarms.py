"""The alarms: messages that nobody could handle, and messages that nobody takes."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.queues import QueuePair
from infra.specs import Queue, pascal
from notify_core.domain import limits

OLDEST_SECONDS: Final = 2 * limits.DELAY_SECONDS_MAX
"""An age above the longest wait that we ask for ourselves, by delay or by visibility."""


def add_alarms(scope: Construct, queues: Mapping[Queue, QueuePair]) -> None:
    """Adds two alarms a queue: its dead letters, and the age of its oldest message."""
    for name, pair in queues.items():
        _alarm(
            scope,
            f"{pascal(name)}DeadLettersAlarm",
            pair.dead_letters.metric_approximate_number_of_messages_visible(
                statistic="Maximum", period=Duration.minutes(1)
            ),
            above=0,
            description=f"Messages of the {name} queue could be neither handled nor recorded.",
        )
        _alarm(
            scope,
            f"{pascal(name)}AgeAlarm",
            pair.queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=Duration.minutes(1)),
            above=OLDEST_SECONDS,
            description=f"Messages of the {name} queue wait longer than anything waits on purpose.",
        )


def _alarm(scope: Construct, name: str, metric: cloudwatch.Metric, *, above: int, description: str) -> None:
    cloudwatch.Alarm(
        scope,
        name,
        metric=metric,
        threshold=above,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluation_periods=1,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )
