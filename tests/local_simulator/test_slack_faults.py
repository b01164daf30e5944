import time
from collections.abc import Callable
from typing import ClassVar

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.settings import SlackRate
from infra.local.simulator.slack_rate import SlackRateLimit


def post(slack: WebClient, channel: str = "U0ANA", delivery_id: str = "d-1") -> SlackResponse:
    metadata = {"event_type": "notify_delivery", "event_payload": {"delivery_id": delivery_id}}
    return slack.chat_postMessage(channel=channel, text="hello", metadata=metadata)


def arrived(simulator: SimulatorClient) -> list[str]:
    return [message["delivery_id"] for message in simulator.messages()]


@pytest.mark.parametrize(
    ("fault", "status", "answer"),
    [
        ({"fault": "throttle", "retry_after": 30}, 429, {"ok": False, "error": "ratelimited"}),
        ({"fault": "unavailable"}, 200, {"ok": False, "error": "service_unavailable"}),
        ({"fault": "reject", "code": "user_not_found"}, 200, {"ok": False, "error": "user_not_found"}),
    ],
)
@pytest.mark.parametrize(("channel", "to"), [("chat", "U0ANA"), ("slack_system", "C0HQ")])
def test_an_answer_that_sent_nothing(
    simulator: SimulatorClient,
    slack: WebClient,
    channel: str,
    to: str,
    fault: dict[str, object],
    status: int,
    answer: dict[str, object],
) -> None:
    simulator.fault(channel, **fault)
    with pytest.raises(SlackApiError) as failure:
        post(slack, to)
    assert (failure.value.response.status_code, failure.value.response.data) == (status, answer)
    assert simulator.messages() == []
    post(slack, to)
    assert arrived(simulator) == ["d-1"]


def test_a_throttled_answer_says_when_to_come_back(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "throttle", retry_after=30)
    with pytest.raises(SlackApiError) as failure:
        post(slack)
    assert failure.value.response.headers["Retry-After"] == "30"


@pytest.mark.parametrize(("code", "status"), [(None, 500), ("500", 500), ("502", 502), ("504", 504)])
def test_an_error_500_has_delivered(
    simulator: SimulatorClient, slack: WebClient, code: str | None, status: int
) -> None:
    simulator.fault("chat", "error_500", code=code)
    with pytest.raises(SlackApiError) as failure:
        post(slack)
    assert failure.value.response.status_code == status
    assert arrived(simulator) == ["d-1"]


def test_a_dropped_response_has_delivered(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "drop_response")
    with pytest.raises(ConnectionError):
        post(slack)
    assert arrived(simulator) == ["d-1"]


def test_a_lost_request_has_not_delivered(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "lose_request")
    with pytest.raises(ConnectionError):
        post(slack)
    assert arrived(simulator) == []


def test_a_hang_has_not_delivered(simulator: SimulatorClient, slack_of: Callable[..., WebClient]) -> None:
    simulator.fault("chat", "hang")
    with pytest.raises(TimeoutError):
        post(slack_of("xoxb-acme-1", 1))
    assert arrived(simulator) == []


def test_what_was_delivered_without_an_answer_is_found_in_the_history(
    simulator: SimulatorClient, slack: WebClient
) -> None:
    simulator.fault("chat", "drop_response")
    with pytest.raises(ConnectionError):
        post(slack)
    conversation = slack.conversations_open(users="U0ANA")["channel"]["id"]
    history = slack.conversations_history(channel=conversation, include_all_metadata=True)
    payloads = [message["metadata"]["event_payload"] for message in history["messages"]]
    assert payloads == [{"delivery_id": "d-1"}]


def test_a_message_may_arrive_after_its_connection_was_cut(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "drop_response", after_seconds=1.5)
    with pytest.raises(ConnectionError):
        post(slack)
    assert arrived(simulator) == []
    until = time.monotonic() + 20
    while not arrived(simulator) and time.monotonic() < until:
        time.sleep(0.02)
    assert arrived(simulator) == ["d-1"]


def test_a_reset_drops_what_was_still_to_arrive(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "drop_response", after_seconds=1)
    with pytest.raises(ConnectionError):
        post(slack)
    simulator.reset()
    time.sleep(1.2)
    assert arrived(simulator) == []


def test_a_fault_delivers_only_what_slack_would_have_taken(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "error_500")
    with pytest.raises(SlackApiError):
        slack.chat_postMessage(channel="U0ANA", text="x" * 40_001)
    assert simulator.messages() == []


