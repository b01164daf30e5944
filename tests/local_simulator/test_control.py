import json
from typing import Any
from urllib.request import urlopen

import pytest
from mypy_boto3_pinpoint_sms_voice_v2.client import PinpointSMSVoiceV2Client
from slack_sdk import WebClient

from infra.local.simulator.client import SimulatorClient, SimulatorRefused


def problem_of(simulator: SimulatorClient, method: str, path: str, body: object = None) -> tuple[int, Any]:
    with pytest.raises(SimulatorRefused) as refusal:
        simulator.ask(method, path, body)
    return refusal.value.status, refusal.value.problem


def fields_of(simulator: SimulatorClient, path: str, body: object) -> list[tuple[str, str]]:
    status, problem = problem_of(simulator, "POST", path, body)
    assert status == 422
    assert all(error["message"] for error in problem["errors"])
    return [(error["field"], error["code"]) for error in problem["errors"]]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, [("channel", "missing"), ("fault", "missing")]),
        ([], [("", "model_type")]),
        ({"channel": "console", "fault": "hang"}, [("channel", "literal_error")]),
        ({"channel": "chat", "fault": "explode"}, [("fault", "enum")]),
        ({"channel": "chat", "fault": "hang", "who": "ana"}, [("who", "extra_forbidden")]),
        ({"channel": "chat", "fault": "hang", "times": -1}, [("times", "greater_than_equal")]),
        ({"channel": "chat", "fault": "hang", "times": "2"}, [("times", "int_type")]),
        ({"channel": "chat", "fault": "hang", "to": "ana"}, [("to", "wrong_form")]),
        ({"channel": "text", "fault": "hang", "to": "U0ANA"}, [("to", "wrong_form")]),
        ({"channel": "chat", "fault": "hang", "code": "fatal_error"}, [("code", "not_used")]),
        ({"channel": "chat", "fault": "hang", "retry_after": 3}, [("retry_after", "not_used")]),
        ({"channel": "chat", "fault": "hang", "after_seconds": 3}, [("after_seconds", "not_used")]),
        ({"channel": "chat", "fault": "hang", "probability": 0}, [("probability", "greater_than")]),
        ({"channel": "chat", "fault": "reject"}, [("code", "wrong_form")]),
        ({"channel": "chat", "fault": "reject", "code": "ConflictException:X"}, [("code", "wrong_form")]),
        ({"channel": "text", "fault": "reject", "code": "user not found"}, [("code", "wrong_form")]),
        ({"channel": "chat", "fault": "error_500", "code": "404"}, [("code", "wrong_form")]),
        ({"channel": "text", "fault": "unavailable"}, [("fault", "slack_only")]),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_by_field(
    simulator: SimulatorClient, body: object, errors: list[tuple[str, str]]
) -> None:
    assert fields_of(simulator, "faults", body) == errors
    assert simulator.faults() == []


def test_a_fault_is_answered_alone(simulator: SimulatorClient) -> None:
    """However many are still to come: a run may ask for thousands."""
    simulator.fault("chat", "throttle")
    added = simulator.ask("POST", "faults", {"channel": "chat", "fault": "hang", "to": "U0ANA"})
    assert (added["fault"], added["to"], added["times_left"]) == ("hang", "U0ANA", 1)
    assert simulator.faults()[1:] == [added]


def test_the_faults_still_to_come_are_listed(simulator: SimulatorClient) -> None:
    simulator.fault("chat", "throttle", to="U0ANA", times=3, retry_after=30)
    simulator.fault("text", "reject", code="ConflictException:RESOURCE_NOT_ACTIVE", times=None)
    assert simulator.faults() == [
        {
            "channel": "chat",
            "to": "U0ANA",
            "call": "chat.postMessage",
            "fault": "throttle",
            "times_left": 3,
            "code": None,
            "retry_after": 30,
            "after_seconds": 0,
            "probability": 1,
        },
        {
            "channel": "text",
            "to": None,
            "call": "SendTextMessage",
            "fault": "reject",
            "times_left": None,
            "code": "ConflictException:RESOURCE_NOT_ACTIVE",
            "retry_after": 1,
            "after_seconds": 0,
            "probability": 1,
        },
    ]


