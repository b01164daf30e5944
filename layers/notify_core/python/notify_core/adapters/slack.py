"""Slack: posting a delivery, and finding in a conversation what became of one."""

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from slack_sdk.errors import SlackApiError
from slack_sdk.web.client import WebClient

from notify_core.adapters.kept_connections import KeptConnections
from notify_core.adapters.secrets import Secrets, SecretUnavailable
from notify_core.adapters.slack_results import TOKEN_CODES, Refusal, classify_answer, classify_fault
from notify_core.application.ports import EvidenceQuery, Outgoing
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import WorkspaceId
from notify_core.domain.limits import CLOCK_SKEW_SECONDS, PROVIDER_TIMEOUT_SECONDS
from notify_core.domain.send_result import (
    Absent,
    Delivered,
    Evidence,
    Found,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unknown,
    Untold,
)

if TYPE_CHECKING:
    from urllib.request import Request  # noqa: TID251  (what slack_sdk describes a call with; it opens nothing)

EVENT_TYPE: Final = "notify_delivery"
HISTORY_PAGE_MESSAGES: Final = 200
HISTORY_PAGES_MAX: Final = 10
"""How far a conversation is searched: beyond that the search says nothing."""
_RETRY_AFTER: Final = "Retry-After"
_SILENT: Final = logging.getLogger("notify_core.slack_sdk")
_SILENT.setLevel(logging.CRITICAL + 1)
"""slack_sdk's own logger: by default it formats every request, and its lines may quote an answer."""


class SlackAnswer(Protocol):
    """What is used of slack_sdk's SlackResponse."""

    headers: Mapping[str, str]
    status_code: int

    def get(self, key: str) -> Any:  # noqa: ANN401  (whatever Slack says)
        """A member of the answer; None when it isn't there."""
        ...


class SlackClient(Protocol):
    """What is used of slack_sdk's WebClient; every method raises for what isn't a success."""

    def chat_postMessage(self, **arguments: Any) -> SlackAnswer:  # noqa: N802  (the name of Slack's method)
        """Post a message."""
        ...

    def conversations_open(self, **arguments: Any) -> SlackAnswer:
        """Find or begin a direct conversation."""
        ...

    def conversations_history(self, **arguments: Any) -> SlackAnswer:
        """A page of a conversation, newest first."""
        ...


Connect = Callable[[str], SlackClient]
"""Makes a client that uses a token."""


def connector(base_url: str, *, timeout_seconds: float = PROVIDER_TIMEOUT_SECONDS) -> Connect:
    """How to make clients of the Slack at an address: each call is one wire call, its every step bounded."""
    connections = KeptConnections(base_url, timeout_seconds=timeout_seconds)

    @lru_cache
    def connect(token: str) -> SlackClient:
        client: Any = KeepingClient(
            token=token,
            base_url=base_url,
            timeout=cast("int", timeout_seconds),
            retry_handlers=[],
            logger=_SILENT,
        )
        client.connections = connections
        return cast("SlackClient", client)

    return connect


class KeepingClient(WebClient):
    """slack_sdk's client over kept connections: urllib, which it uses, ends each after its call."""

    connections: KeptConnections

    def _perform_urllib_http_request_internal(self, url: str, req: "Request") -> dict[str, Any]:
        """The one wire call of a method; where a proxy is set, slack_sdk's own."""
        if self.proxy:
            return super()._perform_urllib_http_request_internal(url, req)
        assert isinstance(req.data, bytes)
        answer, content = self.connections.call("POST", req.selector, req.data, req.headers)
        headers = dict(answer.headers)
        if (seconds := answer.headers[_RETRY_AFTER]) is not None:
            headers[_RETRY_AFTER] = seconds  # however it was written
        charset = answer.headers.get_content_charset() or "utf-8"
        return {"status": answer.status, "headers": headers, "body": content.decode(charset)}


class SlackTokens:
    """Bot tokens: a workspace's own, else the default one; the headquarters' channel has its own."""

    _HQ: Final = "hq"
    _DEFAULT: Final = "default"

    def __init__(self, secrets: Secrets, *, prefix: str) -> None:
        self._secrets = secrets
        self._prefix = prefix

    def read(self, workspace: WorkspaceId, channel: Channel) -> str | None:
        """The token to use; None when there is none.

        Raises:
            SecretUnavailable: Secrets Manager can't tell.
        """
        tokens = (self._secrets.read(name) for name in self._names(workspace, channel))
        return next((token for token in tokens if token is not None), None)

    def refuse(self, workspace: WorkspaceId, channel: Channel, token: str) -> None:
        """Slack refused this token: next time it is read anew, and whether the workspace has its own."""
        for name in self._names(workspace, channel):
            self._secrets.forget(name, refused=token)
            self._secrets.forget(name, refused=None)

    def _names(self, workspace: WorkspaceId, channel: Channel) -> list[str]:
        if channel is Channel.SLACK_SYSTEM:
            return [self._prefix + self._HQ]
        # A workspace that happens to be called "hq" must not speak as the headquarters.
        own = [] if workspace == self._HQ else [self._prefix + workspace]
        return [*own, self._prefix + self._DEFAULT]


