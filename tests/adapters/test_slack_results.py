import errno
import socket
import ssl
from datetime import timedelta
from http.client import IncompleteRead, RemoteDisconnected
from urllib.error import URLError

import pytest

from notify_core.adapters.slack_results import (
    TOKEN_CODES,
    VERDICTS,
    VERDICTS_BY_PREFIX,
    Refusal,
    classify_answer,
    classify_fault,
)
from notify_core.domain.send_result import Rejected, RejectionScope, Throttled, Unavailable, Unknown

PERSON, CONTENT, WORKSPACE = RejectionScope.PERSON, RejectionScope.CONTENT, RejectionScope.WORKSPACE

REFUSALS: list[tuple[str, Refusal]] = [
    ("ratelimited", Throttled(retry_after=timedelta(seconds=30))),
    ("rate_limited", Throttled(retry_after=timedelta(seconds=30))),
    ("request_timeout", Unavailable(reason="request_timeout")),
    ("service_unavailable", Unavailable(reason="service_unavailable")),
    ("team_added_to_org", Unavailable(reason="team_added_to_org")),
    ("unknown_method", Unavailable(reason="unknown_method")),
    ("fatal_error", Unknown(reason="fatal_error")),
    ("internal_error", Unknown(reason="internal_error")),
    ("channel_not_found", Rejected(reason="channel_not_found", scope=PERSON)),
    ("user_not_found", Rejected(reason="user_not_found", scope=PERSON)),
    ("user_disabled", Rejected(reason="user_disabled", scope=PERSON)),
    ("is_archived", Rejected(reason="is_archived", scope=PERSON)),
    ("not_in_channel", Rejected(reason="not_in_channel", scope=PERSON)),
    ("messages_tab_disabled", Rejected(reason="messages_tab_disabled", scope=PERSON)),
    ("cannot_reply_to_message", Rejected(reason="cannot_reply_to_message", scope=PERSON)),
    ("ekm_access_denied", Rejected(reason="ekm_access_denied", scope=PERSON)),
    ("is_bot", Rejected(reason="is_bot", scope=PERSON)),
    ("restricted_action", Rejected(reason="restricted_action", scope=PERSON)),
    ("restricted_action_read_only_channel", Rejected(reason="restricted_action_read_only_channel", scope=PERSON)),
    ("restricted_action_thread_locked", Rejected(reason="restricted_action_thread_locked", scope=PERSON)),
    ("no_text", Rejected(reason="no_text", scope=CONTENT)),
    ("invalid_blocks", Rejected(reason="invalid_blocks", scope=CONTENT)),
    ("invalid_blocks_format", Rejected(reason="invalid_blocks_format", scope=CONTENT)),
    ("msg_blocks_too_long", Rejected(reason="msg_blocks_too_long", scope=CONTENT)),
    ("msg_too_long", Rejected(reason="msg_too_long", scope=CONTENT)),
    ("too_many_attachments", Rejected(reason="too_many_attachments", scope=CONTENT)),
    ("metadata_too_large", Rejected(reason="metadata_too_large", scope=CONTENT)),
    ("invalid_metadata_format", Rejected(reason="invalid_metadata_format", scope=CONTENT)),
    ("invalid_metadata_schema", Rejected(reason="invalid_metadata_schema", scope=CONTENT)),
    ("invalid_arg_name", Rejected(reason="invalid_arg_name", scope=CONTENT)),
    ("invalid_array_arg", Rejected(reason="invalid_array_arg", scope=CONTENT)),
    ("invalid_charset", Rejected(reason="invalid_charset", scope=CONTENT)),
    ("invalid_form_data", Rejected(reason="invalid_form_data", scope=CONTENT)),
    ("not_authed", Rejected(reason="not_authed", scope=WORKSPACE)),
    ("invalid_auth", Rejected(reason="invalid_auth", scope=WORKSPACE)),
    ("token_revoked", Rejected(reason="token_revoked", scope=WORKSPACE)),
    ("token_expired", Rejected(reason="token_expired", scope=WORKSPACE)),
    ("account_inactive", Rejected(reason="account_inactive", scope=WORKSPACE)),
    ("missing_scope", Rejected(reason="missing_scope", scope=WORKSPACE)),
    ("no_permission", Rejected(reason="no_permission", scope=WORKSPACE)),
    ("not_allowed_token_type", Rejected(reason="not_allowed_token_type", scope=WORKSPACE)),
    ("app_access_restricted", Rejected(reason="app_access_restricted", scope=WORKSPACE)),
    ("access_denied", Rejected(reason="access_denied", scope=WORKSPACE)),
    ("accesslimited", Rejected(reason="accesslimited", scope=WORKSPACE)),
    ("org_login_required", Rejected(reason="org_login_required", scope=WORKSPACE)),
    ("team_not_found", Rejected(reason="team_not_found", scope=WORKSPACE)),
    ("two_factor_setup_required", Rejected(reason="two_factor_setup_required", scope=WORKSPACE)),
    ("enterprise_is_restricted", Rejected(reason="enterprise_is_restricted", scope=WORKSPACE)),
    ("message_limit_exceeded", Rejected(reason="message_limit_exceeded", scope=WORKSPACE)),
    ("method_deprecated", Rejected(reason="method_deprecated", scope=WORKSPACE)),
    ("a_code_of_tomorrow", Rejected(reason="a_code_of_tomorrow", scope=CONTENT, listed=False)),
]


