"""What needs attention, and trying again: only what ran out of attempts, and pressing twice is one attempt."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.ports import Conflict, QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import HQ, delivery_id
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import Delivery, Ending, Notice, ended
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import closed_by_producer, settled
from notify_core.domain.request_lifecycle import RequestEvent
from tests.api.builders import CHAT, CONSOLE, TEXT, accepted, id_of
from tests.api.client import Client
from tests.api.conftest import NOW, World
from tests.builders import a_contributor, a_delivery, a_notice, a_workspace, an_entry, planned

PATH = "/v1/workspaces/acme"
DELIVERIES = f"{PATH}/deliveries"


@pytest.fixture(autouse=True)
def acme(world: World) -> None:
    world.ports.registry.put_workspace(a_workspace(shards=4), None)


def exhausted(channel: Channel = Channel.CHAT, at: datetime = NOW, **changes: Any) -> Delivery:
    return a_delivery(DeliveryState.FAILED, channel, updated_at=at, **changes)


def refused(channel: Channel = Channel.CHAT, at: datetime = NOW) -> Delivery:
    return exhausted(channel, at, reason="channel_not_found")


def failing(world: World, key: str, *deliveries: Delivery, person: str = "ana", shard: int = 0) -> Notice:
    """A notice with failed deliveries, and its request."""
    request = accepted(world.ports, NOW, key, an_entry(person, CHAT, TEXT), shard=shard)
    notice = a_notice(
        *(deliveries or (exhausted(),)),
        recipient=person,
        notice_id=request.request_id,
        contributors=(a_contributor(request.request_id),),
        created_at=NOW,
        expires_at=request.expires_at,
        content=None,
        shard=shard,
    )
    world.ports.notices.put(notice, None)
    return notice


def retry_path(key: str = "inv-42", channel: str = "chat", person: str = "ana") -> str:
    return f"{PATH}/notices/{person}/{id_of(key)}/deliveries/{channel}/retry"


# ---------------------------------------------------------------- what needs attention


def test_an_item_says_what_failed_for_whom_and_when(world: World, operator: Client) -> None:
    failing(world, "inv-42", exhausted(at=NOW + timedelta(minutes=4)))
    assert operator.get(DELIVERIES, state="failed").body == {
        "items": [
            {
                "recipient": "ana",
                "notice_id": id_of("inv-42"),
                "request_id": id_of("inv-42"),
                "channel": "chat",
                "state": "failed",
                "reason": "attempts_exhausted",
                "failed_at": "2026-11-30T10:04:00Z",
            }
        ],
        "cursor": None,
    }


def test_failed_deliveries_of_all_shards_are_newest_first_over_the_pages(world: World, operator: Client) -> None:
    for minute in range(7):
        failing(world, f"inv-{minute}", exhausted(at=NOW + timedelta(minutes=minute)), shard=minute % 4)
    assert pages(operator, limit="3") == [["inv-6", "inv-5", "inv-4"], ["inv-3", "inv-2", "inv-1"], ["inv-0"]]


def pages(caller: Client, **query: str) -> list[list[str]]:
    names = {id_of(f"inv-{minute}"): f"inv-{minute}" for minute in range(20)}
    found, cursor = [], ""
    while cursor is not None:
        body = caller.get(DELIVERIES, cursor=cursor, **query).body
        found.append([names[item["notice_id"]] for item in body["items"]])
        cursor = body["cursor"]
    return found


def test_the_deliveries_of_one_notice_stay_on_one_page(world: World, operator: Client) -> None:
    for minute in range(3):
        at = NOW + timedelta(minutes=minute)
        failing(world, f"inv-{minute}", exhausted(at=at), exhausted(Channel.TEXT, at))
    assert pages(operator, limit="3") == [["inv-2", "inv-2"], ["inv-1", "inv-1"], ["inv-0", "inv-0"]]
    assert pages(operator, limit="4") == [["inv-2", "inv-2", "inv-1", "inv-1"], ["inv-0", "inv-0"]]
    assert pages(operator, limit="1") == [["inv-2", "inv-2"], ["inv-1", "inv-1"], ["inv-0", "inv-0"]]


def test_a_reason_picks_deliveries_not_notices(world: World, operator: Client) -> None:
    failing(world, "inv-1", exhausted(Channel.CHAT), refused(Channel.TEXT))
    failing(world, "inv-2", refused(Channel.CHAT))
    items = operator.get(DELIVERIES, reason="attempts_exhausted").body["items"]
    assert [(item["notice_id"], item["channel"]) for item in items] == [(id_of("inv-1"), "chat")]
    assert len(operator.get(DELIVERIES).body["items"]) == 3
    assert operator.get(DELIVERIES, reason="is_archived").body["items"] == []


def test_an_ended_notice_needs_no_attention(world: World, operator: Client) -> None:
    notice = failing(world, "inv-42")
    ending = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)
    after = ended(notice, ending, now=NOW)
    assert after is not None
    world.ports.notices.put(after, notice)
    assert operator.get(DELIVERIES).body == {"items": [], "cursor": None}


def test_only_failed_deliveries_are_listed(operator: Client) -> None:
    answer = operator.get(DELIVERIES, state="bounced")
    assert (answer.status, answer.problems) == (422, [("state", "unknown_state")])


def test_an_unknown_workspace_has_no_deliveries(operator: Client) -> None:
    for answer in (
        operator.get("/v1/workspaces/nobody/deliveries"),
        operator.post("/v1/workspaces/nobody/deliveries/retry", {}),
    ):
        assert (answer.status, answer.problems) == (404, [("workspace_id", "workspace_not_found")])


def test_another_workspaces_failures_are_not_listed(world: World, operator: Client) -> None:
    failing(world, "inv-42")
    world.ports.registry.put_workspace(a_workspace(workspace_id="other"), None)
    assert operator.get("/v1/workspaces/other/deliveries").body["items"] == []


def test_a_cursor_goes_with_its_reason(world: World, operator: Client) -> None:
    for minute in range(2):
        failing(world, f"inv-{minute}", exhausted(at=NOW + timedelta(minutes=minute)))
    cursor = operator.get(DELIVERIES, limit="1").body["cursor"]
    answer = operator.get(DELIVERIES, reason="attempts_exhausted", cursor=cursor)
    assert (answer.status, answer.problems) == (400, [("cursor", "invalid_cursor")])


# ---------------------------------------------------------------- one again


def test_an_exhausted_delivery_is_queued_again(world: World, operator: Client) -> None:
    failing(world, "inv-42")
    answer = operator.post(retry_path())
    identity = delivery_id("acme", "ana", id_of("inv-42"), "chat")
    assert (answer.status, answer.body) == (202, {"delivery_id": identity})
    notice = operator.get(f"{PATH}/notices/ana/{id_of('inv-42')}").body
    assert [(item["state"], item["attempts"]) for item in notice["deliveries"]] == [("queued", 0)]
    assert notice["timeline"][-1]["by"] == "operator"
    assert len(world.queues.take(QueueName.CHAT)) == 1


def test_pressing_twice_is_one_attempt(world: World, operator: Client) -> None:
    failing(world, "inv-42")
    assert operator.post(retry_path()).status == 202
    again = operator.post(retry_path())
    assert (again.status, again.problems) == (409, [("channel", "not_exhausted")])
    assert len(world.queues.take(QueueName.CHAT)) == 1


@pytest.mark.parametrize(
    "delivery",
    [
        refused(),
        exhausted(reason=DeliveryReason.OUTCOME_UNKNOWN),
        a_delivery(DeliveryState.DELIVERED),
        a_delivery(DeliveryState.SENDING),
        a_delivery(DeliveryState.QUEUED),
    ],
)
def test_nothing_else_is_tried_again(world: World, operator: Client, delivery: Delivery) -> None:
    failing(world, "inv-42", delivery)
    answer = operator.post(retry_path())
    assert (answer.status, answer.problems) == (409, [("channel", "not_exhausted")])


def test_the_console_is_never_tried_again(world: World, operator: Client) -> None:
    failing(world, "inv-42", a_delivery(DeliveryState.DELIVERED, Channel.CONSOLE), exhausted())
    answer = operator.post(retry_path(channel="console"))
    assert (answer.status, answer.problems) == (409, [("channel", "not_exhausted")])


def test_a_notice_that_is_not_stored_yet_has_nothing_exhausted(world: World, operator: Client) -> None:
    accepted(world.ports, NOW, "inv-42", an_entry("ana", CONSOLE, CHAT))
    answer = operator.post(retry_path())
    assert (answer.status, answer.problems) == (409, [("channel", "not_exhausted")])


def test_a_retry_after_the_withdrawal_the_deadline_or_the_end_says_so(world: World, operator: Client) -> None:
    failing(world, "inv-1")
    row = world.ports.requests.get("acme", id_of("inv-1"))
    assert row is not None
    world.ports.requests.put(closed_by_producer(row, RequestEvent.WITHDRAW, now=NOW), row)
    failing(world, "inv-2")
    row = world.ports.requests.get("acme", id_of("inv-2"))
    assert row is not None
    world.ports.requests.put(settled(row, now=NOW, due_at=None), row)
    failing(world, "inv-3")
    assert operator.post(retry_path("inv-1")).problems == [("channel", "withdrawn")]
    assert operator.post(retry_path("inv-2")).problems == [("channel", "settled")]
    world.clock.advance(timedelta(days=7))
    answer = operator.post(retry_path("inv-3"))
    assert (answer.status, answer.problems) == (409, [("channel", "expired")])
    assert world.queues.take(QueueName.CHAT) == []


def test_a_delivery_that_is_not_there_is_not_found(world: World, operator: Client) -> None:
    failing(world, "inv-42")
    answers = [
        (operator.post(path).status, operator.post(path).problems)
        for path in (retry_path(channel="text"), retry_path(person="bob"), retry_path("inv-9"), retry_path(person="-"))
    ]
    assert answers == [
        (404, [("channel", "delivery_not_found")]),
        (404, [("notice_id", "notice_not_found")]),
        (404, [("notice_id", "notice_not_found")]),
        (404, [("notice_id", "notice_not_found")]),
    ]


@pytest.mark.parametrize("channel", ["fax", "CHAT", "chat "])
def test_a_channel_that_does_not_exist_is_named(operator: Client, channel: str) -> None:
    answer = operator.post(retry_path(channel=channel))
    assert (answer.status, answer.problems) == (422, [("channel", "unknown_channel")])


def test_an_alert_to_the_headquarters_is_tried_again_under_a_dash(world: World, operator: Client) -> None:
    alert = planned(Channel.SLACK_SYSTEM)
    request = accepted(world.ports, NOW, "inv-42", an_entry(HQ, alert))
    notice = a_notice(
        exhausted(Channel.SLACK_SYSTEM),
        recipient=HQ,
        notice_id=request.request_id,
        contributors=(a_contributor(request.request_id),),
        content=None,
    )
    world.ports.notices.put(notice, None)
    assert operator.get(DELIVERIES).body["items"][0]["recipient"] is None
    assert operator.post(retry_path(channel="slack_system", person="-")).status == 202
    assert len(world.queues.take(QueueName.SYSTEM)) == 1


class ContestedRequests:
    """A request store whose transactions somebody else always beats."""

    def __init__(self, world: World) -> None:
        self._requests = world.ports.requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._requests, name)

    def commit(self, writes: object) -> None:
        raise Conflict


def test_a_retry_that_keeps_losing_says_so(world: World) -> None:
    failing(world, "inv-42")
    operator = Client(world.without(requests=ContestedRequests(world)))
    answer = operator.post(retry_path())
    assert (answer.status, answer.problems) == (409, [("", "conflict")])
    bulk = operator.post(f"{DELIVERIES}/retry", {}).body
    assert (bulk["retried"], [item["code"] for item in bulk["refused"]]) == (0, ["conflict"])


# ---------------------------------------------------------------- many again


def test_a_bulk_retry_takes_the_newest_exhausted_deliveries(world: World, operator: Client) -> None:
    for minute in range(5):
        failing(world, f"inv-{minute}", exhausted(at=NOW + timedelta(minutes=minute)), shard=minute % 4)
    failing(world, "inv-9", refused(at=NOW + timedelta(minutes=9)))
    body = {"reason": "attempts_exhausted", "limit": 3}
    assert operator.post(f"{DELIVERIES}/retry", body).body == {"retried": 3, "refused": []}
    left = [item["notice_id"] for item in operator.get(DELIVERIES).body["items"]]
    assert left == [id_of("inv-9"), id_of("inv-1"), id_of("inv-0")]
    assert operator.post(f"{DELIVERIES}/retry", body).body == {"retried": 2, "refused": []}
    assert operator.post(f"{DELIVERIES}/retry", body).body == {"retried": 0, "refused": []}
    assert len(world.queues.take(QueueName.CHAT)) == 5


def test_a_bulk_retry_names_what_it_refuses(world: World, operator: Client) -> None:
    failing(world, "inv-1")
    failing(world, "inv-2", exhausted(at=NOW + timedelta(minutes=1)))
    row = world.ports.requests.get("acme", id_of("inv-1"))
    assert row is not None
    world.ports.requests.put(closed_by_producer(row, RequestEvent.WITHDRAW, now=NOW), row)
    assert operator.post(f"{DELIVERIES}/retry", {}).body == {
        "retried": 1,
        "refused": [
            {
                "recipient": "ana",
                "notice_id": id_of("inv-1"),
                "channel": "chat",
                "code": "withdrawn",
                "message": "the request was withdrawn or replaced",
            }
        ],
    }


def test_a_bulk_retry_takes_fifty_unless_told(world: World, operator: Client) -> None:
    for number in range(51):
        failing(world, f"inv-{number}")
    assert operator.post(f"{DELIVERIES}/retry", {}).body["retried"] == 50


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"reason": "outcome_unknown"}, [("reason", "not_allowed")]),
        ({"reason": ["attempts_exhausted"]}, [("reason", "not_allowed")]),
        ({"limit": 0}, [("limit", "out_of_range")]),
        ({"limit": 201}, [("limit", "out_of_range")]),
        ({"limit": "10"}, [("limit", "type")]),
        ({"limit": True}, [("limit", "type")]),
        ({"all": True}, [("all", "unknown_field")]),
        ([], [("", "type")]),
    ],
)
def test_what_is_wrong_with_a_bulk_retry_is_named(
    operator: Client, body: object, problems: list[tuple[str, str]]
) -> None:
    answer = operator.post(f"{DELIVERIES}/retry", body)
    assert (answer.status, answer.problems) == (422, problems)
