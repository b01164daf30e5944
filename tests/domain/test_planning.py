"""Planning: how each channel begins, for every combination that matters."""

from typing import Any

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.directory import Person
from notify_core.domain.identifiers import HQ
from notify_core.domain.planning import plan, plan_hq, skip_reason
from notify_core.domain.request import ManifestEntry, Planned
from tests.builders import ANA, a_definition, a_person, a_workspace

CONSOLE, CHAT, TEXT, HQ_CHANNEL = Channel.CONSOLE, Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM
QUEUED, SKIPPED, UNAVAILABLE = DeliveryState.QUEUED, DeliveryState.SKIPPED, DeliveryState.UNAVAILABLE
NO_ADDRESS, OPTED_OUT, CHANNEL_OFF = (
    DeliveryReason.NO_ADDRESS,
    DeliveryReason.OPTED_OUT,
    DeliveryReason.CHANNEL_OFF,
)
NO_CHAT: dict[str, Any] = {"slack_user_id": None}
DECLINED: dict[str, Any] = {"opt_outs": {"billing": (CHAT,)}}


def test_a_notice_begins_delivered_in_the_console_and_queued_elsewhere_in_the_definitions_order() -> None:
    definition = a_definition(channels=(TEXT, CONSOLE, CHAT))
    assert plan(definition, a_workspace(), a_person()) == ManifestEntry(
        recipient=ANA,
        plan=(
            Planned(channel=TEXT, state=QUEUED),
            Planned(channel=CONSOLE, state=DeliveryState.DELIVERED),
            Planned(channel=CHAT, state=QUEUED),
        ),
    )


@pytest.mark.parametrize(
    ("person", "is_on", "is_critical", "state", "reason"),
    [
        ({}, True, False, QUEUED, None),
        (NO_CHAT, True, False, SKIPPED, NO_ADDRESS),
        (DECLINED, True, False, SKIPPED, OPTED_OUT),
        (DECLINED, True, True, QUEUED, None),
        (NO_CHAT | DECLINED, True, True, SKIPPED, NO_ADDRESS),
        (NO_CHAT | DECLINED, True, False, SKIPPED, NO_ADDRESS),
        ({"opt_outs": {"billing": (TEXT,)}}, True, False, QUEUED, None),
        ({"opt_outs": {"marketing": (CHAT,)}}, True, False, QUEUED, None),
        ({}, False, False, UNAVAILABLE, CHANNEL_OFF),
        ({}, False, True, UNAVAILABLE, CHANNEL_OFF),
        (NO_CHAT, False, False, UNAVAILABLE, CHANNEL_OFF),
        (DECLINED, False, False, UNAVAILABLE, CHANNEL_OFF),
    ],
)
def test_chat_begins_as_workspace_person_and_definition_allow(
    person: dict[str, Any],
    *,
    is_on: bool,
    is_critical: bool,
    state: DeliveryState,
    reason: DeliveryReason | None,
) -> None:
    workspace = a_workspace(channels=frozenset({CONSOLE, CHAT} if is_on else {CONSOLE}))
    definition = a_definition(channels=(CHAT,), critical=is_critical)
    entry = plan(definition, workspace, a_person(**person))
    assert entry.plan == (Planned(channel=CHAT, state=state, reason=reason),)


def test_a_console_that_is_switched_off_is_unavailable() -> None:
    entry = plan(a_definition(channels=(CONSOLE,)), a_workspace(channels=frozenset({CHAT})), a_person())
    assert entry.plan == (Planned(channel=CONSOLE, state=UNAVAILABLE, reason=CHANNEL_OFF),)


def test_an_alert_to_the_headquarters_is_queued_whatever_a_workspace_switches_on() -> None:
    assert plan_hq(a_definition(channels=(HQ_CHANNEL,))) == ManifestEntry(
        recipient=HQ, plan=(Planned(channel=HQ_CHANNEL, state=QUEUED),)
    )


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        (a_person(), None),
        (None, DeliveryReason.PERSON_GONE),
        (a_person(active=False), DeliveryReason.PERSON_INACTIVE),
        (a_person(active=False, **NO_CHAT), DeliveryReason.PERSON_INACTIVE),
        (a_person(**NO_CHAT), NO_ADDRESS),
        (a_person(**DECLINED), OPTED_OUT),
    ],
)
def test_what_changed_since_the_acceptance_is_seen_before_sending(
    person: Person | None, reason: DeliveryReason | None
) -> None:
    assert skip_reason(a_definition(), person, CHAT) == reason
