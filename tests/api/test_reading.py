"""Reading a request and a notice: what is not stored yet is what the next write will make it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from notify_core.application.begin_notice import Reader
from notify_core.application.end_notices import end_notices
from notify_core.application.ports import NoticeKey, ReadMark
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import (
    HQ,
    ClaimId,
    DefinitionKey,
    NoticeId,
    Recipient,
    delivery_id,
    fold_id,
    generation_notice_id,
)
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import claimed, created, first_notice, with_result
from notify_core.domain.problem import Problem
from notify_core.domain.request import Exclusion, Planned, Request, closed_by_producer, retired
from notify_core.domain.request_lifecycle import RequestEvent, RequestState
from notify_core.domain.send_result import Delivered, Rejected, RejectionScope
from tests.api.builders import CHAT, CONSOLE, TEXT, accepted, id_of, request_at, stored
from tests.api.client import Client
from tests.api.conftest import NOW, World
from tests.builders import ACME, an_entry

ANA = Recipient("ana")
PATH = "/v1/workspaces/acme"
NOBODYS = Planned(channel=Channel.CHAT, state=DeliveryState.SKIPPED, reason=DeliveryReason.NO_ADDRESS)


def request_path(key: str = "inv-42") -> str:
    return f"{PATH}/requests/{id_of(key)}"


def notice_path(key: str = "inv-42", person: str = "ana") -> str:
    return f"{PATH}/notices/{person}/{id_of(key)}"


def close(world: World, request: Request, new: Request) -> Request:
    world.ports.requests.put(new, request)
    return new


# ---------------------------------------------------------------- a request


def test_a_request_shows_its_outcome_and_each_recipients_notice(world: World, operator: Client) -> None:
    request = request_at(
        NOW,
        "inv-42",
        an_entry("ana", CONSOLE, CHAT),
        an_entry("bob", CONSOLE, NOBODYS),
        exclusions=(
            Exclusion(kind="person", name="eve", reason="not_in_workspace"),
            Exclusion(kind="team", name="sales", reason="unknown_team"),
        ),
    )
    world.ports.requests.put(request, None)
    stored(world.ports, request, "ana")
    assert operator.get(request_path()).body == {
        "request_id": id_of("inv-42"),
        "definition": "invoice.overdue",
        "definition_version": 1,
        "request_key": "inv-42",
        "replacement_key": None,
        "fold_key": None,
        "state": "open",
        "reason": None,
        "published_at": "2026-11-30T10:00:00Z",
        "not_before": None,
        "expires_at": "2026-12-07T10:00:00Z",
        "recorded_at": "2026-11-30T10:00:00Z",
        "closed_at": None,
        "differing_repeat_at": None,
        "problems": [],
        "exclusions": [
            {"person": "eve", "reason": "not_in_workspace"},
            {"team": "sales", "reason": "unknown_team"},
        ],
        "notices": [
            {
                "recipient": "ana",
                "notice_id": id_of("inv-42"),
                "status": "routed",
                "deliveries": [
                    {"channel": "console", "state": "delivered", "reason": None},
                    {"channel": "chat", "state": "queued", "reason": None},
                ],
            },
            {
                "recipient": "bob",
                "notice_id": id_of("inv-42"),
                "status": "delivered",
                "deliveries": [
                    {"channel": "console", "state": "delivered", "reason": None},
                    {"channel": "chat", "state": "skipped", "reason": "no_address"},
                ],
            },
        ],
    }


def test_an_invalid_request_shows_its_problems(world: World, operator: Client) -> None:
    problem = Problem(field="data.number", code="required", message="give the invoice's number")
    invalid = request_at(NOW, "inv-42", state=RequestState.INVALID, problems=(problem,), closed_at=NOW)
    world.ports.requests.put(replace(invalid, accepted_at=None, manifest=()), None)
    body = operator.get(request_path()).body
    assert (body["state"], body["notices"]) == ("invalid", [])
    assert body["problems"] == [{"field": "data.number", "code": "required", "message": "give the invoice's number"}]


def test_a_publication_that_was_not_processed_yet_is_not_found(operator: Client) -> None:
    answer = operator.get(request_path())
    assert (answer.status, answer.problems) == (404, [("request_id", "request_not_found")])


@pytest.mark.parametrize("request_id", ["nonsense", "a" * 3_000, "é" * 22, "a" * 23, "a" * 21 + "#"])
def test_an_id_that_no_request_can_have_is_not_found(operator: Client, request_id: str) -> None:
    answer = operator.get(f"{PATH}/requests/{request_id}")
    assert (answer.status, answer.problems) == (404, [("request_id", "request_not_found")])


def test_another_workspaces_request_is_not_found(world: World, operator: Client) -> None:
    accepted(world.ports, NOW, "inv-42")
    assert operator.get(f"/v1/workspaces/other/requests/{id_of('inv-42')}").status == 404
    assert operator.get(f"/v1/workspaces/other/notices/ana/{id_of('inv-42')}").status == 404


def test_an_alert_to_the_headquarters_has_one_notice_without_a_recipient(world: World, operator: Client) -> None:
    alert = Planned(channel=Channel.SLACK_SYSTEM, state=DeliveryState.QUEUED)
    accepted(world.ports, NOW, "inv-42", an_entry(HQ, alert))
    assert operator.get(request_path()).body["notices"] == [
        {
            "recipient": None,
            "notice_id": id_of("inv-42"),
            "status": "routed",
            "deliveries": [{"channel": "slack_system", "state": "queued", "reason": None}],
        }
    ]
    assert operator.get(notice_path(person="-")).body["recipient"] is None


# ---------------------------------------------------------------- notices that are not stored


def states(caller: Client, key: str = "inv-42") -> list[tuple[str, dict[str, tuple[str, str | None]]]]:
    """Each notice's status, and each delivery's state and reason."""
    return [
        (
            notice["status"],
            {item["channel"]: (item["state"], item["reason"]) for item in notice["deliveries"]},
        )
        for notice in caller.get(request_path(key)).body["notices"]
    ]


def test_a_missing_notice_of_a_withdrawn_request_is_what_the_follow_up_will_write(
    world: World, operator: Client
) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT, TEXT))
    request = close(world, request, closed_by_producer(request, RequestEvent.WITHDRAW, now=NOW))
    derived = states(operator)
    assert derived == [("superseded", {"chat": ("cancelled", "withdrawn"), "text": ("cancelled", "withdrawn")})]
    derived_notice = operator.get(notice_path()).body
    end_notices(request, Reader(ports=world.ports), world.ports, by=Actor.PRODUCER)
    assert states(operator) == derived
    assert operator.get(notice_path()).body == derived_notice


def test_a_missing_notice_of_a_replaced_request_says_that_it_was_replaced(world: World, operator: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))
    close(world, request, closed_by_producer(request, RequestEvent.REPLACE, now=NOW))
    assert states(operator) == [("superseded", {"chat": ("cancelled", "replaced")})]


@pytest.mark.parametrize(("deadline", "reason"), [(None, "age"), (NOW + timedelta(hours=1), "deadline")])
def test_a_missing_notice_past_the_deadline_is_what_the_sweep_will_write(
    world: World, operator: Client, deadline: Any, reason: str
) -> None:
    expires_at = deadline or NOW + timedelta(days=7)
    request = request_at(NOW, "inv-42", an_entry("ana", CHAT), deadline=deadline, expires_at=expires_at)
    world.ports.requests.put(request, None)
    world.clock.at = expires_at - timedelta(microseconds=1)
    assert states(operator) == [("routed", {"chat": ("queued", None)})]
    world.clock.at = expires_at
    derived = states(operator)
    assert derived == [("expired", {"chat": ("expired", reason)})]
    derived_notice = operator.get(notice_path()).body
    end_notices(request, Reader(ports=world.ports), world.ports, by=Actor.SWEEP)
    assert states(operator) == derived
    assert operator.get(notice_path()).body == derived_notice


def test_a_missing_notice_with_the_console_does_not_expire_with_its_deadline(world: World, operator: Client) -> None:
    accepted(world.ports, NOW, "inv-42", an_entry("ana", CONSOLE, CHAT))
    world.clock.advance(timedelta(days=8))
    assert states(operator) == [("delivered", {"console": ("delivered", None), "chat": ("expired", "age")})]


def test_a_missing_notice_of_a_retired_definition_is_still_delivered(world: World, operator: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))
    close(world, request, retired(request, now=NOW))
    assert operator.get(request_path()).body["state"] == "cancelled"
    assert states(operator) == [("routed", {"chat": ("queued", None)})]


def test_a_request_that_was_never_accepted_has_no_notices(world: World, operator: Client) -> None:
    tombstone = replace(request_at(NOW, "inv-42", state=RequestState.CANCELLED), accepted_at=None, manifest=())
    world.ports.requests.put(tombstone, None)
    assert operator.get(request_path()).body["notices"] == []
    assert operator.get(notice_path()).status == 404


# ---------------------------------------------------------------- folded


FOLD = fold_id(DefinitionKey("invoice.overdue"), "inv")


def fold(world: World, request: Request, generation: int) -> NoticeId:
    """Store the request's notice as a generation of its fold key."""
    identity = generation_notice_id(FOLD, generation)
    notice = created(first_notice(request, request.manifest[0], notice=identity))
    world.ports.notices.put(notice, None)
    return identity


