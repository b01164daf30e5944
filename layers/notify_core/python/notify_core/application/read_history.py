"""Reading the History of a workspace: its requests, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from notify_core.application.merge_shards import MergedPage, merge_shards
from notify_core.application.ports import HistoryRow, Ports
from notify_core.application.refusals import workspace_not_found
from notify_core.domain.identifiers import DefinitionKey, RequestId, WorkspaceId
from notify_core.domain.request_lifecycle import RequestState

HistoryPlace = tuple[datetime, RequestId]
HistoryPage = MergedPage[HistoryRow, HistoryPlace]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """Which requests are asked for, recorded strictly before a place in the list."""

    workspace_id: WorkspaceId
    limit: int
    state: RequestState | None = None
    definition: DefinitionKey | None = None
    dead_lettered: bool = False
    """Only those that wait for an operator, from an index of their own: however many others there are."""
    before: HistoryPlace | None = None

    def wants(self, row: HistoryRow) -> bool:
        """Whether the row passes the filters."""
        is_wanted = self.state in {None, row.state} and self.definition in {None, row.definition}
        return is_wanted and (not self.dead_lettered or row.state is RequestState.QUEUED)


def read_history(query: HistoryQuery, ports: Ports) -> HistoryPage:
    """A page of the requests asked for; a row that changes keeps its place.

    A workspace that was never registered has a History only of what was refused for that reason.

    Raises:
        NotFound: nothing was ever recorded for it either.
    """
    workspace = ports.registry.workspace(query.workspace_id)
    read = ports.requests.dead_lettered if query.dead_lettered else ports.requests.history

    def fetch(shard: int, before: HistoryPlace | None, limit: int) -> Sequence[HistoryRow]:
        return read(query.workspace_id, shard, before=before, limit=limit)

    page = merge_shards(
        fetch,
        _place_of,
        query.wants,
        shards=workspace.shards if workspace else 1,
        before=query.before,
        limit=query.limit,
        gather=ports.gather,
    )
    is_nothing = workspace is None and query.before is None and not page.rows and page.before is None
    if is_nothing and not (query.dead_lettered and ports.requests.history(query.workspace_id, 0, before=None, limit=1)):
        raise workspace_not_found()
    return page


def _place_of(row: HistoryRow) -> HistoryPlace:
    return (row.recorded_at, row.request_id)
