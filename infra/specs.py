"""What each function is and what it may reach: one row a function, read by the stack."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from notify_core.domain import limits


class Table(StrEnum):
    """The tables, one kind of thing each."""

    REGISTRY = "registry"
    DIRECTORY = "directory"
    REQUESTS = "requests"
    NOTICES = "notices"


class Index(StrEnum):
    """The indexes; `INDEXES` says of which table."""

    DUE = "due"
    HISTORY = "history"
    DEAD_LETTERED = "dead_lettered"
    INBOX = "inbox"
    ATTENTION = "attention"


class Queue(StrEnum):
    """The queues; each has a dead-letter queue."""

    REQUESTS = "requests"
    CHAT = "chat"
    TEXT = "text"
    SYSTEM = "system"
    RECONCILE = "reconcile"
    RECEIPTS = "receipts"


class Secret(StrEnum):
    """The names of the secrets; a star stands for a workspace."""

    CURSOR = "notify/cursor"
    SLACK_WORKSPACES = "notify/slack/*"
    SLACK_HQ = "notify/slack/hq"


class Scope(StrEnum):
    """The OAuth scopes that the routes ask for."""

    OPERATOR = "notify/operator"
    INBOX = "notify/inbox"


class Action(StrEnum):
    """What DynamoDB can be asked about items. A transaction needs the actions of its items."""

    GET = "dynamodb:GetItem"
    BATCH_GET = "dynamodb:BatchGetItem"
    QUERY = "dynamodb:Query"
    PUT = "dynamodb:PutItem"
    UPDATE = "dynamodb:UpdateItem"
    DELETE = "dynamodb:DeleteItem"
    CHECK = "dynamodb:ConditionCheckItem"


GET, BATCH_GET, QUERY, PUT = Action.GET, Action.BATCH_GET, Action.QUERY, Action.PUT
UPDATE, DELETE, CHECK = Action.UPDATE, Action.DELETE, Action.CHECK
READ: Final = (GET, BATCH_GET, QUERY)

INDEXES: Final[Mapping[Index, Table]] = {
    Index.DUE: Table.REQUESTS,
    Index.HISTORY: Table.REQUESTS,
    Index.DEAD_LETTERED: Table.REQUESTS,
    Index.INBOX: Table.NOTICES,
    Index.ATTENTION: Table.NOTICES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """One function: its folder, what starts it, its size, and all that its role allows."""

    folder: str
    timeout_seconds: int
    memory_mb: int = 512
    consumes: tuple[Queue, ...] = ()
    consumes_dead_letters: tuple[Queue, ...] = ()
    concurrency_max: int = 2
    """Invocations at once for each queue it consumes: 2 is the least that AWS takes."""
    schedule: str | None = None
    scope: Scope | None = None
    routes: tuple[str, ...] = ()
    tables: Mapping[Table, tuple[Action, ...]]
    indexes: tuple[Index, ...] = ()
    sends: tuple[Queue, ...] = ()
    sends_dead_letters: tuple[Queue, ...] = ()
    measures: tuple[Queue, ...] = ()
    """Queues whose depth it reads."""
    secrets: tuple[Secret, ...] = ()
    sends_texts: bool = False

    @property
    def name(self) -> str:
        """Its name in the template: `process_requests` is `ProcessRequests`."""
        return pascal(self.folder)


def pascal(name: str) -> str:
    """A name in the form CloudFormation takes: `dead_letters` is `DeadLetters`."""
    return "".join(part.capitalize() for part in name.split("_"))


def looping(functions: Iterable[FunctionSpec]) -> frozenset[str]:
    """The folders of the functions that a message they send can lead back to.

    A message reaches the consumer of its queue, and that of the dead-letter queue when it fails.
    """
    functions = tuple(functions)
    following = {
        spec.folder: {
            other.folder
            for other in functions
            if set(spec.sends) & {*other.consumes, *other.consumes_dead_letters}
            or set(spec.sends_dead_letters) & set(other.consumes_dead_letters)
        }
        for spec in functions
    }
    return frozenset(folder for folder in following if folder in _reachable(folder, following))


def _reachable(start: str, following: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(following[start])
    while waiting:
        folder = waiting.pop()
        if folder not in found:
            found.add(folder)
            waiting.extend(following[folder])
    return found


FUNCTIONS: Final = (
    FunctionSpec(
        folder="process_requests",
        timeout_seconds=limits.PROCESS_TIMEOUT_SECONDS,
        memory_mb=1024,
        consumes=(Queue.REQUESTS,),
        concurrency_max=50,
        tables={
            Table.REGISTRY: (GET, QUERY),
            Table.DIRECTORY: READ,
            Table.REQUESTS: (*READ, PUT, UPDATE, CHECK),
            Table.NOTICES: (*READ, PUT),
        },
        sends=(Queue.REQUESTS, Queue.CHAT, Queue.TEXT, Queue.SYSTEM, Queue.RECONCILE),
        sends_dead_letters=(Queue.REQUESTS,),
    ),
    FunctionSpec(
        folder="deliver_chat",
        timeout_seconds=limits.DELIVER_TIMEOUT_SECONDS,
        consumes=(Queue.CHAT,),
        concurrency_max=50,
        tables={
            Table.REGISTRY: (GET, QUERY, PUT),
            Table.DIRECTORY: (GET, BATCH_GET),
            Table.REQUESTS: (GET, BATCH_GET),
            Table.NOTICES: (*READ, PUT),
        },
        sends=(Queue.CHAT,),
        secrets=(Secret.SLACK_WORKSPACES,),
    ),
    FunctionSpec(
        folder="deliver_text",
        timeout_seconds=limits.DELIVER_TIMEOUT_SECONDS,
        consumes=(Queue.TEXT,),
        concurrency_max=20,
        tables={
            Table.REGISTRY: (GET, QUERY, PUT),
            Table.DIRECTORY: (GET, BATCH_GET),
            Table.REQUESTS: (GET, BATCH_GET),
            Table.NOTICES: (*READ, PUT),
        },
        sends=(Queue.TEXT,),
        sends_texts=True,
    ),
    FunctionSpec(
        folder="deliver_system",
        timeout_seconds=limits.DELIVER_TIMEOUT_SECONDS,
        consumes=(Queue.SYSTEM,),
        tables={
            Table.REGISTRY: (GET, QUERY, PUT),
            Table.DIRECTORY: (GET, BATCH_GET),
            Table.REQUESTS: (GET, BATCH_GET),
            Table.NOTICES: (*READ, PUT),
        },
        sends=(Queue.SYSTEM,),
        secrets=(Secret.SLACK_HQ,),
    ),
    FunctionSpec(
        folder="record_receipts",
        timeout_seconds=limits.RECEIPTS_TIMEOUT_SECONDS,
        consumes=(Queue.RECEIPTS,),
        concurrency_max=20,
        tables={Table.REQUESTS: (GET, BATCH_GET), Table.NOTICES: (GET, PUT)},
    ),
    FunctionSpec(
        folder="record_dead_letters",
        timeout_seconds=limits.DEAD_LETTERS_TIMEOUT_SECONDS,
        consumes_dead_letters=tuple(Queue),
        tables={
            Table.REGISTRY: (GET,),
            Table.DIRECTORY: (GET, BATCH_GET),
            Table.REQUESTS: (GET, BATCH_GET, PUT),
            Table.NOTICES: (GET, QUERY, PUT),
        },
        sends=(Queue.REQUESTS, Queue.CHAT, Queue.TEXT, Queue.SYSTEM, Queue.RECONCILE),
    ),
    FunctionSpec(
        folder="reconcile_requests",
        timeout_seconds=limits.RECONCILE_TIMEOUT_SECONDS,
        consumes=(Queue.RECONCILE,),
        concurrency_max=20,
        tables={
            Table.REGISTRY: (GET, QUERY, PUT),
            Table.DIRECTORY: (GET, BATCH_GET),
            Table.REQUESTS: (*READ, PUT, UPDATE, CHECK),
            Table.NOTICES: (*READ, PUT, UPDATE, CHECK),
        },
        indexes=tuple(Index),
        sends=(Queue.REQUESTS, Queue.CHAT, Queue.TEXT, Queue.SYSTEM, Queue.RECONCILE),
        secrets=(Secret.SLACK_WORKSPACES, Secret.SLACK_HQ),
    ),
    FunctionSpec(
        folder="sweep_due",
        timeout_seconds=limits.SWEEP_TIMEOUT_SECONDS,
        schedule="rate(1 minute)",
        tables={Table.REGISTRY: (GET, QUERY)},
        indexes=(Index.DUE,),
        sends=(Queue.RECONCILE,),
        measures=(Queue.RECONCILE,),
    ),
    FunctionSpec(
        folder="sweep_nightly",
        timeout_seconds=limits.SWEEP_TIMEOUT_SECONDS,
        schedule="cron(17 2 * * ? *)",
        tables={Table.REGISTRY: (GET, QUERY)},
        sends=(Queue.RECONCILE,),
        measures=(Queue.RECONCILE,),
    ),
    FunctionSpec(
        folder="serve_operators",
        timeout_seconds=limits.API_TIMEOUT_SECONDS,
        scope=Scope.OPERATOR,
        routes=(
            "PUT /v1/workspaces/{ws}",
            "PUT /v1/workspaces/{ws}/people/{person}",
            "GET /v1/workspaces/{ws}/definitions",
            "PUT /v1/workspaces/{ws}/definitions/{key}",
            "GET /v1/workspaces/{ws}/definitions/{key}",
            "DELETE /v1/workspaces/{ws}/definitions/{key}",
            "POST /v1/workspaces/{ws}/requests",
            "GET /v1/workspaces/{ws}/requests",
            "GET /v1/workspaces/{ws}/requests/{request_id}",
            "POST /v1/workspaces/{ws}/requests/{request_id}/reprocess",
            "POST /v1/workspaces/{ws}/withdrawals",
            "GET /v1/workspaces/{ws}/notices/{recipient}/{notice_id}",
            "POST /v1/workspaces/{ws}/notices/{recipient}/{notice_id}/deliveries/{channel}/retry",
            "GET /v1/workspaces/{ws}/deliveries",
            "POST /v1/workspaces/{ws}/deliveries/retry",
        ),
        tables={
            Table.REGISTRY: (GET, QUERY, PUT, UPDATE, CHECK),
            Table.DIRECTORY: (*READ, PUT, UPDATE, DELETE, CHECK),
            Table.REQUESTS: (*READ, PUT, UPDATE, CHECK),
            Table.NOTICES: (*READ, PUT, UPDATE, CHECK),
        },
        indexes=tuple(Index),
        sends=(Queue.REQUESTS, Queue.CHAT, Queue.TEXT, Queue.SYSTEM, Queue.RECONCILE),
        secrets=(Secret.CURSOR,),
    ),
    FunctionSpec(
        folder="serve_inbox",
        timeout_seconds=limits.API_TIMEOUT_SECONDS,
        scope=Scope.INBOX,
        routes=(
            "GET /v1/inbox",
            "GET /v1/inbox/unread",
            "POST /v1/inbox/{notice_id}/read",
            "POST /v1/inbox/read_all",
        ),
        tables={
            Table.REGISTRY: (GET,),
            Table.REQUESTS: (BATCH_GET,),
            Table.NOTICES: (*READ, PUT, UPDATE),
        },
        indexes=(Index.INBOX,),
        secrets=(Secret.CURSOR,),
    ),
)
