"""The schedules stop, all queues are purged, a day passes: once the schedules run, the tables alone end everything."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify_core.domain.identifiers import WorkspaceId
from tests.conformance.backends import deployed
from tests.local.client import Stack
from tests.local.producer import BOTH, CHAT, CONSOLE, PHONES, SLACK_IDS, Producer

ANA, BEN = {"people": ["ana"]}, {"people": ["ben"]}
MANY, FEW = 70, 35
FIRST_CHECK_SECONDS = 90
DAY_SECONDS = 90
"""How long the day lasts whose deadlines fall due together."""
DEFERRED_SECONDS = 40
END_SECONDS = 150
SWEPT_SECONDS = 90
"""What a day's expiries may take on a busy machine, from the moment at which the schedules run again."""
DELIVERING = ("deliver_chat", "deliver_text", "deliver_system", "reconcile_requests")


def register(stack: Stack, workspace: str) -> Producer:
    producer = Producer(stack, workspace)
    producer.register()
    producer.put("/definitions/chat", CHAT)
    producer.put("/definitions/console", CONSOLE)
    producer.put("/definitions/both", BOTH)
    producer.put("/definitions/retired", CHAT)
    producer.put("/definitions/folded", {**BOTH, "fold": {"within": "PT1H"}})
    producer.put("/definitions/replacing", {**BOTH, "replace_previous": True})
    return producer


def numbered(name: str, count: int) -> list[str]:
    return [f"{name} {number}" for number in range(count)]


def count_by_kind(found: Mapping[str, Any]) -> dict[str, Counter[Any]]:
    """How often each value came, by the first word of its key."""
    counted: dict[str, Counter[Any]] = {}
    for key, value in found.items():
        counted.setdefault(key.split()[0], Counter())[value] += 1
    return counted


def notices(producer: Producer) -> dict[str, str]:
    """Each request's notices: status, and state of each delivery."""

    def told(item: dict[str, Any]) -> tuple[str, str]:
        shown = [
            (notice["status"], *(f"{part['channel']} {part['state']}" for part in notice["deliveries"]))
            for notice in producer.request(item["request_id"])["notices"]
        ]
        return item["request_key"], "; ".join(sorted(", ".join(words) for words in shown))

    with ThreadPoolExecutor(8) as pool:
        return dict(pool.map(told, producer.history()))


def state_of_the_delivery(producer: Producer, key: str) -> str | None:
    """The state of a request's only delivery."""
    ids = [item["request_id"] for item in producer.history() if item["request_key"] == key]
    states = [
        part["state"]
        for identity in ids
        for notice in producer.request(identity)["notices"]
        for part in notice["deliveries"]
    ]
    return states[0] if states else None


def wait_until(stack: Stack, find: Callable[[], bool]) -> None:
    """Looks once a second: each look reads hundreds of rows."""
    stack.wait_until(find, timeout_seconds=SWEPT_SECONDS, poll_seconds=1)


def owed(producer: Producer) -> list[str]:
    """The keys of the requests that are still to be looked at, now or later."""
    stores = deployed(producer.stack.file).stores()
    page = stores.requests.due(
        WorkspaceId(producer.workspace), 0, until=datetime.now(tz=UTC) + timedelta(days=400), limit=1000
    )
    keys = {item["request_id"]: item["request_key"] for item in producer.history()}
    return [keys[row.request_id] for row in page.items]


def reached(stack: Stack) -> Counter[tuple[str, str, str]]:
    """Who was told what, and how often."""
    return Counter((message["channel"], message["to"], message["text"]) for message in stack.simulator.messages())


@pytest.fixture(autouse=True)
def emptied(stack: Stack) -> Iterator[None]:
    """What a failure leaves waiting for a quarter of an hour would keep later tests waiting."""
    yield
    stack.purge()


@pytest.fixture
def day(stack: Stack, workspace: str) -> Producer:
    return register(stack, f"{workspace}-day")


@pytest.fixture
def purged(stack: Stack, workspace: str) -> Producer:
    return register(stack, f"{workspace}-purged")


def publish_a_day(producer: Producer, *, deadline: datetime) -> None:
    """Requests of every kind that end together: told, shown, held by their provider, or not yet due."""
    stack, ends = producer.stack, deadline.isoformat()
    producer.publish_keys("chat", ANA, *numbered("told", MANY), deadline=ends)
    producer.publish_keys("console", ANA, *numbered("shown", MANY), deadline=ends)
    almost = (deadline - timedelta(seconds=1)).isoformat()
    producer.publish_keys("console", ANA, *numbered("waiting", FEW), deadline=ends, not_before=almost)
    wait_until(stack, lambda: len(stack.simulator.messages(channel="chat")) == MANY)
    stack.simulator.add_fault("chat", "throttle", retry_after=900, to=SLACK_IDS["ben"])
    producer.publish_keys("chat", BEN, "unsent 0", deadline=ends)
    wait_until(stack, lambda: state_of_the_delivery(producer, "unsent 0") == "deferred")
    producer.publish_keys("chat", BEN, *numbered("unsent", MANY)[1:], deadline=ends)
    producer.publish_keys("both", BEN, *numbered("half", FEW), deadline=ends)
    wait_until(
        stack,
        lambda: (
            count_by_kind({key: state for key, (state, _) in producer.outcomes().items()})
            == {
                "told": {"open": MANY},
                "shown": {"open": MANY},
                "waiting": {"queued": FEW},
                "unsent": {"open": MANY},
                "half": {"open": FEW},
            }
        ),
    )
    assert datetime.now(tz=UTC) < deadline, "this machine is too slow for such a short day"


