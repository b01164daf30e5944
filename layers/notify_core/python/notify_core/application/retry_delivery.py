"""An operator's retry: an exhausted delivery is tried again, and nothing else."""

from dataclasses import dataclass
from enum import StrEnum

from notify_core.application.ports import Conflict, NoticeKey, Ports, PutNotice, PutRequest
from notify_core.application.tasks import QUEUE_OF, dispatch_task, message_of
from notify_core.domain.channel import Channel
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Notice, is_retryable, retried
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import Request, carries, rescheduled
from notify_core.domain.request_lifecycle import RequestState


class RetryRefusal(StrEnum):
    """Why a delivery isn't tried again."""

    NOT_EXHAUSTED = "not_exhausted"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    SETTLED = "settled"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Retried:
    """The delivery is queued again."""


def retry_delivery(key: NoticeKey, channel: Channel, ports: Ports) -> Retried | RetryRefusal:
    """Queue an exhausted delivery again with all its attempts, while a contributor carries its notice.

    One transaction writes the request, to be looked at now, and the notice; so pressing twice gives one attempt. Raises
    Conflict after too many lost races and StoreUnavailable.
    """
    for _ in range(CONFLICTS_MAX):
        notice = ports.notices.get(key)
        item = notice.delivery(channel) if notice else None
        if notice is None or item is None:
            return RetryRefusal.NOT_FOUND
        if not is_retryable(item):
            return RetryRefusal.NOT_EXHAUSTED
        carrier = _carrier(notice, ports)
        if isinstance(carrier, RetryRefusal):
            return carrier
        now = ports.clock.now()
        new = retried(notice, channel, now=now)
        try:
            ports.requests.commit(
                (
                    PutRequest(new=rescheduled(carrier, now), was=carrier),
                    PutNotice(new=new, was=notice),
                )
            )
        except Conflict:
            continue
        ports.queues.send(QUEUE_OF[channel], [message_of(dispatch_task(new, channel))])
        ports.telemetry.count("deliveries_retried", channel=channel.value)
        return Retried()
    raise Conflict("retry kept losing its race")


def _carrier(notice: Notice, ports: Ports) -> Request | RetryRefusal:
    """The oldest contributor that carries the notice, or why none does."""
    if notice.ended is NoticeStatus.SUPERSEDED:
        return RetryRefusal.WITHDRAWN
    if notice.ended is not None:
        return RetryRefusal.EXPIRED
    ids = [item.request_id for item in notice.contributors]
    found = ports.requests.get_many(notice.workspace_id, ids)
    requests = [found[item] for item in ids if item in found]
    now = ports.clock.now()
    carrier = next((item for item in requests if carries(item, now)), None)
    return carrier or _refusal(requests)


def _refusal(requests: list[Request]) -> RetryRefusal:
    if any(item.state is RequestState.SETTLED for item in requests):
        return RetryRefusal.SETTLED
    if any(item.is_withdrawn for item in requests):
        return RetryRefusal.WITHDRAWN
    return RetryRefusal.EXPIRED
