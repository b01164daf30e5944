"""Previewing a publication: what accepting it now would do, decided by the very same code, and nothing written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from notify_core.application.accept_request import Decision, decide
from notify_core.application.find_notices import generations
from notify_core.application.fold_in import joins
from notify_core.application.ports import Ports
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, RequestId
from notify_core.domain.problem import Problem
from notify_core.domain.rendering import Content
from notify_core.domain.request import Exclusion, InvalidPublication, ManifestEntry, Publication, Request
from notify_core.domain.request_lifecycle import RequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The outcome that a publication would get, and for whom: each recipient's plan, texts, and notice folded into."""

    state: RequestState
    problems: Sequence[Problem] = ()
    exclusions: Sequence[Exclusion] = ()
    manifest: Sequence[ManifestEntry] = ()
    contents: Mapping[tuple[Recipient, Channel], Content] = field(
        default_factory=dict[tuple[Recipient, Channel], Content]
    )
    replaces: RequestId | None = None
    folds: Sequence[tuple[Recipient, NoticeId]] = ()


def preview_request(publication: Publication | InvalidPublication, ports: Ports) -> Preview:
    """What accepting the publication would do.

    One whose time hasn't come stays `queued`; its content is judged as if it had.
    """
    row = ports.requests.get(publication.workspace_id, publication.request_id)
    if row is not None and not _is_waiting_for(row, publication):
        return _recorded(row)
    decision = decide(publication, row, ports)
    if decision.new.state is RequestState.QUEUED and isinstance(publication, Publication):
        when_due = decide(replace(publication, not_before=None), row, ports)
        return replace(_preview(when_due, ports), state=RequestState.QUEUED)
    return _preview(decision, ports)


def _is_waiting_for(row: Request, publication: Publication | InvalidPublication) -> bool:
    """Whether the key has no outcome yet, and was published with the same content before."""
    return row.state is RequestState.QUEUED and row.content_hash == publication.content_hash


def _recorded(row: Request) -> Preview:
    """What the key was first published with stands, whatever is published under it now."""
    message = f"this key is recorded as {row.state} already: publishing it changes nothing, use another key"
    return Preview(
        state=row.state,
        problems=(Problem(field="request_key", code="already_recorded", message=message),),
    )


def _preview(decision: Decision, ports: Ports) -> Preview:
    request = decision.new
    return Preview(
        state=request.state,
        problems=request.problems,
        exclusions=request.exclusions,
        manifest=request.manifest,
        contents=decision.judgement.contents if decision.judgement else {},
        replaces=request.replaces,
        folds=_folds(decision, ports),
    )


def _folds(decision: Decision, ports: Ports) -> Sequence[tuple[Recipient, NoticeId]]:
    """The live notices that would take the request in."""
    request = decision.new
    if request.fold_key is None or not request.is_accepted:
        return ()
    found = ports.gather([partial(_notice_to_join, request, entry, decision, ports) for entry in request.manifest])
    return [
        (entry.recipient, notice) for entry, notice in zip(request.manifest, found, strict=True) if notice is not None
    ]


def _notice_to_join(request: Request, entry: ManifestEntry, decision: Decision, ports: Ports) -> NoticeId | None:
    newest = next(generations(request, entry, ports), None)
    if newest is None or not joins(request, entry, newest, decision.reader, ports):
        return None
    return newest.notice_id
