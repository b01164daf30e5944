"""Values of the domain, valid by default; whatever a test is about it names itself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.directory import ChannelState, Person, Workspace
from notify_core.domain.identifiers import (
    ClaimId,
    DefinitionKey,
    NoticeId,
    PersonId,
    Recipient,
    RequestId,
    WorkspaceId,
    request_id,
)
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import ConsoleContent, Contributor, Delivery, Notice, TimelineEntry, What
from notify_core.domain.request import Audience, ManifestEntry, Planned, Publication, Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DEADLINE = NOON + timedelta(days=7)
ACME = WorkspaceId("acme")
INVOICE = DefinitionKey("invoice.overdue")
ANA = Recipient("ana")
CLAIM = ClaimId("claim-1")
CONTENT = ConsoleContent(title="Invoice 42", body="It is overdue.", category="billing")


def at(**units: float) -> datetime:
    """A moment counted from noon: `at(minutes=5)`, `at(days=-1)`."""
    return NOON + timedelta(**units)


# ---------------------------------------------------------------- registry and directory


def a_workspace(**changes: Any) -> Workspace:
    workspace = Workspace(
        workspace_id=ACME,
        name="Acme",
        channels=frozenset({Channel.CONSOLE, Channel.CHAT, Channel.TEXT}),
        version=1,
    )
    return replace(workspace, **changes)


def a_person(person: str = "ana", **changes: Any) -> Person:
    """Somebody whom every channel reaches."""
    known = Person(
        workspace_id=ACME,
        person_id=PersonId(person),
        name=person.title(),
        slack_user_id=f"U{person.upper()}",
        phone="+12065550142",
        version=1,
    )
    return replace(known, **changes)


def a_definition(**changes: Any) -> Definition:
    """A kind of notification for people, over every channel of theirs; it neither replaces nor folds."""
    definition = Definition(
        workspace_id=ACME,
        key=INVOICE,
        version=1,
        title="Invoice overdue",
        category="billing",
        critical=False,
        channels=(Channel.CONSOLE, Channel.CHAT, Channel.TEXT),
        schema={
            "type": "object",
            "required": ["number"],
            "properties": {"number": {"type": "string"}},
        },
        templates={
            Channel.CONSOLE: {"title": "Invoice {{ number }}", "body": "It is overdue."},
            Channel.CHAT: {"text": "Invoice {{ number }} is overdue.", "blocks": None},
            Channel.TEXT: {"body": "Invoice {{ number }} is overdue."},
        },
        expires_after=timedelta(days=7),
    )
    return replace(definition, **changes)


def a_channel_state(channel: Channel = Channel.CHAT, **changes: Any) -> ChannelState:
    """A channel that nothing speaks against."""
    return replace(ChannelState(workspace_id=ACME, channel=channel, version=1), **changes)


# ---------------------------------------------------------------- publications and requests


def a_publication(request_key: str = "inv-42:1", **changes: Any) -> Publication:
    """A publication to one person, made at noon; its id follows from its keys."""
    workspace = changes.get("workspace_id", ACME)
    definition = changes.get("definition", INVOICE)
    publication = Publication(
        workspace_id=ACME,
        definition=INVOICE,
        request_key=request_key,
        request_id=request_id(workspace, definition, request_key),
        published_at=NOON,
        data={"number": "42"},
        audience=Audience(people=("ana",)),
        content_hash="0123456789abcdef",
    )
    return replace(publication, **changes)


def planned(channel: Channel, state: DeliveryState | None = None, reason: DeliveryReason | None = None) -> Planned:
    """How a channel begins: the console `delivered`, any other `queued`, unless told."""
    begins = DeliveryState.QUEUED if channel.is_sent else DeliveryState.DELIVERED
    return Planned(channel=channel, state=state or begins, reason=reason)


def an_entry(recipient: str = ANA, *plan: Channel | Planned) -> ManifestEntry:
    """A recipient's line of the manifest: console and chat unless told."""
    channels = plan or (Channel.CONSOLE, Channel.CHAT)
    return ManifestEntry(
        recipient=Recipient(recipient),
        plan=tuple(item if isinstance(item, Planned) else planned(item) for item in channels),
    )


def a_queued_request(request_key: str = "inv-42:1", **changes: Any) -> Request:
    """A publication recorded at noon and without an outcome yet."""
    request = Request(
        workspace_id=ACME,
        request_id=request_id(ACME, INVOICE, request_key),
        definition=INVOICE,
        request_key=request_key,
        state=RequestState.QUEUED,
        recorded_at=NOON,
        version=1,
        definition_version=1,
        published_at=NOON,
        expires_at=DEADLINE,
        due_at=at(minutes=1),
        data={"number": "42"},
        audience=Audience(people=("ana",)),
        content_hash="0123456789abcdef",
    )
    return replace(request, **changes)