class SlackSender:
    """Posts deliveries: direct messages (`chat`) and the headquarters' alerts (`slack_system`)."""

    def __init__(self, tokens: SlackTokens, connect: Connect) -> None:
        self._tokens = tokens
        self._connect = connect

    def send(self, outgoing: Outgoing) -> SendResult:
        """Make one wire call; without a usable token none, and the workspace's circuit opens."""
        try:
            token = self._tokens.read(outgoing.workspace_id, outgoing.channel)
        except SecretUnavailable:
            return Rejected(reason="token_unreadable", scope=RejectionScope.WORKSPACE)
        if token is None:
            return Rejected(reason="token_missing", scope=RejectionScope.WORKSPACE)
        result = self._post(outgoing, token)
        if isinstance(result, Rejected) and result.reason in TOKEN_CODES:
            self._tokens.refuse(outgoing.workspace_id, outgoing.channel, token)
        return result

    def _post(self, outgoing: Outgoing, token: str) -> SendResult:
        try:
            answer = self._connect(token).chat_postMessage(
                channel=outgoing.address,
                text=outgoing.text,
                blocks=None if outgoing.blocks is None else [dict(block) for block in outgoing.blocks],
                metadata=_metadata(outgoing),
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
            )
        except SlackApiError as refusal:
            return _refused(refusal)
        except Exception as fault:  # noqa: BLE001  (a sender gives a result, whatever the network does)
            return classify_fault(fault)
        return _delivered(answer)


class SlackEvidence:
    """Finds a delivery in its conversation, by the metadata that every post carries."""

    def __init__(self, tokens: SlackTokens, connect: Connect) -> None:
        self._tokens = tokens
        self._connect = connect

    def look_up(self, query: EvidenceQuery) -> Evidence:
        """Search the conversation from the claim on; Untold unless it was read to its end."""
        try:
            token = self._tokens.read(query.workspace_id, query.channel)
        except SecretUnavailable:
            return Untold(reason="token_unreadable")
        if token is None:
            return Untold(reason="token_missing")
        try:
            return self._search(query, token)
        except _UnreadMessages:
            return Untold(reason="conversation_too_long")
        except SlackApiError as refusal:
            return self._untold(query, token, _refused(refusal))
        except Exception as fault:  # noqa: BLE001  (evidence tells or it doesn't, whatever the network does)
            return Untold(reason=classify_fault(fault).reason)

    def _untold(self, query: EvidenceQuery, token: str, refusal: Refusal) -> Untold:
        if isinstance(refusal, Throttled):
            return Untold(reason="throttled")
        if refusal.reason in TOKEN_CODES:
            self._tokens.refuse(query.workspace_id, query.channel, token)
        return Untold(reason=refusal.reason)

    def _search(self, query: EvidenceQuery, token: str) -> Evidence:
        client = self._connect(token)
        conversation = _conversation(client, query)
        if conversation is None:
            return Untold(reason="no_conversation")
        oldest = query.claimed_at - timedelta(seconds=CLOCK_SKEW_SECONDS)
        for page in _pages(client, conversation, oldest):
            for message in page:
                # Another claim of the same delivery counts too: sent later than anybody waited for it.
                if _delivery_id(message) == query.delivery_id:
                    return Found(provider_id=message["ts"], provider_channel=conversation)
        return Absent()


def _conversation(client: SlackClient, query: EvidenceQuery) -> str | None:
    """Where the delivery would stand: history takes no user id, so the direct conversation is opened."""
    if query.channel is Channel.SLACK_SYSTEM:
        return query.address
    channel: Mapping[str, Any] = client.conversations_open(users=query.address).get("channel") or {}
    return channel.get("id")


class _UnreadMessages(Exception):
    """A conversation goes on beyond what is read of it."""


def _pages(client: SlackClient, conversation: str, oldest: datetime) -> Iterator[list[dict[str, Any]]]:
    """A conversation's messages since then, page by page; _UnreadMessages if it goes on beyond the last one."""
    cursor: str | None = None
    for _ in range(HISTORY_PAGES_MAX):
        answer = client.conversations_history(
            channel=conversation,
            oldest=f"{oldest.timestamp():.6f}",
            include_all_metadata=True,
            limit=HISTORY_PAGE_MESSAGES,
            cursor=cursor,
        )
        yield answer.get("messages")
        metadata: Mapping[str, Any] = answer.get("response_metadata") or {}
        cursor = metadata.get("next_cursor")
        if not cursor:
            if answer.get("has_more"):
                break
            return
    raise _UnreadMessages


def _metadata(outgoing: Outgoing) -> dict[str, Any]:
    payload = {"delivery_id": outgoing.delivery_id, "claim_id": outgoing.claim_id}
    return {"event_type": EVENT_TYPE, "event_payload": payload}


def _delivery_id(message: Mapping[str, Any]) -> object:
    metadata: Mapping[str, Any] = message.get("metadata") or {}
    payload: Mapping[str, Any] = metadata.get("event_payload") or {}
    return payload.get("delivery_id") if metadata.get("event_type") == EVENT_TYPE else None


def _delivered(answer: SlackAnswer) -> SendResult:
    timestamp, channel = answer.get("ts"), answer.get("channel")
    if not timestamp:
        return Unknown(reason="no_timestamp")
    return Delivered(provider_id=timestamp, provider_channel=channel)


def _refused(refusal: SlackApiError) -> Refusal:
    answer = cast("SlackAnswer", refusal.response)
    return classify_answer(answer.status_code, answer.get("error"), answer.headers.get("Retry-After"))
