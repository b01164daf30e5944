"""Workspaces and people, as the platform knows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import PersonId, WorkspaceId


class WorkspaceStatus(StrEnum):
    """Whether a workspace takes new publications."""

    OPERATIONAL = "operational"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A tenant; `channels` are switched on, `shards` spread its indexes and only grow. Version 0 isn't stored yet."""

    workspace_id: WorkspaceId
    name: str
    status: WorkspaceStatus = WorkspaceStatus.OPERATIONAL
    channels: frozenset[Channel] = frozenset()
    shards: int = 1
    version: int = 0

    @property
    def is_operational(self) -> bool:
        """Whether its publications are accepted and its definitions may be retired."""
        return self.status is WorkspaceStatus.OPERATIONAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who can be told; `opt_outs` maps a category to the channels declined. Version 0 isn't stored yet."""

    workspace_id: WorkspaceId
    person_id: PersonId
    name: str
    active: bool = True
    locale: str | None = None
    timezone: str | None = None
    slack_user_id: str | None = None
    phone: str | None = None
    teams: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    opt_outs: Mapping[str, tuple[Channel, ...]] = field(default_factory=dict[str, tuple[Channel, ...]])
    version: int = 0

    def address(self, channel: Channel) -> str | None:
        """Where the channel reaches this person: Slack user id or E.164 number."""
        return {Channel.CHAT: self.slack_user_id, Channel.TEXT: self.phone}.get(channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """What is known of one channel of one workspace: `blocked_until` by Retry-After, an open circuit with its reason.

    A circuit's `probe_at` is when one delivery may try whether the refusal is over. Version 0 is not stored yet.
    """

    workspace_id: WorkspaceId
    channel: Channel
    blocked_until: datetime | None = None
    open_since: datetime | None = None
    open_reason: str | None = None
    probe_at: datetime | None = None
    version: int = 0
