"""Records what ran out of receives, where an operator finds it."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.ports import QueueName
from notify_core.application.record_dead_message import (
    record_dead_receipt,
    record_dead_request_message,
    record_dead_task_message,
)
from notify_core.messages.publications import parse_message
from notify_core.wiring import (
    BatchResponse,
    Context,
    Record,
    entry,
    keep_dead,
    ports,
    process_each,
    queue_read_from,
    read_receipt,
    telemetry,
)


@entry
def handler(event: Mapping[str, Any], _context: Context) -> BatchResponse:
    """Record a batch of dead letters; what can't be read stays."""
    return process_each(event, _record)


def _record(record: Record) -> bool:
    queue = queue_read_from(record)
    telemetry().count("dead_letters", queue=queue.value)
    match queue:
        case QueueName.REQUESTS:
            is_recorded = record_dead_request_message(parse_message(record.body), ports())
        case QueueName.RECEIPTS:
            is_recorded = record_dead_receipt(read_receipt(record.body), ports())
        case _:
            is_recorded = record_dead_task_message(record.body, queue, ports())
    return is_recorded or keep_dead(record, queue)
