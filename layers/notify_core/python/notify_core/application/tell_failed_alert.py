"""Telling that an alert never reached the headquarters, by another way than the one that failed."""

from typing import Final

from notify_core.application.ports import Ports
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.notice import Notice

_UNTOLD: Final = frozenset({DeliveryState.FAILED, DeliveryState.EXPIRED})


def tell_failed_alert(was: Notice, new: Notice, ports: Ports) -> None:
    """Alarm where a write has just ended an alert as failed, or as expired without having been sent."""
    before, after = was.delivery(Channel.SLACK_SYSTEM), new.delivery(Channel.SLACK_SYSTEM)
    if before is None or after is None or after.state is before.state or after.state not in _UNTOLD:
        return
    ports.telemetry.alarm(
        "hq_alert_failed", workspace_id=new.workspace_id, notice_id=new.notice_id, reason=after.reason
    )
