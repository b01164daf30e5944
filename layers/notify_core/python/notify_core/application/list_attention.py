"""Listing what needs an operator's attention: failed deliveries, the latest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from notify_core.application.merge_shards import merge_shards
from notify_core.application.ports import NoticeKey, Ports
from notify_core.application.refusals import workspace_not_found
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId
from notify_core.domain.notice import Delivery, Notice

AttentionPlace = tuple[datetime, Recipient, NoticeId]
FailedDelivery = tuple[Notice, Delivery]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionQuery:
    """Which failed deliveries are asked for, strictly before a place in the list."""

    workspace_id: WorkspaceId
    limit: int
    reason: str | None = None
    before: AttentionPlace | None = None

    def wanted_of(self, notice: Notice) -> list[FailedDelivery]:
        """The notice's failed deliveries that pass the filter."""
        return [
            (notice, item)
            for item in notice.deliveries
            if item.state is DeliveryState.FAILED and self.reason in {None, item.reason}
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPage:
    """Failed deliveries, each with its notice, and the place that the next page is before."""

    failed: Sequence[FailedDelivery]
    before: AttentionPlace | None


def list_attention(query: AttentionQuery, ports: Ports) -> AttentionPage:
    """A page of the failed deliveries asked for; those of one notice stay together.

    Raises:
        NotFound: the workspace is not registered.
    """
    workspace = ports.registry.workspace(query.workspace_id)
    if workspace is None:
        raise workspace_not_found()

    def fetch(shard: int, before: AttentionPlace | None, limit: int) -> Sequence[Notice]:
        position = _position(query.workspace_id, before)
        return ports.notices.attention(query.workspace_id, shard, before=position, limit=limit)

    def is_wanted(notice: Notice) -> bool:
        return bool(query.wanted_of(notice))

    page = merge_shards(
        fetch,
        _place_of,
        is_wanted,
        shards=workspace.shards,
        before=query.before,
        limit=query.limit,
        gather=ports.gather,
    )
    return _fitting(query, page.rows, page.before)


def _fitting(query: AttentionQuery, notices: Sequence[Notice], before: AttentionPlace | None) -> AttentionPage:
    """As many notices as fit into the limit with all their failed deliveries, and at least one."""
    failed: list[FailedDelivery] = []
    for notice in notices:
        wanted = query.wanted_of(notice)
        if failed and len(failed) + len(wanted) > query.limit:
            return AttentionPage(failed=failed, before=_place_of(failed[-1][0]))
        failed += wanted
    return AttentionPage(failed=failed, before=before)


def _place_of(notice: Notice) -> AttentionPlace:
    assert notice.failed_at is not None, "only such notices are listed"
    return (notice.failed_at, notice.recipient, notice.notice_id)


def _position(workspace: WorkspaceId, place: AttentionPlace | None) -> tuple[datetime, NoticeKey] | None:
    if place is None:
        return None
    failed_at, recipient, notice = place
    return failed_at, NoticeKey(workspace_id=workspace, recipient=recipient, notice_id=notice)
