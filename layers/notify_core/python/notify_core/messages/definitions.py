"""Definitions, as operators register them: apart, because their checks load the readers of schemas and templates."""

from typing import Any

from pydantic import Field

from notify_core.domain.definition import Definition
from notify_core.domain.definition_checks import check_definition
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId
from notify_core.domain.problem import Problem
from notify_core.messages.fields import AnyChannel, Body, Duration, read_body


class _FoldBody(Body):
    """How long a notice takes in further requests."""

    within: Duration


class _DefinitionBody(Body):
    """A definition, as far as types go; check_definition does the rest."""

    title: str
    category: str
    critical: bool = False
    channels: list[AnyChannel]
    data_schema: dict[str, Any] = Field(alias="schema")
    templates: dict[AnyChannel, dict[str, Any]]
    expires_after: Duration
    replace_previous: bool = False
    fold: _FoldBody | None = None


def parse_definition(body: object, workspace_id: WorkspaceId, key: DefinitionKey) -> Definition | tuple[Problem, ...]:
    """A definition to be registered, fully checked, in no version yet; or everything that is wrong with it."""
    fields = read_body(_DefinitionBody, body)
    if isinstance(fields, tuple):
        return fields
    definition = Definition(
        workspace_id=workspace_id,
        key=key,
        version=0,
        title=fields.title,
        category=fields.category,
        critical=fields.critical,
        channels=tuple(fields.channels),
        schema=fields.data_schema,
        templates=fields.templates,
        expires_after=fields.expires_after,
        replace_previous=fields.replace_previous,
        fold_within=fields.fold.within if fields.fold else None,
    )
    return check_definition(definition) or definition
