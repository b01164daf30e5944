from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from notify_core.application.ports import Conflict, DueRow, Head, HistoryRow, StoreUnavailable
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import HQ, DefinitionKey, Recipient, RequestId, WorkspaceId, request_id
from notify_core.domain.lifecycle import Actor
from notify_core.domain.problem import Problem
from notify_core.domain.request import (
    Audience,
    Exclusion,
    ManifestEntry,
    Planned,
    Request,
    closed_by_producer,
    rescheduled,
    settled,
)
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState
from tests.conformance.backends import Dynamo, Stores
from tests.conformance.builders import (
    INVOICE,
    NOON,
    a_request,
    accepted,
    an_entry,
    an_open_request,
    at,
    defaults_of,
    other_request_id,
)

KEYS = ("#", "a/b", "%2F", " ", "é漢🎈", "W#x#y", "\u0000", "k" * 256, "漢" * 256, "\n\t\"'\\")


def a_full_request(workspace: WorkspaceId) -> Request:
    """A request with every field set, as no single use case would."""
    return Request(
        workspace_id=workspace,
        request_id=request_id(workspace, INVOICE, "inv-42:1"),
        definition=INVOICE,
        request_key="inv-42:1",
        state=RequestState.SUPERSEDED,
        recorded_at=at(0.000_001),
        version=7,
        shard=3,
        definition_version=2,
        replacement_key="inv-42",
        fold_key="ana",
        reason=RequestReason.REPLACED,
        caused_by=Actor.REPLACEMENT,
        published_at=at(-2),
        not_before=at(10),
        deadline=at(3600),
        expires_at=at(3600),
        accepted_at=at(11),
        closed_at=at(12),
        differing_repeat_at=at(13),
        finished_version=3,
        due_at=at(72),
        data={"é": [1, 1.5, None, True, {"n": 10**40, "": "🎈", "lone": "\ud800"}], "tiny": 5e-324},
        audience=Audience(people=("ana", "bob"), teams=("ops",), roles=("lead",)),
        content_hash="0123456789abcdef",
        problems=(Problem(field="data.é", code="pattern", message="“x”\n\ud800 isn't it"),),
        exclusions=(Exclusion(kind="person", name="eve", reason="inactive"),),
        manifest=(
            ManifestEntry(
                recipient=Recipient("ana"),
                plan=(
                    Planned(channel=Channel.CONSOLE, state=DeliveryState.DELIVERED),
                    Planned(channel=Channel.CHAT, state=DeliveryState.QUEUED),
                    Planned(channel=Channel.TEXT, state=DeliveryState.SKIPPED, reason=DeliveryReason.NO_ADDRESS),
                ),
            ),
            ManifestEntry(
                recipient=Recipient("bob"),
                plan=(
                    Planned(channel=Channel.CONSOLE, state=DeliveryState.DELIVERED),
                    Planned(
                        channel=Channel.CHAT,
                        state=DeliveryState.UNAVAILABLE,
                        reason=DeliveryReason.CHANNEL_OFF,
                    ),
                    Planned(channel=Channel.TEXT, state=DeliveryState.QUEUED),
                ),
            ),
        ),
        replaces=other_request_id(1),
    )


def test_request_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    full = a_full_request(workspace)
    stores.requests.put(full, None)
    assert stores.requests.get(workspace, full.request_id) == full
    assert stores.requests.get(workspace, full.request_id, consistent=False) == full
    assert stores.requests.get_many(workspace, [full.request_id]) == {full.request_id: full}


def test_the_full_request_leaves_nothing_at_its_default(workspace: WorkspaceId) -> None:
    """A field added to the domain is in no row until the full request has it."""
    full = a_full_request(workspace)
    assert defaults_of(full) == {"unknown"}
    assert full.audience is not None
    assert defaults_of(full.audience) == {"hq"}


def test_request_without_its_optional_fields_comes_back_as_it_was_written(
    stores: Stores, workspace: WorkspaceId
) -> None:
    bare = Request(
        workspace_id=workspace,
        request_id=other_request_id(1),
        definition=INVOICE,
        request_key="k",
        state=RequestState.CANCELLED,
        recorded_at=NOON,
        version=1,
    )
    empty = replace(bare, request_id=other_request_id(2), data={}, audience=Audience())
    hq = replace(
        bare,
        request_id=other_request_id(3),
        audience=Audience(hq=True),
        manifest=(
            ManifestEntry(recipient=HQ, plan=(Planned(channel=Channel.SLACK_SYSTEM, state=DeliveryState.QUEUED),)),
        ),
    )
    for request in (bare, empty, hq):
        stores.requests.put(request, None)
        assert stores.requests.get(workspace, request.request_id) == request


