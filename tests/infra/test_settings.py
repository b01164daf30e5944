"""What a deploy chooses, and what it refuses to guess."""

import platform

import pytest

from infra.settings import ContextInvalid
from tests.infra.templates import Template, plain, synthesize

ALL_TABLES = {
    "NOTIFY_REGISTRY_TABLE",
    "NOTIFY_DIRECTORY_TABLE",
    "NOTIFY_REQUESTS_TABLE",
    "NOTIFY_NOTICES_TABLE",
}
ALL_SENT = {
    "NOTIFY_REQUESTS_QUEUE_URL",
    "NOTIFY_CHAT_QUEUE_URL",
    "NOTIFY_TEXT_QUEUE_URL",
    "NOTIFY_SYSTEM_QUEUE_URL",
    "NOTIFY_RECONCILE_QUEUE_URL",
}
SLACK = {"NOTIFY_SLACK_BASE_URL", "NOTIFY_SLACK_SECRET_PREFIX"}
VARIABLES = {
    "ProcessRequests": ALL_TABLES | ALL_SENT | {"NOTIFY_REQUESTS_DEAD_LETTER_QUEUE_URL"},
    "DeliverChat": ALL_TABLES | SLACK | {"NOTIFY_CHAT_QUEUE_URL"},
    "DeliverText": ALL_TABLES
    | {"NOTIFY_TEXT_QUEUE_URL", "NOTIFY_SMS_ORIGINATION_IDENTITY", "NOTIFY_SMS_CONFIGURATION_SET"},
    "DeliverSystem": ALL_TABLES | SLACK | {"NOTIFY_SYSTEM_QUEUE_URL", "NOTIFY_HQ_CHANNEL"},
    "RecordReceipts": {"NOTIFY_REQUESTS_TABLE", "NOTIFY_NOTICES_TABLE", "NOTIFY_RECEIPTS_QUEUE_URL"},
    "RecordDeadLetters": ALL_TABLES
    | ALL_SENT
    | {
        "NOTIFY_REQUESTS_DEAD_LETTER_QUEUE_URL",
        "NOTIFY_CHAT_DEAD_LETTER_QUEUE_URL",
        "NOTIFY_TEXT_DEAD_LETTER_QUEUE_URL",
        "NOTIFY_SYSTEM_DEAD_LETTER_QUEUE_URL",
        "NOTIFY_RECONCILE_DEAD_LETTER_QUEUE_URL",
        "NOTIFY_RECEIPTS_DEAD_LETTER_QUEUE_URL",
    },
    "ReconcileRequests": ALL_TABLES | ALL_SENT | SLACK | {"NOTIFY_HQ_CHANNEL"},
    "SweepDue": {"NOTIFY_REGISTRY_TABLE", "NOTIFY_REQUESTS_TABLE", "NOTIFY_RECONCILE_QUEUE_URL"},
    "SweepNightly": {"NOTIFY_REGISTRY_TABLE", "NOTIFY_RECONCILE_QUEUE_URL"},
    "ServeOperators": ALL_TABLES | ALL_SENT | {"NOTIFY_CURSOR_SECRET"},
    "ServeInbox": (ALL_TABLES - {"NOTIFY_DIRECTORY_TABLE"}) | {"NOTIFY_CURSOR_SECRET"},
}


def variables(template: Template, name: str) -> dict[str, object]:
    found: dict[str, object] = template.of_type("AWS::Lambda::Function")[f"{name}Function"]["Environment"]["Variables"]
    return found


@pytest.mark.parametrize("name", VARIABLES)
def test_a_function_gets_only_the_variables_it_needs(cloud: Template, name: str) -> None:
    assert set(variables(cloud, name)) == VARIABLES[name]


def test_a_local_stack_uses_the_simulator_and_this_machine(local: Template) -> None:
    machine = "x86_64" if platform.machine() in {"x86_64", "AMD64"} else "arm64"
    assert {function["Architectures"][0] for function in local.of_type("AWS::Lambda::Function").values()} == {machine}
    system = variables(local, "DeliverSystem")
    assert system["NOTIFY_SLACK_BASE_URL"] == "http://127.0.0.1:4567/slack/api/"
    assert system["NOTIFY_SLACK_SECRET_PREFIX"] == "notify/slack/"
    assert system["NOTIFY_HQ_CHANNEL"] == "C0HQ"
    assert system["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    text = variables(local, "DeliverText")
    assert text["NOTIFY_SMS_ORIGINATION_IDENTITY"] == "+15550100"
    assert text["NOTIFY_SMS_CONFIGURATION_SET"] == "notify-local"
    assert variables(local, "ServeInbox")["NOTIFY_CURSOR_SECRET"] == "notify/cursor"


def test_a_local_stack_is_the_real_one_that_also_takes_plain_http(local: Template, cloud: Template) -> None:
    names = {plain(name): resource["Type"] for name, resource in local.resources.items()}
    assert {plain(name): resource["Type"] for name, resource in cloud.resources.items()} == names | {
        f"{queue}Policy": "AWS::SQS::QueuePolicy" for queue in cloud.of_type("AWS::SQS::Queue")
    }


def test_a_small_machine_lowers_every_maximum(local: Template) -> None:
    assert {
        mapping["ScalingConfig"]["MaximumConcurrency"]
        for mapping in local.of_type("AWS::Lambda::EventSourceMapping").values()
    } == {2, 3}


def test_schedules_can_be_off(local: Template) -> None:
    assert {schedule["State"] for schedule in local.of_type("AWS::Scheduler::Schedule").values()} == {"DISABLED"}


REFUSED = [
    ({"issuer_url": ""}, "context issuer_url: pass the OpenID issuer"),
    ({"issuer_url": "http://issuer.example.com"}, "context issuer_url: pass the OpenID issuer"),
    ({"protect": "yes"}, "context protect: expected true or false, got 'yes'"),
    ({"slack_base_url": "https://slack.com/api"}, "context slack_base_url: it must end in a slash"),
    ({"concurrency_max": "1"}, "context concurrency_max: expected a whole number from 2, got '1'"),
    ({"concurrency_max": "many"}, "context concurrency_max: expected a whole number from 2, got 'many'"),
    ({"inbox_origins": "*"}, "context inbox_origins: list the web sites whose pages call the inbox"),
    ({"inbox_origins": "http://app.example.com"}, "context inbox_origins: list the web sites"),
    ({"inbox_origins": "https://app.example.com/"}, "context inbox_origins: list the web sites"),
    ({"local": "true", "environment": "[]"}, "context environment: expected a JSON object of texts"),
    ({"local": "true", "environment": '{"A": 1}'}, "context environment: expected a JSON object of texts"),
    ({"environment": '{"A": "b"}'}, "context environment: only a local stack takes it"),
]


@pytest.mark.parametrize(("context", "message"), REFUSED)
def test_what_cannot_be_used_is_named_with_the_remedy(context: dict[str, str], message: str) -> None:
    with pytest.raises(ContextInvalid) as refusal:
        synthesize(**context)
    assert str(refusal.value).startswith(message)
