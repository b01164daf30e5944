"""The JSON of workspaces, people and definitions: as registered, with what is not said filled in."""

from typing import Any

from notify_core.api.times import duration, optional_timestamp
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person, Workspace


def workspace_json(workspace: Workspace) -> dict[str, Any]:
    """A workspace."""
    return {
        "workspace_id": workspace.workspace_id,
        "name": workspace.name,
        "status": workspace.status,
        "channels": [channel for channel in Channel if channel in workspace.channels],
        "shards": workspace.shards,
    }


def person_json(person: Person) -> dict[str, Any]:
    """A person."""
    return {
        "workspace_id": person.workspace_id,
        "person_id": person.person_id,
        "name": person.name,
        "active": person.active,
        "locale": person.locale,
        "timezone": person.timezone,
        "slack_user_id": person.slack_user_id,
        "phone": person.phone,
        "teams": list(person.teams),
        "roles": list(person.roles),
        "opt_outs": {category: list(channels) for category, channels in person.opt_outs.items()},
    }


def definition_summary_json(definition: Definition) -> dict[str, Any]:
    """A definition as it is listed, without its schema and templates."""
    return {
        "key": definition.key,
        "version": definition.version,
        "state": definition.state,
        "retired_at": optional_timestamp(definition.retired_at),
        "title": definition.title,
        "category": definition.category,
        "critical": definition.critical,
        "channels": list(definition.channels),
        "expires_after": duration(definition.expires_after),
        "replace_previous": definition.replace_previous,
        "fold": {"within": duration(definition.fold_within)} if definition.fold_within else None,
    }


def definition_json(definition: Definition) -> dict[str, Any]:
    """A definition with everything that was registered."""
    return {
        **definition_summary_json(definition),
        "schema": definition.schema,
        "templates": definition.templates,
    }
