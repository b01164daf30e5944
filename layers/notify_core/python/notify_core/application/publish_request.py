"""Publishing over HTTP: the message that a producer would send itself."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.ports import Message, Ports, QueueName
from notify_core.domain.identifiers import WorkspaceId


def publish_request(workspace: WorkspaceId, body: Mapping[str, Any], ports: Ports) -> None:
    """Put a publication into the requests queue as it is; StoreUnavailable when the queue doesn't have it."""
    ports.queues.send(QueueName.REQUESTS, [Message(body=body, group=workspace)])
    ports.telemetry.count("publications_queued")
