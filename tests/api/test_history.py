"""The History: every request once, newest first, however it changes meanwhile."""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from notify_core.domain.directory import Workspace
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId
from notify_core.domain.problem import Problem
from notify_core.domain.request import closed_by_producer
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState
from tests.api.builders import accepted, id_of, request_at
from tests.api.client import Client
from tests.api.conftest import NOW, World
from tests.builders import ACME

if TYPE_CHECKING:
    from notify_core.adapters.memory import MemoryDatabase

PATH = "/v1/workspaces/acme/requests"


@pytest.fixture(autouse=True)
def acme(world: World) -> None:
    world.ports.registry.put_workspace(Workspace(workspace_id=ACME, name="Acme", shards=4, version=1), None)


def record(world: World, number: int, **changes: Any) -> None:
    """A request recorded in the minute of its number, in a shard of its own."""
    at = NOW + timedelta(minutes=number)
    accepted(world.ports, at, f"inv-{number}", shard=number % 4, **changes)


def numbers(caller: Client, **query: str) -> list[list[int]]:
    """The requests' numbers, page by page."""
    names = {id_of(f"inv-{number}"): number for number in range(100)}
    pages, cursor = [], ""
    while cursor is not None:
        body = caller.get(PATH, cursor=cursor, **query).body
        pages.append([names[item["request_id"]] for item in body["items"]])
        cursor = body["cursor"]
    return pages


def test_dead_lettered_publications_are_found_among_any_number_of_others(world: World, operator: Client) -> None:
    problem = Problem(field="", code="dead_lettered", message="again and again")
    for number in range(40):
        changes = {"state": RequestState.QUEUED, "accepted_at": None} if number % 10 == 3 else {}
        record(world, number, **changes, problems=(problem,) if changes else ())
    assert numbers(operator, dead_lettered="true") == [[33, 23, 13, 3]]
    assert numbers(operator, dead_lettered="true", limit="3") == [[33, 23, 13], [3]]
    assert numbers(operator, dead_lettered="true", definition="other") == [[]]
    assert len(numbers(operator, dead_lettered="false")[0]) == 40
    assert operator.get(PATH, dead_lettered="yes").problems == [("dead_lettered", "not_allowed")]


def test_a_row_that_older_code_closed_is_dead_lettered_no_more(world: World, operator: Client) -> None:
    """It keeps the attribute that it doesn't know, and so its place in the index."""
    problem = Problem(field="", code="dead_lettered", message="again and again")
    record(world, 1, state=RequestState.QUEUED, accepted_at=None, problems=(problem,))
    record(world, 2, state=RequestState.QUEUED, accepted_at=None, problems=(problem,))
    row = world.ports.requests.get(ACME, id_of("inv-1"))
    assert row is not None
    closed = replace(row, state=RequestState.INVALID, version=row.version + 1)
    database: MemoryDatabase = world.ports.requests._database  # type: ignore[attr-defined]  # noqa: SLF001
    database.requests._rows[ACME, closed.request_id] = closed  # noqa: SLF001  (behind the index's back)
    assert numbers(operator, dead_lettered="true") == [[2]]


def test_a_workspace_that_was_never_registered_has_a_list_of_dead_letters_once_it_has_a_history(
    world: World, operator: Client
) -> None:
    path = "/v1/workspaces/ghost/requests"
    assert operator.get(path, dead_lettered="true").status == 404
    accepted(world.ports, NOW, "inv-1", workspace_id=WorkspaceId("ghost"), shard=0)
    assert operator.get(path, dead_lettered="true").body == {"items": [], "cursor": None}


def test_an_item_is_a_request_without_its_problems_exclusions_and_notices(world: World, operator: Client) -> None:
    record(world, 0, fold_key="inv", not_before=NOW + timedelta(seconds=1))
    assert operator.get(PATH).body == {
        "items": [
            {
                "request_id": id_of("inv-0"),
                "definition": "invoice.overdue",
                "definition_version": 1,
                "request_key": "inv-0",
                "replacement_key": None,
                "fold_key": "inv",
                "state": "open",
                "reason": None,
                "published_at": "2026-11-30T10:00:00Z",
                "not_before": "2026-11-30T10:00:01Z",
                "expires_at": "2026-12-07T10:00:00Z",
                "recorded_at": "2026-11-30T10:00:00Z",
                "closed_at": None,
                "differing_repeat_at": None,
            }
        ],
        "cursor": None,
    }


def test_requests_of_all_shards_are_newest_first_over_the_pages(world: World, operator: Client) -> None:
    for number in (3, 0, 6, 1, 5, 2, 4):
        record(world, number)
    assert numbers(operator, limit="3") == [[6, 5, 4], [3, 2, 1], [0]]
    assert numbers(operator) == [[6, 5, 4, 3, 2, 1, 0]]


def test_a_page_has_fifty_items_unless_asked_otherwise(world: World, operator: Client) -> None:
    for number in range(60):
        record(world, number)
    assert [len(page) for page in numbers(operator)] == [50, 10]
    assert [len(page) for page in numbers(operator, limit="200")] == [60]


def test_filters_pick_and_keep_the_order(world: World, operator: Client) -> None:
    for number in range(6):
        record(world, number)
    record(world, 6, state=RequestState.INVALID)
    record(world, 7, definition=DefinitionKey("backup.failed"))
    assert numbers(operator, state="invalid") == [[6]]
    assert numbers(operator, definition="backup.failed") == [[7]]
    assert numbers(operator, state="open", definition="invoice.overdue", limit="4") == [[5, 4, 3, 2], [1, 0]]
    assert numbers(operator, state="settled") == [[]]


