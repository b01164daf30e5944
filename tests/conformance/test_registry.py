from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from time import sleep
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from notify_core.adapters.dynamodb.registry import DynamoRegistryStore
from notify_core.application.ports import Conflict, StoreUnavailable
from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState
from notify_core.domain.directory import ChannelState, WorkspaceStatus
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId
from tests.conformance.backends import Dynamo, Stores
from tests.conformance.builders import INVOICE, a_definition, a_workspace, at


def test_workspace_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    bare = a_workspace(workspace, name="", channels=frozenset())
    stores.registry.put_workspace(bare, None)
    assert stores.registry.workspace(workspace) == bare

    full = replace(
        bare,
        name="Ünïcode – 漢字 🎈",
        status=WorkspaceStatus.SUSPENDED,
        channels=frozenset({Channel.CONSOLE, Channel.CHAT, Channel.TEXT}),
        shards=12,
        version=2,
    )
    stores.registry.put_workspace(full, bare)
    assert stores.registry.workspace(workspace) == full


def test_unknown_workspace_is_none(stores: Stores, workspace: WorkspaceId) -> None:
    assert stores.registry.workspace(workspace) is None


def test_second_writer_of_a_workspace_loses(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_workspace(workspace)
    second = replace(first, name="second", version=2)
    stores.registry.put_workspace(first, None)
    with pytest.raises(Conflict):
        stores.registry.put_workspace(first, None)
    stores.registry.put_workspace(second, first)
    with pytest.raises(Conflict):
        stores.registry.put_workspace(replace(first, name="late", version=2), first)
    assert stores.registry.workspace(workspace) == second
    assert second in _all_workspaces(stores)


def test_workspaces_are_paged_in_the_order_of_their_ids(stores: Stores, workspace: WorkspaceId) -> None:
    ids = [WorkspaceId(f"{workspace}{suffix}") for suffix in ("", ".", "-b", "A", "Z", "a", "a1", "z")]
    expected = [
        a_workspace(WorkspaceId(f"{workspace}{suffix}"), name=suffix)
        for suffix in ("", "-b", ".", "A", "Z", "a", "a1", "z")
    ]
    for new in ids:
        stores.registry.put_workspace(a_workspace(new, name=new.removeprefix(workspace)), None)
    assert [item for item in _all_workspaces(stores) if item.workspace_id.startswith(workspace)] == expected


def _all_workspaces(stores: Stores) -> list[object]:
    found: list[object] = []
    page = stores.registry.workspaces(limit=3)
    found += page.items
    while page.position is not None:
        page = stores.registry.workspaces(page.position, limit=3)
        found += page.items
    return found


def test_definition_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    bare = a_definition(workspace, schema={}, templates={}, channels=())
    stores.registry.put_definition(bare, None)
    assert stores.registry.definition(workspace, INVOICE, consistent=True) == bare
    assert stores.registry.definition_version(workspace, INVOICE, 1) == bare

    full = replace(
        a_definition(workspace, version=2),
        critical=True,
        replace_previous=True,
        fold_within=timedelta(hours=1, microseconds=1),
        expires_after=timedelta(days=90),
        schema={"type": "object", "maximum": 10**30, "const": 1.5e-9, "enum": [None, True, "é🎈", ""]},
    )
    stores.registry.put_definition(full, bare)
    assert stores.registry.definition(workspace, INVOICE) == full
    assert stores.registry.definition_version(workspace, INVOICE, 2) == full
    assert stores.registry.definition_version(workspace, INVOICE, 1) == bare


def test_unknown_definitions_are_none(stores: Stores, workspace: WorkspaceId) -> None:
    assert stores.registry.definition(workspace, INVOICE) is None
    assert stores.registry.definition(workspace, INVOICE, consistent=True) is None
    assert stores.registry.definition_version(workspace, INVOICE, 1) is None


def test_retiring_a_definition_leaves_its_version_as_registered(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_definition(workspace)
    retired = replace(first, state=DefinitionState.RETIRED, retired_at=at(5), retired_version=1)
    stores.registry.put_definition(first, None)
    stores.registry.put_definition(retired, first)
    assert stores.registry.definition(workspace, INVOICE, consistent=True) == retired
    assert stores.registry.definition_version(workspace, INVOICE, 1) == first

    again = a_definition(workspace, version=2, title="Again", retired_version=1)
    stores.registry.put_definition(again, retired)
    assert stores.registry.definition(workspace, INVOICE, consistent=True) == again


def test_second_writer_of_a_definition_loses_and_leaves_no_version(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_definition(workspace)
    second = a_definition(workspace, version=2, title="second")
    stores.registry.put_definition(first, None)
    with pytest.raises(Conflict):
        stores.registry.put_definition(first, None)
    stores.registry.put_definition(second, first)
    with pytest.raises(Conflict):
        stores.registry.put_definition(a_definition(workspace, version=3, title="late"), first)
    with pytest.raises(Conflict):
        stores.registry.put_definition(replace(first, state=DefinitionState.RETIRED), first)
    assert stores.registry.definition(workspace, INVOICE, consistent=True) == second
    assert stores.registry.definition_version(workspace, INVOICE, 3) is None


def test_retiring_twice_loses_the_second_time(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_definition(workspace)
    stores.registry.put_definition(first, None)
    stores.registry.put_definition(replace(first, state=DefinitionState.RETIRED, retired_at=at(1)), first)
    with pytest.raises(Conflict):
        stores.registry.put_definition(replace(first, state=DefinitionState.RETIRED, retired_at=at(2)), first)


def test_definitions_are_paged_in_the_order_of_their_keys(stores: Stores, workspace: WorkspaceId) -> None:
    keys = ["z", "a.b", "a", "B", "a-b", "a_b", "0", "k" * 64]
    for key in keys:
        first = a_definition(workspace, key=DefinitionKey(key))
        stores.registry.put_definition(first, None)
        stores.registry.put_definition(replace(first, version=2), first)
    stores.registry.put_definition(a_definition(WorkspaceId(f"{workspace}x")), None)

    found = []
    page = stores.registry.definitions(workspace, limit=3)
    found.append(list(page.items))
    while page.position is not None:
        page = stores.registry.definitions(workspace, page.position, limit=3)
        found.append(list(page.items))
    assert [[(item.key, item.version) for item in items] for items in found] == [
        [("0", 2), ("B", 2), ("a", 2)],
        [("a-b", 2), ("a.b", 2), ("a_b", 2)],
        [("k" * 64, 2), ("z", 2)],
    ]


def test_channel_state_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    assert stores.registry.channel_state(workspace, Channel.CHAT) is None
    bare = ChannelState(workspace_id=workspace, channel=Channel.CHAT, version=1)
    full = replace(
        bare,
        blocked_until=at(30),
        open_since=at(0.000_001),
        open_reason="token_revoked",
        probe_at=at(60),
        version=2,
    )
    stores.registry.put_channel_state(bare, None)
    assert stores.registry.channel_state(workspace, Channel.CHAT) == bare
    stores.registry.put_channel_state(full, bare)
    assert stores.registry.channel_state(workspace, Channel.CHAT) == full
    assert stores.registry.channel_state(workspace, Channel.TEXT) is None


def test_second_writer_of_a_channel_state_loses(stores: Stores, workspace: WorkspaceId) -> None:
    first = ChannelState(workspace_id=workspace, channel=Channel.TEXT, version=1)
    second = replace(first, blocked_until=at(9), version=2)
    stores.registry.put_channel_state(first, None)
    stores.registry.put_channel_state(second, first)
    for was in (None, first, replace(first, version=0)):
        with pytest.raises(Conflict):
            stores.registry.put_channel_state(replace(first, open_reason="late", version=2), was)
    assert stores.registry.channel_state(workspace, Channel.TEXT) == second


class Throttling:
    """A client whose first call ends, badly, once so many threads have asked."""

    _request_signer = None

    def __init__(self, threads: int) -> None:
        self.all_have_asked = Barrier(threads)
        self.calls = 0

    def _make_api_call(self, _operation: str, _asked: object) -> dict[str, Any]:
        self.calls += 1
        sleep(0.3)
        raise EndpointConnectionError(endpoint_url="nowhere")


def test_threads_that_want_one_definition_version_fail_together_and_not_one_after_another() -> None:
    """Each trying again in turn, with its own timeouts, would outlast the function that holds their claims."""
    client = Throttling(10)
    registry = DynamoRegistryStore("registry", client)  # type: ignore[arg-type]

    def read() -> None:
        client.all_have_asked.wait()
        with pytest.raises(StoreUnavailable):
            registry.definition_version(WorkspaceId("acme"), INVOICE, 1)

    with ThreadPoolExecutor(10) as pool:
        for reading in [pool.submit(read) for _ in range(10)]:
            reading.result()
    assert client.calls == 1
    with pytest.raises(StoreUnavailable):
        registry.definition_version(WorkspaceId("acme"), INVOICE, 1)
    assert client.calls == 2


def test_definition_version_is_read_once_a_process(dynamo: Dynamo, workspace: WorkspaceId) -> None:
    stores = dynamo.stores()
    first = a_definition(workspace)
    stores.registry.put_definition(first, None)
    assert stores.registry.definition_version(workspace, INVOICE, 1) == first
    dynamo.client.delete_item(
        TableName=dynamo.tables.registry,
        Key={"pk": {"S": f"W#{workspace}"}, "sk": {"S": f"V#{INVOICE}#00000001"}},
    )
    assert stores.registry.definition_version(workspace, INVOICE, 1) == first
    assert dynamo.stores().registry.definition_version(workspace, INVOICE, 1) is None
