"""Values as the use cases make them, valid by default."""

from dataclasses import MISSING, Field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import (
    DefinitionKey,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
    request_id,
)
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import ConsoleContent, Notice, created, first_notice
from notify_core.domain.request import Audience, ManifestEntry, Planned, Request, moved
from notify_core.domain.request_lifecycle import RequestEvent, RequestState

NOON = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC)
INVOICE = DefinitionKey("invoice.overdue")
ANA = Recipient("ana")
CONTENT = ConsoleContent(title="Invoice 42", body="It is overdue.", category="billing")


def at(seconds: float) -> datetime:
    """A moment, counted from noon."""
    return NOON + timedelta(seconds=seconds)


def a_workspace(workspace: WorkspaceId, **changes: Any) -> Workspace:
    return Workspace(
        **{
            "workspace_id": workspace,
            "name": "Acme",
            "channels": frozenset({Channel.CONSOLE, Channel.CHAT}),
            "version": 1,
            **changes,
        }
    )


def a_definition(workspace: WorkspaceId, **changes: Any) -> Definition:
    return Definition(
        **{
            "workspace_id": workspace,
            "key": INVOICE,
            "version": 1,
            "title": "Invoice overdue",
            "category": "billing",
            "critical": False,
            "channels": (Channel.CONSOLE, Channel.CHAT),
            "schema": {"type": "object", "properties": {"number": {"type": "string"}}},
            "templates": {
                Channel.CONSOLE: {"title": "Invoice {{ number }}", "body": "…", "locales": {"fr": {"title": "é"}}},
                Channel.CHAT: {"text": "…", "blocks": None},
            },
            "expires_after": timedelta(days=7),
            **changes,
        }
    )


def a_person(workspace: WorkspaceId, person: str = "ana", **changes: Any) -> Person:
    return Person(**{"workspace_id": workspace, "person_id": PersonId(person), "name": "Ana", "version": 1, **changes})


def a_request(workspace: WorkspaceId, request_key: str = "inv-42:1", **changes: Any) -> Request:
    """A publication recorded as queued, its first version."""
    return Request(
        **{
            "workspace_id": workspace,
            "request_id": request_id(workspace, INVOICE, request_key),
            "definition": INVOICE,
            "request_key": request_key,
            "state": RequestState.QUEUED,
            "recorded_at": NOON,
            "version": 1,
            "published_at": at(-1),
            "expires_at": at(7 * 86_400),
            "due_at": at(60),
            "data": {"number": "42"},
            "audience": Audience(people=("ana",)),
            "content_hash": "0123456789abcdef",
            **changes,
        }
    )


def an_entry(recipient: str = "ana", *channels: Channel) -> ManifestEntry:
    """A recipient with work on each of the channels; chat alone where none is named."""
    return ManifestEntry(
        recipient=Recipient(recipient),
        plan=tuple(
            Planned(
                channel=channel,
                state=DeliveryState.DELIVERED if channel is Channel.CONSOLE else DeliveryState.QUEUED,
            )
            for channel in channels or (Channel.CHAT,)
        ),
    )


def accepted(queued: Request, *entries: ManifestEntry, now: datetime = NOON, **changes: Any) -> Request:
    """The next version of a queued request, accepted; its `version` is 1 when it wasn't stored before."""
    return moved(
        queued,
        RequestEvent.ACCEPT,
        RequestState.OPEN,
        by=Actor.PROCESSOR,
        now=now,
        **{
            "definition_version": 1,
            "accepted_at": now,
            "due_at": now + timedelta(seconds=90),
            "manifest": entries or (an_entry(),),
            **changes,
        },
    )


def an_open_request(workspace: WorkspaceId, request_key: str = "inv-42:1", **changes: Any) -> Request:
    """A publication accepted at once, its first version."""
    return accepted(a_request(workspace, request_key, version=0), **changes)


def a_notice(
    workspace: WorkspaceId,
    *channels: Channel,
    request_key: str = "inv-42:1",
    recipient: str = "ana",
    at: datetime = NOON,
    **changes: Any,
) -> Notice:
    """A notice as it is first stored: of chat alone where no channel is named."""
    entry = an_entry(recipient, *channels)
    request = accepted(a_request(workspace, request_key, version=0), entry, now=at)
    content = CONTENT if Channel.CONSOLE in channels else None
    return replace(created(first_notice(request, entry, content=content)), **changes)


def first_value(workspace: WorkspaceId, *channels: Channel, recipient: str = "ana") -> Notice:
    """A notice that isn't stored yet."""
    entry = an_entry(recipient, *channels)
    return first_notice(accepted(a_request(workspace, version=0), entry), entry)


def other_request_id(number: int) -> RequestId:
    return RequestId(f"request-{number:04d}")


def defaults_of(value: Any) -> set[str]:
    """The fields of a dataclass that a value leaves as they are by default."""
    return {field.name for field in fields(value) if getattr(value, field.name) == _default(field)}


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()
