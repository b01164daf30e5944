"""Batches: ten deliveries cost about one call of the provider, and none of them costs another anything."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from threading import Barrier
from typing import Any

import pytest

from notify_core.adapters.threads import ThreadGather
from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.ports import (
    Conflict,
    NoticeKey,
    Outgoing,
    Ports,
    QueueName,
    StoreUnavailable,
)
from notify_core.application.tasks import DispatchTask, message_of
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, RequestId, WorkspaceId
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS, SEND_SECONDS_MAX, SPARE_SECONDS, STORE_CALL_SECONDS_MAX
from notify_core.domain.notice import Notice
from notify_core.domain.policy import POLICIES
from notify_core.domain.rendering import ChatContent
from notify_core.domain.rendering.block_kit import BLOCKS_MAX, check_blocks
from notify_core.domain.send_result import Delivered, SendResult, Unknown
from tests.application.delivery import BUSY, DOWN, GONE, accept_only, accepted, at, deliver, item, take, told
from tests.application.faulty import failing, watched
from tests.application.steps import Steps
from tests.application.world import ACME, World

TEN = [f"p{number}" for number in range(10)]
SLEEP_SECONDS = 0.2
HANG_SECONDS = 2.0
"""Long enough for a busy machine's own delays not to matter."""


@pytest.fixture
def world(world: World) -> World:
    """The platform, where ten people are told on Slack."""
    world.register_people(*TEN)
    world.register_definition("chat")
    return world


@pytest.fixture
def threads(world: World) -> Any:
    """The world's ports over real threads."""
    gather = ThreadGather()
    yield replace(world.ports, gather=gather)
    gather.close()


@dataclass
class Sender:
    """A provider that is a function."""

    send: Callable[[Outgoing], SendResult]


def slowly(_: Outgoing) -> SendResult:
    """A provider that takes its time."""
    time.sleep(SLEEP_SECONDS)
    return Delivered(provider_id="p", provider_channel="D")


def sending_by(ports: Ports, send: Callable[[Outgoing], SendResult]) -> Ports:
    return replace(ports, senders={**ports.senders, Channel.CHAT: Sender(send)})


def message_json(task: DispatchTask) -> str:
    return json.dumps(message_of(task).body)


def states(world: World) -> set[str]:
    return {told(world, person) for person in TEN}


# ---------------------------------------------------------------- its time, and its calls


def test_ten_deliveries_take_about_as_long_as_one_call_of_the_provider(world: World, threads: Ports) -> None:
    tasks = accepted(world, *TEN)
    begun = time.monotonic()
    assert deliver(world, tasks, sending_by(threads, slowly)) == set()
    assert SLEEP_SECONDS < time.monotonic() - begun < 2 * SLEEP_SECONDS
    assert states(world) == {"delivered"}


def test_claims_are_written_all_at_once(world: World, threads: Ports) -> None:
    """However slow the store is, a batch waits for two writes of it: the claims', and the records'."""
    tasks = accepted(world, *TEN)
    together = Barrier(len(TEN), timeout=5)
    ports = watched(threads, "notices.put", before=lambda *_: together.wait())
    assert deliver(world, tasks, ports) == set()
    assert states(world) == {"delivered"}


def test_a_batch_reads_in_bulk_and_the_distinct_requests_once_strongly_after_its_claims(world: World) -> None:
    world.publish("k1", *TEN[:5])
    world.publish("k2", *TEN[5:])
    accept_only(world)
    tasks = take(world)
    steps = Steps(world.ports)
    deliver(world, tasks, steps.ports)
    names = steps.names()
    assert {name: names.count(name) for name in names} == {
        "registry.channel_state": 1,
        "requests.get_many": 2,  # eventually before the claims, for notices that aren't stored; strongly after them
        "directory.people": 1,
        "notices.put": 20,
        "registry.definition_version": names.count("registry.definition_version"),
    }
    assert names.index("requests.get_many") < names.index("notices.put")
    assert names[: names.index("requests.get_many", names.index("notices.put"))].count("notices.put") == 10
    strong = names.index("requests.get_many", names.index("notices.put"))
    assert steps.taken[strong].rows == 2


def test_notices_that_are_stored_need_one_read_of_their_requests(world: World) -> None:
    """The strong one, after the claims."""
    world.register_definition("console", "chat")
    tasks = accepted(world, *TEN)
    steps = Steps(world.ports)
    deliver(world, tasks, steps.ports)
    assert [name for name in steps.names() if name.startswith("requests.")] == ["requests.get_many"]


