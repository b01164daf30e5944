"""What a write believes: the version that was read, and the states that the lifecycle lets it leave."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE, DeliveryState
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import REQUEST_LIFECYCLE, RequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestGuard:
    """The condition of a request's write; version None means that the row must be absent."""

    version: int | None
    states: frozenset[RequestState]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeGuard:
    """The condition of a notice's write; version None means that the row must be absent."""

    version: int | None
    states: Mapping[Channel, frozenset[DeliveryState]] = field(default_factory=dict[Channel, frozenset[DeliveryState]])
    """For each delivery that moves: the states that lead to where it goes."""


def guard_request(new: Request, was: Request | None) -> RequestGuard:
    """The condition under which `new` may take the place of what was read."""
    if was is None or was.version == 0:
        return RequestGuard(version=None, states=frozenset())
    stays = new.state is was.state
    states = frozenset({was.state}) if stays else REQUEST_LIFECYCLE.leading_to(new.state)
    return RequestGuard(version=was.version, states=states)


def guard_notice(new: Notice, was: Notice | None) -> NoticeGuard:
    """The condition under which `new` may take the place of what was read."""
    if was is None or was.version == 0:
        return NoticeGuard(version=None)
    before = {item.channel: item.state for item in was.deliveries}
    return NoticeGuard(
        version=was.version,
        states={
            item.channel: DELIVERY_LIFECYCLE.leading_to(item.state)
            for item in new.deliveries
            if before[item.channel] is not item.state
        },
    )
