"""What the use cases need of the world, one small protocol a role.

Stores are compare-and-swap: a write names what was read (`was`) and raises Conflict when the row is no longer that; a
version of 0, or None, means that the row must be absent. Every other failure is StoreUnavailable. A write whose answer
was lost also comes back as Conflict: its caller re-reads, recognises its own value and goes on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import ChannelState, Person, Workspace
from notify_core.domain.identifiers import (
    ClaimId,
    DefinitionKey,
    DeliveryId,
    NoticeId,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
)
from notify_core.domain.ledger import Ledger
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState
from notify_core.domain.send_result import Evidence, SendResult

T = TypeVar("T")
Item = TypeVar("Item")


class Conflict(Exception):
    """Another writer was faster, or this write's own answer was lost."""


class StoreUnavailable(Exception):
    """A store or queue could not be reached or refused the work for now; whoever was called may try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a list; `position` is where the next begins (opaque to use cases, JSON), None at the end."""

    items: Sequence[Any]
    position: Mapping[str, str] | None = None


# ---------------------------------------------------------------- stores


class RegistryStore(Protocol):
    """Workspaces with the audits' ledgers, definitions and channel states."""

    def workspace(self, workspace: WorkspaceId) -> Workspace | None:
        """The workspace, strongly consistent."""
        ...

    def workspaces(self, position: Mapping[str, str] | None = None, *, limit: int = 100) -> Page:
        """A page of all workspaces, in the order of their ids."""
        ...

    def put_workspace(self, new: Workspace, was: Workspace | None) -> None:
        """Write a workspace's next version."""
        ...

    def definition(self, workspace: WorkspaceId, key: DefinitionKey, *, consistent: bool = False) -> Definition | None:
        """The current version of a definition, retired or not."""
        ...

    def definition_version(self, workspace: WorkspaceId, key: DefinitionKey, version: int) -> Definition | None:
        """One version of a definition; its content never changes, so it may be remembered for ever."""
        ...

    def definitions(self, workspace: WorkspaceId, position: Mapping[str, str] | None = None, *, limit: int) -> Page:
        """A page of current definitions, in the order of their keys."""
        ...

    def put_definition(self, new: Definition, was: Definition | None) -> None:
        """Write the current definition, guarded by the version and state read; a new version is kept for ever too."""
        ...

    def channel_state(self, workspace: WorkspaceId, channel: Channel) -> ChannelState | None:
        """What is known of a channel of a workspace; None when nothing ever was."""
        ...

    def put_channel_state(self, new: ChannelState, was: ChannelState | None) -> None:
        """Write a channel state's next version."""
        ...

    def ledger(self, workspace: WorkspaceId) -> Ledger | None:
        """What the last audit of a workspace left, strongly consistent; None before the first."""
        ...

    def put_ledger(self, new: Ledger, was: Ledger | None) -> None:
        """Write a ledger's next version."""
        ...


class DirectoryStore(Protocol):
    """People and their memberships, one workspace at a time."""

    def people(self, workspace: WorkspaceId, people: Sequence[PersonId]) -> Mapping[PersonId, Person]:
        """Those of the people who are known in the workspace, strongly consistent."""
        ...

    def team(self, workspace: WorkspaceId, team: str) -> Sequence[PersonId]:
        """A team's members, in the order of their ids; empty when it isn't known."""
        ...

    def role(self, workspace: WorkspaceId, role: str) -> Sequence[PersonId]:
        """A role's holders, in the order of their ids; empty when it isn't known."""
        ...

    def put_person(self, new: Person, was: Person | None) -> None:
        """Write a person's next version with its memberships, in one transaction."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A replacement key's newest accepted publication, and until when it is withdrawn. Version 0 is not stored yet."""

    workspace_id: WorkspaceId
    definition: DefinitionKey
    replacement_key: str
    current: RequestId | None = None
    current_published_at: datetime | None = None
    withdrawn_at: datetime | None = None
    version: int = 0
    delete_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRequest:
    """A request's next version, within a transaction."""

    new: Request
    was: Request | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutHead:
    """A head's next version, within a transaction."""

    new: Head
    was: Head | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutNotice:
    """A notice's next version, within a transaction."""

    new: Notice
    was: Notice | None


