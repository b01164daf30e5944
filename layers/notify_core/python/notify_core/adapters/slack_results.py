"""What each of Slack's answers, and each fault on the way to Slack, amounts to.

Sources: Slack's reference of `chat.postMessage`, and the behaviour of slack_sdk's WebClient over urllib.
"""

import errno
import re
from collections.abc import Callable, Mapping
from http.client import HTTPException
from socket import gaierror
from ssl import SSLCertVerificationError
from typing import Final
from urllib.error import URLError

from notify_core.adapters.retry_after import read_retry_after
from notify_core.domain.send_result import (
    Rejected,
    RejectionScope,
    Throttled,
    Unavailable,
    Unknown,
)

RETRY_AFTER_SECONDS: Final = 30
"""How long a throttled channel waits when Slack doesn't say."""
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR: Final = 500

Refusal = Throttled | Unavailable | Rejected | Unknown
"""Every result but success."""
Verdict = Callable[[str], Unavailable | Rejected | Unknown]
"""Makes the result of a code."""


def _unavailable(code: str) -> Unavailable:
    return Unavailable(reason=code)


def _unknown(code: str) -> Unknown:
    return Unknown(reason=code)


def _person(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.PERSON)


def _content(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.CONTENT)


def _workspace(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.WORKSPACE)


THROTTLED_CODES: Final = frozenset({"ratelimited", "rate_limited"})

VERDICTS: Final[Mapping[str, Verdict]] = {
    # Nothing was done; another attempt may succeed. `request_timeout`: the body arrived cut off.
    "request_timeout": _unavailable,
    "service_unavailable": _unavailable,
    "team_added_to_org": _unavailable,
    "unknown_method": _unavailable,
    # Part of the operation may have succeeded.
    "fatal_error": _unknown,
    "internal_error": _unknown,
    # This person can't be reached.
    "channel_not_found": _person,
    "user_not_found": _person,
    "user_disabled": _person,
    "is_archived": _person,
    "not_in_channel": _person,
    "messages_tab_disabled": _person,
    "cannot_reply_to_message": _person,
    "ekm_access_denied": _person,
    "is_bot": _person,
    # This message can't be posted.
    "no_text": _content,
    "invalid_blocks": _content,
    "invalid_blocks_format": _content,
    "msg_blocks_too_long": _content,
    "msg_too_long": _content,
    "too_many_attachments": _content,
    "metadata_too_large": _content,
    "invalid_arg_name": _content,
    "invalid_array_arg": _content,
    "invalid_charset": _content,
    "invalid_form_data": _content,
    # The workspace's app can't post at all.
    "not_authed": _workspace,
    "invalid_auth": _workspace,
    "token_revoked": _workspace,
    "token_expired": _workspace,
    "account_inactive": _workspace,
    "missing_scope": _workspace,
    "no_permission": _workspace,
    "not_allowed_token_type": _workspace,
    "app_access_restricted": _workspace,
    "access_denied": _workspace,
    "accesslimited": _workspace,
    "org_login_required": _workspace,
    "team_not_found": _workspace,
    "two_factor_setup_required": _workspace,
    "enterprise_is_restricted": _workspace,
    "message_limit_exceeded": _workspace,
    "method_deprecated": _workspace,
}

VERDICTS_BY_PREFIX: Final[Mapping[str, Verdict]] = {
    "restricted_action": _person,
    "invalid_metadata_": _content,
}

TOKEN_CODES: Final = frozenset({"not_authed", "invalid_auth", "token_revoked", "token_expired", "account_inactive"})
"""The refusals that another token may end."""

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,99}")
"""What a code looks like: slack_sdk puts a sentence in its place when the answer isn't JSON."""


def classify_answer(status: int, error: object, retry_after: str | None) -> Refusal:
    """What an answer that isn't a success amounts to: its status, its member `error`, its header `Retry-After`."""
    code = error if isinstance(error, str) and _CODE.fullmatch(error) else None
    if status == _TOO_MANY_REQUESTS or code in THROTTLED_CODES:
        return Throttled(retry_after=read_retry_after(retry_after, default_seconds=RETRY_AFTER_SECONDS))
    if status >= _SERVER_ERROR or code is None:
        return Unknown(reason=f"http_{status}")
    return _verdict(code)(code)


def _verdict(code: str) -> Verdict:
    by_prefix = (verdict for prefix, verdict in VERDICTS_BY_PREFIX.items() if code.startswith(prefix))
    return VERDICTS.get(code) or next(by_prefix, _unlisted)


def _unlisted(code: str) -> Rejected:
    return Rejected(reason=code, scope=RejectionScope.CONTENT, listed=False)


_NO_ROUTE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL})


def classify_fault(fault: Exception) -> Unavailable | Unknown:
    """What an exception of the call amounts to.

    urllib wraps in URLError what happens until the request has left, and nothing later. A timeout among that
    is one of connecting: a request is far smaller than the socket's buffer. A reset may have come after the
    request, so it counts as unknown even there.
    """
    if isinstance(fault, URLError) and (reason := _before_sending(fault.reason)) is not None:
        return Unavailable(reason=reason)
    return Unknown(reason=_after_sending(fault.reason if isinstance(fault, URLError) else fault))


def _before_sending(cause: object) -> str | None:
    match cause:
        case ConnectionRefusedError():
            return "connection_refused"
        case gaierror():
            return "name_not_resolved"
        case TimeoutError():
            return "connect_timeout"
        case SSLCertVerificationError():
            return "certificate_refused"
        case OSError(errno=number) if number in _NO_ROUTE:
            return "no_route"
        case _:
            return None


def _after_sending(cause: object) -> str:
    match cause:
        case TimeoutError():
            return "timeout"
        case ConnectionError():
            return "connection_lost"
        case HTTPException():
            return "answer_cut"
        case _:
            return "fault"
