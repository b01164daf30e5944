"""The alarms, from a table of rules; docs/runbook.md has a section for each.

Whatever must be told again when it happens again is an alarm on what was *counted* in a minute, and a minute without
a count ends it: an alarm on what *lies* in a queue stays where it is, and tells nobody of the second one.
"""

# In jsii's stubs a class and its protocol name parameters differently; mypy checks the arguments all the same.
# pyright: reportArgumentType=false

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Aws, Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.metrics import ALARMS, own_metric
from infra.queues import QueuePair
from infra.settings import Settings
from infra.specs import Queue, pascal
from notify_core.domain import limits

PREFIX: Final = "notify-"
OLDEST_SECONDS_MAX: Final = 2 * limits.DELAY_SECONDS_MAX
"""The longest wait that we ask for ourselves, by delay or by visibility."""
UNTAKEN_MINUTES_MAX: Final = 15
"""How long a dead letter may lie without being recorded or, where it can't be, hidden."""
THROTTLED_MINUTES_MAX: Final = 3
UNAVAILABLE_CALLS_MAX: Final = 5
"""Calls in a minute that may meet a store that can't be reached: their callers were told to try again."""
SWEEP_MINUTES_MAX: Final = 5
AUDIT_HOURS_MAX: Final = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When an alarm is raised: in each of `periods` in a row the value is above `above`, or nothing came at all."""

    name: str
    says: str
    above: int = 0
    periods: int = 1
    on_silence: bool = False
    """Whether it is the absence of a value that is wrong, instead of its height."""


DEAD_LETTERS: Final = Rule(name="dead-letters", says="A message ran out of receives, or could never be read.")
UNREADABLE: Final = Rule(name="dead-letters-unreadable", says="A dead letter can't be recorded and stays.")
UNTAKEN: Final = Rule(
    name="dead-letters-untaken", says="Dead letters lie where nobody records them.", periods=UNTAKEN_MINUTES_MAX
)
OLDEST: Final = Rule(
    name="oldest-message", says="A message waits longer than anything waits on purpose.", above=OLDEST_SECONDS_MAX
)
MALFORMED: Final = Rule(name="messages-malformed", says="A producer sent what names no request.")
UNDISPATCHED: Final = Rule(name="messages-unreadable", says="A dispatch queue holds what is no dispatch.")
ERRORS: Final = Rule(name="function-errors", says="A function raised, or ran out of time or memory.")
THROTTLES: Final = Rule(
    name="function-throttles", says="The account's concurrency is used up.", periods=THROTTLED_MINUTES_MAX
)
API_ERRORS: Final = Rule(name="api-errors", says="The HTTP API answered 5xx.")
SWEEP_STOPPED: Final = Rule(
    name="sweep-stopped", says="No sweep has come to its end.", periods=SWEEP_MINUTES_MAX, on_silence=True
)
AUDIT_STOPPED: Final = Rule(
    name="audit-stopped", says="No nightly audit was started.", periods=AUDIT_HOURS_MAX, on_silence=True
)
EVENTS: Final[Mapping[str, Rule]] = {
    rule.name.replace("-", "_"): rule
    for rule in (
        Rule(name="audit-difference", says="The audit found what isn't as it has to be."),
        Rule(name="audit-differences-unlisted", says="The audit found more differences than it lists."),
        Rule(name="audit-of-rows-failed", says="The audit couldn't look at some rows."),
        Rule(name="call-failed", says="A call of the HTTP API met a fault of ours."),
        Rule(name="call-unavailable", says="Calls met a store out of reach.", above=UNAVAILABLE_CALLS_MAX),
        Rule(name="circuit-opened", says="A workspace's channel is refused by its provider; deliveries wait."),
        Rule(name="console-not-rendered", says="An inbox shows a title only: its text can't be rendered any more."),
        Rule(name="delivery-not-prepared", says="A claimed delivery met a fault of ours before its send."),
        Rule(name="function-failed", says="A function met a fault that none of its cases expects."),
        Rule(name="hq-alert-failed", says="An alert never reached the headquarters."),
        Rule(name="outcome-unknown", says="Nobody can tell whether a send reached its recipient."),
        Rule(name="provider-needs-operator", says="A provider refuses by a reason that only we can change."),
        Rule(name="reconcile-backlog", says="Sweeping pauses: too much waits to be reconciled."),
        Rule(name="sweep-of-workspace-failed", says="The sweep of one workspace met a fault."),
    )
}
"""The rules of what the code itself reports as an alarm, by event."""
RULES: Final = (
    DEAD_LETTERS,
    UNREADABLE,
    UNTAKEN,
    OLDEST,
    MALFORMED,
    UNDISPATCHED,
    ERRORS,
    THROTTLES,
    API_ERRORS,
    SWEEP_STOPPED,
    AUDIT_STOPPED,
    *EVENTS.values(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What the alarms and the dashboard look at."""

    queues: Mapping[Queue, QueuePair]
    functions: Mapping[str, lambda_.Function]
    api: apigateway.HttpApi


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """A rule applied to one metric, of one queue or function where there are several."""

    rule: Rule
    metric: cloudwatch.Metric
    subject: str = ""

    @property
    def name(self) -> str:
        return "_".join(filter(None, (self.rule.name, self.subject))).replace("_", "-")