Write = PutRequest | PutHead | PutNotice


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRow:
    """What the due index says of a request; it may lag behind the row."""

    request_id: RequestId
    due_at: datetime
    definition: DefinitionKey
    state: RequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """What the history index holds of a request: the fields of a list item."""

    request_id: RequestId
    definition: DefinitionKey
    definition_version: int | None
    request_key: str
    replacement_key: str | None
    fold_key: str | None
    state: RequestState
    reason: RequestReason | None
    published_at: datetime | None
    not_before: datetime | None
    expires_at: datetime | None
    recorded_at: datetime
    closed_at: datetime | None
    differing_repeat_at: datetime | None


class RequestStore(Protocol):
    """Requests, tombstones and replacement heads."""

    def get(self, workspace: WorkspaceId, request: RequestId, *, consistent: bool = True) -> Request | None:
        """One request; without `consistent` it may be stale or missing, so only a conditional write decides."""
        ...

    def get_many(
        self, workspace: WorkspaceId, requests: Sequence[RequestId], *, consistent: bool = True
    ) -> Mapping[RequestId, Request]:
        """Those of the requests that exist."""
        ...

    def put(self, new: Request, was: Request | None) -> None:
        """Write a request's next version under guard_request."""
        ...

    def repair(self, new: Request, was: Request) -> None:
        """Write a request's next version over what the lifecycle may not lead from: only the version is guarded."""
        ...

    def damaged(self, workspace: WorkspaceId, requests: Sequence[RequestId]) -> Sequence[RequestId]:
        """Those of the requests that an index shows otherwise than their content amounts to, strongly consistent."""
        ...

    def head(self, workspace: WorkspaceId, definition: DefinitionKey, replacement_key: str) -> Head | None:
        """A replacement key's head, strongly consistent."""
        ...

    def put_head(self, new: Head, was: Head | None) -> None:
        """Write a head's next version."""
        ...

    def commit(self, writes: Sequence[Write]) -> None:
        """Make all the writes or none (Conflict); a deterministic client token makes a repeated call safe."""
        ...

    def due(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        until: datetime,
        position: Mapping[str, str] | None = None,
        limit: int,
    ) -> Page:
        """A page of DueRow, earliest first; the index may lag."""
        ...

    def history(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        before: tuple[datetime, RequestId] | None,
        limit: int,
    ) -> Sequence[HistoryRow]:
        """HistoryRows of one shard, newest first, strictly before a place in it; the index may lag."""
        ...

    def dead_lettered(
        self,
        workspace: WorkspaceId,
        shard: int,
        *,
        before: tuple[datetime, RequestId] | None,
        limit: int,
    ) -> Sequence[HistoryRow]:
        """As history, of the dead-lettered requests alone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeKey:
    """Where a notice stands: its workspace, recipient and id."""

    workspace_id: WorkspaceId
    recipient: Recipient
    notice_id: NoticeId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMark:
    """Up to when (created_at, included) a recipient has read everything, and when they said so."""

    read_up_to: datetime
    marked_at: datetime


class NoticeStore(Protocol):
    """Notices with their deliveries, and each recipient's read mark."""

    def get(self, key: NoticeKey) -> Notice | None:
        """One notice, strongly consistent."""
        ...

    def get_many(self, keys: Sequence[NoticeKey], *, consistent: bool = True) -> Mapping[NoticeKey, Notice]:
        """Those of the notices that are stored."""
        ...

    def put(self, new: Notice, was: Notice | None) -> None:
        """Write a notice's next version under guard_notice."""
        ...

    def repair(self, new: Notice, was: Notice) -> None:
        """Write a notice's next version over what the lifecycle may not lead from: only the version is guarded."""
        ...

    def damaged(self, keys: Sequence[NoticeKey]) -> Sequence[NoticeKey]:
        """Those of the notices that an index shows otherwise than their content amounts to, strongly consistent."""
        ...

    def generations(self, workspace: WorkspaceId, recipient: Recipient, fold: str) -> Iterator[Notice]:
        """The generations of a fold key, newest first, strongly consistent, read as far as they are asked for."""
        ...

    def read_mark(self, workspace: WorkspaceId, recipient: Recipient) -> ReadMark | None:
        """A recipient's read mark, strongly consistent."""
        ...

    def mark_read(self, workspace: WorkspaceId, recipient: Recipient, mark: ReadMark) -> None:
        """Move the mark forward, in one write; one that lies further already stays."""
        ...

    def unread_count(self, workspace: WorkspaceId, recipient: Recipient, *, after: datetime | None, limit: int) -> int:
        """How many unread notices were created after a moment, counted up to the limit, strongly consistent."""
        ...

    def inbox(
        self,
        workspace: WorkspaceId,
        recipient: Recipient,
        *,
        before: tuple[datetime, NoticeId] | None,
        limit: int,
    ) -> Sequence[Notice]:
        """Console notices, newest first by (created_at, id), strictly before a place, strongly consistent."""
        ...

    def attention(
        self, workspace: WorkspaceId, shard: int, *, before: tuple[datetime, NoticeKey] | None, limit: int
    ) -> Sequence[Notice]:
        """Notices with a failed delivery, the latest failed_at first; the index may lag."""
        ...


