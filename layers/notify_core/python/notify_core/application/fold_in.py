"""Folding a request into a recipient's live notice, or beginning the next generation."""

from notify_core.application.begin_notice import Reader, begin_notice, console_content
from notify_core.application.find_notices import generations
from notify_core.application.ports import Conflict, Ports
from notify_core.domain.identifiers import NoticeId, fold_id, generation_notice_id, generation_of
from notify_core.domain.limits import FOLD_CONFLICTS_MAX
from notify_core.domain.notice import Notice, can_join, created, joined
from notify_core.domain.request import ManifestEntry, Request


def fold_in(request: Request, entry: ManifestEntry, reader: Reader, ports: Ports) -> Notice:
    """The recipient's notice that holds the request: as found, joined, or begun. Idempotent over the generations."""
    for _ in range(FOLD_CONFLICTS_MAX):
        found = list(generations(request, entry, ports))
        holding = next((item for item in found if item.has_contributor(request.request_id)), None)
        if holding is not None:
            return holding
        newest = found[0] if found else None
        new, was = _next_value(request, entry, newest, reader, ports)
        try:
            ports.notices.put(new, was)
        except Conflict:
            continue
        return new
    raise Conflict(f"fold of {request.request_id} kept losing its race")


def _next_value(
    request: Request, entry: ManifestEntry, newest: Notice | None, reader: Reader, ports: Ports
) -> tuple[Notice, Notice | None]:
    now = ports.clock.now()
    if newest is not None and joins(request, entry, newest, reader, ports):
        content = console_content(request, entry.recipient, reader) if newest.has_console else None
        return joined(newest, request, content, now=now), newest
    notice = _next_generation(request, newest)
    return created(begin_notice(request, entry, reader, notice=notice, begun_at=now)), None


def joins(request: Request, entry: ManifestEntry, newest: Notice, reader: Reader, ports: Ports) -> bool:
    """Whether the newest generation takes the request in now."""
    within = reader.definition(request).fold_within
    if within is None or request.accepted_at is None:
        return False
    return can_join(newest, entry, accepted_at=request.accepted_at, within=within, is_read=is_read(newest, ports))


def is_read(notice: Notice, ports: Ports) -> bool:
    """Whether the recipient has read it, on its own or with everything up to a time."""
    if notice.read_at is not None or not notice.has_console:
        return notice.read_at is not None
    mark = ports.notices.read_mark(notice.workspace_id, notice.recipient)
    return mark is not None and notice.created_at <= mark.read_up_to


def _next_generation(request: Request, newest: Notice | None) -> NoticeId:
    fold = fold_id(request.definition, request.fold_key or "")
    return generation_notice_id(fold, generation_of(newest.notice_id) + 1 if newest else 1)
