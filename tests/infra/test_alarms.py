"""The alarms: each rule is raised when it should be, ends by itself, tells somebody, and is in the runbook."""

import re
from typing import Any

import pytest
from click import Group, UsageError
from typer.main import get_command

from infra.alarms import RULES
from infra.settings import ContextInvalid
from notify_cli.app import app
from tests.architecture.repository import ROOT
from tests.infra import emitted
from tests.infra.templates import Properties, Template, plain, referred, synthesize

OURS = "NotifyPlatform"
QUEUES = ["requests", "chat", "text", "system", "reconcile", "receipts"]
FUNCTIONS = [
    "process-requests",
    "deliver-chat",
    "deliver-text",
    "deliver-system",
    "record-receipts",
    "record-dead-letters",
    "reconcile-requests",
    "sweep-due",
    "sweep-nightly",
    "serve-operators",
    "serve-inbox",
]
EVENTS = [
    "audit-difference",
    "audit-differences-unlisted",
    "audit-of-rows-failed",
    "call-failed",
    "circuit-opened",
    "console-not-rendered",
    "delivery-not-prepared",
    "function-failed",
    "hq-alert-failed",
    "outcome-unknown",
    "provider-needs-operator",
    "reconcile-backlog",
    "sweep-of-workspace-failed",
]
AT_ONCE = ("> 0", 60, 1, "notBreaching")
"""Above zero in one minute, over in a minute without a value."""


def expected() -> dict[str, tuple[Any, ...]]:
    """Each alarm: namespace, metric, dimensions, statistic; comparison, period in seconds, periods, missing data."""
    found: dict[str, tuple[Any, ...]] = {}
    for queue in QUEUES:
        own = {"queue": queue}
        dead, queued = {"QueueName": f"{queue.capitalize()}DeadLetters"}, {"QueueName": f"{queue.capitalize()}Queue"}
        visible, age = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
        found[f"dead-letters-{queue}"] = (OURS, "dead_letters", own, "Sum", *AT_ONCE)
        found[f"dead-letters-unreadable-{queue}"] = (OURS, "dead_letters_unreadable", own, "Sum", *AT_ONCE)
        untaken = ("AWS/SQS", visible, dead, "Minimum", "> 0", 60, 15, "notBreaching")
        found[f"dead-letters-untaken-{queue}"] = untaken
        found[f"oldest-message-{queue}"] = ("AWS/SQS", age, queued, "Maximum", "> 1800", 60, 1, "notBreaching")
    for function in FUNCTIONS:
        of = {"FunctionName": "".join(part.capitalize() for part in function.split("-")) + "Function"}
        found[f"function-errors-{function}"] = ("AWS/Lambda", "Errors", of, "Sum", *AT_ONCE)
        throttles = ("AWS/Lambda", "Throttles", of, "Sum", "> 0", 60, 3, "notBreaching")
        found[f"function-throttles-{function}"] = throttles
    for event in EVENTS:
        found[event] = (OURS, "alarms", {"event": event.replace("-", "_")}, "Sum", *AT_ONCE)
    unavailable = {"event": "call_unavailable"}
    return found | {
        "call-unavailable": (OURS, "alarms", unavailable, "Sum", "> 5", 60, 1, "notBreaching"),
        "messages-malformed": (OURS, "messages_malformed", {}, "Sum", *AT_ONCE),
        "messages-unreadable": (OURS, "messages_unreadable", {}, "Sum", *AT_ONCE),
        "api-errors": ("AWS/ApiGateway", "5xx", {"ApiId": "Api"}, "Sum", *AT_ONCE),
        "sweep-stopped": (OURS, "requests_due", {}, "SampleCount", "< 1", 60, 5, "breaching"),
        "audit-stopped": (OURS, "workspaces_audited", {}, "SampleCount", "< 1", 3600, 26, "breaching"),
    }


OPERATORS = {"GreaterThanThreshold": ">", "LessThanThreshold": "<"}


def told(alarm: Properties) -> tuple[Any, ...]:
    dimensions = {
        item["Name"]: item["Value"] if isinstance(item["Value"], str) else referred(item["Value"])
        for item in alarm.get("Dimensions", [])
    }
    return (
        alarm["Namespace"],
        alarm["MetricName"],
        dimensions,
        alarm["Statistic"],
        f"{OPERATORS[alarm['ComparisonOperator']]} {alarm['Threshold']}",
        alarm["Period"],
        alarm["EvaluationPeriods"],
        alarm["TreatMissingData"],
    )


def alarms(template: Template) -> dict[str, Properties]:
    return {alarm["AlarmName"]: alarm for alarm in template.of_type("AWS::CloudWatch::Alarm").values()}


def test_these_are_the_alarms(cloud: Template) -> None:
    assert {name: told(alarm) for name, alarm in alarms(cloud).items()} == {
        f"notify-{name}": alarm for name, alarm in expected().items()
    }


