"""What can go wrong, and how often it does in a run. Every kind is counted when it really happens."""

from dataclasses import dataclass
from random import Random

FAULTS = (
    "store unavailable", "store throttled", "answer lost after commit", "write lands late", "conflict without cause",
    "stale read", "index lag",
    "crash before a call", "crash after a call", "slow call", "function timed out",
    "message duplicated", "message received again", "messages out of order", "message delayed", "send failed",
    "send failed in part", "dead letter", "purge",
    "provider throttle", "provider unavailable", "provider reject", "provider refuse", "provider drop_response",
    "provider error_500", "provider lose_request", "provider late", "provider hang", "provider die_before",
    "provider die_after", "evidence untold",
    "receipt lost", "receipt late", "receipt repeated", "receipt of a bounce",
    "producer's clock ahead", "producer's clock behind",
)  # fmt: skip
"""Every kind of fault, by the name it is counted under."""


@dataclass(kw_only=True)
class Faults:
    """How likely each fault is, at each of its occasions."""

    store_unavailable: float = 0.0
    store_throttled: float = 0.0
    answer_lost: float = 0.0
    late_write: float = 0.0
    causeless_conflict: float = 0.0
    crash: float = 0.0
    stale: float = 0.0
    index_lag: float = 0.0
    duplicate: float = 0.0
    delay: float = 0.0
    send_fails: float = 0.0
    slow_function: float = 0.0
    provider: float = 0.0

    @classmethod
    def drawn(cls, random: Random, *, scale: float = 1.0) -> "Faults":
        """A mixture: some kinds often, some rarely, some not at all; those of every call are scaled."""

        def rate(most: float) -> float:
            return random.choice((0.0, 0.0, most / 10, most))

        return cls(
            store_unavailable=rate(0.05) * scale,
            answer_lost=rate(0.05) * scale,
            crash=rate(0.02) * scale,
            stale=rate(0.5),
            duplicate=rate(0.2),
            send_fails=rate(0.05) * scale,
            slow_function=rate(0.02) * scale,
            provider=rate(0.5),
            store_throttled=rate(0.01) * scale,
            late_write=rate(0.03) * scale,
            causeless_conflict=rate(0.05) * scale,
            index_lag=rate(0.5),
            delay=rate(0.1),
        )


NO_FAULTS = Faults()
