"""An inbox of 100,000 notices, and two devices at once: each call costs a page, and no total is ever wrong."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from notify_core.adapters.memory import FixedClock, MemoryDatabase, memory_ports
from notify_core.api.routing import Api
from notify_core.application.ports import Conflict, NoticeKey, Ports
from notify_core.domain.identifiers import NoticeId, Recipient
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import UNREAD_COUNT_MAX
from notify_core.domain.notice import Ending, ended
from notify_core.domain.notice_lifecycle import NoticeStatus
from tests.api.builders import id_of, told
from tests.api.client import Client, inbox_of
from tests.api.conftest import CURSORS, NOW, World
from tests.application.faulty import watched
from tests.application.steps import Steps
from tests.application.world import key_of
from tests.builders import ACME

FEW, MANY = 300, 100_000
PAGE = 50


def caller(ports: Ports) -> Client:
    """Ana's device."""
    return Client(Api(ports=ports, cursors=CURSORS), inbox_of("ana"))


# ---------------------------------------------------------------- 100,000 notices


def filled(number: int) -> Ports:
    """Ports with so many of ana's notices, one a second; the newest is `newest`."""
    database = MemoryDatabase()
    ports = memory_ports(FixedClock(NOW + timedelta(days=2)), database)
    notice = told(ports, NOW, "newest")
    for index in range(number - 1):
        before = timedelta(seconds=number - index)
        item = replace(notice, notice_id=NoticeId(f"{index:022d}"), created_at=notice.created_at - before)
        database.notices.put(key_of(item), item)
    return ports


def first_page(device: Client) -> object:
    page = device.get("/v1/inbox").body
    assert len(page["items"]) == PAGE
    return page["cursor"]


def third_page(device: Client) -> object:
    cursor = None
    for _ in range(3):
        body = device.get("/v1/inbox", **({"cursor": cursor} if cursor else {})).body
        cursor = body["cursor"]
    return cursor


def unread(device: Client) -> Any:
    return device.get("/v1/inbox/unread").body


def read_newest(device: Client) -> object:
    return device.post(f"/v1/inbox/{id_of('newest')}/read").status


def read_all(device: Client) -> object:
    return device.post("/v1/inbox/read_all", {"up_to": "2026-11-30T10:00:00Z"}).status


CALLS: dict[str, tuple[Callable[[Client], object], list[str], int]] = {
    "page": (first_page, ["notices.inbox", "notices.read_mark"], PAGE + 1),
    "third page": (third_page, ["notices.inbox", "notices.read_mark"] * 3, 3 * (PAGE + 1)),
    "unread": (unread, ["notices.read_mark", "notices.unread_count"], 0),
    "read": (read_newest, ["notices.get", "notices.read_mark", "notices.put"], 1),
    "read all": (read_all, ["notices.mark_read"], 0),
}
"""Each call, the steps that it takes, and how many rows they give."""


def noting_what_is_counted(ports: Ports, asked_for: list[dict[str, Any]]) -> Ports:
    return watched(ports, "notices.unread_count", before=lambda *_, **options: asked_for.append(options))


def test_each_call_takes_the_same_few_steps_whatever_the_inbox_holds() -> None:
    """Scenario 27."""
    for number in (FEW, MANY):
        steps, asked_for = Steps(filled(number)), list[dict[str, Any]]()
        asked = noting_what_is_counted(steps.ports, asked_for)
        taken: dict[str, tuple[list[str], int]] = {}
        for name, (call, _, _) in CALLS.items():
            steps.forget()
            call(caller(asked))
            taken[name] = (steps.names(), steps.rows())
        assert taken == {name: (names, rows) for name, (_, names, rows) in CALLS.items()}
        assert [options["limit"] for options in asked_for] == [UNREAD_COUNT_MAX + 1]  # no further than it shows
        assert unread(caller(asked)) == {"unread": 0, "more": False}


# ---------------------------------------------------------------- two devices


def withdraw(world: World) -> None:
    """What a withdrawal writes."""
    key = NoticeKey(workspace_id=ACME, recipient=Recipient("ana"), notice_id=NoticeId(id_of("inv-1")))
    while True:
        notice = world.ports.notices.get(key)
        assert notice is not None
        ending = Ending(status=NoticeStatus.SUPERSEDED, reason="withdrawn", by=Actor.PRODUCER)
        try:
            world.ports.notices.put(ended(notice, ending, now=world.clock.now()), notice)
        except Conflict:
            continue
        return


EVENTS: dict[str, Callable[[World, Ports], object]] = {
    "read the first": lambda _, ports: caller(ports).post(f"/v1/inbox/{id_of('inv-1')}/read"),
    "read the second": lambda _, ports: caller(ports).post(f"/v1/inbox/{id_of('inv-2')}/read"),
    "read all": lambda _, ports: caller(ports).post("/v1/inbox/read_all", {"up_to": "2026-11-30T10:00:01Z"}),
    "read all but the second": lambda _, ports: caller(ports).post(
        "/v1/inbox/read_all", {"up_to": "2026-11-30T10:00:00Z"}
    ),
    "count": lambda _, ports: unread(caller(ports)),
    "tell a third": lambda world, _: told(world.ports, NOW + timedelta(seconds=2), "inv-3"),
    "withdraw the first": lambda world, _: withdraw(world),
}


def check_total(world: World) -> None:
    """The total is what the list says, read by another device at this moment."""
    device = caller(world.ports)
    items = device.get("/v1/inbox").body["items"]
    shown = sum(item["read_at"] is None and item["status"] != "superseded" for item in items)
    total = unread(device)
    assert total == {"unread": shown, "more": False}
    assert total["unread"] >= 0


@pytest.mark.parametrize(("one", "other"), list(product(list(EVENTS)[:5], EVENTS)))
def test_two_devices_at_once_never_make_the_total_wrong(one: str, other: str) -> None:
    """Whatever happens on the other one between any two steps of the first."""
    number = 0
    while True:
        clock = FixedClock(NOW)
        world = World(clock, memory_ports(clock))
        told(world.ports, NOW, "inv-1")
        told(world.ports, NOW + timedelta(seconds=1), "inv-2")
        clock.advance(timedelta(minutes=1))
        steps = Steps(world.ports)

        def meanwhile(world: World = world) -> None:
            EVENTS[other](world, world.ports)
            check_total(world)

        steps.interrupt(number, meanwhile)
        EVENTS[one](world, steps.ports)
        check_total(world)
        if not steps.is_interrupted:
            break
        EVENTS[one](world, world.ports)
        check_total(world)
        number += 1
    assert number > 0
