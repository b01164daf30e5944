import ast
import io
import json
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from notify_core.adapters.telemetry import LOGGED_FIELDS, METRIC_DIMENSIONS, PowertoolsTelemetry
from tests.architecture.repository import ROOT

CORE = ROOT / "layers/notify_core/python/notify_core"
_services = count()


class Output:
    """What was written, line by line."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.telemetry = PowertoolsTelemetry(service=f"test-{next(_services)}", stream=self.stream)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def output() -> Output:
    return Output()


def without_time(line: dict[str, Any]) -> dict[str, Any]:
    line["_aws"].pop("Timestamp")
    return line


def test_counts_of_an_invocation_are_summed_and_written_once_at_its_end(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        output.telemetry.count("sends", 2, channel="chat", result="delivered")
        output.telemetry.count("sends", channel="chat", result="delivered")
        output.telemetry.count("sends", channel="chat", result="unknown")
        assert output.text == ""
    assert [without_time(line) for line in output.lines] == [
        {
            "_aws": {
                "CloudWatchMetrics": [
                    {
                        "Namespace": "NotifyPlatform",
                        "Dimensions": [["channel", "result"]],
                        "Metrics": [{"Name": "sends", "Unit": "Count"}],
                    }
                ]
            },
            "channel": "chat",
            "result": "delivered",
            "invocation_id": "i-1",
            "sends": 3,
        },
        {
            "_aws": {
                "CloudWatchMetrics": [
                    {
                        "Namespace": "NotifyPlatform",
                        "Dimensions": [["channel", "result"]],
                        "Metrics": [{"Name": "sends", "Unit": "Count"}],
                    }
                ]
            },
            "channel": "chat",
            "result": "unknown",
            "invocation_id": "i-1",
            "sends": 1,
        },
    ]


def test_durations_keep_their_values_to_the_millisecond(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        output.telemetry.observe("publication_to_provider", 1.23456)
        output.telemetry.observe("publication_to_provider", 2)
    (line,) = output.lines
    assert line["publication_to_provider"] == [1.235, 2]
    assert line["_aws"]["CloudWatchMetrics"] == [
        {
            "Namespace": "NotifyPlatform",
            "Dimensions": [[]],
            "Metrics": [{"Name": "publication_to_provider", "Unit": "Seconds"}],
        }
    ]


def test_no_duration_is_lost_beyond_what_a_line_takes(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        for number in range(250):
            output.telemetry.observe("publication_to_provider", number)
    values = [line["publication_to_provider"] for line in output.lines]
    assert [len(chunk) for chunk in values] == [100, 100, 50]
    assert [value for chunk in values for value in chunk] == list(range(250))


def test_an_invocation_that_fails_still_writes_its_metrics(output: Output) -> None:
    def fail() -> None:
        with output.telemetry.invocation("i-1"):
            output.telemetry.count("requests_retired")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert output.lines[0]["requests_retired"] == 1


def test_sums_begin_anew_with_each_invocation(output: Output) -> None:
    for _ in range(2):
        with output.telemetry.invocation("i"):
            output.telemetry.count("requests_retired")
    assert [line["requests_retired"] for line in output.lines] == [1, 1]


def test_every_invocation_writes_a_line(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        pass
    (line,) = output.lines
    assert (line["message"], line["invocation_id"]) == ("nothing_to_tell", "i-1")


def test_threads_of_an_invocation_share_its_sums(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        threads = [
            threading.Thread(target=lambda: [output.telemetry.count("sends") for _ in range(1000)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert output.lines[0]["sends"] == 8000


def test_a_line_says_what_happened_where_and_in_which_invocation(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        output.telemetry.info("sweep_lost_race", request_id="r-1", attempts=2)
        (line,) = output.lines
    assert line.pop("timestamp").endswith("+00:00")
    assert line.pop("service").startswith("test-")
    assert line == {
        "level": "INFO",
        "message": "sweep_lost_race",
        "invocation_id": "i-1",
        "request_id": "r-1",
        "attempts": 2,
    }


def test_an_alarm_is_an_error_and_a_metric(output: Output) -> None:
    with output.telemetry.invocation("i-1"):
        output.telemetry.alarm("circuit_opened", workspace_id="acme", channel="chat", reason="invalid_auth")
    line, metric = output.lines
    assert (line["level"], line["message"], line["reason"]) == ("ERROR", "circuit_opened", "invalid_auth")
    assert (metric["alarms"], metric["event"]) == (1, "circuit_opened")


SECRETS: list[tuple[str, Any]] = [
    ("address", "U0ANA"),
    ("address", 41790000001),
    ("phone", "+41790000001"),
    ("text", "hello"),
    ("token", "abc"),
    ("request_key", "inv-42"),
    ("reason", "+41790000001"),
    ("reason", "41790000001"),
    ("reason", "ana@example.com"),
    ("reason", "Invoice 42 is overdue"),
    ("reason", "xoxb-1-2-abc"),
    ("code", "https://slack.example/api"),
    ("error", "x" * 201),
]


@pytest.mark.parametrize(("field", "value"), SECRETS, ids=[f"{field}={value}"[:30] for field, value in SECRETS])
def test_what_could_be_an_address_a_token_or_content_is_not_written(output: Output, field: str, value: object) -> None:
    with output.telemetry.invocation("i-1"):
        output.telemetry.info("something", **{field: value})
        output.telemetry.alarm("something", **{field: value})
        output.telemetry.count("something", **{field: str(value)})
    assert str(value) not in output.text
    assert output.lines[0][field] == "[redacted]"


def uses() -> Iterator[tuple[str, str, str]]:
    """Each field and dimension that the product's code passes to its telemetry, with the method and the file."""
    for path in [*CORE.rglob("*.py"), *(ROOT / "functions").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = ast.unparse(node.func.value)
            if owner.rstrip("()").endswith("telemetry"):
                yield from ((node.func.attr, keyword.arg or "**", path.name) for keyword in node.keywords)


def test_all_that_the_product_logs_is_allowed() -> None:
    found = list(uses())
    assert [use for use in found if use[0] in {"info", "alarm"} and use[1] not in LOGGED_FIELDS] == []
    dimensions = [use for use in found if use[0] in {"count", "observe"}]
    assert [use for use in dimensions if use[1] not in METRIC_DIMENSIONS | {"value", "seconds"}] == []
    assert len(found) > 10


def test_a_happy_batch_of_ten_costs_less_than_two_hundred_bytes_a_delivery(output: Output) -> None:
    with output.telemetry.invocation("5f1c3c5e-6f4e-4d8e-9d55-0a6d5a2d3f11"):
        for number in range(10):
            output.telemetry.observe("publication_to_provider", 0.123 * number)
            output.telemetry.count("sends", channel="chat", result="delivered")
    assert len(output.text) < 10 * 60