@pytest.mark.parametrize(("code", "result"), REFUSALS)
def test_each_code_has_its_result(code: str, result: Refusal) -> None:
    assert classify_answer(200, code, None) == result


def test_the_table_of_this_test_names_every_code_that_the_adapter_knows() -> None:
    known = {*VERDICTS, *VERDICTS_BY_PREFIX}
    tried = {code for code, _ in REFUSALS}
    assert {code for code in known if not any(name.startswith(code) for name in tried)} == set()


def test_only_refusals_of_the_token_make_it_be_read_anew() -> None:
    assert set(TOKEN_CODES) == {
        "not_authed",
        "invalid_auth",
        "token_revoked",
        "token_expired",
        "account_inactive",
    }


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (200, "Received a response in a non-JSON format: <html>", "http_200"),
        (200, None, "http_200"),
        (200, "", "http_200"),
        (200, {"code": "x"}, "http_200"),
        (404, "Received a response in a non-JSON format: <html>", "http_404"),
        (500, None, "http_500"),
        (502, "service_unavailable", "http_502"),
        (503, "service_unavailable", "http_503"),
        (504, None, "http_504"),
    ],
)
def test_what_is_no_code_of_slack_is_unknown_and_no_word_of_it_is_kept(status: int, code: object, reason: str) -> None:
    assert classify_answer(status, code, None) == Unknown(reason=reason)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("1", 1),
        (" 30 ", 30),
        ("3600", 3600),
        ("0", 1),
        ("99999999999999999999", 86_400),
        (None, 30),
        ("", 30),
        ("-5", 30),
        ("1.5", 30),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 30),
        ("²", 30),
    ],
)
def test_retry_after_is_whole_seconds_up_to_a_day(header: str | None, seconds: int) -> None:
    assert classify_answer(429, None, header) == Throttled(retry_after=timedelta(seconds=seconds))


FAULTS: list[tuple[Exception, Refusal]] = [
    (URLError(ConnectionRefusedError()), Unavailable(reason="connection_refused")),
    (URLError(socket.gaierror()), Unavailable(reason="name_not_resolved")),
    (URLError(TimeoutError()), Unavailable(reason="connect_timeout")),
    (URLError(ssl.SSLCertVerificationError()), Unavailable(reason="certificate_refused")),
    (URLError(OSError(errno.ENETUNREACH, "")), Unavailable(reason="no_route")),
    (URLError(OSError(errno.EHOSTUNREACH, "")), Unavailable(reason="no_route")),
    (URLError(ConnectionResetError()), Unknown(reason="connection_lost")),
    (URLError(BrokenPipeError()), Unknown(reason="connection_lost")),
    (URLError(ssl.SSLEOFError()), Unknown(reason="fault")),
    (URLError("unknown url type"), Unknown(reason="fault")),
    (TimeoutError(), Unknown(reason="timeout")),
    (ConnectionResetError(), Unknown(reason="connection_lost")),
    (RemoteDisconnected(), Unknown(reason="connection_lost")),
    (IncompleteRead(b""), Unknown(reason="answer_cut")),
    (ConnectionRefusedError(), Unknown(reason="connection_lost")),
    (ValueError(), Unknown(reason="fault")),
]


@pytest.mark.parametrize(("fault", "result"), FAULTS, ids=[repr(fault) for fault, _ in FAULTS])
def test_only_faults_of_connecting_sent_nothing(fault: Exception, result: Refusal) -> None:
    assert classify_fault(fault) == result
