from datetime import timedelta

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from notify_core.adapters.sms_results import VERDICTS, Refusal, classify_fault, classify_refusal
from notify_core.domain.send_result import Rejected, RejectionScope, Throttled, Unavailable, Unknown

PERSON, CONTENT, WORKSPACE = RejectionScope.PERSON, RejectionScope.CONTENT, RejectionScope.WORKSPACE


def person(code: str) -> Rejected:
    return Rejected(reason=code, scope=PERSON)


def number(code: str) -> Rejected:
    return Rejected(reason=code, scope=PERSON, misconfigured=True)


def content(code: str) -> Rejected:
    return Rejected(reason=code, scope=CONTENT)


def workspace(code: str) -> Rejected:
    return Rejected(reason=code, scope=WORKSPACE)


def unlisted(code: str) -> Rejected:
    return Rejected(reason=code, scope=CONTENT, listed=False)


CONFLICT, VALIDATION = "ConflictException", "ValidationException"
OPTED_OUT = "ConflictException:DESTINATION_PHONE_NUMBER_OPTED_OUT"
NOT_VERIFIED = "ConflictException:DESTINATION_PHONE_NUMBER_NOT_VERIFIED"
OVERRIDDEN = "ConflictException:DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE"
PROTECTED = "ConflictException:DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION"
SPENT = "ServiceQuotaExceededException:MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT"
REPUTATION = "AccessDeniedException:INSUFFICIENT_ACCOUNT_REPUTATION"
IDENTITY = "ValidationException:INVALID_IDENTITY_FOR_DESTINATION_COUNTRY"

REFUSALS: list[tuple[str, str | None, Refusal]] = [
    ("ThrottlingException", None, Throttled(retry_after=timedelta(seconds=5))),
    ("InternalServerException", None, Unknown(reason="InternalServerException")),
    ("ServiceQuotaExceededException", "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT", workspace(SPENT)),
    ("AccessDeniedException", "ACCOUNT_DISABLED", workspace("AccessDeniedException:ACCOUNT_DISABLED")),
    ("AccessDeniedException", "INSUFFICIENT_ACCOUNT_REPUTATION", workspace(REPUTATION)),
    ("AccessDeniedException", None, workspace("AccessDeniedException")),
    ("ResourceNotFoundException", None, workspace("ResourceNotFoundException")),
    ("ResourceNotFoundException", "pool", workspace("ResourceNotFoundException:pool")),
    ("ResourceNotFoundException", "sender-id", workspace("ResourceNotFoundException:sender-id")),
    ("ResourceNotFoundException", "configuration-set", workspace("ResourceNotFoundException:configuration-set")),
    ("UnrecognizedClientException", None, workspace("UnrecognizedClientException")),
    ("InvalidSignatureException", None, workspace("InvalidSignatureException")),
    ("ExpiredTokenException", None, workspace("ExpiredTokenException")),
    ("MissingAuthenticationTokenException", None, workspace("MissingAuthenticationTokenException")),
    (CONFLICT, "DESTINATION_PHONE_NUMBER_OPTED_OUT", person(OPTED_OUT)),
    (CONFLICT, "DESTINATION_PHONE_NUMBER_NOT_VERIFIED", person(NOT_VERIFIED)),
    (CONFLICT, "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE", person(OVERRIDDEN)),
    (CONFLICT, "NO_ORIGINATION_IDENTITIES_FOUND", number("ConflictException:NO_ORIGINATION_IDENTITIES_FOUND")),
    (CONFLICT, "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION", number(PROTECTED)),
    (CONFLICT, "RESOURCE_NOT_ACTIVE", number("ConflictException:RESOURCE_NOT_ACTIVE")),
    (CONFLICT, "MESSAGE_TYPE_MISMATCH", number("ConflictException:MESSAGE_TYPE_MISMATCH")),
    (CONFLICT, "NUMBER_CAPABILITIES_MISMATCH", number("ConflictException:NUMBER_CAPABILITIES_MISMATCH")),
    (CONFLICT, "KEYWORD_MISMATCH", unlisted("ConflictException:KEYWORD_MISMATCH")),
    (VALIDATION, "COUNTRY_NOT_ENABLED", number("ValidationException:COUNTRY_NOT_ENABLED")),
    (VALIDATION, "DESTINATION_COUNTRY_BLOCKED", number("ValidationException:DESTINATION_COUNTRY_BLOCKED")),
    (
        VALIDATION,
        "INTERNATIONAL_SENDING_NOT_SUPPORTED",
        number("ValidationException:INTERNATIONAL_SENDING_NOT_SUPPORTED"),
    ),
    (VALIDATION, "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY", number(IDENTITY)),
    (VALIDATION, "SENDER_ID_NOT_REGISTERED", number("ValidationException:SENDER_ID_NOT_REGISTERED")),
    (VALIDATION, "SENDER_ID_NOT_SUPPORTED", number("ValidationException:SENDER_ID_NOT_SUPPORTED")),
    (
        VALIDATION,
        "SENDER_ID_REQUIRES_REGISTRATION",
        number("ValidationException:SENDER_ID_REQUIRES_REGISTRATION"),
    ),
    (VALIDATION, "PRICE_OVER_THRESHOLD", number("ValidationException:PRICE_OVER_THRESHOLD")),
    (VALIDATION, "INVALID_PARAMETER", content("ValidationException:INVALID_PARAMETER")),
    (VALIDATION, "MAXIMUM_SIZE_EXCEEDED", content("ValidationException:MAXIMUM_SIZE_EXCEEDED")),
    (VALIDATION, "FIELD_VALIDATION_FAILED", content("ValidationException:FIELD_VALIDATION_FAILED")),
    (VALIDATION, "CANNOT_PARSE", content("ValidationException:CANNOT_PARSE")),
    (VALIDATION, "REASON_OF_TOMORROW", unlisted("ValidationException:REASON_OF_TOMORROW")),
    (VALIDATION, None, unlisted("ValidationException")),
    ("ExceptionOfTomorrow", None, unlisted("ExceptionOfTomorrow")),
]


