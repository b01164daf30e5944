"""What the stores offer an audit: rows shown wrongly, repairs, and the ledger."""

from dataclasses import replace
from typing import Any

import pytest

from notify_core.adapters.memory import FixedClock, MemoryDatabase, memory_ports
from notify_core.application.ports import Conflict
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import ClaimId, WorkspaceId
from notify_core.domain.ledger import Account, Ledger
from notify_core.domain.notice import Notice, claimed, outcome_unknown, read
from notify_core.domain.request_lifecycle import RequestState
from tests.application.world import World
from tests.conformance.backends import Dynamo, Stores, memory_stores
from tests.conformance.builders import NOON, a_notice, a_request, an_open_request, at, other_request_id
from tests.conformance.test_notices import key_of


def a_failed_notice(workspace: WorkspaceId) -> Notice:
    """Unread in an inbox and on the attention list, its first version."""
    notice = claimed(a_notice(workspace, Channel.CONSOLE, Channel.CHAT), Channel.CHAT, ClaimId("c"), now=at(1))
    return replace(outcome_unknown(notice, Channel.CHAT, now=at(2)), version=1)


# ---------------------------------------------------------------- rows shown wrongly


def test_no_row_that_a_store_wrote_is_damaged(stores: Stores, workspace: WorkspaceId) -> None:
    failed = a_failed_notice(workspace)
    seen = replace(read(a_notice(workspace, Channel.CONSOLE, recipient="bob"), now=at(5)), version=1)
    plain = a_notice(workspace, recipient="cleo")
    for notice in (failed, seen, plain):
        stores.notices.put(notice, None)
    due, closed = a_request(workspace), replace(a_request(workspace, "k2"), due_at=None, closed_at=at(9))
    for request in (due, closed):
        stores.requests.put(request, None)
    assert stores.notices.damaged([key_of(failed), key_of(seen), key_of(plain)]) == []
    assert stores.requests.damaged(workspace, [due.request_id, closed.request_id]) == []


def test_a_row_that_isnt_there_is_not_damaged(stores: Stores, workspace: WorkspaceId) -> None:
    assert stores.notices.damaged([key_of(a_notice(workspace))]) == []
    assert stores.requests.damaged(workspace, [other_request_id(1)]) == []


NOTICE_DAMAGE: list[tuple[str, dict[str, str] | None]] = [
    ("inbox", None),
    ("inbox", {"S": "R#2026-11-30T12:00:00.250000Z#n"}),
    ("attention_shard", None),
    ("attention_shard", {"S": "elsewhere#0"}),
    ("failed_at", None),
    ("delete_at", {"N": "1"}),
]


@pytest.mark.parametrize(("attribute", "value"), NOTICE_DAMAGE)
def test_a_notice_with_another_attribute_than_its_content_amounts_to_is_damaged_until_repaired(
    dynamo: Dynamo, workspace: WorkspaceId, attribute: str, value: dict[str, str] | None
) -> None:
    notices = dynamo.stores().notices
    notice, other = a_failed_notice(workspace), a_notice(workspace, Channel.CONSOLE, recipient="bob")
    notices.put(notice, None)
    notices.put(other, None)
    row = dynamo.raw_notice(workspace, notice.recipient, notice.notice_id)
    dynamo.client.put_item(TableName=dynamo.tables.notices, Item=altered(row, attribute, value))
    assert notices.damaged([key_of(notice), key_of(other)]) == [key_of(notice)]
    notices.repair(replace(notice, version=2), notice)
    assert notices.damaged([key_of(notice), key_of(other)]) == []
    assert dynamo.raw_notice(workspace, notice.recipient, notice.notice_id) == {**row, "version": {"N": "2"}}


REQUEST_DAMAGE: list[tuple[str, dict[str, str] | None]] = [
    ("due_shard", None),
    ("due_shard", {"S": "elsewhere#0"}),
    ("history_shard", {"S": "elsewhere#0"}),
    ("history_key", {"S": "2026-11-30T12:00:00.000000Z#r"}),
    ("delete_at", {"N": "1"}),
]


