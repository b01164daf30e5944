"""The operators' routes of notices: reading one, what needs attention, trying again."""

from collections.abc import Mapping
from typing import Any, Final

from notify_core.api.bodies import retry_body
from notify_core.api.call import Answer, Call
from notify_core.api.lists import limit_of, list_answer, place_at, position_of
from notify_core.api.notice_shapes import attention_json, notice_json, recipient_json
from notify_core.api.paths import notice_key_of, workspace_of
from notify_core.api.refusal import Kind, refusal
from notify_core.api.routing import Api
from notify_core.application.list_attention import AttentionPlace, AttentionQuery, list_attention
from notify_core.application.ports import NoticeKey
from notify_core.application.read_notice import read_notice
from notify_core.application.refusals import NotFound
from notify_core.application.retry_deliveries import Refused, retry_deliveries
from notify_core.application.retry_delivery import RetryRefusal, retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import NoticeId, Recipient, delivery_id

_WHY: Final = {
    RetryRefusal.NOT_EXHAUSTED: "only a delivery that ran out of attempts is tried again",
    RetryRefusal.WITHDRAWN: "the request was withdrawn or replaced",
    RetryRefusal.EXPIRED: "the request has passed its deadline",
    RetryRefusal.SETTLED: "the request is settled",
    RetryRefusal.NOT_FOUND: "there is no such delivery",
    None: "others kept changing the notice at the same time; try again",
}


def get_notice(call: Call, api: Api) -> Answer:
    """One notice."""
    return Answer(status=200, body=notice_json(read_notice(notice_key_of(call), api.ports)))


def post_retry(call: Call, api: Api) -> Answer:
    """Try an exhausted delivery again."""
    key, channel = notice_key_of(call), _channel_of(call)
    answer = retry_delivery(key, channel, api.ports)
    if answer is RetryRefusal.NOT_FOUND:
        _check_delivery(key, channel, api)
        answer = RetryRefusal.NOT_EXHAUSTED
    if isinstance(answer, RetryRefusal):
        raise refusal(Kind.REFUSED, "channel", answer, _WHY[answer])
    identity = delivery_id(key.workspace_id, key.recipient, key.notice_id, channel)
    return Answer(status=202, body={"delivery_id": identity})


def _check_delivery(key: NoticeKey, channel: Channel, api: Api) -> None:
    """A notice that isn't stored yet is there all the same: nothing of it can have been exhausted."""
    if read_notice(key, api.ports).notice.delivery(channel) is None:
        raise NotFound("channel", "delivery_not_found", "the notice has no delivery over this channel")


def _channel_of(call: Call) -> Channel:
    try:
        return Channel(call.path["channel"])
    except ValueError as error:
        names = ", ".join(Channel)
        raise refusal(Kind.INVALID, "channel", "unknown_channel", f"the channels are {names}") from error


# ---------------------------------------------------------------- what needs attention


def get_deliveries(call: Call, api: Api) -> Answer:
    """Failed deliveries, newest first."""
    _check_state(call)
    workspace, reason = workspace_of(call), call.asked("reason")
    scope = (workspace, reason or "")
    position = position_of(call, api, scope)
    query = AttentionQuery(
        workspace_id=workspace,
        limit=limit_of(call),
        reason=reason,
        before=None if position is None else _place(position),
    )
    page = list_attention(query, api.ports)
    items = [attention_json(notice, item) for notice, item in page.failed]
    return list_answer(call, api, scope, items, None if page.before is None else _position(page.before))


def _check_state(call: Call) -> None:
    if (call.asked("state") or DeliveryState.FAILED) != DeliveryState.FAILED:
        raise refusal(Kind.INVALID, "state", "unknown_state", "only failed deliveries are listed: failed")


def _position(place: AttentionPlace) -> dict[str, str]:
    failed_at, recipient, notice = place
    return {"at": failed_at.isoformat(), "recipient": recipient, "id": notice}


def _place(position: Mapping[str, str]) -> AttentionPlace:
    return place_at(position), Recipient(position["recipient"]), NoticeId(position["id"])


# ---------------------------------------------------------------- trying again in bulk


def post_retries(call: Call, api: Api) -> Answer:
    """Try the newest exhausted deliveries again."""
    body = retry_body(call)
    query = AttentionQuery(workspace_id=workspace_of(call), limit=body.limit, reason=body.reason)
    answer = retry_deliveries(query, api.ports)
    refused = [_refused_json(item) for item in answer.refused]
    return Answer(status=200, body={"retried": answer.retried, "refused": refused})


def _refused_json(refused: Refused) -> dict[str, Any]:
    return {
        "recipient": recipient_json(refused.key.recipient),
        "notice_id": refused.key.notice_id,
        "channel": refused.channel,
        "code": refused.why or "conflict",
        "message": _WHY[refused.why],
    }
