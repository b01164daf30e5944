"""Workspaces, definitions and channel states in DynamoDB."""

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final

from notify_core.adapters.dynamodb.client import bind
from notify_core.adapters.dynamodb.errors import translated
from notify_core.adapters.dynamodb.items import ChannelItem, DefinitionItem, LedgerItem, WorkspaceItem
from notify_core.adapters.dynamodb.reading import get
from notify_core.adapters.dynamodb.text import json_text, member, optional_integer
from notify_core.adapters.dynamodb.writing import Put, absent, commit, unchanged
from notify_core.application.ports import Page
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition, DefinitionState
from notify_core.domain.directory import ChannelState, Workspace, WorkspaceStatus
from notify_core.domain.identifiers import DefinitionKey, RequestId, WorkspaceId
from notify_core.domain.ledger import Account, Ledger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

VERSIONS_REMEMBERED: Final = 256
_WORKSPACES: Final = "WORKSPACES"
_WORKSPACE: Final = "workspace"
_LEDGER: Final = "ledger"
_PAST_ALL: Final = "~"
"""Sorts after every identifier."""
_NEXT: Final = "!"
"""Added to an identifier, sorts after it and before every other that does."""
_MICROSECOND: Final = timedelta(microseconds=1)


class DynamoRegistryStore:
    """ports.RegistryStore over the registry table; it remembers definition versions, which never change."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._workspaces = bind(WorkspaceItem, table, client)
        self._definitions = bind(DefinitionItem, table, client)
        self._channels = bind(ChannelItem, table, client)
        self._ledgers = bind(LedgerItem, table, client)
        self._versions = _Versions()
        self._lock = Lock()
        self._reading: dict[tuple[WorkspaceId, DefinitionKey, int], Future[Definition | None]] = {}

    def workspace(self, workspace: WorkspaceId) -> Workspace | None:
        """The workspace, strongly consistent."""
        item = get(self._workspaces, _pk(workspace), _WORKSPACE)
        return None if item is None else _workspace(item, workspace)

    def workspaces(self, position: Mapping[str, str] | None = None, *, limit: int = 100) -> Page:
        """A page of all workspaces, in the order of their ids."""
        start = "" if position is None else position["workspace_id"] + _NEXT
        with translated():
            items = list(
                self._workspaces.query(
                    _WORKSPACES, WorkspaceItem.sk.between(start or " ", _PAST_ALL), consistent_read=True, limit=limit
                )
            )
        found = [_workspace(item, WorkspaceId(item.sk)) for item in items]
        return Page(items=found, position={"workspace_id": found[-1].workspace_id} if len(found) == limit else None)

    def put_workspace(self, new: Workspace, was: Workspace | None) -> None:
        """Write a workspace's next version, and its copy in the list of all."""
        commit(
            [
                Put(self._workspace_item(new, _pk(new.workspace_id), _WORKSPACE), unchanged(WorkspaceItem, was)),
                Put(self._workspace_item(new, _WORKSPACES, new.workspace_id), None),
            ]
        )

    def _workspace_item(self, workspace: Workspace, pk: str, sk: str) -> WorkspaceItem:
        return self._workspaces(
            pk,
            sk,
            name=workspace.name,
            status=workspace.status,
            channels=_channels_text(sorted(workspace.channels)),
            shards=workspace.shards,
            version=workspace.version,
        )

    def definition(self, workspace: WorkspaceId, key: DefinitionKey, *, consistent: bool = False) -> Definition | None:
        """The current version of a definition, retired or not."""
        item = get(self._definitions, _pk(workspace), _current_sk(key), consistent=consistent)
        return None if item is None else _definition(item, workspace, key)

    def definition_version(self, workspace: WorkspaceId, key: DefinitionKey, version: int) -> Definition | None:
        """One version of a definition, as it was registered.

        A batch's threads all want it at once: one of them reads, and what it finds, or fails at, is everybody's.
        """
        place = (workspace, key, version)
        if (remembered := self._versions.get(place)) is not None:
            return remembered
        with self._lock:
            reading = self._reading.get(place)
            if is_reader := reading is None:
                reading = self._reading[place] = Future()
        if is_reader:
            try:
                reading.set_result(self._read_version(*place))
            except BaseException as failure:  # noqa: BLE001  (raised below, to everybody)
                reading.set_exception(failure)
            finally:
                with self._lock:
                    del self._reading[place]
        return reading.result()

    def _read_version(self, workspace: WorkspaceId, key: DefinitionKey, version: int) -> Definition | None:
        item = get(self._definitions, _pk(workspace), _version_sk(key, version))
        if item is None:
            return None
        found = _definition(item, workspace, key)
        self._versions.add((workspace, key, version), found)
        return found

    def definitions(self, workspace: WorkspaceId, position: Mapping[str, str] | None = None, *, limit: int) -> Page:
        """A page of current definitions, in the order of their keys."""
        start = _current_sk("" if position is None else position["key"] + _NEXT)
        with translated():
            items = list(
                self._definitions.query(
                    _pk(workspace),
                    DefinitionItem.sk.between(start, _current_sk(_PAST_ALL)),
                    consistent_read=True,
                    limit=limit,
                )
            )
        found = [_definition(item, workspace, DefinitionKey(item.sk.partition("#")[2])) for item in items]
        return Page(items=found, position={"key": found[-1].key} if len(found) == limit else None)

    def put_definition(self, new: Definition, was: Definition | None) -> None:
        """Write the current definition; a new version is kept for ever beside it, in the same transaction."""
        condition = absent(DefinitionItem)
        if was is not None:
            condition = (DefinitionItem.version == was.version) & (DefinitionItem.state == was.state)
        current = Put(self._definition_item(new, _current_sk(new.key)), condition)
        if was is not None and was.version == new.version:
            current.make()
            return
        version = self._definition_item(new, _version_sk(new.key, new.version))
        commit([current, Put(version, None)])

    def _definition_item(self, definition: Definition, sk: str) -> DefinitionItem:
        return self._definitions(
            _pk(definition.workspace_id),
            sk,
            version=definition.version,
            state=definition.state,
            title=definition.title,
            category=definition.category,
            critical=definition.critical,
            channels=_channels_text(definition.channels),
            schema=json_text(definition.schema),
            templates=json_text(definition.templates),
            expires_after_microseconds=definition.expires_after // _MICROSECOND,
            replace_previous=definition.replace_previous,
            fold_within_microseconds=None if definition.fold_within is None else definition.fold_within // _MICROSECOND,
            retired_at=definition.retired_at,
            retired_version=definition.retired_version or None,
        )

    def channel_state(self, workspace: WorkspaceId, channel: Channel) -> ChannelState | None:
        """What is known of a channel of a workspace; None when nothing ever was."""
        item = get(self._channels, _pk(workspace), _channel_sk(channel))
        if item is None:
            return None
        return ChannelState(
            workspace_id=workspace,
            channel=channel,
            blocked_until=item.blocked_until,
            open_since=item.open_since,
            open_reason=item.open_reason,
            probe_at=item.probe_at,
            version=int(item.version),
        )

    def put_channel_state(self, new: ChannelState, was: ChannelState | None) -> None:
        """Write a channel state's next version."""
        item = self._channels(
            _pk(new.workspace_id),
            _channel_sk(new.channel),
            blocked_until=new.blocked_until,
            open_since=new.open_since,
            open_reason=new.open_reason,
            probe_at=new.probe_at,
            version=new.version,
        )
        Put(item, unchanged(ChannelItem, was)).make()

    def ledger(self, workspace: WorkspaceId) -> Ledger | None:
        """What the last audit of a workspace left, strongly consistent; None before the first."""
        item = get(self._ledgers, _pk(workspace), _LEDGER)
        if item is None:
            return None
        accounts = json.loads(item.accounts)
        return Ledger(
            workspace_id=workspace,
            taken_at=item.taken_at,
            accounts={day: Account(count=number, mixed=int(mixed, 16)) for day, (number, mixed) in accounts.items()},
            lost=tuple(map(RequestId, (item.lost or "").split())),
            version=int(item.version),
        )

    def put_ledger(self, new: Ledger, was: Ledger | None) -> None:
        """Write a ledger's next version."""
        item = self._ledgers(
            _pk(new.workspace_id),
            _LEDGER,
            taken_at=new.taken_at,
            accounts=json_text({day: (account.count, f"{account.mixed:x}") for day, account in new.accounts.items()}),
            lost=" ".join(new.lost) or None,
            version=new.version,
        )
        Put(item, unchanged(LedgerItem, was)).make()