@pytest.mark.parametrize(("exception", "reason", "result"), REFUSALS, ids=[f"{a}:{b}" for a, b, _ in REFUSALS])
def test_each_exception_and_reason_has_its_result(exception: str, reason: str | None, result: Refusal) -> None:
    assert classify_refusal(400, exception, reason) == result


def test_the_table_of_this_test_names_every_refusal_that_the_adapter_knows() -> None:
    tried = {name for exception, reason, _ in REFUSALS for name in (exception, f"{exception}:{reason}")}
    assert set(VERDICTS) - tried == set()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failure_of_the_service_is_unknown_whatever_it_is_called(status: int) -> None:
    assert classify_refusal(status, "ThrottlingException", None) == Unknown(reason="ThrottlingException")


def test_a_throttle_that_says_how_long_is_believed() -> None:
    throttled = classify_refusal(400, "ThrottlingException", None, retry_after="30")
    assert throttled == Throttled(retry_after=timedelta(seconds=30))


@pytest.mark.parametrize(
    ("fault", "result"),
    [
        (ConnectTimeoutError(endpoint_url="x"), Unavailable(reason="connect_timeout")),
        (EndpointConnectionError(endpoint_url="x"), Unavailable(reason="connection_refused")),
        (NoCredentialsError(), Unavailable(reason="no_credentials")),
        (ReadTimeoutError(endpoint_url="x"), Unknown(reason="timeout")),
        (ConnectionClosedError(endpoint_url="x"), Unknown(reason="connection_lost")),
        (BotoCoreError(), Unknown(reason="connection_lost")),
        (ValueError("odd"), Unknown(reason="connection_lost")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_faults_of_connecting_sent_nothing(fault: Exception, result: Refusal) -> None:
    assert classify_fault(fault) == result


def test_what_an_operator_can_mend_needs_an_operator() -> None:
    assert number("x").needs_operator
    assert unlisted("x").needs_operator
    assert not person("x").needs_operator
