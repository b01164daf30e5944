"""What each of the SMS service's refusals, and each fault on the way to it, amounts to.

Sources: the errors of `SendTextMessage` in AWS End User Messaging (`pinpoint-sms-voice-v2`), and botocore.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
)

from notify_core.adapters.retry_after import read_retry_after
from notify_core.domain.send_result import (
    Rejected,
    RejectionScope,
    Throttled,
    Unavailable,
    Unknown,
)

RETRY_AFTER_SECONDS: Final = 5
"""How long a throttled channel waits when the service doesn't say: its rates are per second."""
_SERVER_ERROR: Final = 500
_THROTTLING: Final = "ThrottlingException"

Refusal = Throttled | Unavailable | Rejected | Unknown
"""Every result but success."""
Verdict = Callable[[str], Rejected | Unknown]
"""Makes the result of a code."""


def _unknown(code: str) -> Unknown:
    return Unknown(reason=code)


def _person(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.PERSON)


def _number(code: str) -> Rejected:
    """The account's setup rules this number out: no circuit, for other numbers go on, but an alarm."""
    return Rejected(reason=code, scope=RejectionScope.PERSON, misconfigured=True)


def _content(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.CONTENT)


def _workspace(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.WORKSPACE)


def _unlisted(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.CONTENT, listed=False)


VERDICTS: Final[Mapping[str, Verdict]] = {
    # It may have been sent before the service failed.
    "InternalServerException": _unknown,
    # Nothing can be sent until the account is mended.
    "ServiceQuotaExceededException": _workspace,
    "AccessDeniedException": _workspace,
    "ResourceNotFoundException": _workspace,
    "UnrecognizedClientException": _workspace,
    "InvalidSignatureException": _workspace,
    "ExpiredTokenException": _workspace,
    "MissingAuthenticationTokenException": _workspace,
    # This number doesn't want it or may not have it; no event follows.
    "ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT": _person,
    "ConflictException:DESTINATION_PHONE_NUMBER_NOT_VERIFIED": _person,
    "ConflictException:DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE": _person,
    # The account isn't set up to reach this number.
    "ConflictException:NO_ORIGINATION_IDENTITIES_FOUND": _number,
    "ConflictException:DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION": _number,
    "ConflictException:RESOURCE_NOT_ACTIVE": _number,
    "ConflictException:MESSAGE_TYPE_MISMATCH": _number,
    "ConflictException:NUMBER_CAPABILITIES_MISMATCH": _number,
    "ValidationException:COUNTRY_NOT_ENABLED": _number,
    "ValidationException:DESTINATION_COUNTRY_BLOCKED": _number,
    "ValidationException:INTERNATIONAL_SENDING_NOT_SUPPORTED": _number,
    "ValidationException:INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": _number,
    "ValidationException:SENDER_ID_NOT_REGISTERED": _number,
    "ValidationException:SENDER_ID_NOT_SUPPORTED": _number,
    "ValidationException:SENDER_ID_REQUIRES_REGISTRATION": _number,
    "ValidationException:PRICE_OVER_THRESHOLD": _number,
    # This text can't be sent to anybody, or this is no number.
    "ValidationException:INVALID_PARAMETER": _content,
    "ValidationException:MAXIMUM_SIZE_EXCEEDED": _content,
    "ValidationException:FIELD_VALIDATION_FAILED": _content,
    "ValidationException:CANNOT_PARSE": _content,
}
"""By exception and reason, else by exception alone."""


def classify_refusal(status: int, exception: str, reason: str | None, *, retry_after: str | None = None) -> Refusal:
    """What an error of the service amounts to.

    A 5xx may have been sent, whatever it is called; any other was refused, also one that the table lacks.
    """
    code = f"{exception}:{reason}" if reason else exception
    if status >= _SERVER_ERROR:
        return Unknown(reason=code)
    if exception == _THROTTLING:
        return Throttled(retry_after=read_retry_after(retry_after, default_seconds=RETRY_AFTER_SECONDS))
    verdict = VERDICTS.get(code) or VERDICTS.get(exception) or _unlisted
    return verdict(code)


_NEVER_SENT: Final[Mapping[type[BotoCoreError], str]] = {
    ConnectTimeoutError: "connect_timeout",
    EndpointConnectionError: "connection_refused",
    ProxyConnectionError: "proxy_refused",
    NoCredentialsError: "no_credentials",
    PartialCredentialsError: "no_credentials",
}


def classify_fault(fault: Exception) -> Refusal:
    """What an exception of the call amounts to; only one of connecting proves that nothing was sent."""
    if isinstance(fault, ClientError):
        answer = cast("Mapping[str, Any]", fault.response)
        metadata = answer.get("ResponseMetadata", {})
        return classify_refusal(
            metadata.get("HTTPStatusCode", _SERVER_ERROR),
            answer.get("Error", {}).get("Code", ""),
            answer.get("Reason") or answer.get("ResourceType"),
            retry_after=metadata.get("HTTPHeaders", {}).get("retry-after"),
        )
    never_sent = next((reason for kind, reason in _NEVER_SENT.items() if isinstance(fault, kind)), None)
    if never_sent is not None:
        return Unavailable(reason=never_sent)
    return Unknown(reason="timeout" if isinstance(fault, ReadTimeoutError) else "connection_lost")
