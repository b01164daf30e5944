"""Slack and the SMS service: each keeps the truth, whatever it answers."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from notify_core.application.ports import EvidenceQuery, Outgoing
from notify_core.domain.channel import Channel
from notify_core.domain.limits import SEND_SECONDS_MAX
from notify_core.domain.receipt import Receipt, ReceiptOutcome
from notify_core.domain.send_result import (
    Absent,
    Accepted,
    Delivered,
    Evidence,
    Found,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
    Untold,
)

if TYPE_CHECKING:
    from tests.simulation.world import World

_SENT_FAULTS = ("drop_response", "error_500", "lose_request", "late", "hang", "die_after", "die_before")
_REFUSAL_FAULTS = ("throttle", "unavailable", "unavailable", "reject", "refuse")
REFUSING_SECONDS_MAX = 1_800
RECEIPT_SECONDS_MAX = 300_000
LATE_SECONDS = 60


@dataclass(kw_only=True, eq=False)
class Provider:
    """ports.Sender and EvidenceSource of one channel: keeps whom it reached, apart from what it answers."""

    world: "World"
    channel: Channel
    reached: dict[str, list[Outgoing]] = field(default_factory=lambda: defaultdict(list))
    """What really arrived, by delivery."""
    is_refusing: bool = False
    kinds: tuple[str, ...] = _SENT_FAULTS + _REFUSAL_FAULTS
    """How it fails."""
    bounces: float = 0.2
    receipts_within: tuple[float, ...] = (0, 5, LATE_SECONDS, RECEIPT_SECONDS_MAX)
    """How many seconds a receipt takes at most: one of these."""

    def send(self, outgoing: Outgoing) -> SendResult:
        world = self.world
        world.reach(f"post.{self.channel}")
        world.checkers.posted(outgoing)
        world.counts["wire_calls"] += 1
        if world.kernel.history is not None:
            world.kernel.tell(f"posts to {outgoing.address} over {self.channel}: {outgoing.text}")
        result = self._answer(outgoing)
        world.checkers.answered(outgoing, result)
        if world.kernel.history is not None:
            world.kernel.tell(f"{self.channel} answers {result}")
        return result

    def _answer(self, outgoing: Outgoing) -> SendResult:
        world = self.world
        if self.is_refusing:
            return Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
        if not world.chance(world.faults.provider, "provider"):
            return self._take(outgoing)
        fault = world.kernel.pick(self.kinds, "provider fault")
        world.happened(f"provider {fault}", outgoing.address)
        return self._refuse(fault) if fault in _REFUSAL_FAULTS else self._lose(outgoing, fault)

    def _refuse(self, fault: str) -> SendResult:
        """An answer that certainly sent nothing."""
        kernel = self.world.kernel
        match fault:
            case "throttle":
                return Throttled(retry_after=timedelta(seconds=kernel.pick((1, 30), "retry after")))
            case "unavailable":
                return Unavailable(reason="service_unavailable")
            case "reject":
                return Rejected(reason="user_not_found", scope=RejectionScope.PERSON)
            case "refuse":
                self.is_refusing = True
                kernel.after(kernel.draw("refusal") * REFUSING_SECONDS_MAX, self._relent)
                return Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
            case _:
                raise AssertionError(fault)

    def _lose(self, outgoing: Outgoing, fault: str) -> SendResult:
        """An answer that never comes, or tells nothing, whether or not somebody was reached."""
        kernel = self.world.kernel
        if fault in {"drop_response", "error_500", "die_after"}:
            self._reach(outgoing)
        if fault in {"die_after", "die_before"}:
            kernel.die()
        if fault == "late":
            kernel.after(kernel.draw("late") * SEND_SECONDS_MAX, lambda: self._reach(outgoing))
        if fault == "hang":
            kernel.sleep(SEND_SECONDS_MAX)
        return Unknown(reason=fault)

    def _relent(self) -> None:
        self.is_refusing = False

    def _take(self, outgoing: Outgoing) -> SendResult:
        kernel = self.world.kernel
        kernel.sleep(0.05 + kernel.draw("wire") / 4)
        identity = self._reach(outgoing)
        return Accepted(provider_id=identity) if self.channel is Channel.TEXT else Delivered(provider_id=identity)

    def _reach(self, outgoing: Outgoing) -> str:
        world = self.world
        if world.kernel.history is not None:
            world.kernel.tell(f"** {outgoing.address} HAS {outgoing.text} over {self.channel}")
        self.reached[outgoing.delivery_id].append(outgoing)
        world.counts["reached"] += 1
        world.checkers.reached(outgoing)
        identity = f"p-{world.counts['reached']}"
        if self.channel is Channel.TEXT:
            self._send_receipts(outgoing, identity)
        return identity

    def _send_receipts(self, outgoing: Outgoing, provider_id: str) -> None:
        """The provider's receipt: soon, late or never, once or several times, good or bad."""
        world = self.world
        kernel = world.kernel
        if kernel.chance(0.1, "receipt lost"):
            world.happened("receipt lost", outgoing.address)
            return
        outcome = ReceiptOutcome.DELIVERED
        if kernel.chance(self.bounces, "bounce"):
            world.happened("receipt of a bounce", outgoing.address)
            outcome = ReceiptOutcome.BOUNCED
        times = kernel.pick((1, 1, 1, 3), "receipts")
        world.checkers.receipts_sent(outgoing, outcome, times)
        if times > 1:
            world.happened("receipt repeated", outgoing.address)
        for _ in range(times):
            receipt = Receipt(
                workspace_id=outgoing.workspace_id,
                recipient=outgoing.recipient,
                notice_id=outgoing.notice_id,
                channel=outgoing.channel,
                claim_id=outgoing.claim_id,
                provider_id=provider_id,
                outcome=outcome,
                reason=None if outcome is ReceiptOutcome.DELIVERED else "UNREACHABLE",
                at=kernel.at,
            )
            delay = kernel.draw("receipt") * kernel.pick(self.receipts_within, "how late")
            if delay > LATE_SECONDS:
                world.happened("receipt late")
            kernel.after(delay, lambda receipt=receipt: world.receive_receipt(receipt))

    def look_up(self, query: EvidenceQuery) -> Evidence:
        world = self.world
        world.reach(f"evidence.{self.channel}")
        if world.chance(world.faults.provider / 5, "evidence untold"):
            world.happened("evidence untold", query.address)
            return Untold(reason="timeout")
        evidence = Found(provider_id="found") if self.reached.get(query.delivery_id) else Absent()
        world.checkers.evidence_shown(query, is_absent=isinstance(evidence, Absent))
        world.kernel.tell(f"{self.channel} shows {evidence} at {query.address}")
        return evidence