@pytest.mark.parametrize(("attribute", "value"), REQUEST_DAMAGE)
def test_a_request_with_another_attribute_than_its_content_amounts_to_is_damaged_until_repaired(
    dynamo: Dynamo, workspace: WorkspaceId, attribute: str, value: dict[str, str] | None
) -> None:
    requests = dynamo.stores().requests
    request, other = a_request(workspace), a_request(workspace, "k2")
    requests.put(request, None)
    requests.put(other, None)
    row = dynamo.raw_request(workspace, request.request_id)
    dynamo.client.put_item(TableName=dynamo.tables.requests, Item=altered(row, attribute, value))
    assert requests.damaged(workspace, [request.request_id, other.request_id]) == [request.request_id]
    requests.repair(replace(request, version=2), request)
    assert requests.damaged(workspace, [request.request_id, other.request_id]) == []
    assert dynamo.raw_request(workspace, request.request_id) == {**row, "version": {"N": "2"}}


def altered(row: dict[str, Any], attribute: str, value: dict[str, str] | None) -> dict[str, Any]:
    """The row with another value in an attribute, or without it."""
    rest = {name: found for name, found in row.items() if name != attribute}
    return rest if value is None else {**rest, attribute: value}


@pytest.mark.parametrize("name", ["notices_by_id", "inbox", "unread", "attention"])
def test_a_notice_that_an_index_in_memory_doesnt_show_is_damaged_until_repaired(
    workspace: WorkspaceId, name: str
) -> None:
    database = MemoryDatabase()
    notices = memory_stores(database).notices
    notice = a_failed_notice(workspace)
    notices.put(notice, None)
    getattr(database, name).hide(key_of(notice))
    assert notices.damaged([key_of(notice)]) == [key_of(notice)]
    notices.repair(replace(notice, version=2), notice)
    assert notices.damaged([key_of(notice)]) == []
    assert notices.unread_count(workspace, notice.recipient, after=None, limit=10) == 1


@pytest.mark.parametrize("name", ["due", "history"])
def test_a_request_that_an_index_in_memory_doesnt_show_is_damaged_until_repaired(
    workspace: WorkspaceId, name: str
) -> None:
    database = MemoryDatabase()
    requests = memory_stores(database).requests
    request = a_request(workspace)
    requests.put(request, None)
    getattr(database, name).hide((workspace, request.request_id))
    assert requests.damaged(workspace, [request.request_id]) == [request.request_id]
    requests.repair(replace(request, version=2), request)
    assert requests.damaged(workspace, [request.request_id]) == []
    assert len(requests.history(workspace, 0, before=None, limit=10)) == 1


# ---------------------------------------------------------------- repairs


def test_a_repair_moves_a_request_as_no_lifecycle_does(stores: Stores, workspace: WorkspaceId) -> None:
    broken = replace(an_open_request(workspace), state=RequestState.INVALID)
    stores.requests.put(broken, None)
    right = replace(broken, state=RequestState.OPEN, version=2)
    with pytest.raises(Conflict):
        stores.requests.put(right, broken)
    stores.requests.repair(right, broken)
    assert stores.requests.get(workspace, right.request_id) == right


def test_a_repair_moves_a_delivery_as_no_lifecycle_does(stores: Stores, workspace: WorkspaceId) -> None:
    notice = a_notice(workspace, Channel.CONSOLE, Channel.CHAT)
    broken = replace(
        notice,
        deliveries=tuple(replace(item, state=DeliveryState.BOUNCED) for item in notice.deliveries),
    )
    stores.notices.put(broken, None)
    right = replace(notice, version=2)
    with pytest.raises(Conflict):
        stores.notices.put(right, broken)
    stores.notices.repair(right, broken)
    assert stores.notices.get(key_of(notice)) == right


def test_a_repair_of_another_version_than_was_read_loses(stores: Stores, workspace: WorkspaceId) -> None:
    notice, request = a_notice(workspace, Channel.CONSOLE), a_request(workspace)
    stores.notices.put(notice, None)
    stores.requests.put(request, None)
    with pytest.raises(Conflict):
        stores.notices.repair(replace(notice, version=3), replace(notice, version=2))
    with pytest.raises(Conflict):
        stores.requests.repair(replace(request, version=3), replace(request, version=2))
    assert stores.notices.get(key_of(notice)) == notice
    assert stores.requests.get(workspace, request.request_id) == request


def test_a_repair_doesnt_bring_back_a_row_that_was_removed(stores: Stores, workspace: WorkspaceId) -> None:
    notice, request = a_notice(workspace, Channel.CONSOLE), a_request(workspace)
    with pytest.raises(Conflict):
        stores.notices.repair(replace(notice, version=2), notice)
    with pytest.raises(Conflict):
        stores.requests.repair(replace(request, version=2), request)
    assert stores.notices.get(key_of(notice)) is None
    assert stores.requests.get(workspace, request.request_id) is None


# ---------------------------------------------------------------- the ledger