def test_the_requests_are_read_strongly(world: World) -> None:
    tasks = accepted(world, *TEN)
    consistently: list[bool] = []

    def look(*_: object, consistent: bool = True) -> None:
        consistently.append(consistent)

    deliver(world, tasks, watched(world.ports, "requests.get_many", before=look))
    assert consistently == [False, True]


# ---------------------------------------------------------------- too little time


def test_a_function_with_too_little_time_left_claims_nothing(world: World) -> None:
    tasks = accepted(world, *TEN)
    steps = Steps(world.ports)
    needed = SEND_SECONDS_MAX + SPARE_SECONDS
    assert deliver(world, tasks, steps.ports, seconds=needed - 0.001) == set(tasks)
    assert (steps.names(), states(world)) == ([], {"queued"})
    assert deliver(world, tasks, steps.ports, seconds=needed) == set()
    assert states(world) == {"delivered"}


def test_what_there_is_no_time_left_to_send_is_put_back_for_another_function(world: World) -> None:
    """The look after the claims took longer than expected: no send may outlive its function."""
    tasks = accepted(world, *TEN)
    slow = watched(world.ports, "requests.get_many", before=lambda *_, **__: world.skip(seconds=6))
    assert deliver(world, tasks, slow) == set()
    assert (world.chat.calls, states(world)) == (0, {"deferred"})
    assert {item(world, person).attempts for person in TEN} == {0}
    base = POLICIES[Channel.CHAT].backoff_seconds_base
    waits = [wait_seconds for wait_seconds, _ in world.waiting(QueueName.CHAT)]
    assert base / 2 - 1 <= min(waits) < max(waits) <= base  # at once, workers would go round and round
    world.advance(minutes=1)
    assert (states(world), set(world.chat.times().values())) == ({"delivered"}, {1})


@pytest.mark.parametrize("slow", ["notices.put", "requests.get_many"])
def test_claims_that_could_not_be_sent_any_more_are_put_back_without_another_read(world: World, slow: str) -> None:
    """All are claimed at once: no claim sees how long it took, and a read more would leave no time to put them back."""
    tasks = accepted(world, *TEN)
    calls = count()

    def take_time(*_: object, **__: object) -> None:
        if next(calls) == (len(TEN) - 1 if slow == "notices.put" else 1):
            world.skip(seconds=STORE_CALL_SECONDS_MAX)

    steps = Steps(watched(world.ports, slow, before=take_time))
    assert deliver(world, tasks, steps.ports, seconds=SEND_SECONDS_MAX + SPARE_SECONDS) == set()
    assert (world.chat.calls, states(world), {item(world, person).attempts for person in TEN}) == (0, {"deferred"}, {0})
    after_claims = steps.names()[steps.names().index("notices.put") + len(TEN) :]
    assert after_claims.count("requests.get_many") == (0 if slow == "notices.put" else 1)
    assert "registry.definition_version" not in after_claims
    world.advance(minutes=1)
    assert (states(world), set(world.chat.times().values())) == ({"delivered"}, {1})


def test_a_claim_that_lost_a_race_asks_for_the_time_again(world: World) -> None:
    """Another channel of the same notice: the store is slow, and a claim under way takes three calls of it."""
    world.register_definition("chat", "text")
    world.publish("k1", "p0")
    accept_only(world)
    (task,) = take(world, QueueName.TEXT)

    def lose(*_: object) -> None:
        world.skip(seconds=STORE_CALL_SECONDS_MAX)
        if not world.notice("p0").version:
            deliver(world, take(world))

    slow = watched(world.ports, "notices.put", before=lose)
    assert deliver(world, [task], slow, seconds=SEND_SECONDS_MAX + SPARE_SECONDS + 5) == {task}
    assert told(world, "p0", Channel.TEXT) == "queued"
    assert deliver(world, [task]) == set()
    assert told(world, "p0", Channel.TEXT) == "sent"


def test_nothing_is_claimed_that_could_not_be_sent_any_more(world: World) -> None:
    """The claims took longer than expected: a text that is claimed and never sent would be unknown for a day."""
    tasks = accepted(world, *TEN)
    slow = watched(world.ports, "notices.put", before=lambda *_: world.skip(seconds=2))
    left = deliver(world, tasks, slow)
    claimed = [person for person in TEN if world.notice(person).version > 0]
    assert 0 < len(left) < len(TEN)
    assert {told(world, person) for person in claimed} == {"deferred"}
    assert {told(world, task.recipient) for task in left} == {"queued"}