@pytest.mark.parametrize("key", KEYS)
def test_keys_may_be_any_text(stores: Stores, workspace: WorkspaceId, key: str) -> None:
    request = an_open_request(workspace, key, replacement_key=key, fold_key=key)
    head = Head(workspace_id=workspace, definition=INVOICE, replacement_key=key, version=1)
    stores.requests.put(request, None)
    stores.requests.put_head(head, None)
    assert stores.requests.get(workspace, request.request_id) == request
    assert stores.requests.head(workspace, INVOICE, key) == head
    assert [row.request_key for row in stores.requests.history(workspace, 0, before=None, limit=2)] == [key]


def test_a_time_in_another_zone_is_the_same_time(stores: Stores, workspace: WorkspaceId) -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    request = a_request(workspace, recorded_at=NOON.astimezone(east), due_at=at(60).astimezone(east))
    stores.requests.put(request, None)
    assert stores.requests.get(workspace, request.request_id) == request
    assert stores.requests.due(workspace, 0, until=at(60), limit=2).items == [_due_row(request)]


def test_a_request_is_of_its_workspace(stores: Stores, workspace: WorkspaceId) -> None:
    request = a_request(workspace)
    stores.requests.put(request, None)
    assert stores.requests.get(WorkspaceId(f"{workspace}x"), request.request_id) is None
    assert stores.requests.get(workspace, other_request_id(1)) is None


def test_those_of_many_requests_that_exist_are_found(stores: Stores, workspace: WorkspaceId) -> None:
    requests = [a_request(workspace, f"k{number}") for number in range(103)]
    for request in requests:
        stores.requests.put(request, None)
    asked = [other_request_id(1), *(request.request_id for request in requests), requests[0].request_id]
    expected = {request.request_id: request for request in requests}
    assert stores.requests.get_many(workspace, asked) == expected
    assert stores.requests.get_many(workspace, asked, consistent=False) == expected
    assert stores.requests.get_many(workspace, []) == {}


@pytest.mark.parametrize("was_version", [None, 0])
def test_second_creation_of_a_request_loses(stores: Stores, workspace: WorkspaceId, was_version: int | None) -> None:
    first = a_request(workspace)
    stores.requests.put(first, None if was_version is None else replace(first, version=0))
    with pytest.raises(Conflict):
        stores.requests.put(
            replace(first, data={"number": "43"}), None if was_version is None else replace(first, version=0)
        )
    assert stores.requests.get(workspace, first.request_id) == first


