"""Damage done to the memory database behind everybody's back, as nothing of the platform would."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from notify_core.adapters.memory.table import Index, Table
from notify_core.application.ports import NoticeKey
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient
from tests.application.world import ACME, World


def notice_key(world: World, recipient: str = "ana", request_key: str = "k1") -> NoticeKey:
    identity = NoticeId(world.id_of(request_key))
    return NoticeKey(workspace_id=ACME, recipient=Recipient(recipient), notice_id=identity)


def remove_notice(world: World, recipient: str = "ana", request_key: str = "k1") -> None:
    database, key = world.database, notice_key(world, recipient, request_key)
    _remove(database.notices, key, (database.notices_by_id, database.inbox, database.unread, database.attention))


def remove_generation(world: World, key: NoticeKey) -> None:
    database = world.database
    _remove(database.notices, key, (database.notices_by_id, database.inbox, database.unread, database.attention))


def remove_request(world: World, request_key: str = "k1") -> None:
    database = world.database
    _remove(database.requests, (ACME, world.id_of(request_key)), (database.due, database.history))


def alter_request(world: World, request_key: str = "k1", **changes: Any) -> None:
    """Write other values into a row, in the same version."""
    request = world.request(request_key)
    world.database.requests.put((ACME, request.request_id), replace(request, **changes))


def alter_notice(world: World, recipient: str = "ana", request_key: str = "k1", **changes: Any) -> None:
    """Write other values into a row, in the same version."""
    key = notice_key(world, recipient, request_key)
    world.database.notices.put(key, replace(world.notice(recipient, request_key), **changes))


def alter_delivery(world: World, channel: Channel, **changes: Any) -> None:
    deliveries = tuple(
        replace(item, **changes) if item.channel is channel else item for item in world.notice().deliveries
    )
    alter_notice(world, deliveries=deliveries)


def _remove(table: Table[Any, Any], key: object, indexes: Iterable[Index[Any, Any]]) -> None:
    del table._rows[key]  # noqa: SLF001  (the damage itself)
    for index in indexes:
        index.hide(key)