def add_alarms(scope: Construct, watched: Watched, settings: Settings) -> list[cloudwatch.Alarm]:
    """Adds every alarm, and the topic that all of them tell."""
    topic = _topic(scope, settings)
    alarms = [
        _alarm(scope, watch, is_told=settings.schedules or not watch.rule.on_silence)
        for watch in (*_of_queues(watched), *_of_functions(watched), *_of_the_code())
    ]
    for alarm in alarms:
        alarm.add_alarm_action(actions.SnsAction(topic))
    return alarms


# ---------------------------------------------------------------- what is watched


def _of_queues(watched: Watched) -> Iterator[_Watch]:
    minute = Duration.minutes(1)
    for queue, pair in watched.queues.items():
        depth = pair.dead_letters.metric_approximate_number_of_messages_visible(statistic="Minimum", period=minute)
        age = pair.queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=minute)
        yield _Watch(rule=DEAD_LETTERS, subject=queue, metric=own_metric("dead_letters", queue=queue.value))
        yield _Watch(rule=UNREADABLE, subject=queue, metric=own_metric("dead_letters_unreadable", queue=queue.value))
        yield _Watch(rule=UNTAKEN, subject=queue, metric=depth)
        yield _Watch(rule=OLDEST, subject=queue, metric=age)


def _of_functions(watched: Watched) -> Iterator[_Watch]:
    minute = Duration.minutes(1)
    for folder, function in watched.functions.items():
        yield _Watch(rule=ERRORS, subject=folder, metric=function.metric_errors(period=minute))
        yield _Watch(rule=THROTTLES, subject=folder, metric=function.metric_throttles(period=minute))
    yield _Watch(rule=API_ERRORS, metric=watched.api.metric_server_error(period=minute, statistic="Sum"))


def _of_the_code() -> Iterator[_Watch]:
    yield _Watch(rule=MALFORMED, metric=own_metric("messages_malformed"))
    yield _Watch(rule=UNDISPATCHED, metric=own_metric("messages_unreadable"))
    for event, rule in EVENTS.items():
        yield _Watch(rule=rule, metric=own_metric(ALARMS, event=event))
    yield _Watch(rule=SWEEP_STOPPED, metric=own_metric("requests_due", statistic="SampleCount"))
    hourly = own_metric("workspaces_audited", statistic="SampleCount", period_minutes=60)
    yield _Watch(rule=AUDIT_STOPPED, metric=hourly)


# ---------------------------------------------------------------- resources


def _alarm(scope: Construct, watch: _Watch, *, is_told: bool) -> cloudwatch.Alarm:
    rule, operators, missing = watch.rule, cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
    return cloudwatch.Alarm(
        scope,
        f"{pascal(watch.name.replace('-', '_'))}Alarm",
        alarm_name=f"{PREFIX}{watch.name}",
        alarm_description=f"{rule.says} What to do: docs/runbook.md, {rule.name}.",
        actions_enabled=is_told,
        metric=watch.metric,
        threshold=1 if rule.on_silence else rule.above,
        comparison_operator=operators.LESS_THAN_THRESHOLD if rule.on_silence else operators.GREATER_THAN_THRESHOLD,
        evaluation_periods=rule.periods,
        treat_missing_data=missing.BREACHING if rule.on_silence else missing.NOT_BREACHING,
    )


def _topic(scope: Construct, settings: Settings) -> sns.Topic:
    """The topic, with whoever is to be told by e-mail; a policy of its own must let CloudWatch in."""
    topic = sns.Topic(scope, "AlarmsTopic", display_name="Notification platform", enforce_ssl=not settings.local)
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sns:Publish"],
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
        )
    )
    if settings.alarm_email:
        topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
    return topic
