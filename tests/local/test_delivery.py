"""Deliveries on the deployed stack: whatever the providers do, each ends, nobody is told twice, the record is true."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import WorkspaceId, delivery_id
from tests.builders import a_definition, a_person, a_workspace
from tests.conformance.backends import Stores, deployed
from tests.local.client import Stack

PEOPLE = 200
SECONDS_MAX = 420
"""How long all of it may take on a busy machine: leases and a probe alone take a minute and a half."""
POLL_SECONDS = 3
ENDED = {"delivered", "failed"}
Fault = Mapping[str, object]

THROTTLE: Fault = {"fault": "throttle", "retry_after": 1}
UNAVAILABLE: Fault = {"fault": "unavailable"}
DELIVERED_THEN_500: Fault = {"fault": "error_500"}
DELIVERED_THEN_CUT: Fault = {"fault": "drop_response"}
LOST: Fault = {"fault": "lose_request"}
HANG: Fault = {"fault": "hang"}
REFUSED: Fault = {"fault": "reject", "code": "user_not_found"}
TOKEN_REVOKED: Fault = {"fault": "reject", "code": "token_revoked"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One request for 200 people in a workspace of its own, and what the provider does to each of their first sends."""

    name: str
    workspace: str
    faults: Sequence[Sequence[Fault]]
    ends: Mapping[str, int] = field(default_factory=lambda: {"delivered": PEOPLE})


def slack_id(workspace: str, number: int) -> str:
    """Slack's name of a person, unlike that of anybody in another workspace."""
    return f"U{workspace.upper().replace('-', '')}X{number}"


def mixed(random: Random) -> list[list[Fault]]:
    """Up to two refusals, then perhaps a send without an answer; some hang, and some are refused for good."""
    certain: list[Fault] = [THROTTLE, UNAVAILABLE]
    unknown: list[list[Fault]] = [[], [DELIVERED_THEN_500], [DELIVERED_THEN_CUT], [LOST]]
    faults = [random.choices(certain, k=random.randint(0, 2)) + random.choice(unknown) for _ in range(PEOPLE)]
    for number in (0, 70, 140):
        faults[number] = [HANG]
    for number in range(10, 30):
        faults[number] = [random.choice(certain), REFUSED]
    return faults


def cases(workspace: str) -> list[Case]:
    """Each fault for everybody in turn, a few that hang, one refusal of a whole workspace, and all of it mixed."""
    everybody = {
        "throttle": THROTTLE,
        "unavailable": UNAVAILABLE,
        "error_500": DELIVERED_THEN_500,
        "drop_response": DELIVERED_THEN_CUT,
        "lose_request": LOST,
        "reject": REFUSED,
    }
    faults: dict[str, Sequence[Sequence[Fault]]] = {
        **{name: [[fault]] * PEOPLE for name, fault in everybody.items()},
        "hang": [[HANG]] * 3,
        "token_revoked": [[TOKEN_REVOKED]],
        "mixed": mixed(Random(4)),
    }
    ends = {
        "reject": {"failed(user_not_found)": PEOPLE},
        "mixed": {"delivered": PEOPLE - 20, "failed(user_not_found)": 20},
    }
    return [
        Case(
            name=name,
            workspace=f"{workspace}-{number}",
            faults=faults[name],
            ends=ends.get(name, {"delivered": PEOPLE}),
        )
        for number, name in enumerate(faults)
    ]


# ---------------------------------------------------------------- doing


def publication(workspace: str, audience: object) -> dict[str, object]:
    return {
        "type": "publish",
        "version": 1,
        "workspace_id": workspace,
        "definition": "invoice.overdue",
        "request_key": "key-1",
        "published_at": datetime.now(tz=UTC).isoformat(),
        "data": {"number": "42"},
        "audience": audience,
    }


