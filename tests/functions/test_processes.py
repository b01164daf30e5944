"""A function's process: what it starts with, what it forgets between invocations, and what outlives it."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from infra.specs import FUNCTIONS
from notify_core.application.ports import NoticeKey
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId
from notify_core.domain.notice import Notice
from tests.functions.deployment import Deployment, failed
from tests.functions.told import INVOICE, TEN, alert, id_of, notice, publication, register, states

ACME = WorkspaceId("acme")
MINUTES_LATER = timedelta(minutes=3)


@pytest.fixture
def deployment(deployment: Deployment) -> Deployment:
    """A deploy with a workspace of ten people."""
    register(deployment)
    return deployment


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was logged since the last look."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def counted(logged: list[dict[str, Any]], metric: str) -> dict[str, int]:
    """A metric's value, by the invocation that wrote it."""
    return {line["invocation_id"]: line[metric] for line in logged if metric in line}


# ---------------------------------------------------------------- one process, two invocations


def test_a_second_invocation_knows_nothing_of_the_first(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither its failures nor its sums are left over."""
    deployment.invoke("process_requests", deployment.event("requests", publication()))
    tasks = deployment.take("chat")
    lines(capsys)
    with deployment.process("deliver_chat") as call:
        first = call(deployment.event("chat", *tasks[:5], "no dispatch"), "first")
        second = call(deployment.event("chat", *tasks[5:]), "second")
    assert (failed(first), failed(second)) == (["m5"], [])
    logged = lines(capsys)
    assert counted(logged, "sends") == {"first": 5, "second": 5}
    assert counted(logged, "messages_unreadable") == {"first": 1}
    assert states(deployment) == ["delivered"] * 10


def test_a_channel_that_was_throttled_is_looked_up_anew_by_the_next_invocation(deployment: Deployment) -> None:
    deployment.invoke("process_requests", deployment.event("requests", publication()))
    tasks = deployment.take("chat")
    deployment.simulator.fault("chat", "throttle", retry_after=1)
    with deployment.process("deliver_chat") as call:
        call(deployment.event("chat", tasks[0]), "first")
    with deployment.process("deliver_chat", later=timedelta(seconds=1)) as call:
        call(deployment.event("chat", *tasks[1:]), "second")
    assert len(deployment.simulator.messages()) == 9


def test_a_person_is_looked_up_anew_by_the_next_invocation(deployment: Deployment) -> None:
    publications = [publication("k1", ["p0"]), publication("k2", ["p0"])]
    deployment.invoke("process_requests", deployment.event("requests", *publications))
    first, second = deployment.take("chat")
    with deployment.process("deliver_chat") as call:
        call(deployment.event("chat", first), "first")
        (person,) = deployment.stores.directory.people(ACME, ["p0"]).values()
        deployment.stores.directory.put_person(replace(person, slack_user_id="U0NEW", version=2), person)
        call(deployment.event("chat", second), "second")
    assert [message["to"] for message in deployment.simulator.messages()] == ["U0P0", "U0NEW"]


@pytest.mark.parametrize("folder", [spec.folder for spec in FUNCTIONS if spec.consumes or spec.consumes_dead_letters])
def test_an_empty_batch_is_answered_with_no_failures(deployment: Deployment, folder: str) -> None:
    assert deployment.invoke(folder, {"Records": []}) == {"batchItemFailures": []}


@pytest.mark.parametrize("spec", FUNCTIONS, ids=lambda spec: spec.folder)
def test_every_invocation_writes_at_least_a_line_and_each_is_json(
    deployment: Deployment, capsys: pytest.CaptureFixture[str], spec: Any
) -> None:
    """Without a line ministack waits for one, and an invocation leaves no trace."""
    event = {
        "Records": [],
        "routeKey": "GET /nowhere",
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": {}}}},
    }
    with deployment.process(spec.folder) as call:
        call(event, "an-invocation")
    logged = lines(capsys)
    assert logged != []
    assert {line["invocation_id"] for line in logged} == {"an-invocation"}


# ---------------------------------------------------------------- from one function to the next


def test_a_publication_that_is_lost_on_the_way_to_slack_arrives_once_through_every_function(
    deployment: Deployment,
) -> None:
    """Scenarios 3 and 6, each step in a process of its own."""
    deployment.simulator.fault("chat", "lose_request", to="U0P0")
    deployment.simulator.fault("chat", "drop_response", to="U0P1")
    deployment.invoke("process_requests", deployment.event("requests", publication()))
    deployment.invoke("deliver_chat", deployment.event("chat", *deployment.take("chat")))
    assert states(deployment) == ["sending", "sending", *["delivered"] * 8]
    assert deployment.invoke("sweep_due", later=MINUTES_LATER) == {"sent": 1}
    event = deployment.event("reconcile", *deployment.take("reconcile"))
    assert failed(deployment.invoke("reconcile_requests", event, later=MINUTES_LATER)) == []
    assert states(deployment) == ["queued", *["delivered"] * 9]
    tasks = deployment.take("chat")
    assert failed(deployment.invoke("deliver_chat", deployment.event("chat", *tasks), later=MINUTES_LATER)) == []
    assert states(deployment) == ["delivered"] * 10
    found = [message["to"] for message in deployment.simulator.messages()]
    assert sorted(found) == [f"U0P{number}" for number in range(10)]


def test_an_alert_reaches_the_headquarters_channel(deployment: Deployment) -> None:
    deployment.invoke("process_requests", deployment.event("requests", alert()))
    event = deployment.event("system", *deployment.take("system"))
    assert failed(deployment.invoke("deliver_system", event)) == []
    assert [(message["channel"], message["to"], message["text"]) for message in deployment.simulator.messages()] == [
        ("slack_system", "C0HQ", "Disk 42")
    ]


def test_a_failed_alert_is_counted_and_alarmed(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    deployment.simulator.fault("slack_system", "reject", code="channel_not_found")
    deployment.invoke("process_requests", deployment.event("requests", alert()))
    lines(capsys)
    with deployment.process("deliver_system") as call:
        call(deployment.event("system", *deployment.take("system")), "failing")
    logged = lines(capsys)
    assert counted(logged, "alarms") == {"failing": 1}
    alarms = [(line["message"], line["reason"]) for line in logged if line.get("level") == "ERROR"]
    assert alarms == [("hq_alert_failed", "channel_not_found")]
    key = NoticeKey(workspace_id=ACME, recipient=Recipient("-"), notice_id=NoticeId(id_of(definition="hq.alert")))
    found = deployment.stores.notices.get(key)
    assert isinstance(found, Notice)
    assert found.status == "failed"


def test_no_line_holds_an_address_a_text_or_a_token(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the providers do."""
    publications = [publication("k1", definition=INVOICE), alert()]
    deployment.invoke("process_requests", deployment.event("requests", *publications))
    for number, fault in enumerate(["throttle", "unavailable", "error_500", "drop_response", "lose_request"]):
        deployment.simulator.fault("chat", fault, to=f"U0P{number}")
    deployment.simulator.fault("chat", "reject", to="U0P5", code="a_new_code")
    deployment.simulator.fault("text", "reject", code="ValidationException:SENDER_ID_NOT_REGISTERED")
    deployment.simulator.fault("slack_system", "reject", code="token_revoked")
    for folder, queue in (("deliver_chat", "chat"), ("deliver_text", "text"), ("deliver_system", "system")):
        deployment.invoke(folder, deployment.event(queue, *deployment.take(queue)))
    printed = capsys.readouterr()
    for secret in ("U0P", "+1206", "Invoice", 'overdue."', "xoxb", "Disk", "P0"):
        assert secret not in printed.out + printed.err
    alarms = {json.loads(line)["message"] for line in printed.out.splitlines() if '"ERROR"' in line}
    assert alarms == {"provider_needs_operator", "circuit_opened"}


# ---------------------------------------------------------------- schedules


def test_a_sweep_sends_one_message_a_due_request_and_says_how_many(deployment: Deployment) -> None:
    publications = [publication(f"k{number}", ["p0"]) for number in range(3)]
    deployment.invoke("process_requests", deployment.event("requests", *publications))
    assert deployment.invoke("sweep_due") == {"sent": 0}
    assert deployment.invoke("sweep_due", later=MINUTES_LATER) == {"sent": 3}
    assert {body["request_id"] for body in deployment.take("reconcile")} == {id_of(f"k{number}") for number in range(3)}


def test_the_nightly_sweep_sends_one_message_a_workspace(deployment: Deployment) -> None:
    assert deployment.invoke("sweep_nightly") == {"sent": 1}
    (body,) = deployment.take("reconcile")
    assert (body["task"], body["workspace_id"]) == ("audit", "acme")
    assert failed(deployment.invoke("reconcile_requests", deployment.event("reconcile", body))) == []


# ---------------------------------------------------------------- an operator's retry


def test_an_operators_retry_goes_from_the_api_to_the_person(deployment: Deployment) -> None:
    deployment.simulator.fault("chat", "unavailable", to="U0P0", times=5)
    deployment.invoke("process_requests", deployment.event("requests", publication()))
    event = deployment.event("chat", *deployment.take("chat"))
    for minutes in (0, 1, 2, 4, 8):
        deployment.invoke("deliver_chat", event, later=timedelta(minutes=minutes))
    item = notice(deployment).delivery(Channel.CHAT)
    assert item is not None
    assert (item.state, item.reason, len(deployment.simulator.messages())) == ("failed", "attempts_exhausted", 9)
    path = {"ws": "acme", "recipient": "p0", "notice_id": notice(deployment).notice_id, "channel": "chat"}
    call = {
        "routeKey": "POST /v1/workspaces/{ws}/notices/{recipient}/{notice_id}/deliveries/{channel}/retry",
        "pathParameters": path,
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": {"scope": "notify/operator"}}}},
    }
    answers = [deployment.invoke("serve_operators", call) for _ in range(2)]
    assert [answer["statusCode"] for answer in answers] == [202, 409]
    (task,) = deployment.take("chat")
    assert failed(deployment.invoke("deliver_chat", deployment.event("chat", task))) == []
    assert states(deployment) == ["delivered"] * 10
    assert sorted(message["to"] for message in deployment.simulator.messages()) == [f"U0P{n}" for n in range(len(TEN))]
