"""The rows of the four tables.

Keys, with `#` between their parts, which no identifier contains:

| table     | pk                               | sk                                             | item             |
|-----------|----------------------------------|------------------------------------------------|------------------|
| registry  | `W#workspace`                    | `workspace`                                    | WorkspaceItem    |
|           | `WORKSPACES`                     | workspace                                      | its copy, listed |
|           | `W#workspace`                    | `D#key` current, `V#key#00000001` each version | DefinitionItem   |
|           | `W#workspace`                    | `channel#chat`                                 | ChannelItem      |
|           | `W#workspace`                    | `ledger`                                       | LedgerItem       |
| directory | `P#workspace#person`             | `person`                                       | PersonItem       |
|           | `M#workspace#team#t`, `…#role#r` | person                                         | MembershipItem   |
| requests  | `R#workspace#request_id`         |                                                | RequestItem      |
|           | `H#workspace#head_id`            |                                                | HeadItem         |
| notices   | `workspace#recipient`            | notice_id                                      | NoticeItem       |
|           | `workspace#recipient`            | `!mark`                                        | ReadMarkItem     |

Times are UTC texts of one length. `delete_at` is when DynamoDB may delete the row, in epoch seconds. An attribute that
isn't set is absent. Sort keys of indexes end in the row's identity, so that no two rows share a place:

| attribute                                 | holds                                                                 |
|-------------------------------------------|-----------------------------------------------------------------------|
| `due_shard`                               | `workspace#shard`, while something is owed                            |
| `due_at`                                  | `time#request_id`                                                     |
| `history_shard`                           | `workspace#shard`                                                     |
| `history_key`                             | `recorded_at#request_id`                                              |
| `dead_lettered_shard`                     | `workspace#shard`, while it waits for an operator to reprocess it     |
| `inbox`                                   | `U#created_at#notice_id` unread, `R#…` read or ended; console only    |
| `attention_shard`                         | `workspace#shard`, while a delivery is failed and the notice lives    |
| `failed_at`                               | `time#recipient#notice_id`                                            |
| `console`, `chat`, `text`, `slack_system` | the state of the notice's delivery over that channel                  |
| `keep_until`                              | `delete_at` to the microsecond                                        |

What text.py has a `…_text` for stands in its compact form. A change of these forms is a new attribute, never another
meaning of an old one: of a request or notice, the version of the code before keeps what it doesn't know.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Self, cast

from pynamodb.attributes import Attribute, BooleanAttribute, UnicodeAttribute
from pynamodb.constants import NUMBER, STRING
from pynamodb.exceptions import AttributeNullError
from pynamodb.indexes import (
    GlobalSecondaryIndex,
    IncludeProjection,
    KeysOnlyProjection,
    LocalSecondaryIndex,
)
from pynamodb.models import Model

from notify_core.adapters.dynamodb.text import moment, moment_text


class IntegerAttribute(Attribute[int]):
    """A whole number."""

    attr_type = NUMBER

    def serialize(self, value: int) -> str:
        """The number as DynamoDB takes it."""
        return str(value)

    def deserialize(self, value: str) -> int:
        """The number that was stored."""
        return int(value)


class MomentAttribute(Attribute[datetime]):
    """A time, as a text of one length."""

    attr_type = STRING

    def serialize(self, value: datetime) -> str:
        """The time as it is stored."""
        return moment_text(value)

    def deserialize(self, value: str) -> datetime:
        """The time that was stored."""
        return moment(value)


class Item(Model):
    """A row; attributes that this version of the code doesn't know are kept, in DynamoDB's own form, and put back.

    It is made, written and read by going over the attributes that it has: pynamodb's own ways go over all of its
    class's, several times.
    """

    pk = UnicodeAttribute(hash_key=True)
    unknown: Mapping[str, Any] | None = None

    def __init__(self, pk: str | None = None, sk: str | None = None, **attributes: Any) -> None:
        """A row of these values, None being as good as absent."""
        given = {"pk": pk, "sk": sk, **attributes}
        self.attribute_values = {name: value for name, value in given.items() if value is not None}
        if unknown := self.attribute_values.keys() - _attributes(type(self)).keys():
            raise ValueError(f"a {type(self).__name__} has no {', '.join(sorted(unknown))}")

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Self:
        """The row that DynamoDB answered."""
        item = cls()
        attributes = _attributes(cls)
        unknown: dict[str, Any] = {}
        for name, value in data.items():
            if name in attributes:
                attribute = attributes[name]
                item.attribute_values[name] = attribute.deserialize(attribute.get_value(value))
            else:
                unknown[name] = value
        item.unknown = unknown or None
        return item

    def serialize(self, null_check: bool = True) -> dict[str, dict[str, Any]]:  # noqa: FBT001, FBT002  (pynamodb's)
        """The row as DynamoDB takes it."""
        row: dict[str, dict[str, Any]] = {**(self.unknown or {})}
        attributes = _attributes(type(self))
        for name, value in self.attribute_values.items():
            if value is not None:
                attribute = attributes[name]
                row[name] = {attribute.attr_type: attribute.serialize(value)}
        if null_check and (missing := _required(type(self)) - row.keys()):
            raise AttributeNullError(", ".join(sorted(missing)))
        return row


class SortedItem(Item):
    """A row of a table with a sort key."""

    sk = UnicodeAttribute(range_key=True)


def _attributes(item: type[Item]) -> Mapping[str, Attribute[Any]]:
    kind: Any = item
    return cast("Mapping[str, Attribute[Any]]", kind.get_attributes())


@lru_cache
def _required(item: type[Item]) -> frozenset[str]:
    """The attributes that a row can't do without."""
    return frozenset(name for name, attribute in _attributes(item).items() if not attribute.null)


