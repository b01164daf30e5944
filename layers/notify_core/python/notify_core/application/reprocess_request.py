"""Reprocessing: a dead-lettered publication is tried again."""

from dataclasses import replace
from enum import StrEnum

from notify_core.application.ports import Conflict, Ports
from notify_core.application.publish_again import publish_again
from notify_core.domain.identifiers import RequestId, WorkspaceId
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.request import next_check_at, no_later_than_expiry


class ReprocessRefusal(StrEnum):
    """Why a request isn't processed again."""

    NOT_FOUND = "not_found"
    NOT_DEAD_LETTERED = "not_dead_lettered"


def reprocess_request(workspace: WorkspaceId, request_id: RequestId, ports: Ports) -> ReprocessRefusal | None:
    """Publish a dead-lettered publication again; its row says so first, so a lost message is found by the sweep."""
    for _ in range(CONFLICTS_MAX):
        request = ports.requests.get(workspace, request_id)
        if request is None:
            return ReprocessRefusal.NOT_FOUND
        if not request.is_dead_lettered:
            return ReprocessRefusal.NOT_DEAD_LETTERED
        now = ports.clock.now()
        due_at = no_later_than_expiry(request, next_check_at(request, now=now))
        cleared = replace(request, version=request.version + 1, problems=(), due_at=due_at)
        try:
            ports.requests.put(cleared, request)
        except Conflict:
            continue
        publish_again(cleared, ports, now=now)
        ports.telemetry.count("requests_reprocessed")
        return None
    raise Conflict("reprocessing kept losing its race")
