"""Definitions: registered kinds of notification."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId

RESERVED_FIELD: Final = "recipient"
"""What templates call the person who is told, so the data can't."""


class DefinitionState(StrEnum):
    """Whether publications of it are accepted."""

    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One version of a kind of notification; a version's content never changes, its state does once.

    `retired_version` is the newest version that was retired, which one registered again since remembers; 0 for none.
    `schema` is the JSON Schema of the data, `templates` maps a channel to its templates as registered
    (`{"title", "body", "locales"}`, `{"text", "blocks"}`, `{"body", "locales"}`).
    """

    workspace_id: WorkspaceId
    key: DefinitionKey
    version: int
    title: str
    category: str
    critical: bool
    channels: tuple[Channel, ...]
    schema: Mapping[str, Any]
    templates: Mapping[Channel, Mapping[str, Any]]
    expires_after: timedelta
    replace_previous: bool = False
    fold_within: timedelta | None = None
    state: DefinitionState = DefinitionState.ACTIVE
    retired_at: datetime | None = None
    retired_version: int = 0

    @property
    def is_hq_alert(self) -> bool:
        """Whether it tells the headquarters' channel instead of people."""
        return self.channels == (Channel.SLACK_SYSTEM,)

    @property
    def is_active(self) -> bool:
        """Whether publications of it are accepted."""
        return self.state is DefinitionState.ACTIVE

    def has_retired(self, version: int | None) -> bool:
        """Whether the version that a request pins was retired, whatever was registered since."""
        return not self.is_active or (version is not None and version <= self.retired_version)


def content_of(definition: Definition) -> str:
    """What is equal for two definitions exactly if they say the same; version and state don't count."""
    content = (
        definition.title,
        definition.category,
        definition.critical,
        definition.channels,
        definition.schema,
        definition.templates,
        definition.expires_after.total_seconds(),
        definition.replace_previous,
        definition.fold_within and definition.fold_within.total_seconds(),
    )
    return json.dumps(content, sort_keys=True)