# ---------------------------------------------------------------- registry


class WorkspaceItem(SortedItem):
    """A workspace."""

    name = UnicodeAttribute()
    status = UnicodeAttribute()
    channels = UnicodeAttribute()
    shards = IntegerAttribute()
    version = IntegerAttribute()


class DefinitionItem(SortedItem):
    """A definition: its current state, or one version as it was registered."""

    version = IntegerAttribute()
    state = UnicodeAttribute()
    title = UnicodeAttribute()
    category = UnicodeAttribute()
    critical = BooleanAttribute()
    channels = UnicodeAttribute()
    schema = UnicodeAttribute()
    templates = UnicodeAttribute()
    expires_after_microseconds = IntegerAttribute()
    replace_previous = BooleanAttribute()
    fold_within_microseconds = IntegerAttribute(null=True)
    retired_at = MomentAttribute(null=True)
    retired_version = IntegerAttribute(null=True)


class ChannelItem(SortedItem):
    """What is known of a channel of a workspace."""

    blocked_until = MomentAttribute(null=True)
    open_since = MomentAttribute(null=True)
    open_reason = UnicodeAttribute(null=True)
    probe_at = MomentAttribute(null=True)
    version = IntegerAttribute()


class LedgerItem(SortedItem):
    """What the last audit of a workspace left; the identifiers mixed in an account are a hexadecimal number."""

    taken_at = MomentAttribute()
    accounts = UnicodeAttribute()
    lost = UnicodeAttribute(null=True)
    version = IntegerAttribute()


# ---------------------------------------------------------------- directory


class PersonItem(SortedItem):
    """A person."""

    name = UnicodeAttribute()
    active = BooleanAttribute()
    locale = UnicodeAttribute(null=True)
    timezone = UnicodeAttribute(null=True)
    slack_user_id = UnicodeAttribute(null=True)
    phone = UnicodeAttribute(null=True)
    teams = UnicodeAttribute(null=True)
    roles = UnicodeAttribute(null=True)
    opt_outs = UnicodeAttribute(null=True)
    version = IntegerAttribute()


class MembershipItem(SortedItem):
    """A person's place in a team or role."""


# ---------------------------------------------------------------- requests


class DueIndex(GlobalSecondaryIndex["RequestItem"]):  # type: ignore[no-untyped-call]
    """Requests by when something is owed on them."""

    class Meta:
        """The index as the table declares it."""

        index_name = "due"
        projection = IncludeProjection(["definition", "state", "version"])

    due_shard = UnicodeAttribute(hash_key=True)
    due_at = UnicodeAttribute(range_key=True)


_LISTED = (
    "definition",
    "definition_version",
    "request_key",
    "replacement_key",
    "fold_key",
    "state",
    "reason",
    "published_at",
    "not_before",
    "expires_at",
    "recorded_at",
    "closed_at",
    "differing_repeat_at",
)
"""What a list of requests shows."""


class HistoryIndex(GlobalSecondaryIndex["RequestItem"]):  # type: ignore[no-untyped-call]
    """Requests by when they were first recorded."""

    class Meta:
        """The index as the table declares it."""

        index_name = "history"
        projection = IncludeProjection(list(_LISTED))

    history_shard = UnicodeAttribute(hash_key=True)
    history_key = UnicodeAttribute(range_key=True)


