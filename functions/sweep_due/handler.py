"""Runs every minute: has whatever is due looked at."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.sweep_due import sweep_due
from notify_core.wiring import Context, clock, deadline, entry, ports


@entry
def handler(_event: Mapping[str, Any], context: Context) -> Mapping[str, int]:
    """Send one message a due request; how many."""
    return {"sent": sweep_due(ports(), until=deadline(context, clock()))}
