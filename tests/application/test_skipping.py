"""Skipping: who can't, or doesn't want to, be reached over a channel, at the acceptance and at the send."""

from datetime import timedelta
from typing import Any

import pytest

from notify_core.application.ports import QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.send_result import Rejected, RejectionScope
from tests.application.delivery import accept_only, deliver, item, moves, take, told
from tests.application.world import World

OPTED_OUT: dict[str, Any] = {"opt_outs": {"billing": (Channel.CHAT, Channel.TEXT)}}
OF_ANOTHER_CATEGORY: dict[str, Any] = {"opt_outs": {"marketing": (Channel.CHAT, Channel.TEXT)}}
OF_ANOTHER_CHANNEL: dict[str, Any] = {"opt_outs": {"billing": (Channel.CONSOLE,)}}
ADDRESSLESS: dict[str, Any] = {"slack_user_id": None, "phone": None}

QUEUE_OF = {Channel.CHAT: QueueName.CHAT, Channel.TEXT: QueueName.TEXT}
BOTH = pytest.mark.parametrize("channel", [Channel.CHAT, Channel.TEXT])


@pytest.fixture
def world(world: World) -> World:
    """The platform, where overdue invoices are told in the app, on Slack and by text."""
    world.register_definition("console", "chat", "text")
    return world


def calls(world: World) -> int:
    return world.chat.calls + world.text.calls


# ---------------------------------------------------------------- at the acceptance


@BOTH
@pytest.mark.parametrize(
    ("changes", "state"),
    [
        (ADDRESSLESS, "skipped(no_address)"),
        (OPTED_OUT, "skipped(opted_out)"),
        (OF_ANOTHER_CATEGORY, "queued"),
        (OF_ANOTHER_CHANNEL, "queued"),
    ],
    ids=["no_address", "opted_out", "of_another_category", "of_another_channel"],
)
def test_a_channel_is_skipped_from_the_start_with_the_reason(
    world: World, channel: Channel, changes: dict[str, Any], state: str
) -> None:
    world.register_people("ana", **changes)
    world.publish("k1")
    accept_only(world)
    assert told(world, channel=channel) == state
    assert len(take(world, QUEUE_OF[channel])) == (state == "queued")


@BOTH
def test_a_critical_definition_reaches_those_who_opted_out(world: World, channel: Channel) -> None:
    world.register_definition("console", "chat", "text", critical=True)
    world.register_people("ana", **OPTED_OUT)
    world.publish("k1")
    world.run()
    assert told(world, channel=channel) in {"delivered", "sent"}


@BOTH
def test_a_critical_definition_finds_no_address_where_there_is_none(world: World, channel: Channel) -> None:
    world.register_definition("console", "chat", "text", critical=True)
    world.register_people("ana", **ADDRESSLESS)
    world.publish("k1")
    world.run()
    assert told(world, channel=channel) == "skipped(no_address)"


@BOTH
def test_a_channel_that_the_workspace_has_not_switched_on_is_unavailable(world: World, channel: Channel) -> None:
    world.register_workspace(channels=frozenset({Channel.CONSOLE}))
    world.publish("k1")
    world.run()
    assert (told(world, channel=channel), calls(world)) == ("unavailable(channel_off)", 0)
    assert world.notice().status == "delivered"


def test_with_every_channel_skipped_or_switched_off_the_notice_has_no_channel(world: World) -> None:
    world.register_definition("chat", "text")
    world.register_workspace(channels=frozenset({Channel.TEXT}))
    world.register_people("ana", **OPTED_OUT)
    world.publish("k1")
    world.run()
    assert (world.states(), world.notice().status) == ({"chat": "unavailable", "text": "skipped"}, "no_channel")


def test_the_inbox_of_a_workspace_without_console_shows_nothing(world: World) -> None:
    world.register_workspace(channels=frozenset({Channel.CHAT}))
    world.publish("k1")
    world.run()
    assert (told(world, channel=Channel.CONSOLE), world.unread(), list(world.inbox())) == (
        "unavailable(channel_off)",
        0,
        [],
    )


# ---------------------------------------------------------------- at the send


@BOTH
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"active": False}, "person_inactive"),
        (ADDRESSLESS, "no_address"),
        (OPTED_OUT, "opted_out"),
        ({"active": False, **ADDRESSLESS, **OPTED_OUT}, "person_inactive"),
    ],
    ids=["left", "no_address", "opted_out", "all_of_it"],
)
def test_who_changed_between_the_acceptance_and_the_send_is_skipped_with_the_reason(
    world: World, channel: Channel, changes: dict[str, Any], reason: str
) -> None:
    """Scenario 34."""
    world.publish("k1")
    accept_only(world)
    world.register_people("ana", **changes)
    deliver(world, take(world, QUEUE_OF[channel]))
    assert (told(world, channel=channel), calls(world)) == (f"skipped({reason})", 0)
    assert moves(world, channel=channel) == [
        "queued -> sending by worker",
        f"sending -> skipped by worker: {reason}",
    ]
    assert (item(world, channel=channel).attempts, item(world, channel=channel).claim_id) == (0, None)


@BOTH
def test_who_is_gone_from_the_directory_is_skipped(world: World, channel: Channel) -> None:
    """Scenario 34."""
    world.publish("k1")
    accept_only(world)
    world.database.people.clear()
    deliver(world, take(world, QUEUE_OF[channel]))
    assert (told(world, channel=channel), calls(world)) == ("skipped(person_gone)", 0)


@BOTH
def test_a_critical_definition_overrides_an_opt_out_at_the_send_too(world: World, channel: Channel) -> None:
    world.register_definition("console", "chat", "text", critical=True)
    world.publish("k1")
    accept_only(world)
    world.register_people("ana", **OPTED_OUT)
    deliver(world, take(world, QUEUE_OF[channel]))
    assert told(world, channel=channel) in {"delivered", "sent"}


def test_who_waited_behind_a_closed_channel_is_looked_up_again(world: World) -> None:
    """Scenario 34."""
    world.register_definition("chat")
    world.chat.faults = [Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)]
    world.publish("k1")
    world.run()
    world.register_people("ana", active=False)
    world.advance(hours=1)
    assert (told(world), world.chat.reached) == ("skipped(person_inactive)", [])


def test_a_channel_switched_off_after_the_acceptance_still_sends_what_was_accepted(world: World) -> None:
    world.publish("k1")
    accept_only(world)
    world.register_workspace(channels=frozenset({Channel.CONSOLE}))
    world.run()
    assert world.states() == {"console": "delivered", "chat": "delivered", "text": "sent"}


# ---------------------------------------------------------------- refused by the provider


@pytest.mark.parametrize("code", ["DESTINATION_PHONE_NUMBER_OPTED_OUT", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED"])
def test_a_number_that_the_provider_refuses_is_final_at_once(world: World, code: str) -> None:
    """Scenario 30."""
    world.register_definition("text", expires_after=timedelta(days=1))
    world.text.faults = [Rejected(reason=f"ConflictException:{code}", scope=RejectionScope.PERSON)]
    world.publish("k1")
    world.advance(days=2)
    assert (told(world, channel=Channel.TEXT), world.text.calls) == (f"failed(ConflictException:{code})", 1)
    assert (world.notice().status, world.telemetry.alarms) == ("failed", [])
