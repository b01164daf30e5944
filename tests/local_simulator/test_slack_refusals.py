from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from infra.local.simulator.client import SimulatorClient


def section(text: object) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def plain(text: str) -> dict[str, str]:
    return {"type": "plain_text", "text": text}


def button(text: str = "Open", **more: object) -> dict[str, Any]:
    return {"type": "button", "text": plain(text), **more}


def refusal_of(slack: WebClient, method: str = "chat.postMessage", **arguments: object) -> SlackResponse:
    with pytest.raises(SlackApiError) as refusal:
        slack.api_call(method, json={"channel": "U0ANA", **arguments})
    assert refusal.value.response.status_code == 200
    return refusal.value.response


@pytest.mark.parametrize(
    ("token", "error"),
    [("", "not_authed"), ("xoxb-", "invalid_auth"), ("xoxp-1", "invalid_auth"), ("secret", "invalid_auth")],
)
def test_only_bot_tokens_are_taken(
    simulator: SimulatorClient, slack_of: Callable[..., WebClient], token: str, error: str
) -> None:
    assert refusal_of(slack_of(token), text="t")["error"] == error
    assert simulator.messages() == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "no_text"),
        ({"text": ""}, "no_text"),
        ({"text": " \n"}, "no_text"),
        ({"text": "", "blocks": []}, "no_text"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "t", "channel": ""}, "channel_not_found"),
        ({"text": "t", "channel": "general"}, "channel_not_found"),
        ({"text": "t", "channel": "u0ana"}, "channel_not_found"),
        ({"text": "t", "blocks": "[{"}, "invalid_blocks_format"),
        ({"text": "t", "blocks": {"type": "divider"}}, "invalid_blocks_format"),
        ({"text": "t", "blocks": [section("x" * 2_990)] * 5}, "msg_blocks_too_long"),
        ({"text": "t", "metadata": "{"}, "invalid_metadata_format"),
        ({"text": "t", "metadata": []}, "invalid_metadata_format"),
        ({"text": "t", "metadata": {"event_type": "sent"}}, "invalid_metadata_format"),
        ({"text": "t", "metadata": {"event_payload": {}}}, "invalid_metadata_format"),
        ({"text": "t", "metadata": {"event_type": "a.b", "event_payload": {}}}, "invalid_metadata_format"),
        ({"text": "t", "metadata": {"event_type": "a", "event_payload": []}}, "invalid_metadata_format"),
        (
            {"text": "t", "metadata": {"event_type": "a", "event_payload": {"x": "y" * 8_192}}},
            "metadata_too_large",
        ),
    ],
)
def test_a_post_that_slack_refuses_reaches_nobody(
    simulator: SimulatorClient, slack: WebClient, arguments: dict[str, object], error: str
) -> None:
    assert refusal_of(slack, **arguments)["error"] == error
    assert simulator.messages() == []


