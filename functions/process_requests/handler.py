"""Gives every publication its one outcome, and does what withdrawals ask."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.process_message import Received, process_message
from notify_core.messages.publications import parse_message
from notify_core.wiring import BatchResponse, Context, Record, entry, inbox, ports, process_each


@entry
def handler(event: Mapping[str, Any], _context: Context) -> BatchResponse:
    """Process a batch of producers' messages."""
    return process_each(event, _process)


def _process(record: Record) -> bool:
    received = Received(body=record.body, receipt_handle=record.receipt_handle, receives=record.receives)
    return process_message(parse_message(record.body), received, ports(), inbox())
