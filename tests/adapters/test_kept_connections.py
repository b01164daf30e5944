"""Connections to Slack are kept from one send to the next, and never trusted longer than they deserve."""

import os
import resource
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from notify_core.adapters.kept_connections import KeptConnections
from notify_core.adapters.slack import SlackSender, SlackTokens, connector
from notify_core.domain.send_result import Delivered, Unknown
from tests.adapters.loopback import Behaviour, Ended, Provider, answer, cut, hang, make_outgoing, make_secrets, reset

POSTED = answer(200, {"ok": True, "ts": "1.2", "channel": "D0ANA"})
DELIVERED = Delivered(provider_id="1.2", provider_channel="D0ANA")


def sender(url: str) -> SlackSender:
    secrets = make_secrets(default="xoxb-default")
    return SlackSender(SlackTokens(secrets, prefix="notify/slack/"), connector(url, timeout_seconds=0.5))


def post_and_end(connection: socket.socket) -> None:
    """The connection ends, unannounced, after an answer."""
    POSTED(connection)
    raise Ended


def test_messages_in_a_row_share_a_connection(provider: Provider) -> None:
    provider.does(POSTED)
    sending = sender(provider.url)
    assert [sending.send(make_outgoing()) for _ in range(5)] == [DELIVERED] * 5
    assert (len(provider.requests), provider.connections) == (5, 1)


def test_a_refusal_leaves_the_connection(provider: Provider) -> None:
    provider.does(answer(429, {"ok": False, "error": "ratelimited"}), POSTED)
    sending = sender(provider.url)
    sending.send(make_outgoing())
    assert sending.send(make_outgoing()) == DELIVERED
    assert provider.connections == 1


def posting(provider: Provider, monotonic: Callable[[], float]) -> Callable[[], int]:
    """Posts once, and gives how many connections there have been."""
    provider.does(POSTED)
    connections = KeptConnections(provider.url, timeout_seconds=1, monotonic=monotonic)

    def post() -> int:
        found, content = connections.call("POST", "/api/x", b"{}", {})
        assert (found.status, content[:1]) == (200, b"{")
        return provider.connections

    return post


def test_a_message_after_a_pause_has_a_connection_of_its_own(provider: Provider) -> None:
    used_and_taken = iter([0.0, 5.0, 5.0, 10.1, 10.1])
    post = posting(provider, lambda: next(used_and_taken))
    assert [post() for _ in range(3)] == [1, 1, 2]


def test_a_process_may_have_many_files_open(provider: Provider) -> None:
    """select takes no descriptor beyond 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(2048, hard)), hard))
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        post = posting(provider, time.monotonic)
        assert [post() for _ in range(3)] == [1, 1, 1]
    finally:
        for other in others:
            os.close(other)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("ending", [post_and_end, answer(200, {"ok": True, "ts": "1.2"}, connection="close")])
def test_a_connection_that_slack_ended_is_not_used_again(provider: Provider, ending: Behaviour) -> None:
    provider.does(ending, POSTED)
    sending = sender(provider.url)
    sending.send(make_outgoing())
    assert provider.ended.acquire(timeout=5)
    assert sending.send(make_outgoing()) == DELIVERED
    assert (len(provider.requests), provider.connections) == (2, 2)


@pytest.mark.parametrize(("fault", "reason"), [(reset, "connection_lost"), (cut, "answer_cut"), (hang, "timeout")])
def test_a_connection_that_failed_is_not_used_again(provider: Provider, fault: Behaviour, reason: str) -> None:
    provider.does(POSTED, fault, POSTED)
    sending = sender(provider.url)
    results = [sending.send(make_outgoing()) for _ in range(3)]
    assert results == [DELIVERED, Unknown(reason=reason), DELIVERED]
    assert (len(provider.requests), provider.connections) == (3, 2)


def test_each_connection_has_one_message_at_a_time(provider: Provider) -> None:
    """An answer read by another sender would be taken for its own: the times stand for the message."""
    numbers = count()

    def numbered(connection: socket.socket) -> None:
        answer(200, {"ok": True, "ts": str(next(numbers)), "channel": "D0ANA"})(connection)

    provider.does(numbered)
    sending = sender(provider.url)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: sending.send(make_outgoing()), range(200)))
    assert {result.provider_id for result in results if isinstance(result, Delivered)} == set(map(str, range(200)))
    assert provider.connections <= 8


def test_a_proxy_is_left_to_slack_s_own_client(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.does(POSTED)
    monkeypatch.setenv("http_proxy", provider.url.removesuffix("/api/"))
    assert sender("http://slack.invalid/api/").send(make_outgoing()) == DELIVERED
    assert [request.path for request in provider.requests] == ["http://slack.invalid/api/chat.postMessage"]
