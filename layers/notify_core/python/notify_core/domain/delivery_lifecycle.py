"""The life of a delivery: one channel of one notice."""

from enum import StrEnum
from typing import Final

from notify_core.domain.lifecycle import Actor, Lifecycle, Move


class DeliveryState(StrEnum):
    """Where a delivery is."""

    QUEUED = "queued"
    DEFERRED = "deferred"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SKIPPED = "skipped"
    UNAVAILABLE = "unavailable"


class DeliveryEvent(StrEnum):
    """What moves a delivery."""

    CLAIM = "claim"
    HOLD = "hold"
    """Its channel is throttled or its circuit open: it waits without having been claimed."""
    ACCEPT = "accept"
    """The provider took it; a receipt will follow."""
    DELIVER = "deliver"
    BOUNCE = "bounce"
    DEFER = "defer"
    """Claimed, and certainly not sent: it waits for its next attempt."""
    REJECT = "reject"
    """The provider refuses it for good."""
    EXHAUST = "exhaust"
    """Its attempts are used up."""
    LOSE = "lose"
    """No evidence ever told what became of the send."""
    TIME_OUT = "time_out"
    """Accepted, but no receipt came."""
    REQUEUE = "requeue"
    """Evidence says that nothing was sent."""
    RETRY = "retry"
    CANCEL = "cancel"
    EXPIRE = "expire"
    SKIP = "skip"


class DeliveryReason(StrEnum):
    """Why a delivery is where it is; `failed` may also carry a provider's own code, as text."""

    NO_ADDRESS = "no_address"
    OPTED_OUT = "opted_out"
    PERSON_INACTIVE = "person_inactive"
    PERSON_GONE = "person_gone"
    CHANNEL_OFF = "channel_off"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    OUTCOME_UNKNOWN = "outcome_unknown"
    RECEIPT_TIMEOUT = "receipt_timeout"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    DEADLINE = "deadline"
    AGE = "age"
    THROTTLED = "throttled"
    CIRCUIT_OPEN = "circuit_open"


_S, _E, _A = DeliveryState, DeliveryEvent, Actor
_W, _SW = (_A.WORKER,), (_A.SWEEP,)
_ENDERS = (_A.PRODUCER, _A.REPLACEMENT, _A.PROCESSOR, _A.WORKER, _A.SWEEP)
_WORKER_OR_SWEEP = (_A.WORKER, _A.SWEEP)

DELIVERY_LIFECYCLE: Final[Lifecycle[DeliveryState, DeliveryEvent]] = Lifecycle(
    "delivery",
    (
        Move(_E.CLAIM, _S.QUEUED, _S.SENDING, by=_W),
        Move(_E.CLAIM, _S.DEFERRED, _S.SENDING, by=_W),
        Move(_E.HOLD, _S.QUEUED, _S.DEFERRED, by=_W),
        Move(_E.HOLD, _S.DEFERRED, _S.DEFERRED, by=_W),
        Move(_E.ACCEPT, _S.SENDING, _S.SENT, by=_W),
        Move(_E.DELIVER, _S.SENDING, _S.DELIVERED, by=(_A.WORKER, _A.SWEEP, _A.RECEIPT)),
        Move(_E.BOUNCE, _S.SENDING, _S.BOUNCED, by=(_A.RECEIPT,)),
        Move(_E.DEFER, _S.SENDING, _S.DEFERRED, by=_W),
        Move(_E.REJECT, _S.SENDING, _S.FAILED, by=_W),
        Move(_E.EXHAUST, _S.SENDING, _S.FAILED, by=_WORKER_OR_SWEEP),
        Move(_E.LOSE, _S.SENDING, _S.FAILED, by=_SW),
        Move(_E.REQUEUE, _S.SENDING, _S.QUEUED, by=_SW),
        Move(_E.CANCEL, _S.SENDING, _S.CANCELLED, by=_WORKER_OR_SWEEP),
        Move(_E.EXPIRE, _S.SENDING, _S.EXPIRED, by=_W),
        Move(_E.SKIP, _S.SENDING, _S.SKIPPED, by=_W),
        Move(_E.DELIVER, _S.SENT, _S.DELIVERED, by=(_A.RECEIPT,)),
        Move(_E.BOUNCE, _S.SENT, _S.BOUNCED, by=(_A.RECEIPT,)),
        Move(_E.TIME_OUT, _S.SENT, _S.FAILED, by=_SW),
        Move(_E.CANCEL, _S.QUEUED, _S.CANCELLED, by=_ENDERS),
        Move(_E.CANCEL, _S.DEFERRED, _S.CANCELLED, by=_ENDERS),
        Move(_E.EXPIRE, _S.QUEUED, _S.EXPIRED, by=_WORKER_OR_SWEEP),
        Move(_E.EXPIRE, _S.DEFERRED, _S.EXPIRED, by=_WORKER_OR_SWEEP),
        Move(_E.SKIP, _S.QUEUED, _S.SKIPPED, by=_W),
        Move(_E.SKIP, _S.DEFERRED, _S.SKIPPED, by=_W),
        Move(_E.EXHAUST, _S.QUEUED, _S.FAILED, by=_W),
        Move(_E.EXHAUST, _S.DEFERRED, _S.FAILED, by=_W),
        Move(_E.RETRY, _S.FAILED, _S.QUEUED, by=(_A.OPERATOR,)),
        Move(_E.DELIVER, _S.FAILED, _S.DELIVERED, by=(_A.RECEIPT,)),
        Move(_E.BOUNCE, _S.FAILED, _S.BOUNCED, by=(_A.RECEIPT,)),
    ),
    initial=frozenset({_S.QUEUED, _S.SKIPPED, _S.UNAVAILABLE, _S.DELIVERED}),
)

RETRYABLE_REASONS: Final = frozenset({DeliveryReason.ATTEMPTS_EXHAUSTED})
"""Why a failed delivery may be tried again by an operator."""
LATE_RECEIPT_REASONS: Final = frozenset({DeliveryReason.OUTCOME_UNKNOWN, DeliveryReason.RECEIPT_TIMEOUT})
"""Why a failed delivery still believes a receipt."""

UNSENT: Final = frozenset({_S.QUEUED, _S.DEFERRED})
BUSY: Final = UNSENT | {_S.SENDING}
"""Something is still to be done before the notice can settle."""
ACTIVE: Final = BUSY | {_S.SENT}
"""Something is still expected, a receipt included."""
ENDED_UNSENT: Final = frozenset({_S.CANCELLED, _S.EXPIRED})
"""Ended unsent with its notice; like `failed(attempts_exhausted)`, what a fold can't join."""
NEVER_SENT: Final = frozenset({_S.SKIPPED, _S.UNAVAILABLE})
"""Nothing to be sent for whoever planned it: a fold that has something to send can't join it either."""