def publish_and_purge(producer: Producer, *, at: datetime) -> None:
    """Requests of every kind of work, whose every message is lost."""
    stack = producer.stack
    ends = (at + timedelta(seconds=END_SECONDS)).isoformat()
    soon = (at + timedelta(seconds=DEFERRED_SECONDS)).isoformat()
    with stack.paused(*DELIVERING):
        producer.publish_keys("order.shipped", {"teams": ["orders"]}, "order", deadline=ends)
        producer.publish_keys("import.failed", {"hq": True}, "alert", deadline=ends)
        producer.publish_keys("folded", ANA, "one", "two", "three", deadline=ends, fold_key="f")
        producer.publish_keys("chat", ANA, "withdrawn", deadline=ends)
        producer.publish_keys("retired", ANA, "retired", deadline=ends)
        producer.publish_keys("replacing", BEN, "older", deadline=ends, replacement_key="r")
        producer.publish_keys("chat", BEN, "deferred", deadline=ends, not_before=soon)
        wait_until(stack, lambda: len(producer.outcomes()) == 9)
        producer.publish_keys("replacing", BEN, "newer", deadline=ends, replacement_key="r")
        withdraw = {"type": "withdraw", "version": 1, "workspace_id": producer.workspace, "definition": "chat"}
        producer.publish({**withdraw, "request_key": "withdrawn", "withdrawn_at": datetime.now(tz=UTC).isoformat()})
        assert stack.call("DELETE", f"/v1/workspaces/{producer.workspace}/definitions/retired").status == 204
        expected = {
            **dict.fromkeys(("order", "alert", "one", "two", "three", "retired", "newer"), ("open", None)),
            "older": ("superseded", "replaced"),
            "withdrawn": ("superseded", "withdrawn"),
            "deferred": ("queued", None),
        }
        wait_until(stack, lambda: producer.outcomes() == expected)
        wait_until(stack, lambda: (stack.depth("text"), stack.depth("system"), stack.depth("reconcile")) == (2, 1, 1))
        stack.purge()


@pytest.mark.timeout(420)
def test_what_the_schedules_and_queues_have_missed_ends_once_the_schedules_run(
    stack: Stack, day: Producer, purged: Producer
) -> None:
    """Scenarios 18, 21 and 22: a day's expiries, and every kind of work of which no message is left."""
    deadline = datetime.now(tz=UTC) + timedelta(seconds=DAY_SECONDS)
    publish_a_day(day, deadline=deadline)
    at = datetime.now(tz=UTC)
    publish_and_purge(purged, at=at)
    everyone = {("chat", SLACK_IDS["ana"], f"told {number}"): 1 for number in range(MANY)}
    assert reached(stack) == everyone
    due_at = max(deadline, datetime.now(tz=UTC) + timedelta(seconds=FIRST_CHECK_SECONDS))
    time.sleep((due_at - datetime.now(tz=UTC)).total_seconds())

    shipped = "Order order is on its way"
    everyone |= {
        **{("chat", to, shipped): 1 for to in SLACK_IDS.values()},
        **{("text", to, shipped): 1 for to in PHONES.values()},
        ("slack_system", "C0HQ", "The import failed"): 1,
        **{("chat", SLACK_IDS["ana"], text): 1 for text in ("three (and 2 more)", "retired")},
        **{("chat", SLACK_IDS["ben"], text): 1 for text in ("newer", "deferred")},
    }
    with stack.scheduled():
        wait_until(stack, lambda: {state for state, _ in day.outcomes().values()} == {"settled", "expired"})
        wait_until(stack, lambda: reached(stack) == everyone)

    assert count_by_kind(day.outcomes()) == {
        "told": {("settled", None): MANY},
        "shown": {("settled", None): MANY},
        "waiting": {("expired", "deadline"): FEW},
        "unsent": {("settled", None): MANY},
        "half": {("settled", None): FEW},
    }
    assert count_by_kind(notices(day)) == {
        "told": {"delivered, chat delivered": MANY},
        "shown": {"delivered, console delivered": MANY},
        "waiting": {"": FEW},
        "unsent": {"expired, chat expired": MANY},
        "half": {"delivered, console delivered, chat expired": FEW},
    }
    assert day.unread() == {"ana": MANY, "ben": FEW}
    assert owed(day) == []

    for message in stack.simulator.messages(channel="text"):
        stack.simulator.send_receipt(message["delivery_id"], "TEXT_DELIVERED")
    time.sleep(max(0.0, (at + timedelta(seconds=END_SECONDS) - datetime.now(tz=UTC)).total_seconds()))
    stack.invoke("sweep_due")
    wait_until(stack, lambda: set(owed(purged)) <= {"order"})  # its receipts may have come after its last sweep
    settled = ("order", "alert", "one", "two", "three", "newer", "deferred")
    assert purged.outcomes() == {
        **dict.fromkeys(settled, ("settled", None)),
        "older": ("superseded", "replaced"),
        "withdrawn": ("superseded", "withdrawn"),
        "retired": ("cancelled", "definition_retired"),
    }
    order = "delivered, console delivered, chat delivered, text delivered"
    both = "delivered, console delivered, chat delivered"
    assert notices(purged) == {
        "order": f"{order}; {order}",
        "alert": "delivered, slack_system delivered",
        **dict.fromkeys(("one", "two", "three"), both),
        "newer": both,
        "older": "superseded, console delivered, chat cancelled",
        "withdrawn": "superseded, chat cancelled",
        **dict.fromkeys(("retired", "deferred"), "delivered, chat delivered"),
    }
    assert purged.unread() == {"ana": 2, "ben": 2}
    assert reached(stack) == everyone
