from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.circuit import Wait, after_result, is_probe_due, probing, wait_for
from notify_core.domain.directory import ChannelState
from notify_core.domain.identifiers import DeliveryId
from notify_core.domain.send_result import (
    Accepted,
    Delivered,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)
from tests.builders import NOON, a_channel_state, at

CLOSED = a_channel_state()
THROTTLED = a_channel_state(blocked_until=at(seconds=30))
OPEN = a_channel_state(open_since=NOON, open_reason="token_revoked", probe_at=at(minutes=1))
REVOKED = Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
MANY = [DeliveryId(f"delivery-{number}") for number in range(200)]


def waits(state: ChannelState, now: datetime) -> list[Wait]:
    """How long each of many deliveries waits."""
    found = [wait_for(state, delivery, now=now) for delivery in MANY]
    assert all(found)
    return [wait for wait in found if wait is not None]


def span(found: list[Wait]) -> tuple[datetime, datetime]:
    return min(wait.until for wait in found), max(wait.until for wait in found)


# ---------------------------------------------------------------- waiting


@pytest.mark.parametrize(
    ("state", "now"),
    [(None, NOON), (CLOSED, NOON), (THROTTLED, at(seconds=30)), (THROTTLED, at(hours=1))],
    ids=["never_seen", "closed", "at_the_end_of_the_throttle", "long_after_it"],
)
def test_nothing_waits_for_a_channel_that_works(state: ChannelState | None, now: datetime) -> None:
    assert [wait_for(state, delivery, now=now) for delivery in MANY] == [None] * len(MANY)


def test_a_throttled_channels_deliveries_come_back_spread_over_as_long_again() -> None:
    found = waits(THROTTLED, NOON)
    earliest, latest = span(found)
    assert at(seconds=30) <= earliest < at(seconds=32)
    assert at(seconds=58) < latest < at(seconds=60)
    assert {wait.reason for wait in found} == {"throttled"}


def test_a_delivery_waits_equally_long_whoever_asks() -> None:
    assert wait_for(THROTTLED, MANY[0], now=NOON) == wait_for(THROTTLED, MANY[0], now=NOON)


@pytest.mark.parametrize(
    ("now", "earliest_from", "spread"),
    [
        (NOON, at(minutes=1), timedelta(seconds=10)),
        (at(seconds=40), at(minutes=1), timedelta(seconds=40)),
        (at(minutes=2), at(minutes=2), timedelta(seconds=120)),
        (at(days=2), at(days=2), timedelta(seconds=300)),
    ],
    ids=["just_opened", "a_little_later", "probe_due", "open_for_days"],
)
def test_behind_an_open_circuit_deliveries_come_back_after_the_probe_spread_by_its_age(
    now: datetime, earliest_from: datetime, spread: timedelta
) -> None:
    found = waits(OPEN, now)
    earliest, latest = span(found)
    assert earliest_from <= earliest < earliest_from + spread * 0.05
    assert earliest_from + spread * 0.95 < latest < earliest_from + spread
    assert {wait.reason for wait in found} == {"circuit_open"}


def test_behind_an_open_circuit_deliveries_wait_for_the_throttle_too() -> None:
    both = replace(OPEN, blocked_until=at(minutes=10))
    assert span(waits(both, NOON))[0] >= at(minutes=10)


def test_behind_an_open_circuit_nothing_comes_back_before_now() -> None:
    long_ago = replace(OPEN, blocked_until=at(minutes=1))
    assert span(waits(long_ago, at(hours=1)))[0] >= at(hours=1)


@pytest.mark.parametrize("half", [replace(OPEN, open_since=None), replace(OPEN, probe_at=None)])
def test_half_a_circuit_is_none(half: ChannelState) -> None:
    assert wait_for(half, MANY[0], now=NOON) is None
    assert is_probe_due(half, now=at(days=1)) is False


# ---------------------------------------------------------------- probing


@pytest.mark.parametrize(
    ("state", "now", "expected"),
    [
        (CLOSED, at(days=1), False),
        (THROTTLED, at(days=1), False),
        (OPEN, at(seconds=59), False),
        (OPEN, at(seconds=60), True),
        (replace(OPEN, blocked_until=at(minutes=5)), at(minutes=4), False),
        (replace(OPEN, blocked_until=at(minutes=5)), at(minutes=5), True),
    ],
    ids=["closed", "throttled", "too_early", "due", "still_throttled", "no_longer_throttled"],
)
def test_an_open_circuit_is_probed_when_its_time_has_come(
    state: ChannelState, now: datetime, *, expected: bool
) -> None:
    assert is_probe_due(state, now=now) is expected


