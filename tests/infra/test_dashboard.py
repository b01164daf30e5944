"""The dashboard shows what the platform really writes, and leaves nothing out that an operator looks for."""

import json
from typing import Any

import pytest

from tests.infra import emitted
from tests.infra.emitted import Metric
from tests.infra.templates import Template

OURS = "NotifyPlatform"
TITLES = [
    "Alarms",
    "Requests by outcome",
    "Withdrawals by result",
    "Publications and requests, otherwise",
    "Deliveries by outcome",
    "Sends by result",
    "Unknown sends, settled",
    "Receipts, retries",
    "Seconds from publication to outcome",
    "Seconds from publication to provider",
    "Messages that wait",
    "Age of the oldest, in seconds",
    "Dead letters",
    "Circuits opened, and what else needs somebody",
    "Sweeps",
    "Audits",
    "Function errors",
    "HTTP API",
]
ON_ALARMS_ONLY = {"messages_malformed", "messages_unreadable"}
IN_DETAIL = {
    "audit_closed",
    "audit_requests",
    "dead_letters_recorded",
    "definitions_retired",
    "records_failed",
}


def widgets(template: Template) -> list[dict[str, Any]]:
    (dashboard,) = template.of_type("AWS::CloudWatch::Dashboard").values()
    text = "".join(
        part if isinstance(part, str) else str(part.get("Ref") or part["Fn::GetAtt"][0])
        for part in dashboard["DashboardBody"]["Fn::Join"][1]
    )
    found: list[dict[str, Any]] = json.loads(text)["widgets"]
    return found


def metrics(widget: dict[str, Any]) -> list[tuple[str, Metric, tuple[str, ...], str]]:
    """Each metric of a widget: its namespace, what it is, the values of its dimensions, and the statistic."""
    return [
        (
            row[0],
            Metric(row[1], frozenset(row[2:-1:2])),
            tuple(row[3:-1:2]),
            row[-1].get("stat", "Average"),
        )
        for row in widget["properties"].get("metrics", [])
    ]


def ours(template: Template) -> set[Metric]:
    return {metric for widget in widgets(template) for namespace, metric, _, _ in metrics(widget) if namespace == OURS}


def test_these_are_the_widgets(cloud: Template) -> None:
    assert [widget["properties"]["title"] for widget in widgets(cloud)] == TITLES


def test_every_metric_of_ours_is_written_with_these_dimensions(cloud: Template) -> None:
    assert ours(cloud) - emitted.emitted() == set()


def test_every_metric_that_is_written_is_shown(cloud: Template) -> None:
    """Or deliberately not: it tells no more than another that is."""
    left_out = {metric.name for metric in emitted.emitted() - ours(cloud)}
    assert left_out == ON_ALARMS_ONLY | IN_DETAIL


@pytest.mark.parametrize(
    ("title", "values"),
    [
        (
            "Requests by outcome",
            {"queued", "open", "no_recipients", "invalid", "expired", "cancelled", "superseded", "settled"},
        ),
        (
            "Deliveries by outcome",
            {
                *("console", "chat", "text", "slack_system"),
                *("queued", "deferred", "sent", "delivered", "failed", "bounced"),
                *("cancelled", "expired", "skipped", "unavailable"),
            },
        ),
        ("Withdrawals by result", {"stopped", "on_arrival", "nothing"}),
        (
            "Sends by result",
            {
                *("chat", "text", "slack_system"),
                *("accepted", "delivered", "throttled", "unavailable", "rejected", "unknown"),
            },
        ),
    ],
)
def test_every_outcome_has_its_line(cloud: Template, title: str, values: set[str]) -> None:
    (widget,) = (widget for widget in widgets(cloud) if widget["properties"]["title"] == title)
    assert {value for _, _, found, _ in metrics(widget) for value in found} == values


def test_times_are_shown_as_their_median_and_their_worst_of_a_hundred(cloud: Template) -> None:
    for widget in widgets(cloud):
        if widget["properties"]["title"].startswith("Seconds from"):
            assert [statistic for _, _, _, statistic in metrics(widget)] == ["p50", "p99"]


def test_every_alarm_shows_its_state(cloud: Template) -> None:
    (shown,) = (widget for widget in widgets(cloud) if widget["type"] == "alarm")
    assert len(shown["properties"]["alarms"]) == len(cloud.of_type("AWS::CloudWatch::Alarm"))
