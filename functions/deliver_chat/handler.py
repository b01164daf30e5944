"""Sends Slack messages."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.deliver_messages import deliver_messages
from notify_core.domain.channel import Channel
from notify_core.wiring import BatchResponse, Context, clock, deadline, entry, ports, process_batch


@entry
def handler(event: Mapping[str, Any], context: Context) -> BatchResponse:
    """Deliver a batch of dispatch messages."""
    until = deadline(context, clock())
    return process_batch(
        event,
        lambda records: deliver_messages(
            {record.message_id: record.body for record in records}, ports(Channel.CHAT), until=until
        ),
    )
