"""Writing rows: a write's condition, and several writes as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pynamodb.attributes import UnicodeAttribute
from pynamodb.expressions.condition import Condition
from pynamodb.transactions import TransactWrite

from notify_core.adapters.dynamodb.client import table_of
from notify_core.adapters.dynamodb.errors import translated
from notify_core.adapters.dynamodb.items import (
    ChannelItem,
    HeadItem,
    Item,
    LedgerItem,
    NoticeItem,
    PersonItem,
    RequestItem,
    WorkspaceItem,
)
from notify_core.application.ports import Head
from notify_core.domain.channel import Channel
from notify_core.domain.directory import ChannelState, Person, Workspace
from notify_core.domain.guard import NoticeGuard, RequestGuard
from notify_core.domain.identifiers import digest
from notify_core.domain.ledger import Ledger

Versioned = WorkspaceItem | PersonItem | ChannelItem | HeadItem | LedgerItem

STATES: Final[Mapping[Channel, UnicodeAttribute]] = {
    Channel.CONSOLE: NoticeItem.console,
    Channel.CHAT: NoticeItem.chat,
    Channel.TEXT: NoticeItem.text,
    Channel.SLACK_SYSTEM: NoticeItem.slack_system,
}
"""Where a notice's row keeps the state of its delivery over a channel."""


@dataclass(frozen=True, slots=True)
class Put:
    """A row and the condition under which it is written."""

    item: Item
    condition: Condition | None

    def make(self) -> None:
        """Write it.

        Raises:
            Conflict: the condition failed.
            StoreUnavailable: try again.
        """
        with translated():
            self.item.save(self.condition)


def commit(puts: Sequence[Put], *, deletes: Sequence[Item] = (), token: str | None = None) -> None:
    """Make all the writes or none.

    Raises:
        Conflict: a condition failed, or another transaction was at one of the rows.
        StoreUnavailable: try again.
    """
    connection = table_of(type(puts[0].item)).connection
    with translated(), TransactWrite(connection=connection, client_request_token=token) as transaction:
        for put in puts:
            transaction.save(put.item, put.condition)
        for item in deletes:
            transaction.delete(item)


def token_of(puts: Sequence[Put]) -> str:
    """The same for the same writes under the same conditions: with it, DynamoDB makes them once in ten minutes."""
    return digest(*(part for put in puts for part in (_place(put), _content(put), repr(put.condition))))


def _place(put: Put) -> str:
    return table_of(type(put.item)).table_name


def _content(put: Put) -> str:
    return repr(sorted(put.item.serialize().items()))


# ---------------------------------------------------------------- conditions


def absent(item: type[Item]) -> Condition:
    """The row doesn't exist."""
    return item.pk.does_not_exist()


def unchanged(item: type[Versioned], was: Workspace | Person | ChannelState | Head | Ledger | None) -> Condition:
    """The row has the version that was read."""
    return absent(item) if was is None or was.version == 0 else item.version == was.version


def request_condition(guard: RequestGuard) -> Condition:
    """A request's guard as DynamoDB checks it."""
    if guard.version is None:
        return absent(RequestItem)
    condition: Condition = RequestItem.version == guard.version
    condition &= RequestItem.state.is_in(*sorted(guard.states))
    return condition


def notice_condition(guard: NoticeGuard) -> Condition:
    """A notice's guard as DynamoDB checks it."""
    if guard.version is None:
        return absent(NoticeItem)
    condition: Condition = NoticeItem.version == guard.version
    for channel, states in guard.states.items():
        condition &= STATES[channel].is_in(*sorted(states))
    return condition
