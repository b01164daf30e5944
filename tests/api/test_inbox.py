"""The inbox: one's own notices, an exact unread total, and reading in one write."""

from datetime import timedelta
from typing import Any

import pytest

from notify_core.application.ports import Conflict, ReadMark
from notify_core.domain.identifiers import Recipient
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import ConsoleContent, Ending, Notice, ended, joined, left
from notify_core.domain.notice_lifecycle import NoticeStatus
from tests.api.builders import CHAT, CONSOLE, accepted, id_of, request_at, stored, told
from tests.api.client import Client, inbox_of
from tests.api.conftest import NOW, World
from tests.builders import ACME, an_entry

ANA = Recipient("ana")
WITHDRAWN = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)


@pytest.fixture
def ana(world: World) -> Client:
    return world.inbox("ana")


# ---------------------------------------------------------------- items


def test_an_item_is_what_its_recipient_needs_to_see(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-42")
    assert ana.get("/v1/inbox").body == {
        "items": [
            {
                "notice_id": id_of("inv-42"),
                "definition": "invoice.overdue",
                "category": "billing",
                "title": "Invoice 42",
                "body": "It is overdue.",
                "count": 1,
                "status": "delivered",
                "at": "2026-11-30T10:00:00Z",
                "read_at": None,
            }
        ],
        "cursor": None,
    }


def test_an_inbox_without_notices_is_an_empty_list(ana: Client) -> None:
    assert ana.get("/v1/inbox").body == {"items": [], "cursor": None}
    assert ana.get("/v1/inbox/unread").body == {"unread": 0, "more": False}


def test_items_are_newest_first_over_the_pages(world: World, ana: Client) -> None:
    for minute in range(7):
        told(world.ports, NOW + timedelta(minutes=minute), f"inv-{minute}")
    assert [pages_of(ana, limit) for limit in (2, 3, 7)] == [
        [["inv-6", "inv-5"], ["inv-4", "inv-3"], ["inv-2", "inv-1"], ["inv-0"]],
        [["inv-6", "inv-5", "inv-4"], ["inv-3", "inv-2", "inv-1"], ["inv-0"]],
        [["inv-6", "inv-5", "inv-4", "inv-3", "inv-2", "inv-1", "inv-0"]],
    ]


def pages_of(caller: Client, limit: int) -> list[list[str]]:
    names = {id_of(f"inv-{minute}"): f"inv-{minute}" for minute in range(7)}
    pages, cursor = [], ""
    while cursor is not None:
        answer = caller.get("/v1/inbox", limit=str(limit), cursor=cursor).body
        pages.append([names[item["notice_id"]] for item in answer["items"]])
        cursor = answer["cursor"]
    return pages


def test_reading_between_two_pages_moves_nothing(world: World, ana: Client) -> None:
    for minute in range(3):
        told(world.ports, NOW + timedelta(minutes=minute), f"inv-{minute}")
    first = ana.get("/v1/inbox", limit="1").body
    ana.post(f"/v1/inbox/{id_of('inv-1')}/read")
    told(world.ports, NOW + timedelta(minutes=3), "inv-3")
    rest = ana.get("/v1/inbox", cursor=first["cursor"]).body
    assert [item["notice_id"] for item in rest["items"]] == [id_of("inv-1"), id_of("inv-0")]


def test_a_notice_without_the_console_is_not_in_the_inbox(world: World, ana: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))
    stored(world.ports, request)
    assert ana.get("/v1/inbox").body["items"] == []
    assert ana.get("/v1/inbox/unread").body["unread"] == 0
    assert ana.post(f"/v1/inbox/{id_of('inv-42')}/read").status == 404


def test_an_item_counts_the_requests_that_still_stand_behind_it(world: World, ana: Client) -> None:
    notice = told(world.ports, NOW, "inv-1")
    second = request_at(NOW, "inv-2")
    two = joined(notice, second, ConsoleContent(title="Invoice 2", body="", category="billing"), now=NOW)
    world.ports.notices.put(two, notice)
    assert counts(ana) == [("Invoice 2", 2)]
    one = left(two, {second.request_id}, notice.content, by=Actor.PRODUCER, reason="withdrawn", now=NOW)
    assert one is not None
    world.ports.notices.put(one, two)
    assert counts(ana) == [("Invoice 42", 1)]