def register(stores: Stores, workspace: str, channel: Channel, slack_ids: Sequence[str]) -> None:
    """A workspace with people p0, p1, … and a definition over one channel, straight into the tables."""
    identity = WorkspaceId(workspace)
    stores.registry.put_workspace(a_workspace(workspace_id=identity), None)
    definition = a_definition(workspace_id=identity, channels=(channel,))
    template = definition.templates.get(channel, {"text": "Disk {{ number }}", "blocks": None})
    stores.registry.put_definition(replace(definition, templates={channel: template}), None)
    for number, slack_id in enumerate(slack_ids):
        person = a_person(f"p{number}", workspace_id=identity, slack_user_id=slack_id, phone=f"+4179{number:07d}")
        stores.directory.put_person(person, None)


def prepare(stack: Stack, stores: Stores, case: Case) -> None:
    register(stores, case.workspace, Channel.CHAT, [slack_id(case.workspace, number) for number in range(PEOPLE)])
    for number, faults in enumerate(case.faults):
        for fault in faults:
            stack.simulator.add_fault("chat", to=slack_id(case.workspace, number), **fault)  # type: ignore[arg-type]


def request_of(stack: Stack, workspace: str) -> dict[str, Any]:
    """The only request of a workspace."""
    path = f"/v1/workspaces/{workspace}/requests"
    items = stack.call("GET", path).json()["items"]
    if not items:
        return {"notices": []}
    found: dict[str, Any] = stack.call("GET", f"{path}/{items[0]['request_id']}").json()
    return found


def deliveries(request: dict[str, Any], workspace: str) -> dict[str, str]:
    """Each delivery's id, with its state and the reason of a failure."""
    found: dict[str, str] = {}
    for notice in request["notices"]:
        for item in notice["deliveries"]:
            identity = delivery_id(workspace, notice["recipient"] or "-", notice["notice_id"], item["channel"])
            found[identity] = f"failed({item['reason']})" if item["state"] == "failed" else item["state"]
    return found


def states_at_the_end(stack: Stack, counts: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """How so many deliveries of each workspace end, sweeping until all have."""
    ended: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + SECONDS_MAX
    while len(ended) < len(counts):
        assert time.monotonic() < deadline, f"some of {counts.keys() - ended.keys()} haven't ended"
        time.sleep(POLL_SECONDS)
        stack.invoke("sweep_due")
        for workspace in counts.keys() - ended.keys():
            states = deliveries(request_of(stack, workspace), workspace)
            if len(states) == counts[workspace] and {state.partition("(")[0] for state in states.values()} <= ENDED:
                ended[workspace] = states
    stack.wait_until_quiet()
    return ended


# ---------------------------------------------------------------- every fault


@pytest.mark.timeout(SECONDS_MAX + 60)
def test_each_of_1800_deliveries_ends_as_what_the_provider_did_and_reaches_nobody_twice(
    stack: Stack, workspace: str
) -> None:
    """Scenarios 3, 6, 37 and 40, at 200 people each; and an alert whose answer was lost."""
    stack.expect_trouble("circuit_opened")
    stores = deployed(stack.file).stores()
    wanted = cases(workspace)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(prepare, stack, stores), wanted))
    register(stores, workspace, Channel.SLACK_SYSTEM, [])
    stack.simulator.add_fault("slack_system", **DELIVERED_THEN_CUT)  # type: ignore[arg-type]
    stack.send("requests", publication(workspace, {"hq": True}))
    for case in wanted:
        everyone = {"people": [f"p{number}" for number in range(PEOPLE)]}
        stack.send("requests", publication(case.workspace, everyone), group=case.workspace)

    ended = states_at_the_end(stack, {workspace: 1} | {case.workspace: PEOPLE for case in wanted})
    assert {place: Counter(states.values()) for place, states in ended.items()} == {
        workspace: Counter({"delivered": 1}),
        **{case.workspace: Counter(case.ends) for case in wanted},
    }
    reached = Counter(message["delivery_id"] for message in stack.simulator.messages())
    assert set(reached.values()) == {1}
    recorded = {identity for states in ended.values() for identity, state in states.items() if state == "delivered"}
    assert recorded == set(reached)


