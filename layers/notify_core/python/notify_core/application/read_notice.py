"""Reading one notice, with the state of each request behind it."""

from collections.abc import Mapping
from dataclasses import dataclass

from notify_core.application.derive_notice import derive_notice
from notify_core.application.ports import NoticeKey, Ports, ReadMark
from notify_core.application.refusals import notice_not_found
from notify_core.domain.identifiers import RequestId
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """A notice, stored or derived, with its contributors as they are now and its recipient's read mark."""

    notice: Notice
    requests: Mapping[RequestId, Request]
    mark: ReadMark | None = None


def read_notice(key: NoticeKey, ports: Ports) -> NoticeView:
    """One notice, strongly consistent; one that is not stored is derived from its request.

    Raises:
        NotFound: the recipient has no such notice.
    """
    notice = ports.notices.get(key)
    if notice is None:
        return _derived(key, ports)
    contributors = [item.request_id for item in notice.contributors]
    return NoticeView(
        notice=notice,
        requests=ports.requests.get_many(key.workspace_id, contributors),
        mark=ports.notices.read_mark(key.workspace_id, key.recipient) if notice.has_console else None,
    )


def _derived(key: NoticeKey, ports: Ports) -> NoticeView:
    """An unfolded notice has the id of its request."""
    request = ports.requests.get(key.workspace_id, RequestId(key.notice_id))
    entry = request.entry(key.recipient) if request else None
    if request is None or entry is None or not request.is_accepted or request.fold_key is not None:
        raise notice_not_found()
    notice = derive_notice(request, entry, now=ports.clock.now())
    return NoticeView(notice=notice, requests={request.request_id: request})
