"""Every dead letter is counted by its queue when it is taken, readable or not: the count is what raises an alarm."""

import json
from typing import Any

import pytest

from notify_core.application.ports import QueueName
from tests.functions.deployment import Deployment
from tests.functions.told import publication


def metric(printed: str, name: str) -> list[dict[str, Any]]:
    """The lines of a metric that were written, with its dimensions' values."""
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return [
        {key: line[key] for key in (name, *line["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0])}
        for line in lines
        if "_aws" in line and name in line
    ]


def test_a_dead_letter_is_counted_by_its_queue_whether_or_not_it_can_be_read(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    event = deployment.event("requests", publication("k1"), "no publication", is_dead=True)
    deployment.invoke("record_dead_letters", event)
    printed = capsys.readouterr().out
    assert metric(printed, "dead_letters") == [{"dead_letters": 2, "queue": "requests"}]
    assert metric(printed, "dead_letters_unreadable") == [{"dead_letters_unreadable": 1, "queue": "requests"}]


@pytest.mark.parametrize("queue", [queue.value for queue in QueueName])
@pytest.mark.parametrize("body", ["no JSON", "[" * 100_000, "[]", "{}"], ids=["text", "deep", "list", "object"])
def test_whatever_a_dead_letter_holds_it_is_kept_and_counted(
    deployment: Deployment, capsys: pytest.CaptureFixture[str], queue: str, body: str
) -> None:
    deployment.invoke("record_dead_letters", deployment.event(queue, body, is_dead=True))
    printed = capsys.readouterr().out
    assert metric(printed, "dead_letters_unreadable") == [{"dead_letters_unreadable": 1, "queue": queue}]


def test_a_second_dead_letter_is_counted_again(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("k1", "k2"):
        deployment.invoke("record_dead_letters", deployment.event("requests", publication(key), is_dead=True))
        printed = capsys.readouterr().out
        assert metric(printed, "dead_letters") == [{"dead_letters": 1, "queue": "requests"}]
