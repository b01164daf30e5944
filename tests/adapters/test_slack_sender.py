import json
import socket
import threading
from contextlib import suppress
from datetime import timedelta

import pytest

from notify_core.adapters.secrets import SecretUnavailable
from notify_core.adapters.slack import SlackSender, SlackTokens, connector
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import Recipient, WorkspaceId
from notify_core.domain.send_result import (
    Delivered,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)
from tests.adapters.loopback import Behaviour, Provider, SecretsInHand, answer, close, cut, hang, make_outgoing, reset

POSTED = answer(200, {"ok": True, "ts": "1764496800.000100", "channel": "D0ANA", "message": {}})


def tokens(secrets: SecretsInHand) -> SlackTokens:
    return SlackTokens(secrets, prefix="notify/slack/")


def sender(url: str, secrets: SecretsInHand | None = None, *, timeout_seconds: float = 5) -> SlackSender:
    secrets = secrets or SecretsInHand({"notify/slack/default": "xoxb-default"})
    return SlackSender(tokens(secrets), connector(url, timeout_seconds=timeout_seconds))


def test_a_post_says_who_it_is_and_mentions_nobody(provider: Provider) -> None:
    provider.does(POSTED)
    blocks = ({"type": "section", "text": {"type": "mrkdwn", "text": "*42*"}},)
    result = sender(provider.url).send(make_outgoing(blocks=blocks))
    assert result == Delivered(provider_id="1764496800.000100", provider_channel="D0ANA")
    (request,) = provider.requests
    assert request.path == "/api/chat.postMessage"
    assert request.headers["authorization"] == "Bearer xoxb-default"
    assert json.loads(request.body) == {
        "channel": "U0ANA",
        "text": "Invoice 42 is overdue",
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "*42*"}}],
        "metadata": {
            "event_type": "notify_delivery",
            "event_payload": {"delivery_id": "delivery-1", "claim_id": "claim-1"},
        },
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def test_a_post_without_blocks_has_its_text_alone(provider: Provider) -> None:
    provider.does(POSTED)
    sender(provider.url).send(make_outgoing())
    assert "blocks" not in json.loads(provider.requests[0].body)


UNKNOWN_200 = Unknown(reason="http_200")
LONG_WAIT, SHORT_WAIT = Throttled(retry_after=timedelta(seconds=30)), Throttled(retry_after=timedelta(seconds=7))
NO_USER = Rejected(reason="user_not_found", scope=RejectionScope.PERSON)
UNLISTED = Rejected(reason="new_code", scope=RejectionScope.CONTENT, listed=False)


def refusal(code: object, *, status: int = 200, **headers: str) -> Behaviour:
    return answer(status, {"ok": False, "error": code}, **headers)


ANSWERS: list[tuple[str, Behaviour, SendResult]] = [
    ("throttled", refusal("ratelimited", status=429, retry_after="7"), SHORT_WAIT),
    ("throttled, no JSON", answer(429, "slow down", retry_after="7"), SHORT_WAIT),
    ("throttled, no header", refusal("ratelimited", status=429), LONG_WAIT),
    ("throttled in a 200", refusal("ratelimited"), LONG_WAIT),
    ("refused", refusal("user_not_found"), NO_USER),
    ("refused in a 403", refusal("user_not_found", status=403), NO_USER),
    ("unlisted", refusal("new_code"), UNLISTED),
    ("unavailable", refusal("service_unavailable"), Unavailable(reason="service_unavailable")),
    ("fatal", refusal("fatal_error"), Unknown(reason="fatal_error")),
    ("no code", refusal({"a": 1}), UNKNOWN_200),
    ("500", answer(500, "<html>"), Unknown(reason="http_500")),
    ("502", answer(502, ""), Unknown(reason="http_502")),
    ("503 with a code", refusal("service_unavailable", status=503), Unknown(reason="http_503")),
    ("404 of a gateway", answer(404, "<html>"), Unknown(reason="http_404")),
    ("no JSON", answer(200, "<html>all is well</html>"), UNKNOWN_200),
    ("empty", answer(200, ""), UNKNOWN_200),
    ("null", answer(200, "null"), UNKNOWN_200),
    ("a list", answer(200, [1]), Unknown(reason="fault")),
    ("no ts", answer(200, {"ok": True}), Unknown(reason="no_timestamp")),
    ("no such charset", answer(200, "ok", content_type="text/html; charset=klingon"), Unknown(reason="fault")),
    ("reset", reset, Unknown(reason="connection_lost")),
    ("closed", close, Unknown(reason="connection_lost")),
    ("cut", cut, Unknown(reason="answer_cut")),
    ("hang", hang, Unknown(reason="timeout")),
]