def test_a_provider_that_hangs_ends_in_the_functions_time_as_one_attempt(world: World) -> None:
    """Scenario 40."""

    def hang(_: Outgoing) -> SendResult:
        world.skip(seconds=SEND_SECONDS_MAX)
        return Unknown(reason="timeout")

    begun = world.clock.now()
    tasks = accepted(world, "p0")
    assert deliver(world, tasks, sending_by(world.ports, hang)) == set()
    assert (told(world, "p0"), world.clock.now() - begun) == ("sending", timedelta(seconds=10))
    world.advance(hours=1)
    assert (told(world, "p0"), item(world, "p0").attempts, len(world.chat.reached)) == ("delivered", 2, 1)


def test_a_hanging_send_holds_up_the_record_of_its_batch_by_one_call_at_most(world: World, threads: Ports) -> None:
    tasks = accepted(world, *TEN)

    def send(outgoing: Outgoing) -> SendResult:
        time.sleep(HANG_SECONDS if outgoing.address == "UP0" else 0)
        return Unknown(reason="timeout") if outgoing.address == "UP0" else Delivered(provider_id="p")

    begun = time.monotonic()
    assert deliver(world, tasks, sending_by(threads, send)) == set()
    assert time.monotonic() - begun < 2 * HANG_SECONDS
    assert [told(world, person) for person in TEN] == ["sending", *["delivered"] * 9]


# ---------------------------------------------------------------- one record and its neighbours

POISON = RuntimeError("poison")


def poisoned(ports: Ports, *recipients: str, error: Exception = POISON) -> Ports:
    """Ports whose notices of some people can't be written at all."""

    def look(new: Notice, _: Notice | None) -> None:
        if new.recipient in recipients:
            raise error

    return watched(ports, "notices.put", before=look)


@pytest.mark.parametrize("bad", [[], TEN[:1], TEN[4:5], TEN[9:], TEN[:5], TEN], ids=" ".join)
def test_the_records_that_fail_come_again_and_no_others(world: World, threads: Ports, bad: list[str]) -> None:
    """Scenario 39: none, one, some, all; whichever it is."""
    tasks = accepted(world, *TEN)
    bodies = {task.recipient: message_json(task) for task in tasks}
    until = world.clock.now() + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)
    assert deliver_messages(bodies, poisoned(threads, *bad), until=until) == set(bad)
    assert [told(world, person) for person in TEN] == ["queued" if person in bad else "delivered" for person in TEN]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 2}',
        '{"version": 1, "task": "sweep"}',
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_a_body_that_is_no_dispatch_comes_again_alone(world: World, body: str) -> None:
    """Scenario 39: until it lies among the dead letters."""
    tasks = accepted(world, *TEN)
    bodies = {"bad": body, **{task.recipient: message_json(task) for task in tasks}}
    until = world.clock.now() + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)
    assert deliver_messages(bodies, world.ports, until=until) == {"bad"}
    assert (states(world), world.telemetry.counted("messages_unreadable")) == ({"delivered"}, 1)


def test_a_batch_of_nothing_but_unreadable_bodies_asks_no_store(world: World) -> None:
    steps = Steps(world.ports)
    assert deliver_messages({"a": "x", "b": "y"}, steps.ports, until=at(seconds=DELIVER_TIMEOUT_SECONDS)) == {"a", "b"}
    assert steps.names() == []


def test_ten_records_of_which_each_ends_differently_are_recorded_each_as_it_ended(world: World, threads: Ports) -> None:
    """Scenario 39."""
    answers: dict[str, Any] = {
        "UP0": Delivered(provider_id="p"),
        "UP1": GONE,
        "UP2": DOWN,
        "UP3": BUSY,
        "UP4": Unknown(reason="timeout"),
    }

    def send(outgoing: Outgoing) -> SendResult:
        return answers.get(outgoing.address, answers["UP0"])

    tasks = accepted(world, *TEN)
    world.register_people("p5", active=False)
    world.register_people("p6", slack_user_id=None)
    assert deliver(world, tasks, sending_by(threads, send)) == set()
    assert [told(world, person) for person in TEN] == [
        "delivered",
        "failed(user_not_found)",
        "deferred(service_unavailable)",
        "deferred(throttled)",
        "sending",
        "skipped(person_inactive)",
        "skipped(no_address)",
        "delivered",
        "delivered",
        "delivered",
    ]
    assert sorted(body["recipient"] for _, body in world.waiting(QueueName.CHAT)) == ["p2", "p3"]


def test_messages_that_wait_come_again_where_their_copies_cannot_be_sent(world: World) -> None:
    world.chat.faults = [BUSY] * 10
    tasks = accepted(world, *TEN)
    ports = failing(world.ports, "queues.send", StoreUnavailable("down"))
    assert deliver(world, tasks, ports) == set(tasks)


