from datetime import timedelta

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DeliveryId
from notify_core.domain.policy import backoff, is_exhausted, jitter
from tests.builders import NOON, at

SENT_CHANNELS = [Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM]
MANY = [DeliveryId(f"delivery-{number}") for number in range(200)]


@pytest.mark.parametrize(
    ("channel", "full_seconds"),
    [
        (Channel.CHAT, [15, 30, 60, 120, 240, 480, 900, 900]),
        (Channel.TEXT, [30, 60, 120, 240, 480, 900, 900, 900]),
        (Channel.SLACK_SYSTEM, [10, 20, 40, 80, 160, 300, 300, 300]),
    ],
)
def test_the_wait_doubles_up_to_its_most_with_up_to_half_taken_off(channel: Channel, full_seconds: list[int]) -> None:
    for attempt, seconds in enumerate(full_seconds, start=1):
        full = timedelta(seconds=seconds)
        waits = [backoff(delivery, channel, attempt) for delivery in MANY]
        assert full / 2 < min(waits) < full * 0.55
        assert full * 0.95 < max(waits) <= full


def test_the_same_history_gives_the_same_wait() -> None:
    assert backoff(MANY[0], Channel.CHAT, 2) == backoff(MANY[0], Channel.CHAT, 2)


def test_jitter_differs_from_delivery_to_delivery_and_from_attempt_to_attempt() -> None:
    drawn = [jitter(delivery, attempt) for delivery in MANY for attempt in (1, 2, 3)]
    assert 0 <= min(drawn) < 0.02
    assert 0.98 < max(drawn) < 1
    assert len(set(drawn)) > 400


@pytest.mark.parametrize(
    ("channel", "attempts_max", "age"),
    [
        (Channel.CHAT, 5, timedelta(days=1)),
        (Channel.TEXT, 5, timedelta(days=1)),
        (Channel.SLACK_SYSTEM, 8, timedelta(hours=12)),
    ],
)
def test_a_delivery_is_exhausted_by_its_attempts_or_by_failing_for_long(
    channel: Channel, attempts_max: int, age: timedelta
) -> None:
    just_before = NOON + age - timedelta(microseconds=1)
    assert not is_exhausted(channel, attempts_max - 1, failing_since=NOON, now=just_before)
    assert is_exhausted(channel, attempts_max, failing_since=NOON, now=at())
    assert is_exhausted(channel, 1, failing_since=NOON, now=NOON + age)


def test_the_console_is_never_tried_and_has_no_policy() -> None:
    with pytest.raises(KeyError):
        is_exhausted(Channel.CONSOLE, 1, failing_since=NOON, now=NOON)


def test_these_channels_are_sent_and_text_alone_has_receipts() -> None:
    assert [channel for channel in Channel if channel.is_sent] == SENT_CHANNELS
    assert [channel for channel in Channel if channel.has_receipts] == [Channel.TEXT]
