"""`notify attention`, `retry` and `reprocess`: what an operator does."""

import pytest

from notify_cli.commands import retry
from notify_core.domain.channel import Channel
from notify_core.domain.send_result import Rejected, RejectionScope, Unavailable
from tests.cli.conftest import Notify
from tests.cli.platform import Platform
from tests.cli.test_following import dead_letter


@pytest.fixture
def exhausted(platform: Platform) -> list[str]:
    """Three requests whose Slack messages ran out of attempts, oldest first."""
    platform.world.register_definition("chat")
    for number in range(3):
        platform.world.chat.faults = [Unavailable(reason="service_unavailable")] * 9
        platform.world.publish(f"k{number}")
        platform.world.advance(hours=2)
        platform.world.chat.faults = []
    return [platform.world.id_of(f"k{number}") for number in range(3)]


def states(platform: Platform) -> list[str]:
    return [platform.world.states(request_key=f"k{number}")["chat"] for number in range(3)]


def test_what_failed_is_listed_with_what_to_do(platform: Platform, notify: Notify, exhausted: list[str]) -> None:
    platform.world.chat.faults = [Rejected(reason="user_disabled", scope=RejectionScope.PERSON)]
    platform.world.publish("k3")
    platform.world.run()
    done = notify("attention")
    assert [line.split(maxsplit=2)[2] for line in done.lines[1:]] == [
        (
            f"{platform.world.id_of('k3')} ana chat user_disabled the provider refuses it: mend the person's address, "
            "or the account"
        ),
        *(f"{notice} ana chat attempts_exhausted notify retry" for notice in reversed(exhausted)),
    ]
    only = notify("attention", "--reason", "user_disabled", "--json")
    assert [item["notice_id"] for item in only.documents] == [platform.world.id_of("k3")]
    assert len(notify("attention", "--limit", "2", "--json").documents) == 2


def test_nothing_to_attend_to_is_said(notify: Notify) -> None:
    assert notify("attention").lines == ["No failed delivery needs attention."]
    assert notify("attention", "--json").out == ""


def test_one_delivery_is_tried_again(platform: Platform, notify: Notify, exhausted: list[str]) -> None:
    done = notify("retry", exhausted[1], "ana", "chat")
    assert (done.code, done.lines[0].startswith("Queued again: delivery ")) == (0, True)
    assert states(platform) == ["failed", "delivered", "failed"]


def test_a_second_try_is_refused_with_the_reason(notify: Notify, exhausted: list[str]) -> None:
    notify("retry", exhausted[0], "ana", "chat")
    done = notify("retry", exhausted[0], "ana", "chat")
    assert (done.code, done.err.splitlines()) == (
        1,
        [
            "The present state doesn't allow this",
            "  channel: only a delivery that ran out of attempts is tried again (not_exhausted)",
        ],
    )


def test_all_are_tried_again_in_as_many_calls_as_it_takes(
    platform: Platform, notify: Notify, exhausted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify_cli.commands.retry.PAGE_ITEMS_MAX", 2)
    done = notify("retry", "--all")
    assert (done.code, done.lines) == (0, ["3 queued again, 0 refused."])
    assert states(platform) == ["delivered"] * 3
    assert len(exhausted) == 3


def test_no_more_are_tried_again_than_asked(platform: Platform, notify: Notify, exhausted: list[str]) -> None:
    assert notify("retry", "--all", "--limit", "1", "--json").document == {"retried": 1, "refused": []}
    assert states(platform) == ["failed", "failed", "delivered"]
    assert len(exhausted) == 3


def test_what_is_refused_in_bulk_is_named_once(platform: Platform, notify: Notify, exhausted: list[str]) -> None:
    platform.world.retire()
    platform.world.skip(days=8)
    done = notify("retry", "--all", "--reason", "attempts_exhausted")
    assert done.code == 1
    assert done.lines == [
        "0 queued again, 3 refused.",
        "recipient notice channel refused because",
        *(f"ana {notice} chat expired the request has passed its deadline" for notice in reversed(exhausted)),
    ]


@pytest.mark.parametrize(
    "arguments",
    [(), ("x" * 22,), ("x" * 22, "ana"), ("x" * 22, "ana", "console"), ("x" * 22, "ana", "chat", "--all")],
)
def test_a_retry_names_one_delivery_or_all(platform: Platform, notify: Notify, arguments: tuple[str, ...]) -> None:
    assert (notify("retry", *arguments).code, platform.calls) == (2, [])


def test_every_channel_that_sends_can_be_retried() -> None:
    assert set(retry.Channel) == {channel for channel in Channel if channel.is_sent}


def test_a_dead_letter_is_processed_again(platform: Platform, notify: Notify) -> None:
    request_id = dead_letter(platform, "k1")
    done = notify("reprocess", "invoice.overdue/k1")
    assert (done.code, done.lines) == (0, [f"Published again: the queue has request {request_id}."])
    assert platform.world.request().state == "open"
    again = notify("reprocess", request_id, "--json")
    assert (again.code, again.out) == (1, "")
    assert "not_dead_lettered" in again.err


def test_what_is_not_known_to_have_been_done_is_not_repeated(platform: Platform, notify: Notify) -> None:
    """A second call would be refused though the first one was served."""
    dead_letter(platform, "k1")
    platform.replies = [(503, {"content-type": "application/json"}, '{"message":"Service Unavailable"}')]
    assert notify("reprocess", "invoice.overdue/k1").code == 1
    assert len(platform.calls) == 1