class TestMessages:
    @pytest.fixture(autouse=True)
    def sent(self, slack: WebClient, sms: PinpointSMSVoiceV2Client) -> None:
        for number, channel in enumerate(["U0ANA", "U0BEN", "C0HQ", "U0ANA"]):
            metadata = {"event_type": "sent", "event_payload": {"delivery_id": f"d{number}"}}
            slack.chat_postMessage(channel=channel, text=f"m{number}", metadata=metadata)
        sms.send_text_message(DestinationPhoneNumber="+41790000001", MessageBody="m4", Context={"delivery_id": "d4"})

    @pytest.mark.parametrize(
        ("wanted", "texts"),
        [
            ({}, ["m0", "m1", "m2", "m3", "m4"]),
            ({"channel": "chat"}, ["m0", "m1", "m3"]),
            ({"channel": "slack_system"}, ["m2"]),
            ({"to": "U0ANA"}, ["m0", "m3"]),
            ({"to": "+41790000001"}, ["m4"]),
            ({"delivery_id": "d1"}, ["m1"]),
            ({"delivery_id": "nobody's"}, []),
            ({"offset": 1, "limit": 2}, ["m1", "m2"]),
            ({"channel": "chat", "offset": 2, "limit": 5}, ["m3"]),
            ({"limit": 0}, []),
            ({"since": "2000-01-01T00:00:00Z"}, ["m0", "m1", "m2", "m3", "m4"]),
            ({"since": "2999-01-01T00:00:00Z"}, []),
        ],
    )
    def test_are_listed_as_asked(self, simulator: SimulatorClient, wanted: dict[str, Any], texts: list[str]) -> None:
        assert [message["text"] for message in simulator.messages(**wanted)] == texts

    def test_since_a_message_include_it(self, simulator: SimulatorClient) -> None:
        third = simulator.messages()[2]
        assert [message["text"] for message in simulator.messages(since=third["at"])] == ["m2", "m3", "m4"]

    def test_to_a_number_nobody_encoded_are_found(self, simulator: SimulatorClient) -> None:
        with urlopen(f"{simulator.url}/_simulator/messages?to=+41790000001", timeout=5) as answer:
            assert [message["text"] for message in json.load(answer)] == ["m4"]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("limit=-1", "limit"),
            ("channel=console", "channel"),
            ("since=noon", "since"),
            ("recipient=ana", "recipient"),
        ],
    )
    def test_asked_for_in_a_way_that_makes_no_sense_are_refused(
        self, simulator: SimulatorClient, query: str, field: str
    ) -> None:
        status, problem = problem_of(simulator, "GET", f"messages?{query}")
        assert (status, [error["field"] for error in problem["errors"]]) == (422, [field])

    def test_and_all_else_are_forgotten_by_a_reset(self, simulator: SimulatorClient, slack: WebClient) -> None:
        simulator.fault("chat", "hang")
        simulator.configure(latency_ms=1)
        simulator.reset()
        assert (simulator.messages(), simulator.faults()) == ([], [])
        assert slack.conversations_history(channel="D0ANA")["messages"] == []
        assert slack.users_list()["members"] == []
        assert simulator.ask("GET", "config")["latency_ms"] == 1


def test_only_the_settings_that_are_given_change(simulator: SimulatorClient) -> None:
    simulator.configure(latency_ms=1, slack_rate={"per_second": 2})
    assert simulator.configure(auto_receipts="DELIVERED", latency_ms=2) == {
        "receipts_queue_url": None,
        "aws_endpoint_url": None,
        "region": "us-east-1",
        "auto_receipts": "TEXT_DELIVERED",
        "slack_rate": {"per_second": 2, "retry_after": 1},
        "latency_ms": 2,
    }


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"latency": 3}, "latency"),
        ({"latency_ms": -1}, "latency_ms"),
        ({"slack_rate": {"per_second": 0}}, "slack_rate.per_second"),
        ({"auto_receipts": "TEXT_READ"}, "auto_receipts"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_field(
    simulator: SimulatorClient, body: object, field: str
) -> None:
    assert [name for name, _ in fields_of(simulator, "config", body)] == [field]


def test_a_body_that_is_not_json_is_refused(simulator: SimulatorClient) -> None:
    assert fields_of(simulator, "tokens", "") == [("", "model_type")]


def test_an_unknown_path_and_a_wrong_method_are_answered_with_what_there_is(
    simulator: SimulatorClient,
) -> None:
    status, problem = problem_of(simulator, "GET", "nothing")
    assert (status, "messages, faults" in problem["title"]) == (404, True)
    assert problem_of(simulator, "PUT", "faults", {}) == (
        405,
        {"title": "Use GET or POST or DELETE.", "status": 405, "errors": []},
    )


def test_health_counts_messages_and_faults(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("text", "hang")
    slack.chat_postMessage(channel="U0ANA", text="t")
    assert simulator.ask("GET", "health") == {"status": "ok", "messages": 1, "faults": 1}
