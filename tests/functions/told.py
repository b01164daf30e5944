"""Whom and what the tests of the functions tell."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from notify_core.application.ports import NoticeKey
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, RequestId, WorkspaceId, request_id
from notify_core.domain.notice import Notice
from tests.builders import a_definition, a_person, a_workspace
from tests.functions.deployment import Deployment

TEN = [f"p{number}" for number in range(10)]
INVOICE = "invoice.overdue"
"""Over the app, Slack and text; `chat.only` and `hq.alert` over one channel."""


def register(deployment: Deployment) -> None:
    """A workspace with ten people and three definitions."""
    stores = deployment.stores
    stores.registry.put_workspace(a_workspace(), None)
    for number, person in enumerate(TEN):
        known = a_person(person, slack_user_id=f"U0P{number}", phone=f"+120655501{number:02d}")
        stores.directory.put_person(known, None)
    templates = a_definition().templates
    alert = {Channel.SLACK_SYSTEM: {"text": "Disk {{ number }}", "blocks": None}}
    for key, channels in (("chat.only", [Channel.CHAT]), (INVOICE, [Channel.CONSOLE, Channel.CHAT, Channel.TEXT])):
        used = {channel: templates[channel] for channel in channels}
        stores.registry.put_definition(a_definition(key=key, channels=tuple(channels), templates=used), None)
    hq = a_definition(key="hq.alert", channels=(Channel.SLACK_SYSTEM,), templates=alert)
    stores.registry.put_definition(hq, None)


def publication(request_key: str = "k1", people: Sequence[str] = TEN, **changes: Any) -> dict[str, Any]:
    return {
        "type": "publish",
        "version": 1,
        "workspace_id": "acme",
        "definition": "chat.only",
        "request_key": request_key,
        "published_at": (datetime.now(tz=UTC) - timedelta(seconds=1)).isoformat(),
        "data": {"number": "42"},
        "audience": {"people": list(people)},
        **changes,
    }


def alert(request_key: str = "k1") -> dict[str, Any]:
    return publication(request_key, definition="hq.alert", audience={"hq": True})


def id_of(request_key: str = "k1", definition: str = "chat.only") -> RequestId:
    return request_id(WorkspaceId("acme"), definition, request_key)


def notice(
    deployment: Deployment, recipient: str = "p0", request_key: str = "k1", definition: str = "chat.only"
) -> Notice:
    key = NoticeKey(
        workspace_id=WorkspaceId("acme"),
        recipient=Recipient(recipient),
        notice_id=NoticeId(id_of(request_key, definition)),
    )
    found = deployment.stores.notices.get(key)
    assert found is not None, f"{recipient} has no notice"
    return found


def states(deployment: Deployment, **of: str) -> list[str]:
    """The states of each of the ten people's only delivery."""
    return [notice(deployment, person, **of).deliveries[0].state.value for person in TEN]
