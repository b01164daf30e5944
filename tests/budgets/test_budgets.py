"""What a delivery may cost, by the meter: the whole life of a request, its settling, indexes and re-arming included.

A budget that is exceeded fails here. `make bench ONLY=cost` prints the figures.
"""

from collections.abc import Mapping

import pytest

from bench import report
from bench.cost import each
from bench.lives import Life, Platform
from notify_core.domain.channel import Channel
from notify_core.domain.request_lifecycle import RequestState

CHAT = (Channel.CHAT,)
CONSOLE = (Channel.CONSOLE,)
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")

SLOW = pytest.mark.timeout(180)


@SLOW
@pytest.mark.parametrize(
    ("people", "channels", "budget"),
    [
        (200, CHAT, {"write units": 2.5, "SQS requests": 0.35, "dollars a million": 2.30, "log bytes": 200}),
        (10, CHAT, {"write units": 3.5}),
        (1, CHAT, {"write units": 11}),
        (200, CONSOLE, {"write units": 2.2}),
    ],
    ids=["200 by chat", "10 by chat", "1 by chat", "200 in the app"],
)
def test_a_delivery_keeps_its_budget(
    platform: Platform, people: int, channels: tuple[Channel, ...], budget: Mapping[str, float]
) -> None:
    life = platform.live(people, *channels)
    found = each(life, report.load("functions"))
    assert {name: found[name] for name, most in budget.items() if found[name] > most} == {}
    assert_whole(platform, life)


def assert_whole(platform: Platform, life: Life) -> None:
    """The life was one: everybody told, nothing left to do."""
    request = platform.request(life.identity)
    assert (request.state, request.due_at, len(request.manifest)) == (RequestState.SETTLED, None, life.recipients)
    told = {delivery.state for notice in platform.notices(life.identity) for delivery in notice.deliveries}
    assert told == {"delivered"}
    assert len(platform.notices(life.identity)) == life.recipients


def writes(life: Life, stage: str) -> dict[str, int]:
    """The DynamoDB write calls of a stage, by operation and table."""
    found = life.stages[stage].usage.calls
    return {
        name.removeprefix("dynamodb "): number
        for name, number in found.items()
        if name.startswith("dynamodb ") and name.split()[1] in WRITES
    }


@SLOW
@pytest.mark.parametrize("people", [1, 10, 200])
def test_an_acceptance_is_committed_by_one_write_call(platform: Platform, people: int) -> None:
    assert writes(platform.live(people, *CHAT), "accept") == {"PutItem requests": 1}


def test_notices_in_the_app_are_written_once_each(platform: Platform) -> None:
    assert writes(platform.live(10, *CONSOLE), "accept") == {"PutItem requests": 1, "PutItem notices": 10}


def test_folded_notices_are_written_once_for_each_request(platform: Platform) -> None:
    for _ in range(2):
        life = platform.live(10, *CONSOLE, fold_key="the roadmap")
        assert writes(life, "accept") == {"PutItem requests": 1, "PutItem notices": 10}