def test_a_fault_strikes_its_channel_and_its_addressee_only(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "reject", to="U0BEN", code="user_disabled")
    simulator.fault("slack_system", "reject", code="is_archived")
    post(slack, "U0ANA", "ana")
    with pytest.raises(SlackApiError, match="user_disabled"):
        post(slack, "D0BEN", "ben")
    with pytest.raises(SlackApiError, match="is_archived"):
        post(slack, "C0HQ", "hq")
    assert arrived(simulator) == ["ana"]
    assert simulator.faults() == []


def test_faults_strike_in_their_order_as_often_as_asked(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "reject", code="first", times=2)
    simulator.fault("chat", "reject", code="second", times=0)
    simulator.fault("chat", "reject", code="third")
    errors: list[str] = []
    for _ in range(4):
        with pytest.raises(SlackApiError) as failure:
            post(slack)
        errors.append(failure.value.response["error"])
    assert errors == ["first", "first", "second", "third"]
    post(slack)


def test_a_fault_without_an_end_lasts_until_it_is_removed(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "reject", code="token_revoked", times=None)
    for _ in range(3):
        with pytest.raises(SlackApiError, match="token_revoked"):
            post(slack)
    simulator.remove_faults()
    post(slack)
    assert arrived(simulator) == ["d-1"]


def test_a_fault_of_chance_strikes_the_same_calls_for_the_same_seed(
    simulator: SimulatorClient, slack: WebClient
) -> None:
    def struck() -> list[int]:
        simulator.fault("chat", "error_500", times=None, probability=0.5, seed=7)
        numbers: list[int] = []
        for number in range(20):
            try:
                post(slack)
            except SlackApiError:
                numbers.append(number)
        simulator.remove_faults()
        return numbers

    first = struck()
    assert 0 < len(first) < 20
    assert struck() == first


def test_a_fault_of_another_call_leaves_the_send_alone(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "reject", code="missing_scope", call="conversations.history", to="U0ANA")
    post(slack)
    with pytest.raises(SlackApiError, match="missing_scope"):
        slack.conversations_history(channel="D0ANA")
    assert len(slack.conversations_history(channel="D0ANA")["messages"]) == 1


def test_a_fault_of_a_call_that_concerns_nobody(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "reject", code="account_inactive", call="auth.test")
    with pytest.raises(SlackApiError, match="account_inactive"):
        slack.auth_test()
    assert slack.auth_test()["ok"] is True


def test_the_history_is_not_struck_by_a_fault_of_the_send(simulator: SimulatorClient, slack: WebClient) -> None:
    simulator.fault("chat", "error_500")
    assert slack.conversations_history(channel="D0ANA")["messages"] == []
    assert len(simulator.faults()) == 1


class TestRate:
    """At the rate given, and in the time of a test, no workspace earns a second post."""

    SLOW: ClassVar = {"per_second": 0.001, "retry_after": 30}

    def test_shuts_out_a_workspace_that_posts_too_fast(self, simulator: SimulatorClient, slack: WebClient) -> None:
        simulator.configure(slack_rate=self.SLOW)
        post(slack, delivery_id="first")
        with pytest.raises(SlackApiError) as failure:
            post(slack, "U0BEN", "second")
        assert failure.value.response.status_code == 429
        assert failure.value.response.headers["Retry-After"] == "30"
        assert arrived(simulator) == ["first"]

    def test_is_each_workspace_s_own_and_only_for_posts(
        self, simulator: SimulatorClient, slack: WebClient, slack_of: Callable[..., WebClient]
    ) -> None:
        simulator.configure(slack_rate=self.SLOW)
        post(slack)
        post(slack_of("xoxb-globex-1"))
        with pytest.raises(SlackApiError, match="ratelimited"):
            post(slack_of("xoxb-acme-2"))
        assert slack.conversations_history(channel="D0ANA")["ok"] is True

    def test_is_over_when_it_is_switched_off(self, simulator: SimulatorClient, slack: WebClient) -> None:
        simulator.configure(slack_rate=self.SLOW)
        post(slack)
        with pytest.raises(SlackApiError, match="ratelimited"):
            post(slack)
        simulator.configure(slack_rate=None)
        post(slack)

    def test_lets_posts_in_as_they_are_earned_and_again_when_the_time_is_over(self) -> None:
        times = [100.0, 100.0, 100.5, 100.6, 100.6, 110.0, 130.5, 130.6, 130.6, 130.6]
        limit, rate = SlackRateLimit(iter(times).__next__), SlackRate(per_second=2, retry_after=30)
        waits = [limit.seconds_to_wait("acme", rate) for _ in times]
        assert waits == [None, None, None, 30, 30, 21, 1, None, None, 30]
