"""The dashboard: what was decided, what became of it, how long it took, and what waits."""

# In jsii's stubs a class and its protocol name parameters differently; mypy checks the arguments all the same.
# pyright: reportArgumentType=false

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms import EVENTS, Watched
from infra.metrics import ALARMS, own_metric
from infra.specs import Queue
from notify_core.application.withdraw_request import WithdrawalResult
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import SendResult

NAME: Final = "notify"
PERIOD_MINUTES: Final = 5
COLUMNS: Final = 24
HEIGHT: Final = 6
SENT: Final = (Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM)
MOVED: Final = tuple(state for state in DeliveryState if state is not DeliveryState.SENDING)
RESULTS: Final = tuple(kind.__name__.lower() for kind in SendResult.__args__)
SWEPT: Final = ("requests_due", "deliveries_redispatched")
AUDITED: Final = ("workspaces_audited", "audit_differences", "audit_opened", "audit_remains")
CHANGES: Final = (
    "publications_queued",
    "publications_repeated",
    "publications_differing",
    "requests_retired",
    "requests_reprocessed",
)


def add_dashboard(scope: Construct, watched: Watched, alarms: Iterable[cloudwatch.Alarm]) -> None:
    """Adds the dashboard, with the state of every alarm on top."""
    dashboard = cloudwatch.Dashboard(scope, "Dashboard", dashboard_name=NAME)
    dashboard.add_widgets(
        cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=COLUMNS, height=HEIGHT)
    )
    for row in (_decided(), _sent(), _took(), _waits(watched), _watch(watched)):
        dashboard.add_widgets(*row)


# ---------------------------------------------------------------- rows


def _decided() -> list[cloudwatch.IWidget]:
    outcomes = [_by(name="request_moves", state=state) for state in RequestState]
    withdrawals = [_by(name="withdrawals", result=result) for result in WithdrawalResult]
    return _row(
        {
            "Requests by outcome": outcomes,
            "Withdrawals by result": withdrawals,
            "Publications and requests, otherwise": [_sum(name) for name in CHANGES],
        }
    )


def _sent() -> list[cloudwatch.IWidget]:
    sends = [_by(name="sends", channel=channel, result=result) for channel in SENT for result in RESULTS]
    moves = [_by(name="delivery_moves", channel=channel, state=state) for channel in Channel for state in MOVED]
    settled = [
        _by(name="sends_settled", channel=channel, state=state)
        for channel in SENT
        for state in (DeliveryState.DELIVERED, DeliveryState.QUEUED, DeliveryState.FAILED)
    ]
    receipts = [_by(name="receipts", channel=Channel.TEXT, outcome=outcome) for outcome in ReceiptOutcome]
    retried = [_by(name="deliveries_retried", channel=channel) for channel in SENT]
    return _row(
        {
            "Deliveries by outcome": moves,
            "Sends by result": sends,
            "Unknown sends, settled": settled,
            "Receipts, retries": [*receipts, *retried],
        }
    )


def _took() -> list[cloudwatch.IWidget]:
    return _row(
        {
            "Seconds from publication to outcome": _percentiles("publication_to_outcome"),
            "Seconds from publication to provider": _percentiles("publication_to_provider"),
        }
    )


def _waits(watched: Watched) -> list[cloudwatch.IWidget]:
    period = Duration.minutes(PERIOD_MINUTES)
    pairs = watched.queues.items()
    depth = [
        pair.queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=period, label=queue)
        for queue, pair in pairs
    ]
    age = [
        pair.queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=period, label=queue)
        for queue, pair in pairs
    ]
    dead = [
        pair.dead_letters.metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=period, label=f"{queue} lying"
        )
        for queue, pair in pairs
    ]
    taken = [_by(name="dead_letters", queue=queue) for queue in Queue]
    kept = [_by(name="dead_letters_unreadable", queue=queue) for queue in Queue]
    return _row(
        {"Messages that wait": depth, "Age of the oldest, in seconds": age, "Dead letters": [*taken, *kept, *dead]}
    )


def _watch(watched: Watched) -> list[cloudwatch.IWidget]:
    period = Duration.minutes(PERIOD_MINUTES)
    errors = [function.metric_errors(period=period, label=folder) for folder, function in watched.functions.items()]
    calls = [
        watched.api.metric_count(period=period, statistic="Sum", label="calls"),
        watched.api.metric_client_error(period=period, statistic="Sum", label="4xx"),
        watched.api.metric_server_error(period=period, statistic="Sum", label="5xx"),
    ]
    return _row(
        {
            "Circuits opened, and what else needs somebody": [_by(name=ALARMS, event=event) for event in EVENTS],
            "Sweeps": [_sum(name) for name in SWEPT],
            "Audits": [_sum(name) for name in AUDITED],
            "Function errors": errors,
            "HTTP API": calls,
        }
    )


# ---------------------------------------------------------------- widgets


def _row(graphs: Mapping[str, list[cloudwatch.Metric]]) -> list[cloudwatch.IWidget]:
    """Graphs of equal width, by title."""
    width = COLUMNS // len(graphs)
    return [
        cloudwatch.GraphWidget(title=title, left=metrics, width=width, height=HEIGHT)
        for title, metrics in graphs.items()
    ]


def _sum(name: str) -> cloudwatch.Metric:
    return own_metric(name, period_minutes=PERIOD_MINUTES, label=name)


def _percentiles(name: str) -> list[cloudwatch.Metric]:
    return [
        own_metric(name, statistic=statistic, period_minutes=PERIOD_MINUTES, label=statistic)
        for statistic in ("p50", "p99")
    ]


def _by(*, name: str, **dimensions: StrEnum | str) -> cloudwatch.Metric:
    """A count by its dimensions' values, which are its label too."""
    values = {key: str(value) for key, value in dimensions.items()}
    return own_metric(name, period_minutes=PERIOD_MINUTES, label=" ".join((name, *values.values())), **values)
