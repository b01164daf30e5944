"""The status of a notice: derived from its deliveries, unless it was ended explicitly."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final, Protocol

from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import ACTIVE, DeliveryReason, DeliveryState
from notify_core.domain.lifecycle import Actor, Lifecycle, Move


class NoticeStatus(StrEnum):
    """Where a notice is, over all its channels."""

    PENDING = "pending"
    ROUTED = "routed"
    DELIVERING = "delivering"
    DELIVERED = "delivered"
    PARTIALLY_DELIVERED = "partially_delivered"
    FAILED = "failed"
    NO_CHANNEL = "no_channel"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class NoticeEvent(StrEnum):
    """What moves a notice's status."""

    CREATE = "create"
    PROGRESS = "progress"
    """One of its deliveries moved."""
    RETRY = "retry"
    RECEIVE = "receive"
    """A late receipt corrected a delivery."""
    SUPERSEDE = "supersede"
    EXPIRE = "expire"


_S, _E, _A = NoticeStatus, NoticeEvent, Actor
_CREATORS = (_A.PROCESSOR, _A.WORKER, _A.SWEEP)
_MOVERS = (_A.WORKER, _A.SWEEP, _A.RECEIPT)
_ENDERS = (_A.PRODUCER, _A.REPLACEMENT, _A.PROCESSOR, _A.WORKER, _A.SWEEP)
_DERIVED = (_S.ROUTED, _S.DELIVERING, _S.DELIVERED, _S.PARTIALLY_DELIVERED, _S.FAILED, _S.NO_CHANNEL)

NOTICE_LIFECYCLE: Final[Lifecycle[NoticeStatus, NoticeEvent]] = Lifecycle(
    "notice",
    (
        Move(_E.CREATE, _S.PENDING, _S.DELIVERED, by=_CREATORS),
        Move(_E.CREATE, _S.PENDING, _S.ROUTED, by=_CREATORS),
        Move(_E.CREATE, _S.PENDING, _S.NO_CHANNEL, by=_CREATORS),
        Move(_E.PROGRESS, _S.ROUTED, _S.DELIVERING, by=_MOVERS),
        Move(_E.PROGRESS, _S.ROUTED, _S.DELIVERED, by=_MOVERS),
        Move(_E.PROGRESS, _S.ROUTED, _S.PARTIALLY_DELIVERED, by=_MOVERS),
        Move(_E.PROGRESS, _S.ROUTED, _S.FAILED, by=_MOVERS),
        Move(_E.PROGRESS, _S.ROUTED, _S.NO_CHANNEL, by=_MOVERS),
        Move(_E.PROGRESS, _S.DELIVERING, _S.ROUTED, by=_MOVERS),
        Move(_E.PROGRESS, _S.DELIVERING, _S.DELIVERED, by=_MOVERS),
        Move(_E.PROGRESS, _S.DELIVERING, _S.PARTIALLY_DELIVERED, by=_MOVERS),
        Move(_E.PROGRESS, _S.DELIVERING, _S.FAILED, by=_MOVERS),
        Move(_E.PROGRESS, _S.DELIVERING, _S.NO_CHANNEL, by=_MOVERS),
        Move(_E.EXPIRE, _S.ROUTED, _S.EXPIRED, by=(_A.WORKER, _A.SWEEP)),
        Move(_E.EXPIRE, _S.DELIVERING, _S.EXPIRED, by=(_A.WORKER, _A.SWEEP)),
        Move(_E.RETRY, _S.FAILED, _S.ROUTED, by=(_A.OPERATOR,)),
        Move(_E.RETRY, _S.FAILED, _S.DELIVERING, by=(_A.OPERATOR,)),
        Move(_E.RETRY, _S.PARTIALLY_DELIVERED, _S.ROUTED, by=(_A.OPERATOR,)),
        Move(_E.RETRY, _S.PARTIALLY_DELIVERED, _S.DELIVERING, by=(_A.OPERATOR,)),
        Move(_E.RECEIVE, _S.PARTIALLY_DELIVERED, _S.DELIVERED, by=(_A.RECEIPT,)),
        Move(_E.RECEIVE, _S.FAILED, _S.DELIVERED, by=(_A.RECEIPT,)),
        Move(_E.RECEIVE, _S.FAILED, _S.PARTIALLY_DELIVERED, by=(_A.RECEIPT,)),
        *(Move(_E.SUPERSEDE, status, _S.SUPERSEDED, by=_ENDERS) for status in _DERIVED),
    ),
    initial=frozenset({_S.PENDING}),
    reserved=frozenset({_S.CANCELLED}),
)

FOLDABLE: Final = frozenset({_S.ROUTED, _S.DELIVERING, _S.DELIVERED})

_ACCEPTED = frozenset({DeliveryState.SENDING, DeliveryState.SENT, DeliveryState.DELIVERED, DeliveryState.BOUNCED})


class HasProgress(Protocol):
    """What the derivation reads of a delivery."""

    @property
    def channel(self) -> Channel: ...  # noqa: D102
    @property
    def state(self) -> DeliveryState: ...  # noqa: D102
    @property
    def reason(self) -> str | None: ...  # noqa: D102


def derive_status(deliveries: Collection[HasProgress]) -> NoticeStatus:
    """The status that a notice's deliveries amount to; the explicit statuses are kept by whoever stores them."""
    every = {delivery.state for delivery in deliveries}
    if not every:
        return NoticeStatus.PENDING
    sent = {delivery.state for delivery in deliveries if delivery.channel.is_sent}
    if sent & ACTIVE:
        return NoticeStatus.DELIVERING if sent & _ACCEPTED else NoticeStatus.ROUTED
    reached = DeliveryState.DELIVERED in every
    missed = bool(every & {DeliveryState.FAILED, DeliveryState.BOUNCED})
    match reached, missed:
        case True, False:
            return NoticeStatus.DELIVERED
        case True, True:
            return NoticeStatus.PARTIALLY_DELIVERED
        case False, True:
            return NoticeStatus.FAILED
        case _:
            return NoticeStatus.NO_CHANNEL


def ends_expired(deliveries: Collection[HasProgress]) -> bool:
    """Whether the deadline ended something, nothing is left to do, and nothing reached or may have reached anybody.

    The console's `delivered` counts as reached.
    """
    states = [(delivery.state, delivery.reason) for delivery in deliveries]
    return any(state is DeliveryState.EXPIRED for state, _ in states) and not any(
        state in _PREVENTS_EXPIRY or (state is DeliveryState.FAILED and reason in _MAY_HAVE_REACHED)
        for state, reason in states
    )


_PREVENTS_EXPIRY = ACTIVE | {DeliveryState.DELIVERED, DeliveryState.BOUNCED}
_MAY_HAVE_REACHED = frozenset({DeliveryReason.OUTCOME_UNKNOWN, DeliveryReason.RECEIPT_TIMEOUT})