def test_a_folded_requests_notice_is_the_generation_that_holds_it(world: World, operator: Client) -> None:
    first = accepted(world.ports, NOW, "inv-1", fold_key="inv")
    second = accepted(world.ports, NOW + timedelta(seconds=1), "inv-2", fold_key="inv")
    held = fold(world, first, 1), fold(world, second, 2)
    shown = [operator.get(request_path(key)).body["notices"][0]["notice_id"] for key in ("inv-1", "inv-2")]
    assert shown == list(held)
    notice = operator.get(f"{PATH}/notices/ana/{held[0]}").body
    assert (notice["request_id"], notice["contributors"]) == (
        first.request_id,
        [{"request_id": first.request_id, "state": "open"}],
    )


def test_a_request_that_was_not_folded_yet_has_a_notice_without_an_id(world: World, operator: Client) -> None:
    accepted(world.ports, NOW, "inv-42", fold_key="inv")
    assert operator.get(request_path()).body["notices"] == [
        {
            "recipient": "ana",
            "notice_id": None,
            "status": "delivered",
            "deliveries": [{"channel": "console", "state": "delivered", "reason": None}],
        }
    ]
    assert operator.get(notice_path()).status == 404


def test_a_request_that_was_withdrawn_before_it_was_folded_has_a_notice_without_an_id(
    world: World, operator: Client
) -> None:
    request = accepted(world.ports, NOW, "inv-42", fold_key="inv")
    world.ports.requests.put(closed_by_producer(request, RequestEvent.WITHDRAW, now=NOW), request)
    [notice] = operator.get(request_path()).body["notices"]
    assert (notice["notice_id"], notice["status"]) == (None, "superseded")
    assert operator.get(notice_path()).status == 404


