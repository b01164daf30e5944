"""Reading the definitions of a workspace."""

from collections.abc import Mapping

from notify_core.application.ports import Page, Ports
from notify_core.application.refusals import (
    definition_not_found,
    definition_version_not_found,
    workspace_not_found,
)
from notify_core.domain.definition import Definition
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId


def read_definition(workspace: WorkspaceId, key: DefinitionKey, version: int | None, ports: Ports) -> Definition:
    """A definition as it is now, retired or not; or as one of its versions was registered.

    Raises:
        NotFound: there is none of this key, or not this version of it.
    """
    current = ports.registry.definition(workspace, key, consistent=True)
    if current is None:
        raise definition_not_found()
    if version in {None, current.version}:
        return current
    found = ports.registry.definition_version(workspace, key, version or 0)
    if found is None:
        raise definition_version_not_found()
    return found


def list_definitions(workspace: WorkspaceId, position: Mapping[str, str] | None, limit: int, ports: Ports) -> Page:
    """A page of a workspace's current definitions, in the order of their keys.

    Raises:
        NotFound: the workspace is not registered.
    """
    if ports.registry.workspace(workspace) is None:
        raise workspace_not_found()
    return ports.registry.definitions(workspace, position, limit=limit)
