"""Retrying in bulk: the newest deliveries that failed for a reason, each on its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from notify_core.application.list_attention import AttentionQuery, FailedDelivery, list_attention
from notify_core.application.ports import Conflict, NoticeKey, Ports
from notify_core.application.retry_delivery import Retried, RetryRefusal, retry_delivery
from notify_core.domain.channel import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A delivery that isn't tried again; `why` is None where others kept changing its notice at the same time."""

    key: NoticeKey
    channel: Channel
    why: RetryRefusal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRetry:
    """How many deliveries are queued again, and which are not."""

    retried: int
    refused: Sequence[Refused]


def retry_deliveries(query: AttentionQuery, ports: Ports) -> BulkRetry:
    """Retry the failed deliveries asked for; repeating it goes on with the next.

    Raises NotFound for an unknown workspace, and StoreUnavailable, after which some may have been retried.
    """
    failed = list_attention(query, ports).failed
    answers = ports.gather([partial(_retry, item, ports) for item in failed])
    refused = [answer for answer in answers if answer is not None]
    return BulkRetry(retried=len(answers) - len(refused), refused=refused)


def _retry(failed: FailedDelivery, ports: Ports) -> Refused | None:
    notice, item = failed
    key = NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)
    try:
        answer = retry_delivery(key, item.channel, ports)
    except Conflict:
        return Refused(key=key, channel=item.channel, why=None)
    return None if isinstance(answer, Retried) else Refused(key=key, channel=item.channel, why=answer)