def a_request(request_key: str = "inv-42:1", *entries: ManifestEntry, **changes: Any) -> Request:
    """An open request, accepted at noon for one person unless told."""
    request = a_queued_request(
        request_key,
        state=RequestState.OPEN,
        caused_by=Actor.PROCESSOR,
        accepted_at=NOON,
        due_at=at(seconds=90),
        manifest=entries or (an_entry(),),
        audience=None,
    )
    return replace(request, **changes)


def a_closed_request(state: RequestState, request_key: str = "inv-42:1", **changes: Any) -> Request:
    """A request that was accepted and then ended: by its producer, by retirement (`cancelled`), or settled."""
    by, reason = {
        RequestState.SUPERSEDED: (Actor.PRODUCER, RequestReason.WITHDRAWN),
        RequestState.CANCELLED: (Actor.RETIREMENT, RequestReason.DEFINITION_RETIRED),
        RequestState.SETTLED: (Actor.SWEEP, None),
    }[state]
    request = a_request(
        request_key,
        state=state,
        caused_by=by,
        reason=reason,
        version=2,
        closed_at=at(minutes=10),
        due_at=at(minutes=11),
    )
    return replace(request, **changes)


def a_tombstone(request_key: str = "inv-42:1", **changes: Any) -> Request:
    """What a withdrawal leaves before its publication arrives."""
    request = a_queued_request(
        request_key,
        state=RequestState.CANCELLED,
        reason=RequestReason.WITHDRAWN,
        caused_by=Actor.PRODUCER,
        definition_version=None,
        published_at=None,
        expires_at=None,
        closed_at=NOON,
        due_at=None,
        data=None,
        audience=None,
        content_hash="",
    )
    return replace(request, **changes)


# ---------------------------------------------------------------- notices

_FIELDS: dict[DeliveryState, dict[str, Any]] = {
    DeliveryState.DEFERRED: {"attempts": 1, "reason": "unavailable", "next_at": at(minutes=1)},
    DeliveryState.SENDING: {"claim_id": CLAIM, "claimed_at": NOON},
    DeliveryState.SENT: {"attempts": 1, "claim_id": CLAIM, "claimed_at": NOON, "provider_id": "p-1"},
    DeliveryState.BOUNCED: {"attempts": 1, "reason": "unreachable", "provider_id": "p-1"},
    DeliveryState.FAILED: {"attempts": 5, "reason": DeliveryReason.ATTEMPTS_EXHAUSTED},
    DeliveryState.CANCELLED: {"reason": DeliveryReason.WITHDRAWN},
    DeliveryState.EXPIRED: {"reason": DeliveryReason.AGE},
    DeliveryState.SKIPPED: {"reason": DeliveryReason.NO_ADDRESS},
    DeliveryState.UNAVAILABLE: {"reason": DeliveryReason.CHANNEL_OFF},
}


def a_delivery(
    state: DeliveryState = DeliveryState.QUEUED, channel: Channel = Channel.CHAT, **changes: Any
) -> Delivery:
    """A delivery in a state, with what such a delivery has."""
    delivery = Delivery(channel=channel, state=state, updated_at=NOON, **_FIELDS.get(state, {}))
    return replace(delivery, **changes)


def console(state: DeliveryState = DeliveryState.DELIVERED) -> Delivery:
    """The console's delivery."""
    return a_delivery(state, Channel.CONSOLE)


def a_contributor(request: str = "request-1", **changes: Any) -> Contributor:
    return replace(Contributor(request_id=RequestId(request), published_at=NOON, joined_at=NOON), **changes)


def a_notice(*deliveries: Delivery, **changes: Any) -> Notice:
    """A stored notice of one request, with the deliveries given; console delivered and chat queued unless told."""
    notice = Notice(
        workspace_id=ACME,
        recipient=ANA,
        notice_id=NoticeId("request-1"),
        definition=INVOICE,
        created_at=NOON,
        expires_at=DEADLINE,
        contributors=(a_contributor(),),
        deliveries=deliveries or (console(), a_delivery()),
        version=1,
        content=CONTENT,
        timeline=(TimelineEntry(at=NOON, channel=None, source=None, target=What.CREATED, by=Actor.PROCESSOR),),
    )
    return replace(notice, **changes)
