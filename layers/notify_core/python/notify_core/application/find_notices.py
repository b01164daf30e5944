"""Finding the notices that a request stands behind."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from notify_core.application.ports import NoticeKey, Ports
from notify_core.domain.identifiers import Recipient, fold_id, unfolded_notice_id
from notify_core.domain.limits import GENERATION_MARGIN_SECONDS
from notify_core.domain.notice import Notice
from notify_core.domain.request import ManifestEntry, Request


def find_notices(
    request: Request, ports: Ports, *, holds: Callable[[Notice], bool] | None = None
) -> Mapping[Recipient, Notice | None]:
    """Each recipient's notice as it is stored, strongly consistent; None where none is.

    Where `holds` says of a notice that no later write changes what matters of it, an old reading is enough: half the
    price.
    """
    recipients = [entry.recipient for entry in request.manifest]
    if request.fold_key is None:
        keys = [unfolded_key(request, recipient) for recipient in recipients]
        stored = dict(ports.notices.get_many(keys, consistent=holds is None))
        unsure = [] if holds is None else [key for key in keys if key not in stored or not holds(stored[key])]
        if unsure:
            stored |= ports.notices.get_many(unsure)
        return {key.recipient: stored.get(key) for key in keys}
    found = ports.gather([partial(find_notice, request, entry, ports) for entry in request.manifest])
    return dict(zip(recipients, found, strict=True))


def find_notice(request: Request, entry: ManifestEntry, ports: Ports) -> Notice | None:
    """One recipient's notice as it is stored, strongly consistent."""
    if request.fold_key is None:
        return ports.notices.get(unfolded_key(request, entry.recipient))
    return next(
        (item for item in generations(request, entry, ports) if item.has_contributor(request.request_id)),
        None,
    )


def unfolded_key(request: Request, recipient: Recipient) -> NoticeKey:
    """Where a recipient's notice of an unfolded request stands."""
    return NoticeKey(
        workspace_id=request.workspace_id,
        recipient=recipient,
        notice_id=unfolded_notice_id(request.request_id),
    )


def generations(request: Request, entry: ManifestEntry, ports: Ports) -> Iterator[Notice]:
    """The generations that can hold a folded request: newest first, to the first begun well before its acceptance."""
    if request.fold_key is None or request.accepted_at is None:
        return
    fold = fold_id(request.definition, request.fold_key)
    for notice in ports.notices.generations(request.workspace_id, entry.recipient, fold):
        yield notice
        if (request.accepted_at - notice.created_at).total_seconds() > GENERATION_MARGIN_SECONDS:
            return