@pytest.mark.parametrize(("behaviour", "result"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_each_answer_has_its_result_after_one_wire_call(
    provider: Provider, behaviour: Behaviour, result: SendResult
) -> None:
    provider.does(behaviour, POSTED)
    assert sender(provider.url, timeout_seconds=0.3).send(make_outgoing()) == result
    assert len(provider.requests) == 1


def test_a_connection_refused_sent_nothing(closed_url: str) -> None:
    assert sender(closed_url).send(make_outgoing()) == Unavailable(reason="connection_refused")


def test_a_connection_that_never_comes_about_sent_nothing(deaf_url: str) -> None:
    result = sender(deaf_url, timeout_seconds=0.2).send(make_outgoing())
    assert result == Unavailable(reason="connect_timeout")


def test_a_name_that_nobody_knows_sent_nothing() -> None:
    result = sender("http://slack.invalid/api/").send(make_outgoing())
    assert result == Unavailable(reason="name_not_resolved")


def test_a_connection_reset_while_sending_is_unknown() -> None:
    def take_and_reset() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            reset(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=take_and_reset)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api/"
        result = sender(url).send(make_outgoing(text="x" * 10_000_000))
        thread.join()
    assert result == Unknown(reason="connection_lost")


def test_a_server_without_a_trusted_certificate_is_told_nothing(tls_provider: Provider) -> None:
    tls_provider.does(POSTED)
    assert sender(tls_provider.url).send(make_outgoing()) == Unavailable(reason="certificate_refused")
    assert tls_provider.requests == []


@pytest.mark.parametrize(
    ("workspace", "channel", "expected"),
    [
        ("acme", Channel.CHAT, "xoxb-acme"),
        ("other", Channel.CHAT, "xoxb-default"),
        ("acme", Channel.SLACK_SYSTEM, "xoxb-hq"),
        ("hq", Channel.CHAT, "xoxb-default"),
        ("default", Channel.CHAT, "xoxb-default"),
    ],
)
def test_a_workspace_speaks_with_its_own_token_else_the_default_and_never_with_the_headquarters(
    workspace: str, channel: Channel, expected: str
) -> None:
    secrets = SecretsInHand(
        {
            "notify/slack/acme": "xoxb-acme",
            "notify/slack/default": "xoxb-default",
            "notify/slack/hq": "xoxb-hq",
        }
    )
    assert tokens(secrets).read(WorkspaceId(workspace), channel) == expected


def test_without_a_token_nothing_is_sent_and_the_workspace_waits(provider: Provider) -> None:
    provider.does(POSTED)
    result = sender(provider.url, SecretsInHand({})).send(make_outgoing())
    assert result == Rejected(reason="token_missing", scope=RejectionScope.WORKSPACE)
    assert provider.requests == []


def test_a_token_that_cannot_be_read_makes_the_workspace_wait(provider: Provider) -> None:
    provider.does(POSTED)
    secrets = SecretsInHand({"notify/slack/acme": SecretUnavailable("no answer")})
    result = sender(provider.url, secrets).send(make_outgoing())
    assert result == Rejected(reason="token_unreadable", scope=RejectionScope.WORKSPACE)
    assert provider.requests == []


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "token_expired", "not_authed", "account_inactive"])
def test_a_refused_token_is_forgotten_and_not_tried_again_in_the_same_attempt(provider: Provider, code: str) -> None:
    provider.does(answer(200, {"ok": False, "error": code}), POSTED)
    secrets = SecretsInHand({"notify/slack/default": "xoxb-default"})
    result = sender(provider.url, secrets).send(make_outgoing())
    assert result == Rejected(reason=code, scope=RejectionScope.WORKSPACE)
    assert len(provider.requests) == 1
    assert ("notify/slack/default", "xoxb-default") in secrets.forgotten
    assert ("notify/slack/acme", None) in secrets.forgotten


def test_another_refusal_leaves_the_token(provider: Provider) -> None:
    provider.does(answer(200, {"ok": False, "error": "missing_scope"}))
    secrets = SecretsInHand({"notify/slack/default": "xoxb-default"})
    sender(provider.url, secrets).send(make_outgoing())
    assert secrets.forgotten == []


def test_an_alert_is_posted_to_its_channel(provider: Provider) -> None:
    provider.does(answer(200, {"ok": True, "ts": "1.2", "channel": "C0HQ"}))
    secrets = SecretsInHand({"notify/slack/hq": "xoxb-hq"})
    outgoing = make_outgoing(channel=Channel.SLACK_SYSTEM, address="C0HQ", recipient=Recipient("-"))
    assert sender(provider.url, secrets).send(outgoing) == Delivered(provider_id="1.2", provider_channel="C0HQ")
    assert json.loads(provider.requests[0].body)["channel"] == "C0HQ"


def test_nothing_of_a_send_is_logged(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    provider.does(answer(200, "secret page"), reset)
    sender(provider.url).send(make_outgoing())
    sender(provider.url).send(make_outgoing())
    assert caplog.text == ""