class _Versions:
    """Definition versions remembered by a process, the longest unused forgotten first."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[WorkspaceId, DefinitionKey, int], Definition] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[WorkspaceId, DefinitionKey, int]) -> Definition | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def add(self, key: tuple[WorkspaceId, DefinitionKey, int], definition: Definition) -> None:
        with self._lock:
            self._found[key] = definition
            if len(self._found) > VERSIONS_REMEMBERED:
                self._found.popitem(last=False)


def _pk(workspace: WorkspaceId) -> str:
    return f"W#{workspace}"


def _current_sk(key: str) -> str:
    return f"D#{key}"


def _version_sk(key: DefinitionKey, version: int) -> str:
    return f"V#{key}#{version:08d}"


def _channel_sk(channel: Channel) -> str:
    return f"channel#{channel}"


def _channels_text(channels: Iterable[Channel]) -> str:
    return " ".join(channels)


def _channels(text: str) -> tuple[Channel, ...]:
    return tuple(member(Channel, word) for word in text.split())


def _workspace(item: WorkspaceItem, workspace: WorkspaceId) -> Workspace:
    return Workspace(
        workspace_id=workspace,
        name=item.name,
        status=member(WorkspaceStatus, item.status),
        channels=frozenset(_channels(item.channels)),
        shards=int(item.shards),
        version=int(item.version),
    )


def _definition(item: DefinitionItem, workspace: WorkspaceId, key: DefinitionKey) -> Definition:
    within = optional_integer(item.fold_within_microseconds)
    return Definition(
        workspace_id=workspace,
        key=key,
        version=int(item.version),
        title=item.title,
        category=item.category,
        critical=item.critical,
        channels=_channels(item.channels),
        schema=json.loads(item.schema),
        templates={member(Channel, word): template for word, template in json.loads(item.templates).items()},
        expires_after=timedelta(microseconds=int(item.expires_after_microseconds)),
        replace_previous=item.replace_previous,
        fold_within=None if within is None else timedelta(microseconds=within),
        state=member(DefinitionState, item.state),
        retired_at=item.retired_at,
        retired_version=optional_integer(item.retired_version) or 0,
    )
