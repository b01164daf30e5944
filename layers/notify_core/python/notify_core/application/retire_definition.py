"""Retiring a definition: no more publications, and its open requests closed with their notices left as they are."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import partial

from notify_core.application.history_walk import place_of, position_of
from notify_core.application.ports import Conflict, HistoryRow, Ports, QueueName
from notify_core.application.tasks import RetireTask, message_of
from notify_core.domain.definition import Definition, DefinitionState
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId
from notify_core.domain.limits import CONFLICTS_MAX, SPARE_SECONDS
from notify_core.domain.request import Request, retired
from notify_core.domain.request_lifecycle import RequestState

_PAGE = 100


class RetireRefusal(StrEnum):
    """Why a definition isn't retired."""

    NOT_FOUND = "not_found"
    WORKSPACE_SUSPENDED = "workspace_suspended"


def retire_definition(workspace: WorkspaceId, key: DefinitionKey, ports: Ports) -> Definition | RetireRefusal:
    """Retire a definition and have its open requests closed; repeating it sends for the closing again."""
    registered = ports.registry.workspace(workspace)
    if registered is not None and not registered.is_operational:
        return RetireRefusal.WORKSPACE_SUSPENDED
    for _ in range(CONFLICTS_MAX):
        definition = ports.registry.definition(workspace, key, consistent=True)
        if definition is None:
            return RetireRefusal.NOT_FOUND
        if definition.is_active:
            was, now = definition, ports.clock.now()
            definition = replace(was, state=DefinitionState.RETIRED, retired_at=now, retired_version=was.version)
            try:
                ports.registry.put_definition(definition, was)
            except Conflict:
                continue
        task = RetireTask(workspace_id=workspace, definition=key)
        ports.queues.send(QueueName.RECONCILE, [message_of(task)])
        ports.telemetry.count("definitions_retired")
        return definition
    raise Conflict("retirement kept losing its race")


def close_retired(task: RetireTask, ports: Ports, *, until: datetime) -> None:
    """Close a retired definition's open requests in pages; what time doesn't allow goes on in its own message.

    Those of its retired versions, though it may be registered again by now. The index may lag: what it misses is closed
    by the sweep of the request, or by the nightly audit.
    """
    definition = ports.registry.definition(task.workspace_id, task.definition, consistent=True)
    workspace = ports.registry.workspace(task.workspace_id)
    if definition is None or workspace is None:
        return
    place = place_of(task.position)
    while place.shard < workspace.shards:
        if (until - ports.clock.now()).total_seconds() < 2 * SPARE_SECONDS:
            task = replace(task, position=position_of(place))
            ports.queues.send(QueueName.RECONCILE, [message_of(task)])
            return
        rows = ports.requests.history(task.workspace_id, place.shard, before=place.before, limit=_PAGE)
        ports.gather([partial(_close, row, definition, ports) for row in rows if _is_to_close(row, definition)])
        place = place.after(rows)


def _is_to_close(row: HistoryRow, definition: Definition) -> bool:
    return (
        row.definition == definition.key
        and row.state is RequestState.OPEN
        and definition.has_retired(row.definition_version)
    )


def _close(row: HistoryRow, definition: Definition, ports: Ports) -> None:
    request = ports.requests.get(definition.workspace_id, row.request_id)
    if request is not None:
        close_if_retired(request, definition, ports)


def close_if_retired(request: Request, definition: Definition | None, ports: Ports) -> Request:
    """The request, closed if it was open though its definition was retired; `definition` is the current one.

    Raises Conflict after too many lost races and StoreUnavailable.
    """
    for _ in range(CONFLICTS_MAX):
        if request.state is not RequestState.OPEN or definition is None:
            return request
        if not definition.has_retired(request.definition_version):
            return request
        closed = retired(request, now=ports.clock.now())
        try:
            ports.requests.put(closed, request)
        except Conflict:
            request = ports.requests.get(request.workspace_id, request.request_id) or request
            continue
        ports.telemetry.count("requests_retired")
        return closed
    raise Conflict(f"retirement of {request.request_id} kept losing its race")
