"""Registering a definition: the same content is the same version, other content the next."""

from dataclasses import replace

from notify_core.application.ports import Conflict, Ports
from notify_core.application.refusals import workspace_not_found
from notify_core.domain.definition import Definition, DefinitionState, content_of
from notify_core.domain.limits import CONFLICTS_MAX


def register_definition(wanted: Definition, ports: Ports) -> Definition:
    """The version that has this content now; a retired definition becomes active again as the next version.

    Raises:
        NotFound: the workspace is not registered.
        Conflict: others kept registering other contents at the same time.
    """
    if ports.registry.workspace(wanted.workspace_id) is None:
        raise workspace_not_found()
    content = content_of(wanted)
    for _ in range(CONFLICTS_MAX):
        was = ports.registry.definition(wanted.workspace_id, wanted.key, consistent=True)
        if was is not None and was.is_active and content_of(was) == content:
            return was
        version = was.version + 1 if was else 1
        new = replace(
            wanted,
            version=version,
            state=DefinitionState.ACTIVE,
            retired_at=None,
            retired_version=was.retired_version if was else 0,
        )
        try:
            ports.registry.put_definition(new, was)
        except Conflict:
            continue
        return new
    raise Conflict("registration kept losing its race")