@pytest.mark.parametrize(
    ("channel", "next_probe"),
    [
        (Channel.CHAT, at(minutes=2)),
        (Channel.TEXT, at(minutes=6)),
        (Channel.SLACK_SYSTEM, at(minutes=2)),
    ],
)
def test_a_probe_taken_puts_the_next_one_off(channel: Channel, next_probe: datetime) -> None:
    state = replace(OPEN, channel=channel)
    taken = probing(state, now=at(minutes=1))
    assert taken == replace(state, version=2, probe_at=next_probe)
    assert not is_probe_due(taken, now=at(minutes=1))


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("state", "result", "expected"),
    [
        (CLOSED, Throttled(retry_after=timedelta(seconds=30)), replace(THROTTLED, version=2)),
        (
            THROTTLED,
            Throttled(retry_after=timedelta(seconds=31)),
            a_channel_state(blocked_until=at(seconds=31), version=2),
        ),
        (THROTTLED, Throttled(retry_after=timedelta(seconds=30.9)), None),
        (THROTTLED, Throttled(retry_after=timedelta(seconds=30)), None),
        (THROTTLED, Throttled(retry_after=timedelta(seconds=1)), None),
        (CLOSED, REVOKED, replace(OPEN, version=2)),
        (CLOSED, Delivered(provider_id="p"), None),
        (CLOSED, Accepted(provider_id="p"), None),
        (CLOSED, Rejected(reason="gone", scope=RejectionScope.PERSON), None),
        (CLOSED, Unavailable(reason="internal_error"), None),
        (CLOSED, Unknown(reason="timeout"), None),
    ],
    ids=[
        "throttled",
        "throttled_for_longer",
        "throttled_in_the_same_second",
        "throttled_as_before",
        "throttled_for_less",
        "refused",
        "delivered",
        "accepted",
        "person_refused",
        "unavailable",
        "unknown",
    ],
)
def test_an_answer_closes_the_channel_only_where_it_concerns_the_channel(
    state: ChannelState, result: SendResult, expected: ChannelState | None
) -> None:
    assert after_result(state, result, now=NOON) == expected


@pytest.mark.parametrize(
    "result",
    [
        Delivered(provider_id="p"),
        Accepted(provider_id="p"),
        Rejected(reason="gone", scope=RejectionScope.PERSON),
        Rejected(reason="too_long", scope=RejectionScope.CONTENT),
    ],
    ids=["delivered", "accepted", "person_refused", "content_refused"],
)
def test_an_open_circuit_closes_with_the_first_answer_that_shows_the_channel_to_work(result: SendResult) -> None:
    assert after_result(OPEN, result, now=at(minutes=1)) == a_channel_state(version=2)


def test_a_refusal_that_is_known_already_changes_nothing_until_the_next_probe() -> None:
    assert after_result(OPEN, REVOKED, now=at(seconds=59)) is None
    assert after_result(OPEN, REVOKED, now=at(seconds=60)) == replace(OPEN, version=2, probe_at=at(minutes=2))


def test_a_refusal_for_another_reason_is_shown_and_leaves_the_circuit_open_since_it_opened() -> None:
    again = Rejected(reason="account_inactive", scope=RejectionScope.WORKSPACE)
    assert after_result(OPEN, again, now=at(minutes=1)) == replace(
        OPEN, version=2, open_reason="account_inactive", probe_at=at(minutes=2)
    )


@pytest.mark.parametrize("result", [Unavailable(reason="internal_error"), Unknown(reason="timeout")])
def test_an_answer_that_tells_nothing_of_the_refusal_leaves_the_circuit_open(result: SendResult) -> None:
    assert after_result(OPEN, result, now=at(minutes=1)) is None


def test_a_throttled_probe_leaves_the_circuit_open_and_the_channel_blocked() -> None:
    result = Throttled(retry_after=timedelta(minutes=5))
    assert after_result(OPEN, result, now=at(minutes=1)) == replace(OPEN, version=2, blocked_until=at(minutes=6))