# ---------------------------------------------------------------- queues


class QueueName(StrEnum):
    """The queues, by what consumes them."""

    REQUESTS = "requests"
    CHAT = "chat"
    TEXT = "text"
    SYSTEM = "system"
    RECONCILE = "reconcile"
    RECEIPTS = "receipts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to be sent: a JSON object, in the group of its workspace (fair queues)."""

    body: Mapping[str, Any]
    group: WorkspaceId
    delay_seconds: int = 0


class Queues(Protocol):
    """Sending and measuring."""

    def send(self, queue: QueueName, messages: Sequence[Message]) -> None:
        """Send all of them, ten a call; StoreUnavailable when any could not be sent."""
        ...

    def backlog(self, queue: QueueName) -> int:
        """About how many messages wait in the queue, visible or not."""
        ...


class Inbox(Protocol):
    """What a consumer asks of the queue that it reads."""

    def extend_visibility(self, queue: QueueName, receipt_handle: str, seconds: int) -> None:
        """Hide a received message for so long from now; one that is no longer ours stays as it is."""
        ...

    def keep_dead(self, queue: QueueName, receipt_handle: str) -> None:
        """Hide a letter of the queue's dead-letter queue for as long as a queue can: it stays."""
        ...

    def move_to_dead_letters(self, queue: QueueName, body: str, reason: str) -> None:
        """Put a body, as it came, into the queue's dead-letter queue with the reason beside it."""
        ...


# ---------------------------------------------------------------- providers


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One delivery to be sent: exactly one wire call is made for it.

    `address` is a Slack user id, an E.164 number or the headquarters' channel. `text` is the plain body (for Slack the
    fallback, already escaped), `blocks` Slack's Block Kit. `time_to_live_seconds` ends at the request's expiry.
    """

    workspace_id: WorkspaceId
    recipient: Recipient
    notice_id: NoticeId
    channel: Channel
    delivery_id: DeliveryId
    claim_id: ClaimId
    address: str
    text: str
    blocks: Sequence[Mapping[str, Any]] | None = None
    time_to_live_seconds: int | None = None


class Sender(Protocol):
    """A provider's sending side; it never raises for what the provider or the network does."""

    def send(self, outgoing: Outgoing) -> SendResult:
        """Make one wire call and say what came of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceQuery:
    """A claimed delivery whose result is unknown."""

    workspace_id: WorkspaceId
    channel: Channel
    delivery_id: DeliveryId
    claim_id: ClaimId
    claimed_at: datetime
    address: str


class EvidenceSource(Protocol):
    """A provider's own record of what it sent."""

    def look_up(self, query: EvidenceQuery) -> Evidence:
        """Find the delivery's claim in the record; Untold when it can't be read."""
        ...


# ---------------------------------------------------------------- the rest of the world


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """The time now, aware, UTC."""
        ...


class Gather(Protocol):
    """Doing several things at once."""

    def __call__(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Each task's value, in order, once all have ended; the first failure is raised after that."""
        ...


class Telemetry(Protocol):
    """Metrics and structured log lines; never content, addresses or tokens."""

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add to a metric, summed over the invocation."""
        ...

    def observe(self, metric: str, seconds: float, **dimensions: str) -> None:
        """Record a duration."""
        ...

    def info(self, event: str, **fields: str | float | None) -> None:
        """Log what happened."""
        ...

    def alarm(self, event: str, **fields: str | float | None) -> None:
        """Log what an operator has to know of."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything a use case may ask of the world."""

    registry: RegistryStore
    directory: DirectoryStore
    requests: RequestStore
    notices: NoticeStore
    queues: Queues
    clock: Clock
    gather: Gather
    telemetry: Telemetry
    new_claim_id: Callable[[], ClaimId]
    senders: Mapping[Channel, Sender] = field(default_factory=dict[Channel, Sender])
    evidence: Mapping[Channel, EvidenceSource] = field(default_factory=dict[Channel, EvidenceSource])
    hq_channel: str = ""