class DeadLetteredIndex(GlobalSecondaryIndex["RequestItem"]):  # type: ignore[no-untyped-call]
    """Requests that could not be processed and wait for an operator, by when they were first recorded."""

    class Meta:
        """The index as the table declares it."""

        index_name = "dead_lettered"
        projection = IncludeProjection(list(_LISTED))

    dead_lettered_shard = UnicodeAttribute(hash_key=True)
    history_key = UnicodeAttribute(range_key=True)


class RequestItem(Item):
    """A request, or its tombstone."""

    due = DueIndex()
    history = HistoryIndex()
    dead_lettered = DeadLetteredIndex()
    due_shard = UnicodeAttribute(null=True)
    due_at = UnicodeAttribute(null=True)
    history_shard = UnicodeAttribute()
    history_key = UnicodeAttribute()
    dead_lettered_shard = UnicodeAttribute(null=True)
    version = IntegerAttribute()
    shard = IntegerAttribute()
    state = UnicodeAttribute()
    reason = UnicodeAttribute(null=True)
    caused_by = UnicodeAttribute(null=True)
    definition = UnicodeAttribute()
    definition_version = IntegerAttribute(null=True)
    request_key = UnicodeAttribute()
    replacement_key = UnicodeAttribute(null=True)
    fold_key = UnicodeAttribute(null=True)
    published_at = MomentAttribute(null=True)
    not_before = MomentAttribute(null=True)
    deadline = MomentAttribute(null=True)
    expires_at = MomentAttribute(null=True)
    recorded_at = MomentAttribute()
    accepted_at = MomentAttribute(null=True)
    closed_at = MomentAttribute(null=True)
    differing_repeat_at = MomentAttribute(null=True)
    finished_version = IntegerAttribute(null=True)
    data = UnicodeAttribute(null=True)
    audience = UnicodeAttribute(null=True)
    content_hash = UnicodeAttribute()
    problems = UnicodeAttribute(null=True)
    exclusions = UnicodeAttribute(null=True)
    manifest = UnicodeAttribute(null=True)
    replaces = UnicodeAttribute(null=True)
    delete_at = IntegerAttribute(null=True)


class HeadItem(Item):
    """A replacement key's head."""

    version = IntegerAttribute()
    definition = UnicodeAttribute()
    replacement_key = UnicodeAttribute()
    current = UnicodeAttribute(null=True)
    current_published_at = MomentAttribute(null=True)
    withdrawn_at = MomentAttribute(null=True)
    keep_until = MomentAttribute(null=True)
    delete_at = IntegerAttribute(null=True)


# ---------------------------------------------------------------- notices


class InboxIndex(LocalSecondaryIndex["NoticeItem"]):  # type: ignore[no-untyped-call]
    """A recipient's notices with a console delivery, unread and others, by when they began."""

    class Meta:
        """The index as the table declares it."""

        index_name = "inbox"
        projection = KeysOnlyProjection()

    pk = UnicodeAttribute(hash_key=True)
    inbox = UnicodeAttribute(range_key=True)


class AttentionIndex(GlobalSecondaryIndex["NoticeItem"]):  # type: ignore[no-untyped-call]
    """Notices with a failed delivery, by when it failed."""

    class Meta:
        """The index as the table declares it."""

        index_name = "attention"
        projection = KeysOnlyProjection()

    attention_shard = UnicodeAttribute(hash_key=True)
    failed_at = UnicodeAttribute(range_key=True)


class NoticeItem(SortedItem):
    """A notice with its deliveries."""

    inbox_index = InboxIndex()
    attention_index = AttentionIndex()
    inbox = UnicodeAttribute(null=True)
    attention_shard = UnicodeAttribute(null=True)
    failed_at = UnicodeAttribute(null=True)
    version = IntegerAttribute()
    shard = IntegerAttribute()
    definition = UnicodeAttribute()
    created_at = MomentAttribute()
    expires_at = MomentAttribute()
    console = UnicodeAttribute(null=True)
    chat = UnicodeAttribute(null=True)
    text = UnicodeAttribute(null=True)
    slack_system = UnicodeAttribute(null=True)
    deliveries = UnicodeAttribute()
    contributors = UnicodeAttribute()
    ended = UnicodeAttribute(null=True)
    content = UnicodeAttribute(null=True)
    read_at = MomentAttribute(null=True)
    timeline = UnicodeAttribute(null=True)
    delete_at = IntegerAttribute()


class ReadMarkItem(SortedItem):
    """Up to when a recipient has read everything."""

    read_up_to = MomentAttribute()
    marked_at = MomentAttribute()