# ---------------------------------------------------------------- texts and their receipts


def test_texts_end_as_their_receipts_say_in_any_order_and_number(stack: Stack, workspace: str) -> None:
    """Scenarios 9 and 19, and a receipt as the evidence of a send that was never answered."""
    stores = deployed(stack.file).stores()
    events: dict[str, list[tuple[str, dict[str, object]]]] = {
        "p0": [("TEXT_DELIVERED", {})],
        "p1": [("TEXT_UNREACHABLE", {})],
        "p2": [("TEXT_DELIVERED", {"times": 50})],
        "p3": [("TEXT_TTL_EXPIRED", {})],
        "p4": [("TEXT_DELIVERED", {}), ("TEXT_SENT", {}), ("TEXT_QUEUED", {})],
        "p5": [("TEXT_DELIVERED", {})],
        "p6": [("TEXT_CARRIER_BLOCKED", {"times": 3})],
        "p7": [("TEXT_UNREACHABLE", {"is_final": False})],
    }
    register(stores, workspace, Channel.TEXT, [slack_id(workspace, number) for number in range(9)])
    stack.simulator.add_fault("text", "drop_response", to="+41790000005")
    stack.simulator.add_fault(
        "text", "reject", to="+41790000008", code="ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT"
    )
    everyone = {"people": [f"p{number}" for number in range(9)]}
    stack.send("requests", publication(workspace, everyone), group=workspace)
    stack.wait_until_quiet()
    request = request_of(stack, workspace)
    assert {notice["recipient"]: notice["deliveries"][0]["state"] for notice in request["notices"]} == {
        **dict.fromkeys((f"p{number}" for number in range(8)), "sent"),
        "p5": "sending",
        "p8": "failed",
    }
    for notice in request["notices"]:
        identity = delivery_id(workspace, notice["recipient"], notice["notice_id"], "text")
        for event, details in events.get(notice["recipient"], []):
            stack.simulator.send_receipt(identity, event, **details)
    stack.wait_until_quiet()
    ends = {
        notice["recipient"]: (item["state"], item["reason"], notice["status"])
        for notice in request_of(stack, workspace)["notices"]
        for item in notice["deliveries"]
    }
    assert ends == {
        "p0": ("delivered", None, "delivered"),
        "p1": ("bounced", "unreachable", "failed"),
        "p2": ("delivered", None, "delivered"),
        "p3": ("bounced", "ttl_expired", "failed"),
        "p4": ("delivered", None, "delivered"),
        "p5": ("delivered", None, "delivered"),
        "p6": ("bounced", "carrier_blocked", "failed"),
        "p7": ("sent", None, "delivering"),
        "p8": ("failed", "ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT", "failed"),
    }
    counts = Counter(message["to"] for message in stack.simulator.messages(channel="text"))
    assert counts == {f"+4179000000{number}": 1 for number in range(8)}


# ---------------------------------------------------------------- alerts


def test_an_alert_that_the_headquarters_channel_refuses_is_counted_and_alarmed(stack: Stack, workspace: str) -> None:
    stack.expect_trouble("hq_alert_failed")
    since_ms = time.time_ns() // 1_000_000
    register(deployed(stack.file).stores(), workspace, Channel.SLACK_SYSTEM, [])
    stack.simulator.add_fault("slack_system", "reject", code="channel_not_found")
    stack.send("requests", publication(workspace, {"hq": True}), group=workspace)
    stack.wait_until_quiet()
    (notice,) = request_of(stack, workspace)["notices"]
    assert (notice["recipient"], notice["status"], notice["deliveries"]) == (
        None,
        "failed",
        [{"channel": "slack_system", "state": "failed", "reason": "channel_not_found"}],
    )
    logged = "".join(stack.log("deliver_system", since_ms=since_ms))
    assert '"hq_alerts_failed":1' in logged
    assert "hq_alert_failed" in logged
    assert stack.simulator.messages() == []
