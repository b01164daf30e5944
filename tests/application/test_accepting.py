"""Accepting: every publication gets exactly one outcome, with a reason, and an outcome stays."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.application.ports import QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.directory import WorkspaceStatus
from notify_core.domain.identifiers import HQ, Recipient, WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Exclusion, ManifestEntry, Planned, Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState
from tests.application.world import ACME, NOON, OVERDUE, World

OTHER = WorkspaceId("globex")
TOLD = Planned(channel=Channel.CONSOLE, state=DeliveryState.DELIVERED)
QUEUED = Planned(channel=Channel.CHAT, state=DeliveryState.QUEUED)


def entry(recipient: str, *plan: Planned) -> ManifestEntry:
    return ManifestEntry(recipient=Recipient(recipient), plan=plan or (TOLD, QUEUED))


def recorded(world: World, **changes: Any) -> Request:
    """The row of k1 as it is accepted at noon, for ana; `content_hash` is compared elsewhere."""
    row = Request(
        workspace_id=ACME,
        request_id=world.id_of("k1"),
        definition=OVERDUE,
        request_key="k1",
        state=RequestState.OPEN,
        recorded_at=NOON,
        version=1,
        definition_version=1,
        caused_by=Actor.PROCESSOR,
        published_at=NOON,
        expires_at=NOON + timedelta(days=7),
        accepted_at=NOON,
        due_at=NOON + timedelta(seconds=90),
        data={"number": "42"},
        content_hash=world.request().content_hash,
        manifest=(entry("ana"),),
    )
    return replace(row, **changes)


ENDED: dict[str, Any] = {"accepted_at": None, "due_at": None, "data": None, "manifest": (), "closed_at": NOON}


def outcome(world: World, request_key: str = "k1") -> tuple[str, str | None, str | None]:
    row = world.request(request_key)
    return row.state.value, row.reason and row.reason.value, row.caused_by and row.caused_by.value


def problems(world: World, request_key: str = "k1") -> list[tuple[str, str]]:
    return [(item.field, item.code) for item in world.request(request_key).problems]


# ---------------------------------------------------------------- each outcome


def test_an_accepted_publication_is_recorded_with_everyone_and_every_channel(world: World) -> None:
    world.publish("k1", "bob", "ana", "bob")
    world.run()
    assert world.request() == recorded(world, manifest=(entry("ana"), entry("bob")))
    assert world.states("ana") == {"console": "delivered", "chat": "delivered"}
    assert world.states("bob") == {"console": "delivered", "chat": "delivered"}
    assert [item.address for item in world.chat.reached] == ["UANA", "UBOB"]
    assert (world.unread("ana"), world.unread("bob")) == (1, 1)


def test_console_is_delivered_by_the_acceptance_itself_and_other_channels_wait(world: World) -> None:
    world.register_definition("console", "chat", "text")
    world.register_workspace(channels=frozenset({Channel.CONSOLE, Channel.CHAT}))
    world.publish("k1", not_before=NOON + timedelta(minutes=1))
    world.run()
    world.skip(minutes=1)
    item = world.queues.receive()
    assert item is not None
    world.process(item)
    assert world.notice().status == "routed"
    assert world.request().manifest == (
        entry(
            "ana",
            TOLD,
            QUEUED,
            Planned(channel=Channel.TEXT, state=DeliveryState.UNAVAILABLE, reason=DeliveryReason.CHANNEL_OFF),
        ),
    )
    assert world.states() == {"console": "delivered", "chat": "queued", "text": "unavailable"}
    assert [body["channel"] for _, body in world.waiting(QueueName.CHAT)] == ["chat"]
    assert [notice.notice_id for notice in world.inbox()] == [world.id_of("k1")]


def test_nobody_eligible_is_no_recipients_with_who_was_left_out(world: World) -> None:
    world.register_people("carl", active=False)
    audience = {"people": ["carl", "eve"], "teams": ["ghosts"], "roles": ["none"]}
    world.publish("k1", audience=audience)
    world.run()
    assert world.request() == recorded(
        world,
        **ENDED,
        state=RequestState.NO_RECIPIENTS,
        exclusions=(
            Exclusion(kind="person", name="carl", reason="inactive"),
            Exclusion(kind="person", name="eve", reason="not_in_workspace"),
            Exclusion(kind="team", name="ghosts", reason="unknown_team"),
            Exclusion(kind="role", name="none", reason="unknown_role"),
        ),
    )
    assert list(world.database.notices) == []


def test_an_audience_of_empty_lists_is_no_recipients(world: World) -> None:
    world.publish("k1", audience={"people": []})
    world.run()
    assert world.request() == recorded(world, **ENDED, state=RequestState.NO_RECIPIENTS)


def test_invalid_keeps_the_problems_of_each_field(world: World) -> None:
    world.publish("k1", data={})
    world.run()
    assert world.request() == recorded(
        world,
        **ENDED,
        state=RequestState.INVALID,
        problems=(Problem(field="data.number", code="required", message=world.request().problems[0].message),),
    )


def test_one_or_two_hundred_people_are_told_and_two_hundred_and_one_are_too_many(world: World) -> None:
    everybody = [f"p{number:03d}" for number in range(201)]
    world.register_people(*everybody)
    world.publish("k1", *everybody[:200])
    world.publish("k2", *everybody)
    world.publish("k3", everybody[0])
    world.run()
    assert [len(world.request(key).manifest) for key in ("k1", "k2", "k3")] == [200, 0, 1]
    assert [outcome(world, key)[0] for key in ("k1", "k2", "k3")] == ["open", "invalid", "open"]
    assert problems(world, "k2") == [("audience", "too_many_recipients")]
    assert world.chat.calls == 201
    assert set(world.chat.times().values()) == {1}


def test_someone_named_twice_over_is_told_once(world: World) -> None:
    world.register_people("ana", teams=("billing",), roles=("approver",))
    world.publish("k1", audience={"people": ["ana", "ana"], "teams": ["billing"], "roles": ["approver"]})
    world.run()
    assert [item.recipient for item in world.request().manifest] == ["ana"]
    assert world.chat.calls == 1


def test_an_alert_to_the_headquarters_is_one_notice_without_a_recipient(world: World) -> None:
    world.register_definition("slack_system", key="backup.failed")
    world.register_workspace(channels=frozenset())
    world.publish("k1", definition="backup.failed", audience={"hq": True})
    world.run()
    request = world.request(definition="backup.failed")
    plan = Planned(channel=Channel.SLACK_SYSTEM, state=DeliveryState.QUEUED)
    assert request.manifest == (ManifestEntry(recipient=HQ, plan=(plan,)),)
    assert [(item.address, item.text) for item in world.system.reached] == [("C-HQ", "Alert 42")]


# ---------------------------------------------------------------- the order of the checks

LATER = NOON + timedelta(hours=1)
WRONG_SHAPE: dict[str, Any] = {"priority": "high"}
WRONG_CONTENT: dict[str, Any] = {"data": {}}


def retire(world: World) -> None:
    world.retire()


def suspend(world: World) -> None:
    world.register_workspace(status=WorkspaceStatus.SUSPENDED)


def withdraw_key(world: World) -> None:
    world.register_definition(replace_previous=True)
    world.withdraw(replacement_key="r")
    world.run()


def nothing(_: World) -> None:
    pass


@pytest.mark.parametrize(
    ("before", "changes", "expected"),
    [
        (retire, WRONG_SHAPE | WRONG_CONTENT, ("invalid", None, [("priority", "unknown_field")])),
        (retire, WRONG_CONTENT | {"deadline": NOON}, ("invalid", None, [("definition", "definition_retired")])),
        (suspend, WRONG_CONTENT | {"deadline": NOON}, ("invalid", None, [("workspace_id", "workspace_suspended")])),
        (withdraw_key, {"replacement_key": "r", "deadline": NOON, **WRONG_CONTENT}, ("cancelled", "withdrawn", [])),
        (withdraw_key, {"replacement_key": "r", "not_before": LATER}, ("cancelled", "withdrawn", [])),
        (nothing, WRONG_CONTENT | {"deadline": NOON}, ("expired", "deadline", [])),
        (nothing, WRONG_CONTENT | {"not_before": LATER}, ("queued", None, [])),
        (nothing, WRONG_CONTENT, ("invalid", None, [("data.number", "required")])),
        (nothing, {"definition": "unheard.of"}, ("invalid", None, [("definition", "unknown_definition")])),
        (nothing, {"replacement_key": "r"}, ("invalid", None, [("replacement_key", "not_allowed")])),
        (nothing, {"fold_key": "f"}, ("invalid", None, [("fold_key", "not_allowed")])),
        (nothing, {"audience": {"hq": True}}, ("invalid", None, [("audience", "audience_mismatch")])),
        (nothing, {"published_at": NOON + timedelta(seconds=301)}, ("invalid", None, [("published_at", "in_future")])),
        (nothing, {"published_at": NOON + timedelta(seconds=300)}, ("open", None, [])),
    ],
)
def test_the_first_check_that_speaks_against_it_decides(
    world: World,
    before: Callable[[World], None],
    changes: dict[str, Any],
    expected: tuple[str, str | None, list[tuple[str, str]]],
) -> None:
    before(world)
    world.publish("k1", **changes)
    world.run()
    row = world.request(definition=changes.get("definition", OVERDUE))
    found = [(item.field, item.code) for item in row.problems]
    assert (row.state, row.reason, found) == expected


def test_a_replacing_definition_wants_its_key(world: World) -> None:
    world.register_definition(replace_previous=True)
    world.publish("k1")
    world.run()
    assert problems(world) == [("replacement_key", "required")]


def test_a_workspace_that_was_never_registered_still_gets_its_outcome(world: World) -> None:
    request_id = world.publish("k1", workspace_id="nowhere")
    world.run()
    row = world.ports.requests.get(WorkspaceId("nowhere"), request_id)
    assert row is not None
    assert (row.state, [item.code for item in row.problems]) == (RequestState.INVALID, ["unknown_workspace"])


# ---------------------------------------------------------------- outcomes stay


def test_no_recipients_stays_when_its_people_arrive_later(world: World) -> None:
    world.publish("k1", "eve")
    world.run()
    before = world.request()
    world.register_people("eve")
    world.publish("k1", "eve")
    world.run()
    assert world.request() == before
    assert before.state is RequestState.NO_RECIPIENTS
    assert world.chat.calls == 0


def test_a_correction_of_an_invalid_publication_needs_another_key(world: World) -> None:
    world.publish("k1", data={})
    world.run()
    first = world.request()
    world.publish("k1")
    world.publish("k2")
    world.run()
    assert world.request() == replace(first, version=2, differing_repeat_at=NOON)
    assert outcome(world, "k2") == ("open", None, "processor")


def test_an_expired_publication_stays_expired(world: World) -> None:
    world.publish("k1", deadline=NOON)
    world.run()
    before = world.request()
    world.publish("k1", deadline=NOON)
    world.run()
    assert world.request() == before
    assert outcome(world) == ("expired", "deadline", "processor")


def test_an_open_request_is_never_queued_again(world: World) -> None:
    world.publish("k1")
    world.run()
    before = world.request()
    world.publish("k1", not_before=LATER)
    world.run()
    assert world.request() == replace(before, version=2, differing_repeat_at=NOON)


def test_the_same_publication_again_changes_nothing_and_tells_nobody_twice(world: World) -> None:
    """Scenarios 2, 8 and 44."""
    body = json.dumps(world.publication("k1", "ana", "bob"))
    for _ in range(2):
        world.queues.put(QueueName.REQUESTS, body)
    world.run()
    request, notices = world.request(), [world.notice(name) for name in ("ana", "bob")]
    world.skip(seconds=1)
    world.queues.put(QueueName.REQUESTS, body)
    world.advance(minutes=5)
    assert world.request() == replace(request, version=2, finished_version=2, due_at=request.expires_at)
    assert [world.notice(name) for name in ("ana", "bob")] == notices
    assert set(world.chat.times().values()) == {1}
    assert world.telemetry.counted("publications_repeated") == 2
    assert world.telemetry.counted("publications_differing") == 0


def test_two_workspaces_with_the_same_names_know_nothing_of_each_other(world: World) -> None:
    """Scenario 33."""
    world.register_people("ana", teams=("billing",), roles=("approver",))
    world.register_workspace(OTHER)
    world.register_people("ana", "zoe", workspace=OTHER, teams=("billing",), roles=("approver",))
    world.register_definition(workspace=OTHER)
    audience = {"people": ["ana", "zoe"], "teams": ["billing"], "roles": ["approver"]}
    here = world.publish("k1", audience=audience)
    world.run()
    assert [item.recipient for item in world.request().manifest] == ["ana"]
    assert world.request().exclusions == (Exclusion(kind="person", name="zoe", reason="not_in_workspace"),)
    there = world.publish("k1", audience=audience, workspace_id=OTHER)
    assert here != there
    assert world.ports.requests.get(OTHER, here) is None
    world.withdraw(request_key="k1")
    world.run()
    row = world.ports.requests.get(OTHER, there)
    assert row is not None
    assert ([item.recipient for item in row.manifest], row.state) == (["ana", "zoe"], RequestState.OPEN)
    assert world.request().state is RequestState.SUPERSEDED
    assert len(world.chat.reached) == 3
    assert [item.workspace_id for item in world.chat.reached] == [ACME, OTHER, OTHER]


# ---------------------------------------------------------------- anything at all

bodies = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["publish", "withdraw", "Publish", None]),
        "version": st.sampled_from([1, 1, 1, 2, "1", True]),
        "workspace_id": st.sampled_from([ACME, ACME, "nowhere", "", 7]),
        "definition": st.sampled_from([OVERDUE, OVERDUE, "unheard.of", "a b"]),
        "request_key": st.sampled_from(["k1", "k2", "", "x" * 257, None]),
    },
    optional={
        "published_at": st.sampled_from([NOON.isoformat(), "2026-11-30T12:00:00", "2029-01-01T00:00:00Z", 0]),
        "withdrawn_at": st.sampled_from([NOON.isoformat(), "2029-01-01T00:00:00Z"]),
        "data": st.sampled_from([{"number": "42"}, {"number": 42}, {}, [], None]),
        "audience": st.sampled_from([{"people": ["ana"]}, {"people": []}, {"hq": True}, {"people": ["ana", 7]}, None]),
        "not_before": st.sampled_from([None, LATER.isoformat(), "never"]),
        "deadline": st.sampled_from([None, NOON.isoformat(), LATER.isoformat()]),
        "replacement_key": st.sampled_from([None, "r"]),
        "fold_key": st.sampled_from([None, "f"]),
        "more": st.none(),
    },
)
HAS_REASON = {"expired", "cancelled", "superseded"}
EXPLAINED_BY_PROBLEMS = {"invalid"}


@given(st.lists(bodies | st.text(max_size=20), min_size=1, max_size=6))
def test_anything_at_all_gets_exactly_one_outcome_with_a_reason_or_lies_among_the_dead_letters(
    sent: list[dict[str, Any] | str],
) -> None:
    """Scenario 25."""
    world = World()
    world.register_people("ana")
    world.register_definition()
    for body in sent:
        world.queues.put(QueueName.REQUESTS, body if isinstance(body, str) else json.dumps(body))
    world.run()
    named = {(body["workspace_id"], body["definition"], body["request_key"]) for body in sent if is_named(body)}
    rows = {(row.workspace_id, row.definition, row.request_key): row for row in world.database.requests}
    assert rows.keys() >= named
    world.advance(hours=2)
    for row in world.database.requests:
        assert row.state is not RequestState.QUEUED
        assert (row.reason is not None) == (row.state.value in HAS_REASON)
        assert bool(row.problems) == (row.state.value in EXPLAINED_BY_PROBLEMS)
    assert world.queues.waiting == []
    assert world.failures == []


def is_named(body: dict[str, Any] | str) -> bool:
    """Whether it is a publication that names its request, as the contract has it."""
    return (
        isinstance(body, dict)
        and body["type"] == "publish"
        and body["version"] is not True
        and body["version"] == 1
        and body["workspace_id"] in {ACME, "nowhere"}
        and body["definition"] in {OVERDUE, "unheard.of"}
        and body["request_key"] in {"k1", "k2"}
    )


def test_withdrawn_before_it_arrived_is_recorded_with_what_the_withdrawal_knew(world: World) -> None:
    """Scenario 12: the publication afterwards has its outcome already."""
    world.withdraw(request_key="k1")
    world.run()
    tombstone = Request(
        workspace_id=ACME,
        request_id=world.id_of("k1"),
        definition=OVERDUE,
        request_key="k1",
        state=RequestState.CANCELLED,
        recorded_at=NOON,
        version=1,
        reason=RequestReason.WITHDRAWN,
        caused_by=Actor.PRODUCER,
        closed_at=NOON,
    )
    assert world.request() == tombstone
    world.publish("k1")
    world.run()
    assert world.request() == tombstone
    assert (world.chat.calls, world.unread()) == (0, 0)


def test_what_waits_keeps_its_content(world: World) -> None:
    world.publish("k1", not_before=LATER)
    world.run()
    assert world.request() == recorded(
        world,
        state=RequestState.QUEUED,
        accepted_at=None,
        manifest=(),
        not_before=LATER,
        audience=Audience(people=("ana",)),
        due_at=LATER - timedelta(minutes=2),
    )