# ---------------------------------------------------------------- a notice


def deliver(world: World, request: Request, channel: Channel, result: Any) -> None:
    """Claim a delivery at once, and record its result a second later."""
    key = NoticeKey(workspace_id=ACME, recipient=ANA, notice_id=NoticeId(request.request_id))
    was = world.ports.notices.get(key) or first_notice(request, request.manifest[0])
    claim = claimed(was, channel, ClaimId("claim-1"), now=NOW)
    world.ports.notices.put(claim, was if was.version else None)
    after = with_result(claim, channel, result, now=NOW + timedelta(seconds=1))
    assert after is not None
    world.ports.notices.put(after, claim)


def test_a_notice_shows_its_deliveries_and_what_moved_them(world: World, operator: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))
    deliver(world, request, Channel.CHAT, Delivered(provider_id="1764496800.000100", provider_channel="D1"))
    assert operator.get(notice_path()).body == {
        "recipient": "ana",
        "notice_id": id_of("inv-42"),
        "request_id": id_of("inv-42"),
        "status": "delivered",
        "created_at": "2026-11-30T10:00:00Z",
        "read_at": None,
        "contributors": [{"request_id": id_of("inv-42"), "state": "open"}],
        "deliveries": [
            {
                "delivery_id": delivery_id("acme", "ana", id_of("inv-42"), "chat"),
                "channel": "chat",
                "state": "delivered",
                "reason": None,
                "attempts": 1,
                "provider_id": "1764496800.000100",
                "next_at": None,
                "updated_at": "2026-11-30T10:00:01Z",
            }
        ],
        "timeline": [
            line("2026-11-30T10:00:00Z", None, None, "created", "processor"),
            line("2026-11-30T10:00:00Z", "chat", "queued", "sending", "worker"),
            line("2026-11-30T10:00:01Z", "chat", "sending", "delivered", "worker"),
        ],
    }


def line(at: str, channel: str | None, before: str | None, after: str, by: str) -> Mapping[str, str | None]:
    return {"at": at, "channel": channel, "from": before, "to": after, "by": by, "reason": None}


def test_a_refused_delivery_shows_the_providers_code(world: World, operator: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CONSOLE, CHAT))
    stored(world.ports, request)
    deliver(world, request, Channel.CHAT, Rejected(reason="channel_not_found", scope=RejectionScope.PERSON))
    assert states(operator) == [
        ("partially_delivered", {"console": ("delivered", None), "chat": ("failed", "channel_not_found")})
    ]


def test_a_notice_not_stored_yet_is_readable_from_its_acceptance_on(world: World, operator: Client) -> None:
    accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))
    body = operator.get(notice_path()).body
    assert (body["status"], body["contributors"]) == ("routed", [{"request_id": id_of("inv-42"), "state": "open"}])


def test_a_notice_read_with_all_others_was_read_at_that_time(world: World, operator: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CONSOLE))
    stored(world.ports, request)
    mark = ReadMark(read_up_to=NOW, marked_at=NOW + timedelta(minutes=3))
    world.ports.notices.mark_read(ACME, ANA, mark)
    assert operator.get(notice_path()).body["read_at"] == "2026-11-30T10:03:00Z"


def test_somebody_who_was_not_told_has_no_notice(world: World, operator: Client) -> None:
    accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))
    answer = operator.get(notice_path(person="bob"))
    assert (answer.status, answer.problems) == (404, [("notice_id", "notice_not_found")])


def test_a_contributor_that_was_forgotten_has_no_state(world: World, operator: Client) -> None:
    request = request_at(NOW, "inv-42", an_entry("ana", CONSOLE))
    stored(world.ports, request)
    assert operator.get(notice_path()).body["contributors"] == [{"request_id": id_of("inv-42"), "state": None}]
