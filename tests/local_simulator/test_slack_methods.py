import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import SectionBlock
from slack_sdk.models.metadata import Metadata

from infra.local.simulator.client import SimulatorClient

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "*Overdue*"}}
METADATA = {"event_type": "notify_delivery", "event_payload": {"delivery_id": "d-1", "claim_id": "c-1"}}


def without_time(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in message.items() if name != "at"} for message in messages]


def test_a_post_to_a_user_reaches_that_user_in_their_direct_conversation(
    simulator: SimulatorClient, slack: WebClient
) -> None:
    before = datetime.now(tz=UTC)
    answer = slack.chat_postMessage(channel="U0ANA", text="Overdue", blocks=[SECTION], metadata=METADATA)
    assert answer.data == {
        "ok": True,
        "channel": "D0ANA",
        "ts": answer["ts"],
        "message": {
            "type": "message",
            "user": "U0NOTIFY",
            "bot_id": "B0NOTIFY",
            "team": answer["message"]["team"],
            "text": "Overdue",
            "blocks": [SECTION],
            "metadata": METADATA,
            "ts": answer["ts"],
        },
    }
    (message,) = simulator.messages()
    assert without_time([message]) == [
        {"channel": "chat", "to": "U0ANA", "text": "Overdue", "blocks": [SECTION], "delivery_id": "d-1"}
    ]
    assert before <= datetime.fromisoformat(message["at"]) <= datetime.now(tz=UTC)


@pytest.mark.parametrize("channel", ["C0HQ", "G0HQ", "#alerts"])
def test_a_post_to_a_channel_is_a_system_message(simulator: SimulatorClient, slack: WebClient, channel: str) -> None:
    slack.chat_postMessage(channel=channel, text="Down")
    assert without_time(simulator.messages()) == [
        {"channel": "slack_system", "to": channel, "text": "Down", "blocks": None, "delivery_id": None}
    ]


def test_the_conversation_of_a_user_is_the_one_that_open_gives(simulator: SimulatorClient, slack: WebClient) -> None:
    opened = slack.conversations_open(users="U0ANA")
    answer = slack.chat_postMessage(channel=opened["channel"]["id"], text="hello")
    assert answer["channel"] == opened["channel"]["id"]
    assert [message["to"] for message in simulator.messages()] == ["U0ANA"]