def test_second_writer_of_the_same_version_loses(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_request(workspace)
    second = accepted(first)
    stores.requests.put(first, None)
    stores.requests.put(second, first)
    with pytest.raises(Conflict):
        stores.requests.put(rescheduled(first, at(99)), first)
    assert stores.requests.get(workspace, first.request_id) == second


def test_a_version_that_was_never_written_is_not_built_upon(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_request(workspace)
    with pytest.raises(Conflict):
        stores.requests.put(accepted(first), first)
    assert stores.requests.get(workspace, first.request_id) is None
    stores.requests.put(first, None)
    with pytest.raises(Conflict):
        stores.requests.put(accepted(replace(first, version=2)), replace(first, version=2))
    assert stores.requests.get(workspace, first.request_id) == first


def test_a_write_is_refused_from_a_state_that_the_lifecycle_does_not_lead_from(
    stores: Stores, workspace: WorkspaceId
) -> None:
    opened = an_open_request(workspace)
    ended = settled(opened, now=at(5), due_at=None)
    stores.requests.put(opened, None)
    stores.requests.put(ended, opened)
    mistaken = replace(ended, state=RequestState.OPEN)
    with pytest.raises(Conflict):
        stores.requests.put(closed_by_producer(mistaken, RequestEvent.WITHDRAW, now=at(6)), mistaken)
    with pytest.raises(Conflict):
        stores.requests.put(rescheduled(mistaken, at(9)), mistaken)
    assert stores.requests.get(workspace, opened.request_id) == ended


def test_a_write_whose_answer_was_lost_conflicts_when_it_is_repeated(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_request(workspace)
    second = accepted(first)
    stores.requests.put(first, None)
    stores.requests.put(second, first)
    with pytest.raises(Conflict):
        stores.requests.put(second, first)
    assert stores.requests.get(workspace, first.request_id) == second


# ---------------------------------------------------------------- heads


def test_head_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    bare = Head(workspace_id=workspace, definition=INVOICE, replacement_key="inv-42", version=1)
    full = replace(
        bare,
        current=other_request_id(1),
        current_published_at=at(-1),
        withdrawn_at=at(0.000_001),
        delete_at=at(90 * 86_400),
        version=2,
    )
    assert stores.requests.head(workspace, INVOICE, "inv-42") is None
    stores.requests.put_head(bare, None)
    assert stores.requests.head(workspace, INVOICE, "inv-42") == bare
    stores.requests.put_head(full, bare)
    assert stores.requests.head(workspace, INVOICE, "inv-42") == full
    assert stores.requests.head(workspace, DefinitionKey("other"), "inv-42") is None
    assert stores.requests.head(WorkspaceId(f"{workspace}x"), INVOICE, "inv-42") is None


def test_second_writer_of_a_head_loses(stores: Stores, workspace: WorkspaceId) -> None:
    first = Head(workspace_id=workspace, definition=INVOICE, replacement_key="inv-42", version=1)
    second = replace(first, withdrawn_at=at(1), version=2)
    stores.requests.put_head(first, replace(first, version=0))
    stores.requests.put_head(second, first)
    for was in (None, replace(first, version=0), first):
        with pytest.raises(Conflict):
            stores.requests.put_head(replace(first, withdrawn_at=at(9), version=2), was)
    assert stores.requests.head(workspace, INVOICE, "inv-42") == second


# ---------------------------------------------------------------- due


def _due_row(request: Request) -> DueRow:
    assert request.due_at is not None
    return DueRow(request_id=request.request_id, due_at=request.due_at, definition=INVOICE, state=request.state)


def test_due_requests_come_earliest_first_up_to_a_moment(stores: Stores, workspace: WorkspaceId) -> None:
    requests = {
        seconds: a_request(workspace, f"k{seconds}", due_at=at(seconds))
        for seconds in (30, 0.000_001, -86_400, 29.999_999, 30.000_001)
    }
    idle = a_request(workspace, "idle", due_at=None)
    elsewhere = a_request(workspace, "elsewhere", due_at=at(0), shard=1)
    other = a_request(WorkspaceId(f"{workspace}x"), due_at=at(0))
    for request in (*requests.values(), idle, elsewhere, other):
        stores.requests.put(request, None)

    page = stores.requests.due(workspace, 0, until=at(30), limit=10)
    assert page.items == [_due_row(requests[seconds]) for seconds in (-86_400, 0.000_001, 29.999_999, 30)]
    assert page.position is None
    assert stores.requests.due(workspace, 1, until=at(30), limit=10).items == [_due_row(elsewhere)]
    assert stores.requests.due(workspace, 2, until=at(30), limit=10).items == []


@pytest.mark.parametrize("moved", [False, True])
def test_due_requests_are_paged_without_gap_or_repetition(stores: Stores, workspace: WorkspaceId, moved: bool) -> None:
    """Equal times too, and though the last of a page is moved before the next is asked for."""
    requests = [a_request(workspace, f"k{number}", due_at=at(number // 4)) for number in range(9)]
    for request in requests:
        stores.requests.put(request, None)
    expected = sorted(requests, key=lambda request: (str(request.due_at), request.request_id))

    found: list[DueRow] = []
    page = stores.requests.due(workspace, 0, until=at(60), limit=2)
    while page.position is not None:
        found += page.items
        last = stores.requests.get(workspace, page.items[-1].request_id)
        if moved and last is not None:
            stores.requests.put(rescheduled(last, at(3600)), last)
        page = stores.requests.due(workspace, 0, until=at(60), position=page.position, limit=2)
    assert [*found, *page.items] == [_due_row(request) for request in expected]


def test_a_position_past_the_moment_asked_for_shows_nothing(stores: Stores, workspace: WorkspaceId) -> None:
    for number in range(3):
        stores.requests.put(a_request(workspace, f"k{number}", due_at=at(number)), None)
    page = stores.requests.due(workspace, 0, until=at(60), limit=2)
    again = stores.requests.due(workspace, 0, until=at(0), position=page.position, limit=2)
    assert (again.items, again.position) == ([], None)


def test_the_due_index_follows_the_request(stores: Stores, workspace: WorkspaceId) -> None:
    first = an_open_request(workspace, due_at=at(5))
    later = rescheduled(first, at(50))
    ended = settled(later, now=at(60), due_at=at(70))
    done = rescheduled(ended, None)
    stores.requests.put(first, None)
    assert stores.requests.due(workspace, 0, until=at(9), limit=9).items == [_due_row(first)]
    stores.requests.put(later, first)
    assert stores.requests.due(workspace, 0, until=at(9), limit=9).items == []
    assert stores.requests.due(workspace, 0, until=at(99), limit=9).items == [_due_row(later)]
    stores.requests.put(ended, later)
    assert stores.requests.due(workspace, 0, until=at(99), limit=9).items == [_due_row(ended)]
    stores.requests.put(done, ended)
    assert stores.requests.due(workspace, 0, until=at(99), limit=9).items == []


# ---------------------------------------------------------------- history


def _history_row(request: Request) -> HistoryRow:
    return HistoryRow(
        request_id=request.request_id,
        definition=request.definition,
        definition_version=request.definition_version,
        request_key=request.request_key,
        replacement_key=request.replacement_key,
        fold_key=request.fold_key,
        state=request.state,
        reason=request.reason,
        published_at=request.published_at,
        not_before=request.not_before,
        expires_at=request.expires_at,
        recorded_at=request.recorded_at,
        closed_at=request.closed_at,
        differing_repeat_at=request.differing_repeat_at,
    )


def test_dead_lettered_requests_are_listed_apart_until_they_are_reprocessed(
    stores: Stores, workspace: WorkspaceId
) -> None:
    problem = Problem(field="", code="dead_lettered", message="again and again")
    waiting = a_request(workspace, "k0", state=RequestState.QUEUED, shard=1)
    dead = [
        replace(a_request(workspace, f"k{number}", state=RequestState.QUEUED, shard=1), problems=(problem,))
        for number in range(1, 5)
    ]
    invalid = replace(a_request(workspace, "k5", state=RequestState.INVALID, shard=1), problems=(problem,))
    for request in (waiting, *dead, invalid):
        stores.requests.put(request, None)
    listed = stores.requests.dead_lettered(workspace, 1, before=None, limit=9)
    assert {row.request_key for row in listed} == {"k1", "k2", "k3", "k4"}
    assert list(listed) == sorted(listed, key=lambda row: (row.recorded_at, row.request_id), reverse=True)
    assert listed == [
        row
        for row in stores.requests.history(workspace, 1, before=None, limit=9)
        if row.request_key not in {"k0", "k5"}
    ]
    place = (listed[1].recorded_at, listed[1].request_id)
    assert stores.requests.dead_lettered(workspace, 1, before=place, limit=1) == listed[2:3]
    again = replace(dead[0], problems=(), version=dead[0].version + 1)
    stores.requests.put(again, dead[0])
    left = stores.requests.dead_lettered(workspace, 1, before=None, limit=9)
    assert {row.request_key for row in left} == {"k2", "k3", "k4"}
    assert stores.requests.dead_lettered(workspace, 0, before=None, limit=9) == []


def test_history_shows_the_fields_of_a_list_item(stores: Stores, workspace: WorkspaceId) -> None:
    full = a_full_request(workspace)
    tombstone = Request(
        workspace_id=workspace,
        request_id=other_request_id(1),
        definition=INVOICE,
        request_key="k",
        state=RequestState.CANCELLED,
        recorded_at=at(1),
        version=1,
        shard=3,
        reason=RequestReason.WITHDRAWN,
    )
    stores.requests.put(full, None)
    stores.requests.put(tombstone, None)
    assert stores.requests.history(workspace, 3, before=None, limit=9) == [
        HistoryRow(
            request_id=RequestId("request-0001"),
            definition=INVOICE,
            definition_version=None,
            request_key="k",
            replacement_key=None,
            fold_key=None,
            state=RequestState.CANCELLED,
            reason=RequestReason.WITHDRAWN,
            published_at=None,
            not_before=None,
            expires_at=None,
            recorded_at=at(1),
            closed_at=None,
            differing_repeat_at=None,
        ),
        HistoryRow(
            request_id=full.request_id,
            definition=INVOICE,
            definition_version=2,
            request_key="inv-42:1",
            replacement_key="inv-42",
            fold_key="ana",
            state=RequestState.SUPERSEDED,
            reason=RequestReason.REPLACED,
            published_at=at(-2),
            not_before=at(10),
            expires_at=at(3600),
            recorded_at=at(0.000_001),
            closed_at=at(12),
            differing_repeat_at=at(13),
        ),
    ]


def test_history_is_paged_newest_first_and_a_request_keeps_its_place(stores: Stores, workspace: WorkspaceId) -> None:
    requests = [a_request(workspace, f"k{number}", recorded_at=at(number // 3)) for number in range(8)]
    for request in requests:
        stores.requests.put(request, None)
    stores.requests.put(a_request(workspace, "elsewhere", shard=1), None)
    expected = sorted(requests, key=lambda request: (request.recorded_at, request.request_id), reverse=True)

    first = stores.requests.history(workspace, 0, before=None, limit=3)
    assert first == [_history_row(request) for request in expected[:3]]
    changed = accepted(expected[2])
    stores.requests.put(changed, expected[2])
    place = (first[-1].recorded_at, first[-1].request_id)
    assert stores.requests.history(workspace, 0, before=place, limit=9) == [
        _history_row(request) for request in expected[3:]
    ]
    before = (expected[1].recorded_at, expected[1].request_id)
    assert stores.requests.history(workspace, 0, before=before, limit=1) == [_history_row(changed)]


# ---------------------------------------------------------------- the row itself


def test_a_closed_request_leaves_the_due_index_and_may_be_deleted_ninety_days_after(
    dynamo: Dynamo, workspace: WorkspaceId
) -> None:
    stores = dynamo.stores()
    live = an_open_request(workspace)
    stores.requests.put(live, None)
    assert "delete_at" not in dynamo.raw_request(workspace, live.request_id)
    stores.requests.put(settled(live, now=NOON, due_at=None), live)
    assert not {"due_shard", "due_at"} & dynamo.raw_request(workspace, live.request_id).keys()
    # 2026-11-30T12:00:00Z is 1_796_040_000.
    assert dynamo.raw_request(workspace, live.request_id)["delete_at"] == {"N": str(1_796_040_000 + 7_776_000)}


def test_attributes_of_a_newer_version_are_kept(dynamo: Dynamo, workspace: WorkspaceId) -> None:
    stores = dynamo.stores()
    first = an_open_request(workspace)
    stores.requests.put(first, None)
    newer = {
        "colour": {"S": "blue"},
        "ranks": {"L": [{"N": "1"}, {"NULL": True}]},
        "seal": {"B": b"\x00\xff"},
        "names": {"SS": ["ana", "bob"]},
    }
    dynamo.client.put_item(
        TableName=dynamo.tables.requests, Item={**dynamo.raw_request(workspace, first.request_id), **newer}
    )

    found = stores.requests.get(workspace, first.request_id)
    assert found == replace(first, unknown=found and found.unknown)
    assert found is not None
    stores.requests.put(rescheduled(found, at(99)), found)
    raw = dynamo.raw_request(workspace, first.request_id)
    assert {name: raw[name] for name in newer} == newer
    assert stores.requests.get(workspace, first.request_id) == rescheduled(found, at(99))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("state", "paused"), ("reason", "bored"), ("caused_by", "moon"), ("manifest", "X ana:q"), ("manifest", "M ana:?")],
)
def test_a_value_that_only_a_newer_version_knows_is_left_for_it(
    dynamo: Dynamo, workspace: WorkspaceId, attribute: str, value: str
) -> None:
    stores = dynamo.stores()
    first = an_open_request(workspace)
    stores.requests.put(first, None)
    raw = {**dynamo.raw_request(workspace, first.request_id), attribute: {"S": value}}
    dynamo.client.put_item(TableName=dynamo.tables.requests, Item=raw)
    with pytest.raises(StoreUnavailable, match="this version knows"):
        stores.requests.get(workspace, first.request_id)
    with pytest.raises(StoreUnavailable, match="this version knows"):
        stores.requests.get_many(workspace, [first.request_id])
    assert dynamo.raw_request(workspace, first.request_id) == raw


def test_plans_over_different_channels_are_refused(dynamo: Dynamo, workspace: WorkspaceId) -> None:
    request = an_open_request(
        workspace,
        manifest=(an_entry("ana", Channel.CHAT, Channel.TEXT), an_entry("bob", Channel.TEXT, Channel.CHAT)),
    )
    with pytest.raises(ValueError, match="order"):
        dynamo.stores().requests.put(request, None)
