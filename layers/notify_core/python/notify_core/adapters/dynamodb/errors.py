"""What DynamoDB's refusals and the network's failures mean to a use case."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from pynamodb.exceptions import PynamoDBException, VerboseClientError

from notify_core.application.ports import Conflict, StoreUnavailable


class RowNotUnderstood(StoreUnavailable):
    """A row holds a value that only a newer version of the code knows: its message waits for that version."""


_CONFLICTS: Final = frozenset(
    {
        "ConditionalCheckFailed",
        "ConditionalCheckFailedException",
        "TransactionConflict",
        "TransactionConflictException",
    }
)
_UNAVAILABLE: Final = frozenset(
    {
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
_CANCELED: Final = "TransactionCanceledException"
_NETWORK: Final = (BotoConnectionError, HTTPClientError)
_SERVER_ERROR: Final = 500


@contextmanager
def translated() -> Generator[None, None, None]:
    """Raise Conflict and StoreUnavailable for what they stand for; anything else is a mistake of ours and passes.

    Raises:
        Conflict: a condition failed, or another transaction was at the same rows.
        StoreUnavailable: throttled, a server's error, a timeout or no connection, after the client's own tries.
    """
    try:
        yield
    except PynamoDBException as error:
        meant = _meaning(error.cause)
        if meant is None:
            raise
        raise meant from error


def _meaning(cause: Exception | None) -> Exception | None:
    if isinstance(cause, _NETWORK):
        return StoreUnavailable(f"DynamoDB could not be reached: {type(cause).__name__}")
    if not isinstance(cause, ClientError):
        return None
    codes = _codes(cause)
    if codes & _CONFLICTS:
        return Conflict(", ".join(sorted(codes)))
    if codes & _UNAVAILABLE or _status(cause) >= _SERVER_ERROR:
        return StoreUnavailable(f"DynamoDB refused for now: {', '.join(sorted(codes))}")
    return None


def _codes(error: ClientError) -> frozenset[str]:
    """The error's own code, or those of the rows that a transaction was cancelled for."""
    code = error.response.get("Error", {}).get("Code", "")
    if code == _CANCELED and isinstance(error, VerboseClientError):
        return frozenset(reason.code for reason in error.cancellation_reasons if reason is not None)
    return frozenset({code})


def _status(error: ClientError) -> int:
    """The HTTP status, which pynamodb leaves with the error that it wraps."""
    original = error.__cause__
    response = original.response if isinstance(original, ClientError) else error.response
    return response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