def test_blocks_and_metadata_of_the_sdk_s_own_types_are_taken(simulator: SimulatorClient, slack: WebClient) -> None:
    slack.chat_postMessage(
        channel="U0ANA",
        text="t",
        blocks=[SectionBlock(text="hello")],
        metadata=Metadata(event_type="sent", event_payload={"delivery_id": "d-2"}),
    )
    (message,) = simulator.messages()
    assert message["blocks"] == [{"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}]
    assert message["delivery_id"] == "d-2"


def test_a_form_with_json_in_its_fields_is_the_same_as_json(simulator: SimulatorClient, slack: WebClient) -> None:
    form = {
        "channel": "U0ANA",
        "text": "é & 👍",
        "blocks": json.dumps([SECTION]),
        "metadata": json.dumps(METADATA),
    }
    slack.api_call("chat.postMessage", params=form)
    slack.api_call("chat.postMessage", json=form)
    first, second = without_time(simulator.messages())
    assert first == second
    assert first == {
        "channel": "chat",
        "to": "U0ANA",
        "text": "é & 👍",
        "blocks": [SECTION],
        "delivery_id": "d-1",
    }


def test_a_token_in_the_form_counts_as_one_in_the_header(slack_of: Callable[..., WebClient]) -> None:
    assert slack_of("").api_call("auth.test", params={"token": "xoxb-acme-1"})["team"] == "acme"


def test_who_am_i_tells_the_workspace_of_the_token(slack: WebClient) -> None:
    answer = slack.auth_test()
    assert answer.data == {
        "ok": True,
        "url": "https://acme.slack.com/",
        "team": "acme",
        "user": "notify",
        "team_id": answer["team_id"],
        "user_id": "U0NOTIFY",
        "bot_id": "B0NOTIFY",
        "is_enterprise_install": False,
    }


def test_a_user_is_known_by_the_form_of_the_id(slack: WebClient) -> None:
    user = slack.users_info(user="U0ANA")["user"]
    assert (user["id"], user["deleted"], user["is_bot"]) == ("U0ANA", False, False)


def test_the_users_met_are_listed_in_pages(slack: WebClient) -> None:
    slack.chat_postMessage(channel="U0ANA", text="a")
    slack.conversations_open(users="U0BEN")
    slack.chat_postMessage(channel="U0ANA", text="b")
    slack.chat_postMessage(channel="U0CLEO", text="c")
    pages = [[user["id"] for user in page["members"]] for page in slack.users_list(limit=2)]
    assert pages == [["U0ANA", "U0BEN"], ["U0CLEO"]]


class TestHistory:
    def test_gives_the_newest_first(self, slack: WebClient) -> None:
        sent = [slack.chat_postMessage(channel="U0ANA", text=f"m{n}")["ts"] for n in range(3)]
        history = slack.conversations_history(channel="D0ANA")
        assert [message["ts"] for message in history["messages"]] == sent[::-1]
        assert history["has_more"] is False
        assert history["response_metadata"] == {"next_cursor": ""}

    def test_goes_on_by_its_cursor(self, slack: WebClient) -> None:
        for number in range(5):
            slack.chat_postMessage(channel="U0ANA", text=f"m{number}")
        pages = [
            ([message["text"] for message in page["messages"]], page["has_more"])
            for page in slack.conversations_history(channel="D0ANA", limit=2)
        ]
        assert pages == [(["m4", "m3"], True), (["m2", "m1"], True), (["m0"], False)]

    @pytest.mark.parametrize(
        ("oldest", "latest", "inclusive", "shown"),
        [
            (None, None, None, ["m2", "m1", "m0"]),
            (1, None, None, ["m2"]),
            (1, None, True, ["m2", "m1"]),
            (None, 1, None, ["m0"]),
            (None, 1, True, ["m1", "m0"]),
            (0, 2, None, ["m1"]),
            (0, 2, True, ["m2", "m1", "m0"]),
        ],
    )
    def test_keeps_to_its_span(
        self,
        slack: WebClient,
        oldest: int | None,
        latest: int | None,
        *,
        inclusive: bool | None,
        shown: list[str],
    ) -> None:
        times = [slack.chat_postMessage(channel="U0ANA", text=f"m{number}")["ts"] for number in range(3)]
        history = slack.conversations_history(
            channel="D0ANA",
            oldest=None if oldest is None else times[oldest],
            latest=None if latest is None else times[latest],
            inclusive=inclusive,
        )
        assert [message["text"] for message in history["messages"]] == shown

    def test_shows_what_metadata_holds_only_when_asked(self, slack: WebClient) -> None:
        slack.chat_postMessage(channel="U0ANA", text="t", metadata=METADATA)
        plain = slack.conversations_history(channel="D0ANA")
        full = slack.conversations_history(channel="D0ANA", include_all_metadata=True)
        assert plain["messages"][0]["metadata"] == {"event_type": "notify_delivery", "event_payload": {}}
        assert full["messages"][0]["metadata"] == METADATA

    def test_is_of_one_workspace_whichever_of_its_tokens_asks(
        self, slack: WebClient, slack_of: Callable[..., WebClient]
    ) -> None:
        slack.chat_postMessage(channel="U0ANA", text="ours")
        same, other = slack_of("xoxb-acme-2"), slack_of("xoxb-globex-1")
        assert len(same.conversations_history(channel="D0ANA")["messages"]) == 1
        assert other.conversations_history(channel="D0ANA")["messages"] == []

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"channel": "U0ANA"}, "channel_not_found"),
            ({"channel": "#alerts"}, "channel_not_found"),
            ({"channel": "D0ANA", "oldest": "yesterday"}, "invalid_ts_oldest"),
            ({"channel": "D0ANA", "latest": "1.2.3"}, "invalid_ts_latest"),
            ({"channel": "D0ANA", "limit": "many"}, "invalid_limit"),
            ({"channel": "D0ANA", "cursor": "next"}, "invalid_cursor"),
            ({"channel": "D0ANA", "cursor": "dXNlcjoz"}, "invalid_cursor"),
        ],
    )
    def test_refuses_what_it_cannot_read(self, slack: WebClient, arguments: dict[str, str], error: str) -> None:
        with pytest.raises(SlackApiError) as refusal:
            slack.api_call("conversations.history", params=arguments)
        assert refusal.value.response["error"] == error
