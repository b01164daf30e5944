"""Reading one request, with the notice of each of its recipients."""

from collections.abc import Sequence
from dataclasses import dataclass

from notify_core.application.derive_notice import derive_notice
from notify_core.application.find_notices import find_notices
from notify_core.application.ports import Ports
from notify_core.application.refusals import request_not_found
from notify_core.domain.identifiers import NoticeId, RequestId, WorkspaceId, unfolded_notice_id
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """A request with its notices, stored or derived, in the order of its manifest."""

    request: Request
    notices: Sequence[Notice]

    def notice_id(self, notice: Notice) -> NoticeId | None:
        """The notice's id; None where a folded request has not been folded into any."""
        is_folded = notice.notice_id != unfolded_notice_id(self.request.request_id)
        return None if self.request.fold_key is not None and not is_folded else notice.notice_id


def read_request(workspace: WorkspaceId, request_id: RequestId, ports: Ports) -> RequestView:
    """A request as it stands, strongly consistent.

    Raises:
        NotFound: it was not processed yet.
    """
    request = ports.requests.get(workspace, request_id)
    if request is None:
        raise request_not_found()
    if not request.is_accepted:
        return RequestView(request=request, notices=())
    stored, now = find_notices(request, ports), ports.clock.now()
    notices = [stored.get(entry.recipient) or derive_notice(request, entry, now=now) for entry in request.manifest]
    return RequestView(request=request, notices=notices)
