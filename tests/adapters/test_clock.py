import re
from datetime import UTC, datetime

from notify_core.adapters.clock import SystemClock, new_claim_id


def test_the_time_is_now_and_aware() -> None:
    before = datetime.now(tz=UTC)
    now = SystemClock().now()
    assert before <= now <= datetime.now(tz=UTC)
    assert now.tzinfo is UTC


def test_claim_ids_are_short_safe_and_never_the_same() -> None:
    claims = [new_claim_id() for _ in range(10_000)]
    assert len(set(claims)) == 10_000
    assert all(re.fullmatch(r"[A-Za-z0-9_~]{16}", claim) for claim in claims)