def counts(caller: Client) -> list[tuple[str, int]]:
    return [(item["title"], item["count"]) for item in caller.get("/v1/inbox").body["items"]]


# ---------------------------------------------------------------- unread and reading


def test_reading_takes_a_notice_out_of_the_unread_total_at_once(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-1")
    told(world.ports, NOW + timedelta(seconds=1), "inv-2")
    assert ana.get("/v1/inbox/unread").body == {"unread": 2, "more": False}
    world.clock.advance(timedelta(minutes=5))
    assert ana.post(f"/v1/inbox/{id_of('inv-1')}/read").status == 204
    assert ana.get("/v1/inbox/unread").body == {"unread": 1, "more": False}
    assert read_times(ana) == {id_of("inv-1"): "2026-11-30T10:05:00Z", id_of("inv-2"): None}


def read_times(caller: Client) -> dict[str, str | None]:
    return {item["notice_id"]: item["read_at"] for item in caller.get("/v1/inbox").body["items"]}


def test_a_withdrawn_notice_is_readable_and_not_unread(world: World, ana: Client) -> None:
    request = accepted(world.ports, NOW, "inv-42", an_entry("ana", CONSOLE, CHAT))
    notice = stored(world.ports, request)
    withdrawn = ended(notice, WITHDRAWN, now=NOW)
    assert withdrawn is not None
    world.ports.notices.put(withdrawn, notice)
    assert ana.get("/v1/inbox/unread").body["unread"] == 0
    assert [item["status"] for item in ana.get("/v1/inbox").body["items"]] == ["superseded"]
    assert ana.post(f"/v1/inbox/{notice.notice_id}/read").status == 204


def test_reading_twice_keeps_the_first_time(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-42")
    ana.post(f"/v1/inbox/{id_of('inv-42')}/read")
    world.clock.advance(timedelta(hours=1))
    assert ana.post(f"/v1/inbox/{id_of('inv-42')}/read").status == 204
    assert read_times(ana) == {id_of("inv-42"): "2026-11-30T10:00:00Z"}


def test_reading_all_takes_in_what_was_created_up_to_the_time_and_nothing_later(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-1")
    told(world.ports, NOW + timedelta(microseconds=1), "inv-2")
    told(world.ports, NOW + timedelta(microseconds=2), "inv-3")
    world.clock.advance(timedelta(minutes=1))
    shown = ana.get("/v1/inbox").body["items"][1]
    assert ana.post("/v1/inbox/read_all", {"up_to": shown["at"]}).status == 204
    assert ana.get("/v1/inbox/unread").body == {"unread": 1, "more": False}
    assert read_times(ana) == {
        id_of("inv-1"): "2026-11-30T10:01:00Z",
        id_of("inv-2"): "2026-11-30T10:01:00Z",
        id_of("inv-3"): None,
    }


def test_reading_all_up_to_a_time_to_come_leaves_what_is_still_to_come_unread(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-1")
    ana.post("/v1/inbox/read_all", {"up_to": "2027-01-01T00:00:00Z"})
    told(world.ports, NOW + timedelta(seconds=1), "inv-2")
    assert ana.get("/v1/inbox/unread").body == {"unread": 1, "more": False}


def test_reading_all_up_to_an_earlier_time_takes_nothing_back(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-1")
    ana.post("/v1/inbox/read_all", {"up_to": "2026-11-30T10:00:00Z"})
    ana.post("/v1/inbox/read_all", {"up_to": "2026-11-30T09:00:00Z"})
    assert ana.get("/v1/inbox/unread").body == {"unread": 0, "more": False}


def test_reading_one_after_reading_all_counts_nothing_twice(world: World, ana: Client) -> None:
    told(world.ports, NOW, "inv-1")
    told(world.ports, NOW + timedelta(seconds=1), "inv-2")
    ana.post("/v1/inbox/read_all", {"up_to": "2026-11-30T10:00:00Z"})
    ana.post(f"/v1/inbox/{id_of('inv-1')}/read")
    assert ana.get("/v1/inbox/unread").body == {"unread": 1, "more": False}
    assert read_times(ana) == {id_of("inv-1"): "2026-11-30T10:00:00Z", id_of("inv-2"): None}


def test_the_unread_total_is_exact_up_to_a_thousand_and_more_beyond(world: World, ana: Client) -> None:
    for number in range(1_000):
        told(world.ports, NOW + timedelta(microseconds=number), f"inv-{number}")
    assert ana.get("/v1/inbox/unread").body == {"unread": 1_000, "more": False}
    told(world.ports, NOW + timedelta(seconds=1), "inv-1000")
    assert ana.get("/v1/inbox/unread").body == {"unread": 1_000, "more": True}


class CountingNotices:
    """A notice store that counts its writes, and lets others be faster a few times."""

    def __init__(self, world: World, conflicts: int = 0) -> None:
        self._notices = world.ports.notices
        self.conflicts = conflicts
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._notices, name)

    def put(self, new: Notice, was: Notice | None) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict
        self.writes += 1
        self._notices.put(new, was)

    def mark_read(self, workspace: str, recipient: str, mark: ReadMark) -> None:
        self.writes += 1
        self._notices.mark_read(ACME, ANA, mark)


def test_reading_one_and_reading_all_are_one_write_each(world: World) -> None:
    for number in range(50):
        told(world.ports, NOW, f"inv-{number}")
    notices = CountingNotices(world)
    caller = Client(world.without(notices=notices), inbox_of("ana"))
    caller.post(f"/v1/inbox/{id_of('inv-1')}/read")
    assert notices.writes == 1
    caller.post("/v1/inbox/read_all", {"up_to": "2026-11-30T10:00:00Z"})
    assert notices.writes == 2
    caller.post(f"/v1/inbox/{id_of('inv-2')}/read")
    assert notices.writes == 2


def test_a_delivery_recorded_at_the_same_time_takes_no_reading_away(world: World) -> None:
    told(world.ports, NOW, "inv-42")
    caller = Client(world.without(notices=CountingNotices(world, conflicts=2)), inbox_of("ana"))
    assert caller.post(f"/v1/inbox/{id_of('inv-42')}/read").status == 204
    assert caller.get("/v1/inbox/unread").body["unread"] == 0


def test_a_reading_that_keeps_losing_says_so(world: World) -> None:
    told(world.ports, NOW, "inv-42")
    caller = Client(world.without(notices=CountingNotices(world, conflicts=99)), inbox_of("ana"))
    answer = caller.post(f"/v1/inbox/{id_of('inv-42')}/read")
    assert (answer.status, answer.problems) == (409, [("", "conflict")])


# ---------------------------------------------------------------- whose it is


def test_another_persons_notice_is_not_found_whatever_the_call_says(world: World) -> None:
    told(world.ports, NOW, "inv-42", "ana")
    bob = world.inbox("bob")
    forged = {
        "headers": {"x-workspace-id": "acme", "x-sub": "ana", "authorization": "Bearer ana"},
        "queryStringParameters": None,
    }
    answer = bob.call("POST", f"/v1/inbox/{id_of('inv-42')}/read", {"sub": "ana", "workspace_id": "acme"}, **forged)
    assert (answer.status, answer.problems) == (404, [("notice_id", "notice_not_found")])
    assert bob.get("/v1/inbox").body["items"] == []
    assert world.inbox("ana").get("/v1/inbox/unread").body["unread"] == 1


def test_the_same_person_id_in_another_workspace_sees_nothing(world: World) -> None:
    told(world.ports, NOW, "inv-42", "ana")
    assert world.inbox("ana", "other").get("/v1/inbox").body["items"] == []
    assert world.inbox("ana", "other").post(f"/v1/inbox/{id_of('inv-42')}/read").status == 404


def test_another_persons_cursor_opens_nothing(world: World, ana: Client) -> None:
    for minute in range(2):
        for person in ("ana", "bob"):
            told(world.ports, NOW + timedelta(minutes=minute), f"{person}-{minute}", person)
    cursor = world.inbox("bob").get("/v1/inbox", limit="1").body["cursor"]
    answer = ana.get("/v1/inbox", cursor=cursor)
    assert (answer.status, answer.problems) == (400, [("cursor", "invalid_cursor")])


@pytest.mark.parametrize("name", ["sub", "workspace_id", "person", "recipient"])
def test_a_parameter_that_names_somebody_is_refused(ana: Client, name: str) -> None:
    answer = ana.get("/v1/inbox", **{name: "bob"})
    assert (answer.status, answer.problems) == (422, [(name, "unknown_parameter")])


@pytest.mark.parametrize(
    "path",
    [
        ("GET", "/v1/inbox"),
        ("GET", "/v1/inbox/unread"),
        ("POST", f"/v1/inbox/{id_of('inv-42')}/read"),
        ("POST", "/v1/inbox/read_all"),
    ],
)
@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"scope": "notify/operator", "workspace_id": "acme", "sub": "ana"}, "scope_missing"),
        ({"scope": "", "workspace_id": "acme", "sub": "ana"}, "scope_missing"),
        ({"workspace_id": "acme", "sub": "ana"}, "scope_missing"),
        ({"scope": "notify/inbox", "sub": "ana"}, "owner_missing"),
        ({"scope": "notify/inbox", "workspace_id": "acme"}, "owner_missing"),
        ({"scope": "notify/inbox", "workspace_id": "acme", "sub": "-"}, "owner_missing"),
        (None, "scope_missing"),
    ],
)
def test_a_token_that_opens_no_inbox_is_forbidden(
    world: World, path: tuple[str, str], claims: dict[str, str] | None, code: str
) -> None:
    answer = Client(world.api, claims).call(*path)
    assert (answer.status, answer.problems) == (403, [("", code)])


