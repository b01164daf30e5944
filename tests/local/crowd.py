"""Many people on a running stack: workspaces of 200, what the providers do to each, and how their deliveries end."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import WorkspaceId, delivery_id
from tests.builders import a_definition, a_person, a_workspace
from tests.conformance.backends import Stores
from tests.local.client import Stack

PEOPLE = 200
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


def states_at_the_end(stack: Stack, counts: Mapping[str, int], *, seconds_max: float) -> dict[str, dict[str, str]]:
    """How so many deliveries of each workspace end, sweeping until all have."""
    ended: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + seconds_max
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
