"""Records what the SMS service says became of a text message."""

import json
from collections.abc import Mapping
from typing import Any

from notify_core.application.record_receipt import record_receipt
from notify_core.wiring import BatchResponse, Context, Record, entry, parse_receipt, ports, process_each


@entry
def handler(event: Mapping[str, Any], _context: Context) -> BatchResponse:
    """Record a batch of receipts."""
    return process_each(event, _record)


def _record(record: Record) -> bool:
    receipt = parse_receipt(json.loads(record.body))
    if receipt is not None:
        record_receipt(receipt, ports())
    return True
