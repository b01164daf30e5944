"""What a row has to be by everything else that it says; an audit compares it with what it is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.notice import Delivery, Notice, What
from notify_core.domain.notice_lifecycle import NoticeStatus, ends_expired
from notify_core.domain.request import ManifestEntry, Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState

_EXPLICIT: Final = {What.SUPERSEDED: NoticeStatus.SUPERSEDED, What.EXPIRED: NoticeStatus.EXPIRED}
_BY_REASON: Final[Mapping[RequestReason, RequestState]] = {
    RequestReason.REPLACED: RequestState.SUPERSEDED,
    RequestReason.REPLACED_BEFORE_ACCEPTANCE: RequestState.CANCELLED,
    RequestReason.DEFINITION_RETIRED: RequestState.CANCELLED,
    RequestReason.DEADLINE: RequestState.EXPIRED,
    RequestReason.AGE: RequestState.EXPIRED,
}


def state_amounted_to(request: Request) -> RequestState:
    """The state of a request by whether it was accepted, whether and why it was closed, and its problems."""
    if request.closed_at is None and request.reason is None:
        return RequestState.OPEN if request.is_accepted else RequestState.QUEUED
    if request.reason is RequestReason.WITHDRAWN:
        return RequestState.SUPERSEDED if request.is_accepted else RequestState.CANCELLED
    if request.reason is not None:
        return _BY_REASON[request.reason]
    if request.is_accepted:
        return RequestState.SETTLED
    return RequestState.INVALID if request.problems else RequestState.NO_RECIPIENTS


def righted(notice: Notice, request: Request, entry: ManifestEntry) -> Notice:
    """The notice with the states and the explicit status that its timeline tells; the same where they agree.

    A timeline keeps its newest lines: what moved before them is believed, unless a later line tells of it.
    """
    began = {planned.channel: planned.state for planned in entry.plan}
    is_first = notice.contributors[0].request_id == request.request_id
    deliveries = tuple(
        _righted(item, notice, began.get(item.channel) if is_first else None) for item in notice.deliveries
    )
    told = next(
        (_EXPLICIT[What(line.target)] for line in reversed(notice.timeline) if _ends(line.channel, line.target)), None
    )
    if told is None and not _is_whole(notice):
        told = notice.ended
    if told is None and ends_expired(deliveries):
        told = NoticeStatus.EXPIRED
    if told is notice.ended and deliveries == notice.deliveries:
        return notice
    return replace(notice, deliveries=deliveries, ended=told)


def _righted(item: Delivery, notice: Notice, began: DeliveryState | None) -> Delivery:
    told = next((line.target for line in reversed(notice.timeline) if line.channel is item.channel), None)
    if told is None and began is not None and _is_whole(notice):
        told = began
    return item if told is None or item.state == told else replace(item, state=DeliveryState(told))


def _ends(channel: object, target: str) -> bool:
    return channel is None and target in _EXPLICIT


def _is_whole(notice: Notice) -> bool:
    """Whether the timeline still begins where the notice does."""
    return bool(notice.timeline) and notice.timeline[0].target == What.CREATED
