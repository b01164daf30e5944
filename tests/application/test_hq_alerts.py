"""HQ alerts: one notice with no recipient, one delivery to the headquarters' channel, and noise when it fails."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from notify_core.application.ports import Outgoing, QueueName
from notify_core.application.record_dead_task import record_dead_task
from notify_core.application.retry_delivery import Retried, retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import HQ, ClaimId, DefinitionKey, NoticeId
from notify_core.domain.notice import Delivery
from notify_core.domain.request import ManifestEntry, Planned
from notify_core.domain.send_result import Rejected, RejectionScope, Unknown
from tests.application.delivery import DOWN, REVOKED, accept_only, deliver, item, key_of, take, told
from tests.application.world import ACME, NOON, World

ALERT = Channel.SLACK_SYSTEM
BLOCKS: list[dict[str, Any]] = [
    {"type": "header", "text": {"type": "plain_text", "text": "Disk {{ number }}"}},
    {"type": "section", "text": {"type": "mrkdwn", "text": "*{{ number }}* is full"}},
]


@pytest.fixture
def world(world: World) -> World:
    """The platform, where overdue invoices are a matter for the headquarters; no workspace has a channel for it."""
    world.register_workspace(channels=frozenset())
    world.register_definition("slack_system", templates={ALERT: {"text": "Disk {{ number }}", "blocks": BLOCKS}})
    return world


def alert(world: World, request_key: str = "k1") -> None:
    world.publish(request_key, audience={"hq": True})


def found(world: World) -> str:
    return told(world, "-", ALERT)


def failures(world: World) -> list[Any]:
    """Why alerts failed, as the alarms about them say."""
    return [fields["reason"] for name, fields in world.telemetry.alarms if name == "hq_alert_failed"]


# ---------------------------------------------------------------- end to end


def test_an_alert_is_one_request_one_notice_without_recipient_and_one_delivery_with_blocks(world: World) -> None:
    alert(world)
    accept_only(world)
    planned = Planned(channel=ALERT, state=DeliveryState.QUEUED)
    assert world.request().manifest == (ManifestEntry(recipient=HQ, plan=(planned,)),)
    assert world.notice("-").status == "routed"
    world.run()
    notice = NoticeId(world.id_of("k1"))
    assert world.system.reached == [
        Outgoing(
            workspace_id=ACME,
            recipient=HQ,
            notice_id=notice,
            channel=ALERT,
            delivery_id=world.notice("-").delivery_id(ALERT),
            claim_id=ClaimId("claim-1"),
            address="C-HQ",
            text="Disk 42",
            blocks=[
                {"type": "header", "text": {"type": "plain_text", "text": "Disk 42"}},
                {"type": "section", "text": {"type": "mrkdwn", "text": "*42* is full"}},
            ],
            time_to_live_seconds=7 * 86_400,
        )
    ]
    assert world.notice("-").deliveries == (
        Delivery(
            channel=ALERT,
            state=DeliveryState.DELIVERED,
            attempts=1,
            claim_id=ClaimId("claim-1"),
            claimed_at=NOON,
            provider_id="p-1",
            provider_channel="D-C-HQ",
            updated_at=NOON,
        ),
    )
    assert [notice.recipient for notice in world.database.notices] == [HQ]
    assert (world.chat.calls, world.text.calls, failures(world)) == (0, 0, [])


def test_an_alert_whose_send_is_unknown_is_looked_up_in_the_headquarters_channel(world: World) -> None:
    world.system.faults = ["drop_response"]
    alert(world)
    world.advance(hours=1)
    assert (found(world), world.system.calls, failures(world)) == ("delivered", 1, [])


def test_an_alert_is_looked_up_where_it_was_sent_though_the_channel_is_another_now(world: World) -> None:
    world.system.faults = ["drop_response"]
    alert(world)
    world.run()
    world.ports = replace(world.ports, hq_channel="C-NEW")
    world.advance(hours=1)
    assert (found(world), world.system.calls) == ("delivered", 1)


# ---------------------------------------------------------------- its failure


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ([Rejected(reason="channel_not_found", scope=RejectionScope.PERSON)], "channel_not_found"),
        ([Rejected(reason="no_text", scope=RejectionScope.CONTENT)], "no_text"),
        ([DOWN] * 8, "attempts_exhausted"),
        (["lose_request"] * 8, "attempts_exhausted"),
    ],
    ids=["refused", "content_refused", "unavailable", "lost"],
)
def test_an_alert_that_fails_for_good_is_counted_and_alarms_by_another_way_than_slack(
    world: World, faults: list[Any], reason: str
) -> None:
    world.system.faults = faults
    alert(world)
    world.advance(hours=12)
    assert (found(world), world.notice("-").status) == (f"failed({reason})", "failed")
    assert failures(world) == [reason]
    assert world.system.reached == []


def test_an_alert_of_which_nothing_is_ever_known_is_counted_and_alarms(world: World) -> None:
    world.system.faults = [Unknown(reason="timeout")]
    world.system.silent = True
    alert(world)
    world.advance(hours=26)
    assert (found(world), failures(world)) == (
        "failed(outcome_unknown)",
        ["outcome_unknown"],
    )


def test_an_alert_whose_messages_die_is_counted_and_alarms(world: World) -> None:
    alert(world)
    accept_only(world)
    for _ in range(8):
        (task,) = take(world, QueueName.SYSTEM)
        record_dead_task(task, world.ports)
    assert (found(world), failures(world)) == (
        "failed(attempts_exhausted)",
        ["attempts_exhausted"],
    )


@pytest.mark.parametrize("ended_by", ["worker", "sweep"])
def test_an_alert_that_is_not_sent_by_its_deadline_is_counted_and_alarms(world: World, ended_by: str) -> None:
    world.register_definition("slack_system", expires_after=timedelta(hours=1))
    alert(world)
    accept_only(world)
    tasks = take(world, QueueName.SYSTEM)
    world.skip(hours=1)
    if ended_by == "worker":
        deliver(world, tasks)
    else:
        world.sweep_only()
    world.advance(hours=1)
    assert (found(world), failures(world)) == ("expired(age)", ["age"])


def test_an_alert_that_was_withdrawn_is_no_failure(world: World) -> None:
    alert(world)
    accept_only(world)
    world.withdraw(request_key="k1")
    accept_only(world)
    world.advance(hours=1)
    assert (found(world), failures(world)) == ("cancelled(withdrawn)", [])


def test_a_failed_chat_message_is_no_failed_alert(world: World) -> None:
    world.register_workspace(channels=frozenset({Channel.CHAT}))
    world.register_definition("chat", key="other")
    world.chat.faults = [DOWN] * 5
    world.publish("k1", definition="other")
    world.advance(hours=1)
    assert failures(world) == []
    assert [item_.state for notice in world.database.notices for item_ in notice.deliveries] == ["failed"]


def test_an_alert_waits_while_its_token_is_refused_and_alarms_about_that(world: World) -> None:
    world.system.faults = [REVOKED] * 10
    alert(world)
    world.advance(minutes=5)
    assert (found(world), item(world, "-", ALERT).attempts, failures(world)) == ("deferred(circuit_open)", 0, [])
    assert [name for name, _ in world.telemetry.alarms] == ["circuit_opened"]
    world.system.faults = []
    world.advance(minutes=12)
    assert found(world) == "delivered"


def test_an_exhausted_alert_can_be_retried(world: World) -> None:
    world.system.faults = [DOWN] * 8
    alert(world)
    world.advance(hours=1)
    assert retry_delivery(key_of(world, "-"), ALERT, world.ports) == Retried()
    world.run()
    assert (found(world), world.notice("-").definition) == ("delivered", DefinitionKey("invoice.overdue"))


# ---------------------------------------------------------------- refusals that somebody has to look at


@pytest.mark.parametrize(
    ("refusal", "alarms"),
    [
        (
            Rejected(reason="new_code", scope=RejectionScope.CONTENT, listed=False),
            [("provider_needs_operator", {"channel": "chat", "code": "new_code"})],
        ),
        (
            Rejected(reason="sender_unset", scope=RejectionScope.PERSON, misconfigured=True),
            [("provider_needs_operator", {"channel": "chat", "code": "sender_unset"})],
        ),
        (Rejected(reason="user_not_found", scope=RejectionScope.PERSON), []),
    ],
    ids=["unlisted", "misconfigured", "ordinary"],
)
def test_a_refusal_that_an_operator_can_mend_alarms(
    world: World, refusal: Rejected, alarms: list[tuple[str, dict[str, str]]]
) -> None:
    world.register_workspace(channels=frozenset({Channel.CHAT}))
    world.register_definition("chat", key="other")
    world.chat.faults = [refusal]
    world.publish("k1", definition="other")
    world.run()
    assert world.telemetry.alarms == alarms