def a_ledger(workspace: WorkspaceId, **changes: Any) -> Ledger:
    accounts = {
        "live 2026-11-29": Account().plus(other_request_id(1)),
        "closed 2026-11-30": Account().plus(other_request_id(2)).plus(other_request_id(3)),
        "closed 2026-11-28": Account(),
    }
    return Ledger(**{"workspace_id": workspace, "taken_at": NOON, "accounts": accounts, "version": 1, **changes})


def test_a_ledger_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    assert stores.registry.ledger(workspace) is None
    first = a_ledger(workspace)
    stores.registry.put_ledger(first, None)
    assert stores.registry.ledger(workspace) == first
    lost = (other_request_id(7), other_request_id(8))
    second = a_ledger(workspace, taken_at=at(86_400), lost=lost, version=2)
    stores.registry.put_ledger(second, first)
    assert stores.registry.ledger(workspace) == second


def test_second_writer_of_the_same_ledger_loses(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_ledger(workspace)
    stores.registry.put_ledger(first, None)
    with pytest.raises(Conflict):
        stores.registry.put_ledger(a_ledger(workspace, taken_at=at(9)), None)
    with pytest.raises(Conflict):
        stores.registry.put_ledger(a_ledger(workspace, version=4), a_ledger(workspace, version=3))
    assert stores.registry.ledger(workspace) == first


def test_a_ledger_of_a_year_of_days_fits_into_a_row(stores: Stores, workspace: WorkspaceId) -> None:
    accounts = {f"closed 2026-{day:03}": Account(count=10_000_000, mixed=2**176 - 1) for day in range(366)}
    lost = tuple(other_request_id(number) for number in range(1_000))
    ledger = a_ledger(workspace, accounts=accounts, lost=lost)
    stores.registry.put_ledger(ledger, None)
    assert stores.registry.ledger(workspace) == ledger


# ---------------------------------------------------------------- an audit over tables


def test_an_audit_finds_lists_and_repairs_what_was_damaged_in_the_tables(mocked: Dynamo) -> None:
    """Every kind of damage to a row that DynamoDB itself can have; the next audit finds nothing."""
    clock, stores = FixedClock(NOON), mocked.stores()
    world = World(
        replace(
            memory_ports(clock),
            registry=stores.registry,
            directory=stores.directory,
            requests=stores.requests,
            notices=stores.notices,
        )
    )
    world.register_people("ana")
    world.register_definition()
    for key in ("right", "removed", "notice", "state", "delivery", "inbox", "due"):
        world.publish(key)
    world.advance(minutes=30)
    assert (world.audit().differences, world.failures) == ([], [])
    client, tables = mocked.client, mocked.tables
    request_keys = {key: {"pk": {"S": f"R#acme#{world.id_of(key)}"}} for key in ("removed", "state", "due")}
    notice_keys = {
        key: {"pk": {"S": "acme#ana"}, "sk": {"S": world.id_of(key)}} for key in ("notice", "delivery", "inbox")
    }
    client.delete_item(TableName=tables.requests, Key=request_keys["removed"])
    client.delete_item(TableName=tables.notices, Key=notice_keys["notice"])
    states = {"state": ("settled", tables.requests, request_keys), "chat": ("failed", tables.notices, notice_keys)}
    for attribute, (value, table, keys) in states.items():
        client.update_item(
            TableName=table,
            Key=keys["state" if attribute == "state" else "delivery"],
            UpdateExpression="SET #state = :value",
            ExpressionAttributeNames={"#state": attribute},
            ExpressionAttributeValues={":value": {"S": value}},
        )
    client.update_item(TableName=tables.notices, Key=notice_keys["inbox"], UpdateExpression="REMOVE inbox")
    client.update_item(TableName=tables.requests, Key=request_keys["due"], UpdateExpression="REMOVE due_shard")
    found = sorted((item.kind, item.request_id, item.recipient) for item in world.audit().differences)
    assert found == [
        ("notice_missing", world.id_of("notice"), "ana"),
        ("notice_shown_wrongly", world.id_of("delivery"), "ana"),
        ("notice_shown_wrongly", world.id_of("inbox"), "ana"),
        ("notice_state_altered", world.id_of("delivery"), "ana"),
        ("request_missing", world.id_of("removed"), "ana"),
        ("request_shown_wrongly", world.id_of("due"), None),
        ("request_state_altered", world.id_of("state"), None),
    ]
    assert world.audit().differences == []
    assert (world.unread(), world.chat.calls, world.failures) == (7, 7, [])
