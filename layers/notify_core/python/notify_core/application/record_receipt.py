"""Recording a provider's receipt: it moves a delivery from whatever it was taken for to what became of it."""

from notify_core.application.ports import Conflict, NoticeKey, Ports
from notify_core.domain.channel import Channel
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.notice import Delivery, Notice, believes_receipt, bounced, proved_sent
from notify_core.domain.receipt import Receipt, ReceiptOutcome


def record_receipt(receipt: Receipt, ports: Ports) -> None:
    """Record a receipt once, in whatever order receipts come; one that tells nothing final changes nothing.

    Raises Conflict after too many lost races and StoreUnavailable: the receipt has to come again.
    """
    if receipt.outcome is ReceiptOutcome.PROGRESS:
        return
    key = NoticeKey(workspace_id=receipt.workspace_id, recipient=receipt.recipient, notice_id=receipt.notice_id)
    for _ in range(CONFLICTS_MAX):
        notice = ports.notices.get(key)
        item = notice.delivery(receipt.channel) if notice else None
        if notice is None or item is None:
            ports.telemetry.info("receipt_without_notice", channel=receipt.channel.value)
            return
        if not believes_receipt(item) or not _is_of(receipt, item):
            return
        new = _received(notice, receipt.channel, receipt, ports)
        try:
            ports.notices.put(new, notice)
        except Conflict:
            continue
        ports.telemetry.count("receipts", channel=receipt.channel.value, outcome=receipt.outcome.value)
        return
    raise Conflict("receipt kept losing its race")


def _is_of(receipt: Receipt, item: Delivery) -> bool:
    """Whether the receipt speaks of the delivery's last send, or of one that reached somebody anyway."""
    return receipt.outcome is ReceiptOutcome.DELIVERED or item.claim_id is None or item.claim_id == receipt.claim_id


def _received(notice: Notice, channel: Channel, receipt: Receipt, ports: Ports) -> Notice:
    now = ports.clock.now()
    if receipt.outcome is ReceiptOutcome.DELIVERED:
        return proved_sent(
            notice,
            channel,
            provider_id=receipt.provider_id,
            provider_channel=None,
            by=Actor.RECEIPT,
            now=now,
        )
    return bounced(notice, channel, receipt.reason or "bounced", provider_id=receipt.provider_id, now=now)