# ---------------------------------------------------------------- what is wrong with a call


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, [("up_to", "required")]),
        ({"up_to": None}, [("up_to", "invalid_time")]),
        ({"up_to": "2026-11-30"}, [("up_to", "invalid_time")]),
        ({"up_to": "2026-11-30T10:00:00"}, [("up_to", "invalid_time")]),
        ({"up_to": "2026-13-30T10:00:00Z"}, [("up_to", "invalid_time")]),
        ({"up_to": "2026-W48-1T10:00:00Z"}, [("up_to", "invalid_time")]),
        ({"up_to": "0001-01-01T00:00:00+23:59"}, [("up_to", "invalid_time")]),
        ({"up_to": "9999-12-31T23:59:59-23:59"}, [("up_to", "invalid_time")]),
        ({"up_to": 1_764_500_000}, [("up_to", "invalid_time")]),
        ({"until": "2026-11-30T10:00:00Z"}, [("up_to", "required"), ("until", "unknown_field")]),
        ({"up_to": "2026-11-30T10:00:00Z", "sub": "bob"}, [("sub", "unknown_field")]),
    ],
)
def test_reading_all_names_what_is_wrong(ana: Client, body: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    answer = ana.post("/v1/inbox/read_all", body)
    assert (answer.status, answer.problems) == (422, problems)


@pytest.mark.parametrize(
    "text", ["2026-11-30T10:00:00Z", "2026-11-30t10:00:00z", "2026-11-30T11:00:00+01:00", "2026-11-30T10:00:00.0Z"]
)
def test_every_spelling_of_a_time_is_read(world: World, ana: Client, text: str) -> None:
    told(world.ports, NOW, "inv-42")
    assert ana.post("/v1/inbox/read_all", {"up_to": text}).status == 204
    assert ana.get("/v1/inbox/unread").body["unread"] == 0


@pytest.mark.parametrize("notice_id", ["nonsense", "a" * 3_000, "é" * 22, f"{id_of('x')}.1", f"{id_of('x')}#"])
def test_an_id_that_no_notice_can_have_is_not_found(ana: Client, notice_id: str) -> None:
    answer = ana.post(f"/v1/inbox/{notice_id}/read")
    assert (answer.status, answer.problems) == (404, [("notice_id", "notice_not_found")])
