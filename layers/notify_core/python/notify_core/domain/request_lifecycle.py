"""The life of a request, from the producer's message to its one outcome and its end."""

from enum import StrEnum
from typing import Final

from notify_core.domain.lifecycle import Actor, Lifecycle, Move


class RequestState(StrEnum):
    """Where a request is; every state but `queued` and `open` is an outcome that stays."""

    QUEUED = "queued"
    OPEN = "open"
    SETTLED = "settled"
    NO_RECIPIENTS = "no_recipients"
    INVALID = "invalid"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"


class RequestEvent(StrEnum):
    """What moves a request."""

    ACCEPT = "accept"
    DEFER = "defer"
    FIND_NOBODY = "find_nobody"
    REJECT = "reject"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    REPLACE = "replace"
    SETTLE = "settle"
    RETIRE = "retire"


class RequestReason(StrEnum):
    """Why a request ended as it did; a closed list."""

    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    REPLACED_BEFORE_ACCEPTANCE = "replaced_before_acceptance"
    DEFINITION_RETIRED = "definition_retired"
    DEADLINE = "deadline"
    AGE = "age"


_S, _E, _A = RequestState, RequestEvent, Actor

REQUEST_LIFECYCLE: Final[Lifecycle[RequestState, RequestEvent]] = Lifecycle(
    "request",
    (
        Move(_E.ACCEPT, _S.QUEUED, _S.OPEN, by=(_A.PROCESSOR,)),
        Move(_E.DEFER, _S.QUEUED, _S.QUEUED, by=(_A.PROCESSOR,)),
        Move(_E.FIND_NOBODY, _S.QUEUED, _S.NO_RECIPIENTS, by=(_A.PROCESSOR,)),
        Move(_E.REJECT, _S.QUEUED, _S.INVALID, by=(_A.PROCESSOR,)),
        Move(_E.EXPIRE, _S.QUEUED, _S.EXPIRED, by=(_A.PROCESSOR, _A.SWEEP)),
        Move(_E.WITHDRAW, _S.QUEUED, _S.CANCELLED, by=(_A.PRODUCER, _A.PROCESSOR)),
        Move(_E.REPLACE, _S.QUEUED, _S.CANCELLED, by=(_A.REPLACEMENT,)),
        Move(_E.WITHDRAW, _S.OPEN, _S.SUPERSEDED, by=(_A.PRODUCER,)),
        Move(_E.REPLACE, _S.OPEN, _S.SUPERSEDED, by=(_A.REPLACEMENT,)),
        Move(_E.SETTLE, _S.OPEN, _S.SETTLED, by=(_A.SWEEP,)),
        Move(_E.RETIRE, _S.OPEN, _S.CANCELLED, by=(_A.RETIREMENT,)),
    ),
    initial=frozenset({RequestState.QUEUED}),
)
