"""Whom and what the benchmarks tell, and the stub with rows that the product itself wrote."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import botocore.session

from bench import stub, worker
from bench.stub import Stub
from bench.worker import Plan
from infra.specs import Table
from notify_core.adapters.dynamodb import DynamoStores, TableNames, connect
from notify_core.application.ports import DirectoryStore, Message, RegistryStore
from notify_core.application.tasks import QUEUE_OF, DispatchTask, SweepTask, message_of
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import (
    DefinitionKey,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
    request_id,
    unfolded_notice_id,
)
from notify_core.domain.limits import BATCH_MESSAGES

WORKSPACE: Final = WorkspaceId("acme")
PEOPLE: Final = 200
EXPIRES_AFTER: Final = timedelta(days=7)
_DATA: Final = {"number": "2026-0042", "customer": "Blue & Sons", "days_overdue": 12, "amount": "€ 1,200"}
_TEMPLATES: Final[Mapping[Channel, Mapping[str, Any]]] = {
    Channel.CONSOLE: {
        "title": "Invoice {{ number }} is overdue",
        "body": "{{ customer }} has owed {{ amount }} for {{ days_overdue }} days.",
    },
    Channel.CHAT: {
        "text": "Invoice {{ number }}: {{ customer }} has owed {{ amount }} for {{ days_overdue }} days.",
        "blocks": None,
    },
    Channel.TEXT: {"body": "Invoice {{ number }}: {{ customer }} owes {{ amount }}."},
    Channel.SLACK_SYSTEM: {"text": "Invoices can't be imported: {{ number }}", "blocks": None},
}


class Stores(Protocol):
    """Where a workspace is registered."""

    @property
    def registry(self) -> RegistryStore:
        """Workspaces and definitions."""
        ...

    @property
    def directory(self) -> DirectoryStore:
        """People."""
        ...


def register(stores: Stores, people: int = PEOPLE) -> None:
    """A workspace of so many people, each on Slack and with a phone."""
    channels = frozenset({Channel.CONSOLE, Channel.CHAT, Channel.TEXT})
    stores.registry.put_workspace(Workspace(workspace_id=WORKSPACE, name="Acme", channels=channels, version=1), None)
    for number in range(people):
        person = Person(
            workspace_id=WORKSPACE,
            person_id=PersonId(person_id(number)),
            name=f"Person Number {number}",
            slack_user_id=f"U0{number:09d}",
            phone=f"+1206555{number:04d}",
            version=1,
        )
        stores.directory.put_person(person, None)


def define(stores: Stores, *channels: Channel, folds: bool = False) -> DefinitionKey:
    """A definition over these channels."""
    key = DefinitionKey(".".join(["invoice", *(channel.value for channel in channels), *(["fold"] * folds)]))
    if stores.registry.definition(WORKSPACE, key, consistent=True) is None:
        definition = Definition(
            workspace_id=WORKSPACE,
            key=key,
            version=1,
            title="Invoice overdue",
            category="billing",
            critical=False,
            channels=channels,
            schema={"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}},
            templates={channel: _TEMPLATES[channel] for channel in channels},
            expires_after=EXPIRES_AFTER,
            fold_within=timedelta(hours=1) if folds else None,
        )
        stores.registry.put_definition(definition, None)
    return key


def person_id(number: int) -> str:
    """One of the people."""
    return f"person-{number:03d}"


def request_key(number: int) -> str:
    """One of the requests' keys."""
    return f"invoice-2026-0042:reminder-{number}"


def publication(definition: DefinitionKey, people: int, number: int, **fields: object) -> dict[str, Any]:
    """What a producer sends to tell the first so many people."""
    return {
        "type": "publish",
        "version": 1,
        "workspace_id": WORKSPACE,
        "definition": definition,
        "request_key": request_key(number),
        "published_at": datetime.now(tz=UTC).isoformat(),
        "data": _DATA,
        "audience": {"people": [person_id(person) for person in range(people)]},
        **fields,
    }


def id_of(definition: DefinitionKey, number: int) -> RequestId:
    """The request of a publication."""
    return request_id(WORKSPACE, definition, request_key(number))


def receipt(recipient: str, notice_id: str, claim_id: str) -> dict[str, Any]:
    """What the SMS service says of a text that arrived."""
    return {
        "eventType": "TEXT_DELIVERED",
        "eventVersion": "1.0",
        "eventTimestamp": int(datetime.now(tz=UTC).timestamp() * 1000),
        "isFinal": True,
        "messageId": "00000000-0000-0000-0000-000000000000",
        "context": {
            "workspace_id": WORKSPACE,
            "recipient": recipient,
            "notice_id": notice_id,
            "channel": "text",
            "claim_id": claim_id,
        },
    }


# ---------------------------------------------------------------- on the stub


def sqs_event(queue: str, bodies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The event of a batch of messages."""
    return {
        "Records": [
            {
                "messageId": f"m{number}",
                "receiptHandle": f"handle-{number}",
                "body": json.dumps(body),
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{queue}",
                "awsRegion": "us-east-1",
            }
            for number, body in enumerate(bodies)
        ]
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The stub with a workspace and an accepted request for 200 people over chat."""

    stub: Stub
    stores: DynamoStores
    definition: DefinitionKey

    def dispatches(self, people: int = PEOPLE, number: int = 0) -> list[dict[str, Any]]:
        """The events that deliver a request to the first so many people, ten a batch."""
        recipients = [person_id(person) for person in range(people)]
        return dispatches(self.definition, number, Channel.CHAT, recipients)

    def acceptance(self, people: int, number: int) -> dict[str, Any]:
        """The event of a publication to the first so many people."""
        return sqs_event("requests", [publication(self.definition, people, number)])

    def look(self, number: int) -> dict[str, Any]:
        """The event of a sweep's look at a request."""
        task = SweepTask(workspace_id=WORKSPACE, request_id=id_of(self.definition, number))
        return _batches("reconcile", [message_of(task)])[0]


def dispatches(
    definition: DefinitionKey, number: int, channel: Channel, recipients: Sequence[str]
) -> list[dict[str, Any]]:
    """The events that deliver an accepted request, ten a batch: as its acceptance sends them."""
    identity = id_of(definition, number)
    tasks = [
        DispatchTask(
            workspace_id=WORKSPACE,
            recipient=Recipient(recipient),
            notice_id=unfolded_notice_id(identity),
            request_id=identity,
            channel=channel,
            is_first=True,
        )
        for recipient in recipients
    ]
    return _batches(QUEUE_OF[channel], [message_of(task) for task in tasks])


def _batches(queue: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    bodies = [message.body for message in messages]
    return [sqs_event(queue, bodies[start : start + BATCH_MESSAGES]) for start in range(0, len(bodies), BATCH_MESSAGES)]


@contextmanager
def laid() -> Generator[Scene]:
    """The scene, which forgets every later write."""
    with stub.running() as running:
        client: Any = botocore.session.Session().create_client(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=running.url,
            verify=str(running.bundle),
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        stores = connect(TableNames(**{table.value: table.value for table in Table}), client)
        register(stores)
        scene = Scene(stub=running, stores=stores, definition=define(stores, Channel.CHAT))
        plan = Plan(folder="process_requests", events=[scene.acceptance(PEOPLE, 0)], warmups=0, rounds=1)
        worker.run(plan, running)
        running.set(remembers=False)
        yield scene