def test_the_same_delivery_twice_in_a_batch_is_sent_once(world: World, threads: Ports) -> None:
    """Scenario 2."""
    tasks = accepted(world, *TEN)
    of_another_contributor = replace(tasks[0], request_id=RequestId("another"))
    assert deliver(world, [*tasks, *tasks, of_another_contributor], threads) == set()
    assert (len(world.chat.reached), set(world.chat.times().values())) == (10, {1})


def test_both_messages_of_a_delivery_come_again_where_it_fails(world: World) -> None:
    tasks = accepted(world, "p0")
    bodies = {"first": message_json(tasks[0]), "second": message_json(tasks[0])}
    failed = deliver_messages(bodies, poisoned(world.ports, "p0"), until=at(seconds=DELIVER_TIMEOUT_SECONDS))
    assert failed == {"first", "second"}


def test_a_batch_of_several_workspaces_and_requests_is_delivered_each_in_its_own(world: World, threads: Ports) -> None:
    globex = WorkspaceId("globex")
    world.register_workspace(globex)
    world.register_definition("chat", workspace=globex)
    world.register_people("p0", workspace=globex, slack_user_id="UGLOBEX")
    world.publish("k1", "p0")
    world.publish("k2", "p0", data={"number": "43"})
    world.publish("k1", "p0", workspace_id=globex, data={"number": "44"})
    accept_only(world)
    assert deliver(world, take(world), threads) == set()
    assert sorted((sent.workspace_id, sent.address, sent.text) for sent in world.chat.reached) == [
        ("acme", "UP0", "Invoice 42"),
        ("acme", "UP0", "Invoice 43"),
        ("globex", "UGLOBEX", "Invoice 44"),
    ]


def test_a_claim_that_keeps_losing_its_race_has_its_message_come_again(world: World) -> None:
    world.register_definition("console", "chat")
    tasks = accepted(world, *TEN)
    ports = poisoned(world.ports, "p3", error=Conflict("another"))
    assert {task.recipient for task in deliver(world, tasks, ports)} == {"p3"}


# ---------------------------------------------------------------- sixty folded into one message

FILLED: list[dict[str, Any]] = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "{{ number }} " + "x" * 100}}
] * (BLOCKS_MAX - 1)


@pytest.mark.parametrize("blocks", [None, FILLED], ids=["text", "blocks"])
def test_sixty_requests_fold_into_chat_messages_within_block_kits_limits(
    world: World, blocks: list[dict[str, Any]] | None
) -> None:
    """Scenario 36: fifty contributors fill a notice, the other ten begin the next."""
    templates = {Channel.CHAT: {"text": "Invoice {{ number }} " + "y" * 3900, "blocks": blocks}}
    world.register_definition("chat", fold_within=timedelta(hours=1), templates=templates)
    for number in range(60):
        world.publish(f"k{number}", "p0", fold_key="f", data={"number": str(number)})
    accept_only(world)
    world.run()
    first, second = world.chat.reached
    assert [len(notice.contributors) for notice in world.folded("p0")] == [50, 10]
    assert [(sent.text[:11], sent.text[-15:].partition("(")[2]) for sent in (first, second)] == [
        ("Invoice 49 ", "and 49 more)"),
        ("Invoice 59 ", "and 9 more)"),
    ]
    assert max(len(first.text), len(second.text)) <= 4000
    if blocks is not None:
        assert first.blocks is not None
        content = ChatContent(text=first.text, blocks=first.blocks)
        assert (len(first.blocks), list(check_blocks(first.blocks, "blocks", folds=False))) == (50, [])
        assert content.blocks is not None
        assert content.blocks[-1] == {
            "type": "context",
            "elements": [{"type": "mrkdwn", "text": "(and 49 more)"}],
        }


def test_a_folded_delivery_is_sent_once_whoever_dispatched_it(world: World, threads: Ports) -> None:
    world.register_definition("chat", fold_within=timedelta(hours=1))
    for number in range(3):
        world.publish(f"k{number}", "p0", fold_key="f")
    accept_only(world)
    (notice,) = world.folded("p0")
    tasks = [
        DispatchTask(
            workspace_id=ACME,
            recipient=Recipient("p0"),
            notice_id=NoticeId(notice.notice_id),
            request_id=contributor.request_id,
            channel=Channel.CHAT,
        )
        for contributor in notice.contributors
    ]
    assert deliver(world, tasks, threads) == set()
    assert [sent.text for sent in world.chat.reached] == ["Invoice 42 (and 2 more)"]
    key = NoticeKey(workspace_id=ACME, recipient=Recipient("p0"), notice_id=notice.notice_id)
    assert world.ports.notices.get(key) == world.folded("p0")[0]
