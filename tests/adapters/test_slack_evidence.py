from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest

from notify_core.adapters.secrets import SecretUnavailable
from notify_core.adapters.slack import SlackEvidence, SlackTokens, connector
from notify_core.application.ports import EvidenceQuery
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId, DeliveryId, WorkspaceId
from notify_core.domain.send_result import Absent, Found, Untold
from tests.adapters.loopback import Behaviour, Provider, answer, cut, hang, make_secrets, reset

OPENED = answer(200, {"ok": True, "channel": {"id": "D0ANA"}})


def message(ts: str, delivery: str | None = None, claim: str = "claim-1", **changes: Any) -> dict[str, Any]:
    payload = {"delivery_id": delivery, "claim_id": claim}
    metadata = {"event_type": "notify_delivery", "event_payload": payload} | changes
    return {"type": "message", "ts": ts, "text": "…"} | ({"metadata": metadata} if delivery else {})


def page(*messages: dict[str, Any], cursor: str = "", has_more: bool | None = None) -> Behaviour:
    more = bool(cursor) if has_more is None else has_more
    return answer(
        200,
        {"ok": True, "messages": messages, "has_more": more, "response_metadata": {"next_cursor": cursor}},
    )


def query(channel: Channel = Channel.CHAT, address: str = "U0ANA") -> EvidenceQuery:
    return EvidenceQuery(
        workspace_id=WorkspaceId("acme"),
        channel=channel,
        delivery_id=DeliveryId("delivery-1"),
        claim_id=ClaimId("claim-1"),
        claimed_at=datetime(2026, 11, 30, 10, 0, tzinfo=UTC),
        address=address,
    )


def evidence(url: str, **secrets: str | Exception) -> SlackEvidence:
    in_hand = make_secrets(**(secrets or {"default": "xoxb-default", "hq": "xoxb-hq"}))
    return SlackEvidence(SlackTokens(in_hand, prefix="notify/slack/"), connector(url, timeout_seconds=0.3))


def arguments(provider: Provider, position: int) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(provider.requests[position].body.decode()).items()}


def test_a_message_with_the_delivery_in_its_metadata_is_found(provider: Provider) -> None:
    provider.does(OPENED, page(message("3.0"), message("2.0", "delivery-1"), message("1.0", "delivery-0")))
    assert evidence(provider.url).look_up(query()) == Found(provider_id="2.0", provider_channel="D0ANA")
    assert [request.path for request in provider.requests] == [
        "/api/conversations.open",
        "/api/conversations.history",
    ]
    assert arguments(provider, 0) == {"users": "U0ANA"}
    assert arguments(provider, 1) == {
        "channel": "D0ANA",
        "oldest": "1796032500.000000",  # 09:55, five minutes before the claim
        "include_all_metadata": "1",
        "limit": "200",
    }


def test_a_delivery_sent_under_an_earlier_claim_is_found_too(provider: Provider) -> None:
    provider.does(OPENED, page(message("2.0", "delivery-1", claim="claim-0")))
    assert evidence(provider.url).look_up(query()) == Found(provider_id="2.0", provider_channel="D0ANA")


def test_a_conversation_read_to_its_end_without_it_shows_that_nothing_was_sent(provider: Provider) -> None:
    provider.does(OPENED, page(message("2.0", "delivery-2"), cursor="next"), page(message("1.0")))
    assert evidence(provider.url).look_up(query()) == Absent()
    assert arguments(provider, 2)["cursor"] == "next"


def test_somebody_else_s_metadata_is_no_evidence(provider: Provider) -> None:
    provider.does(OPENED, page(message("2.0", "delivery-1", event_type="other_app")))
    assert evidence(provider.url).look_up(query()) == Absent()


def test_metadata_that_slack_withholds_is_no_evidence(provider: Provider) -> None:
    provider.does(OPENED, page(message("2.0", "delivery-1", event_payload=None)))
    assert evidence(provider.url).look_up(query()) == Absent()


def test_the_headquarters_channel_is_read_as_it_is(provider: Provider) -> None:
    provider.does(page(message("2.0", "delivery-1")))
    found = evidence(provider.url).look_up(query(Channel.SLACK_SYSTEM, "C0HQ"))
    assert found == Found(provider_id="2.0", provider_channel="C0HQ")
    assert provider.requests[0].headers["authorization"] == "Bearer xoxb-hq"
    assert arguments(provider, 0)["channel"] == "C0HQ"


def test_a_conversation_too_long_to_be_read_tells_nothing(provider: Provider) -> None:
    provider.does(OPENED, page(message("2.0"), cursor="on"))
    assert evidence(provider.url).look_up(query()) == Untold(reason="conversation_too_long")
    assert len(provider.requests) == 11


def test_more_messages_without_a_way_to_them_tell_nothing(provider: Provider) -> None:
    provider.does(OPENED, page(message("2.0"), has_more=True))
    assert evidence(provider.url).look_up(query()) == Untold(reason="conversation_too_long")


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (answer(429, {"ok": False, "error": "ratelimited"}, retry_after="30"), "throttled"),
        (answer(200, {"ok": False, "error": "missing_scope"}), "missing_scope"),
        (answer(200, {"ok": False, "error": "user_not_found"}), "user_not_found"),
        (answer(200, {"ok": False, "error": "brand_new"}), "brand_new"),
        (answer(500, "<html>"), "http_500"),
        (answer(200, "<html>"), "http_200"),
        (reset, "connection_lost"),
        (cut, "answer_cut"),
        (hang, "timeout"),
    ],
)
def test_a_history_that_cannot_be_read_tells_nothing(provider: Provider, behaviour: Behaviour, reason: str) -> None:
    provider.does(OPENED, behaviour)
    assert evidence(provider.url).look_up(query()) == Untold(reason=reason)
    assert len(provider.requests) == 2


@pytest.mark.parametrize("messages", ["none", None, [None], [{"ts": "1.0", "metadata": "odd"}]], ids=str)
def test_a_history_of_another_shape_tells_nothing(provider: Provider, messages: object) -> None:
    provider.does(OPENED, answer(200, {"ok": True, "messages": messages}))
    assert evidence(provider.url).look_up(query()) == Untold(reason="fault")


@pytest.mark.parametrize("body", [{"ok": True}, {"ok": True, "channel": {}}], ids=str)
def test_a_conversation_without_an_id_tells_nothing(provider: Provider, body: object) -> None:
    provider.does(answer(200, body))
    assert evidence(provider.url).look_up(query()) == Untold(reason="no_conversation")


def test_an_unreachable_slack_tells_nothing(closed_url: str) -> None:
    assert evidence(closed_url).look_up(query()) == Untold(reason="connection_refused")


def test_without_a_token_nothing_is_told(provider: Provider) -> None:
    assert evidence(provider.url, other="x").look_up(query()) == Untold(reason="token_missing")
    unreadable = evidence(provider.url, default=SecretUnavailable("no answer"))
    assert unreadable.look_up(query()) == Untold(reason="token_unreadable")


def test_a_refused_token_is_forgotten(provider: Provider) -> None:
    provider.does(answer(200, {"ok": False, "error": "token_revoked"}))
    secrets = make_secrets(default="xoxb-old")
    source = SlackEvidence(SlackTokens(secrets, prefix="notify/slack/"), connector(provider.url))
    assert source.look_up(query()) == Untold(reason="token_revoked")
    assert ("notify/slack/default", "xoxb-old") in secrets.forgotten
