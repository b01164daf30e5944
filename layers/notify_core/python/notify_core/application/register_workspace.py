"""Registering a workspace, or changing one."""

from dataclasses import replace

from notify_core.application.ports import Conflict, Ports
from notify_core.application.refusals import Invalid
from notify_core.domain.directory import Workspace
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.problem import Problem


def register_workspace(wanted: Workspace, shards: int | None, ports: Ports) -> Workspace:
    """The workspace as registered now; None for its shards leaves them as they are. Repeating it changes nothing.

    Raises:
        Invalid: fewer shards than before, which would hide what stands in the others.
        Conflict: others kept registering it at the same time.
    """
    for _ in range(CONFLICTS_MAX):
        was = ports.registry.workspace(wanted.workspace_id)
        least, version = (was.shards, was.version) if was else (1, 0)
        if shards is not None and shards < least:
            raise _shrinking(least)
        new = replace(wanted, shards=shards or least, version=version + 1)
        if was is not None and replace(new, version=version) == was:
            return was
        try:
            ports.registry.put_workspace(new, was)
        except Conflict:
            continue
        return new
    raise Conflict("registration kept losing its race")


def _shrinking(least: int) -> Invalid:
    message = f"the workspace is spread over {least} shards: name as many or more, or leave it out"
    return Invalid(Problem(field="shards", code="shrinking", message=message))
