"""Registering a person in a workspace, or changing one."""

from dataclasses import replace

from notify_core.application.ports import Conflict, Ports
from notify_core.application.refusals import workspace_not_found
from notify_core.domain.directory import Person
from notify_core.domain.limits import CONFLICTS_MAX


def register_person(wanted: Person, ports: Ports) -> Person:
    """The person as registered now, memberships included. Repeating it changes nothing.

    Raises:
        NotFound: the workspace is not registered.
        Conflict: others kept registering the person at the same time.
    """
    if ports.registry.workspace(wanted.workspace_id) is None:
        raise workspace_not_found()
    for _ in range(CONFLICTS_MAX):
        was = ports.directory.people(wanted.workspace_id, [wanted.person_id]).get(wanted.person_id)
        version = was.version if was else 0
        new = replace(wanted, version=version + 1)
        if was is not None and replace(new, version=version) == was:
            return was
        try:
            ports.directory.put_person(new, was)
        except Conflict:
            continue
        return new
    raise Conflict("registration kept losing its race")