@pytest.mark.parametrize(
    ("blocks", "errors"),
    [
        ([section("x" * 3_001)], ["must be less than 3001 characters [json-pointer:/blocks/0/text/text]"]),
        ([section("")], ["must be more than 0 characters [json-pointer:/blocks/0/text/text]"]),
        ([section(7)], ["must provide a string [json-pointer:/blocks/0/text/text]"]),
        ([{"type": "section"}], ["missing required field: text or fields [json-pointer:/blocks/0]"]),
        ([{"type": "section", "text": "x"}], ["must provide an object [json-pointer:/blocks/0/text]"]),
        (
            [{"type": "section", "text": {"type": "markdown", "text": "x"}}],
            ["must be one of plain_text, mrkdwn [json-pointer:/blocks/0/text/type]"],
        ),
        (
            [{"type": "section", "fields": [plain("x")] * 11}],
            ["no more than 10 items allowed [json-pointer:/blocks/0/fields]"],
        ),
        (
            [{"type": "section", "fields": [plain("x" * 2_001)]}],
            ["must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]"],
        ),
        (
            [section("x") | {"colour": "red"}],
            ["invalid additional property: colour [json-pointer:/blocks/0]"],
        ),
        (
            [section("x") | {"block_id": "i" * 256}],
            ["must be less than 256 characters [json-pointer:/blocks/0/block_id]"],
        ),
        (
            [section("x") | {"accessory": {"type": "slider"}}],
            ["unsupported type: slider [json-pointer:/blocks/0/accessory/type]"],
        ),
        (
            [{"type": "header", "text": plain("x" * 151)}],
            ["must be less than 151 characters [json-pointer:/blocks/0/text/text]"],
        ),
        (
            [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
            ["must be one of plain_text [json-pointer:/blocks/0/text/type]"],
        ),
        (
            [{"type": "context", "elements": [plain("x")] * 11}],
            ["no more than 10 items allowed [json-pointer:/blocks/0/elements]"],
        ),
        (
            [{"type": "context", "elements": []}],
            ["no fewer than 1 items allowed [json-pointer:/blocks/0/elements]"],
        ),
        (
            [{"type": "actions", "elements": [button()] * 26}],
            ["no more than 25 items allowed [json-pointer:/blocks/0/elements]"],
        ),
        (
            [{"type": "actions", "elements": [button("x" * 76)]}],
            ["must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]"],
        ),
        (
            [{"type": "actions", "elements": [button(style="huge")]}],
            ["must be one of primary, danger [json-pointer:/blocks/0/elements/0/style]"],
        ),
        ([{"type": "image"}], ["missing required field: alt_text [json-pointer:/blocks/0]"]),
        ([{"type": "divider"}] * 51, ["no more than 50 items allowed [json-pointer:/blocks]"]),
        (
            [{"type": "divider"}, {"type": "banner"}],
            ["unsupported type: banner [json-pointer:/blocks/1/type]"],
        ),
        (["divider"], ["unsupported type: None [json-pointer:/blocks/0/type]"]),
    ],
)
def test_a_block_outside_the_limits_is_named_by_its_place(
    simulator: SimulatorClient, slack: WebClient, blocks: list[object], errors: list[str]
) -> None:
    refusal = refusal_of(slack, text="t", blocks=blocks)
    assert (refusal["error"], refusal["errors"]) == ("invalid_blocks", errors)
    assert refusal["response_metadata"] == {"messages": [f"[ERROR] {error}" for error in errors]}
    assert simulator.messages() == []


def test_blocks_within_the_limits_are_taken(simulator: SimulatorClient, slack: WebClient) -> None:
    blocks = [
        {"type": "header", "text": plain("x" * 150), "block_id": "i" * 255},
        section("x" * 3_000) | {"accessory": button("x" * 75, url="https://example.com/", action_id="open")},
        {"type": "section", "fields": [plain("x" * 100)] * 10},
        {
            "type": "context",
            "elements": [plain("x")] * 9 + [{"type": "image", "image_url": "u", "alt_text": "a"}],
        },
        {"type": "actions", "elements": [button(style="primary", value="v")] * 25},
        {"type": "image", "image_url": "https://example.com/a.png", "alt_text": "a"},
        {"type": "rich_text", "elements": []},
        *([{"type": "divider"}] * 43),
    ]
    slack.api_call("chat.postMessage", json={"channel": "U0ANA", "blocks": blocks})
    assert [message["blocks"] for message in simulator.messages()] == [blocks]


def test_text_of_the_greatest_length_is_taken_whole(simulator: SimulatorClient, slack: WebClient) -> None:
    slack.chat_postMessage(channel="U0ANA", text="x" * 40_000)
    assert [len(message["text"]) for message in simulator.messages()] == [40_000]


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("users.info", {"user": "ana"}, "user_not_found"),
        ("users.info", {}, "user_not_found"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": "ana"}, "user_not_found"),
        ("conversations.open", {"users": "U0ANA,U0BEN"}, "invalid_user_combination"),
        ("chat.shout", {}, "unknown_method"),
    ],
)
def test_another_method_refuses_what_it_cannot_do(
    slack: WebClient, method: str, arguments: dict[str, str], error: str
) -> None:
    assert refusal_of(slack, method, **arguments)["error"] == error


@pytest.mark.parametrize(("body", "error"), [(b"{", "invalid_json"), (b"[]", "json_not_object")])
def test_a_body_that_is_no_json_object_is_refused(simulator: SimulatorClient, body: bytes, error: str) -> None:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer xoxb-acme-1"}
    with urlopen(Request(f"{simulator.slack_url}chat.postMessage", body, headers), timeout=5) as answer:
        assert answer.read() == b'{"ok":false,"error":"%b"}' % error.encode()
