"""Publishing a recorded publication again: what lay in its lost, delayed or dead-lettered message."""

from datetime import datetime

from notify_core.application.ports import Message, Ports, QueueName
from notify_core.domain.limits import DELAY_SECONDS_MAX
from notify_core.domain.publication import publication_body
from notify_core.domain.request import InvalidPublication, Publication, Request


def first_published(
    row: Request | None, publication: Publication | InvalidPublication
) -> Publication | InvalidPublication:
    """What a key was first published with: what its queued row keeps, or this publication where there is no row yet."""
    return publication if row is None else publication_of(row)


def publication_of(request: Request) -> Publication:
    """The publication that a queued row keeps."""
    if request.published_at is None or request.data is None:
        raise ValueError(f"request {request.request_id} keeps no publication")
    return Publication(
        workspace_id=request.workspace_id,
        definition=request.definition,
        request_key=request.request_key,
        request_id=request.request_id,
        published_at=request.published_at,
        data=request.data,
        audience=request.audience,
        not_before=request.not_before,
        deadline=request.deadline,
        replacement_key=request.replacement_key,
        fold_key=request.fold_key,
        content_hash=request.content_hash,
    )


def publish_again(request: Request, ports: Ports, *, now: datetime) -> None:
    """Send a queued row's publication, hidden until its time or for fifteen minutes."""
    publication = publication_of(request)
    not_before = publication.not_before
    wait_seconds = 0.0 if not_before is None else max(0.0, (not_before - now).total_seconds())
    delay_seconds = min(-int(-wait_seconds // 1), DELAY_SECONDS_MAX)
    message = Message(body=publication_body(publication), group=publication.workspace_id, delay_seconds=delay_seconds)
    ports.queues.send(QueueName.REQUESTS, [message])
