"""Settling a send whose result is unknown, by evidence, and a receipt that never came."""

from datetime import timedelta

from notify_core.application.ports import Conflict, EvidenceQuery, NoticeKey, Ports
from notify_core.application.tell_failed_alert import tell_failed_alert
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import CONFLICTS_MAX, TEXT_EVIDENCE_SECONDS
from notify_core.domain.notice import (
    Delivery,
    Notice,
    outcome_unknown,
    proved_sent,
    proved_unsent,
    receipt_timed_out,
)
from notify_core.domain.send_result import Absent, Found, Untold
from notify_core.domain.sweeping import evidence_at, evidence_ends_at, receipt_ends_at


def settle_send(notice: Notice, channel: Channel, ports: Ports) -> Notice:
    """The notice with what is known now of a send without a result or a receipt; unchanged while nothing is."""
    for _ in range(CONFLICTS_MAX):
        item = notice.delivery(channel)
        new = None if item is None else _settled(notice, item, ports)
        if new is None:
            return notice
        try:
            ports.notices.put(new, notice)
        except Conflict:
            notice = _again(notice, ports)
            continue
        ports.telemetry.count("sends_settled", channel=channel.value, state=_state(new, channel))
        _tell_unknown(new, channel, ports)
        tell_failed_alert(notice, new, ports)
        return new
    raise Conflict(f"settling of {notice.notice_id} kept losing its race")


def _again(notice: Notice, ports: Ports) -> Notice:
    key = NoticeKey(workspace_id=notice.workspace_id, recipient=notice.recipient, notice_id=notice.notice_id)
    return ports.notices.get(key) or notice


def _state(notice: Notice, channel: Channel) -> str:
    item = notice.delivery(channel)
    return item.state.value if item else ""


def _tell_unknown(notice: Notice, channel: Channel, ports: Ports) -> None:
    """Alarm where the last word is that nobody can tell: a person has to ask the recipient, or the provider."""
    item = notice.delivery(channel)
    if item is not None and item.reason == DeliveryReason.OUTCOME_UNKNOWN:
        ports.telemetry.alarm(
            "outcome_unknown",
            workspace_id=notice.workspace_id,
            notice_id=notice.notice_id,
            recipient=notice.recipient,
            channel=channel.value,
        )


def _settled(notice: Notice, item: Delivery, ports: Ports) -> Notice | None:
    now = ports.clock.now()
    if item.state is DeliveryState.SENT:
        return receipt_timed_out(notice, item.channel, now=now) if now >= receipt_ends_at(item) else None
    if item.state is not DeliveryState.SENDING or not item.lease_is_over(now):
        return None
    if item.channel.has_receipts:
        is_late = now >= evidence_ends_at(item, notice.expires_at)
        return outcome_unknown(notice, item.channel, now=now) if is_late else None
    return _by_record(notice, item, ports) if now >= evidence_at(item) else None


def _by_record(notice: Notice, item: Delivery, ports: Ports) -> Notice | None:
    """What the provider's own record says; while it can't be read the send stays unknown, for a day at most."""
    now = ports.clock.now()
    query = _query(notice, item)
    evidence = ports.evidence[item.channel].look_up(query) if query else Untold(reason="no_address")
    match evidence:
        case Found(provider_id=provider_id, provider_channel=provider_channel):
            return proved_sent(
                notice,
                item.channel,
                provider_id=provider_id,
                provider_channel=provider_channel,
                by=Actor.SWEEP,
                now=now,
            )
        case Absent():
            return proved_unsent(notice, item.channel, now=now)
        case Untold(reason=reason):
            ports.telemetry.info("evidence_untold", channel=item.channel.value, reason=reason)
            given_up_at = evidence_at(item) + timedelta(seconds=TEXT_EVIDENCE_SECONDS)
            return outcome_unknown(notice, item.channel, now=now) if now >= given_up_at else None


def _query(notice: Notice, item: Delivery) -> EvidenceQuery | None:
    """What to look for: at the address that it was sent to, whatever the directory says by now."""
    if not item.address or item.claim_id is None or item.claimed_at is None:
        return None
    return EvidenceQuery(
        workspace_id=notice.workspace_id,
        channel=item.channel,
        delivery_id=notice.delivery_id(item.channel),
        claim_id=item.claim_id,
        claimed_at=item.claimed_at,
        address=item.address,
    )