def test_a_second_dead_letter_an_hour_later_is_told_again(cloud: Template) -> None:
    """Scenario 43.

    An alarm tells when it is raised: it has to be over by then, whether or not the first letter still lies there.
    """
    for queue in QUEUES:
        alarm = alarms(cloud)[f"notify-dead-letters-{queue}"]
        assert (alarm["MetricName"], alarm["Statistic"]) == ("dead_letters", "Sum")
        assert alarm["Period"] * alarm["EvaluationPeriods"] <= 60
        assert alarm["TreatMissingData"] == "notBreaching"


def test_every_alarm_tells_the_topic(cloud: Template) -> None:
    assert {
        name: ([referred(action) for action in alarm["AlarmActions"]], alarm["ActionsEnabled"])
        for name, alarm in alarms(cloud).items()
    } == {f"notify-{name}": (["AlarmsTopic"], True) for name in expected()}


def test_only_the_alarms_of_silence_are_off_without_schedules(local: Template) -> None:
    off = [name for name, alarm in alarms(local).items() if not alarm["ActionsEnabled"]]
    assert sorted(off) == ["notify-audit-stopped", "notify-sweep-stopped"]


def test_cloudwatch_may_tell_the_topic_of_alarms_of_this_account_only(cloud: Template) -> None:
    (policy,) = cloud.of_type("AWS::SNS::TopicPolicy").values()
    allowed = [item for item in policy["PolicyDocument"]["Statement"] if item["Effect"] == "Allow"]
    assert [(item["Principal"], item["Action"], item["Condition"]) for item in allowed] == [
        (
            {"Service": "cloudwatch.amazonaws.com"},
            "sns:Publish",
            {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}},
        )
    ]


def test_alarms_go_to_the_address_chosen_and_to_nobody_else(cloud: Template) -> None:
    assert cloud.of_type("AWS::SNS::Subscription") == {}
    (subscription,) = synthesize(alarm_email="on-call@example.com").of_type("AWS::SNS::Subscription").values()
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "on-call@example.com")
    assert plain(subscription["TopicArn"]["Ref"]) == "AlarmsTopic"


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ContextInvalid, match="alarm_email: expected an e-mail address, got 'on-call'"):
        synthesize(alarm_email="on-call")


def test_every_metric_of_ours_that_an_alarm_watches_is_written_with_these_dimensions(cloud: Template) -> None:
    watched = {emitted.read(alarm) for alarm in alarms(cloud).values() if alarm["Namespace"] == OURS}
    assert watched - emitted.emitted() == set()


def test_every_event_that_the_code_alarms_by_has_an_alarm_and_the_reverse() -> None:
    assert {event.replace("_", "-") for event in emitted.events()} == {*EVENTS, "call-unavailable"}


def test_every_rule_has_its_section_in_the_runbook_and_the_reverse() -> None:
    runbook = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### (.+)$", runbook, re.MULTILINE)) == sorted(rule.name for rule in RULES)


def test_every_section_says_what_it_means_what_to_do_and_when_it_is_over() -> None:
    runbook = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    for section in runbook.split("\n### ")[1:]:
        name, _, text = section.partition("\n")
        assert re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE) == ["Means", "Do", "Over"], name


def test_every_alarm_names_its_section(cloud: Template) -> None:
    for name, alarm in alarms(cloud).items():
        section = alarm["AlarmDescription"].rpartition("docs/runbook.md, ")[2].removesuffix(".")
        assert name.startswith(f"notify-{section}")


COMMANDS = re.compile(r"`notify ([^`]+)`")
NO_SUCH_FILE = "does not exist"


def check_command(line: str) -> None:
    """Has the command line read a command, as far as it can without a platform."""
    command, words = get_command(app), line.split()
    while isinstance(command, Group):
        name, *words = words
        command = command.commands[name]
    try:
        command.make_context(line, words)
    except UsageError as error:
        assert NO_SUCH_FILE in error.message, f"notify {line}: {error.message}"  # noqa: PT017


def test_every_command_in_the_runbook_is_one_that_notify_understands() -> None:
    text = " ".join((ROOT / "docs/runbook.md").read_text(encoding="utf-8").split())
    found = COMMANDS.findall(text)
    for line in found:
        check_command(line)
    assert len(found) > 40


def test_every_alarm_has_a_command_to_run() -> None:
    runbook = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    for section in runbook.split("\n### ")[1:]:
        do = section.partition("**Do.**")[2].partition("**Over.**")[0]
        assert COMMANDS.search(" ".join(do.split())), section.partition("\n")[0]


def test_the_runbook_lists_every_kind_of_difference() -> None:
    source = "".join(
        (ROOT / "layers/notify_core/python/notify_core/application" / name).read_text(encoding="utf-8")
        for name in ("audit_request.py", "audit_inbox.py", "audit_workspace.py")
    )
    given = re.findall(r'(?:kind=|yield |append\(|entry, |\[)"([a-z]+(?:_[a-z]+)+)"', source)
    runbook = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    section = runbook.partition("### audit-difference\n")[2].partition("\n### ")[0]
    listed = re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(set(given))
    assert "told once" in section