def test_empty_filters_are_no_filters(world: World, operator: Client) -> None:
    record(world, 0)
    assert numbers(operator, state="", definition="", limit="") == [[0]]


def test_a_list_stays_in_order_while_its_requests_change(world: World, operator: Client) -> None:
    for number in range(4):
        record(world, number)
    first = operator.get(PATH, limit="2").body
    for number in (0, 3):
        row = world.ports.requests.get(ACME, id_of(f"inv-{number}"))
        assert row is not None
        world.ports.requests.put(closed_by_producer(row, RequestEvent.WITHDRAW, now=NOW), row)
    record(world, 4)
    rest = operator.get(PATH, limit="2", cursor=first["cursor"]).body
    assert [(item["request_key"], item["state"], item["reason"]) for item in rest["items"]] == [
        ("inv-1", "open", None),
        ("inv-0", "superseded", "withdrawn"),
    ]


def test_more_shards_lose_nothing_of_the_old_ones(world: World, operator: Client) -> None:
    for number in range(4):
        record(world, number)
    was = world.ports.registry.workspace(ACME)
    assert was is not None
    world.ports.registry.put_workspace(replace(was, shards=16, version=2), was)
    assert numbers(operator, limit="3") == [[3, 2, 1], [0]]


@pytest.mark.parametrize(
    "query",
    [{"state": "open"}, {"definition": "invoice.overdue"}, {"state": "open", "definition": "invoice.overdue"}],
)
def test_a_cursor_goes_with_its_filters(world: World, operator: Client, query: dict[str, str]) -> None:
    for number in range(3):
        record(world, number)
    cursor = operator.get(PATH, limit="1").body["cursor"]
    answer = operator.get(PATH, cursor=cursor, **query)
    assert (answer.status, answer.problems) == (400, [("cursor", "invalid_cursor")])
    filtered = operator.get(PATH, limit="1", **query).body["cursor"]
    assert operator.get(PATH, cursor=filtered).status == 400
    assert operator.get(PATH, cursor=filtered, **query).status == 200


def test_a_cursor_of_another_workspace_or_list_opens_nothing(world: World, operator: Client) -> None:
    for number in range(2):
        record(world, number)
    cursor = operator.get(PATH, limit="1").body["cursor"]
    assert operator.get("/v1/workspaces/other/requests", cursor=cursor).status == 400
    assert operator.get("/v1/workspaces/acme/deliveries", cursor=cursor).status == 400
    assert operator.get("/v1/workspaces/acme/definitions", cursor=cursor).status == 400


@pytest.mark.parametrize("cursor", ["nonsense", "AAAA", "%", "a" * 5_000])
def test_an_invented_cursor_is_refused(operator: Client, cursor: str) -> None:
    answer = operator.get(PATH, cursor=cursor)
    assert (answer.status, answer.problems) == (400, [("cursor", "invalid_cursor")])


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"limit": "0"}, ("limit", "out_of_range")),
        ({"limit": "201"}, ("limit", "out_of_range")),
        ({"limit": "-1"}, ("limit", "out_of_range")),
        ({"limit": "ten"}, ("limit", "out_of_range")),
        ({"limit": "1e1"}, ("limit", "out_of_range")),
        ({"limit": "١"}, ("limit", "out_of_range")),
        ({"limit": "9" * 5_000}, ("limit", "out_of_range")),
        ({"limit": "10,20"}, ("limit", "out_of_range")),
        ({"state": "opened"}, ("state", "unknown_state")),
        ({"state": "OPEN"}, ("state", "unknown_state")),
        ({"definition": "a#b"}, ("definition", "invalid_identifier")),
        ({"stat": "open"}, ("stat", "unknown_parameter")),
    ],
)
def test_a_filter_that_means_nothing_is_named(
    operator: Client, query: dict[str, str], problem: tuple[str, str]
) -> None:
    answer = operator.get(PATH, **query)
    assert (answer.status, answer.problems) == (422, [problem])


def test_an_unknown_workspace_has_no_history(operator: Client) -> None:
    answer = operator.get("/v1/workspaces/nobody/requests")
    assert (answer.status, answer.problems) == (404, [("workspace_id", "workspace_not_found")])


def test_what_was_refused_for_want_of_a_workspace_is_in_its_history(world: World, operator: Client) -> None:
    refused = request_at(NOW, "inv-0", state=RequestState.INVALID, closed_at=NOW)
    world.ports.requests.put(replace(refused, workspace_id=WorkspaceId("nobody")), None)
    items = operator.get("/v1/workspaces/nobody/requests").body["items"]
    assert [item["state"] for item in items] == ["invalid"]


def test_another_workspaces_requests_are_not_listed(world: World, operator: Client) -> None:
    record(world, 0)
    world.ports.registry.put_workspace(Workspace(workspace_id="other", name="Other", version=1), None)
    assert operator.get("/v1/workspaces/other/requests").body == {"items": [], "cursor": None}


def test_a_tombstone_is_listed_without_what_was_never_published(world: World, operator: Client) -> None:
    tombstone = request_at(NOW, "inv-0", state=RequestState.CANCELLED, reason=RequestReason.WITHDRAWN)
    blank = {"published_at": None, "expires_at": None, "definition_version": None, "closed_at": NOW}
    world.ports.requests.put(replace(tombstone, accepted_at=None, manifest=(), **blank), None)
    item = operator.get(PATH).body["items"][0]
    assert (item["state"], item["reason"], item["published_at"]) == ("cancelled", "withdrawn", None)
