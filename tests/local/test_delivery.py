"""Deliveries on the deployed stack: whatever the providers do, each ends, nobody is told twice, the record is true."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import delivery_id
from tests.conformance.backends import deployed
from tests.local.client import Stack
from tests.local.crowd import (
    DELIVERED_THEN_500,
    DELIVERED_THEN_CUT,
    HANG,
    LOST,
    PEOPLE,
    REFUSED,
    THROTTLE,
    TOKEN_REVOKED,
    UNAVAILABLE,
    Case,
    Fault,
    mixed,
    prepare,
    publication,
    register,
    request_of,
    slack_id,
    states_at_the_end,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS_MAX = 420
"""How long all of it may take on a busy machine: leases and a probe alone take a minute and a half."""


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

    ended = states_at_the_end(
        stack, {workspace: 1} | {case.workspace: PEOPLE for case in wanted}, seconds_max=SECONDS_MAX
    )
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
    assert '"event":"hq_alert_failed"' in logged
    assert "hq_alert_failed" in logged
    assert stack.simulator.messages() == []
