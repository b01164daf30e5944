"""Runs every night: has every workspace audited."""

from collections.abc import Mapping
from typing import Any

from notify_core.application.sweep_due import sweep_nightly
from notify_core.wiring import Context, entry, ports


@entry
def handler(_event: Mapping[str, Any], _context: Context) -> Mapping[str, int]:
    """Send one message a workspace; how many."""
    return {"sent": sweep_nightly(ports())}
