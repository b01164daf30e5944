"""What stands in for AWS behaves as AWS does, as far as the crash points rest on it."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest
from moto.core.responses import ActionResult

from notify_core.adapters.memory import FixedClock
from notify_core.adapters.memory.world import gather
from notify_core.adapters.sqs import SqsInbox, SqsQueues
from notify_core.application.ports import Conflict, Message, PutRequest, QueueName, StoreUnavailable
from notify_core.domain.identifiers import WorkspaceId
from notify_core.domain.limits import RECEIVES_MAX
from tests.application.steps import Died
from tests.application.world import NOON
from tests.conformance.builders import a_request
from tests.crash_points import aws
from tests.crash_points.aws import DEAD_LETTERS, Aws, Cloud, Sqs, cloud, dead_letters_url_of, url_of
from tests.crash_points.boundary import Boundary, Fault, Side, nothing
from tests.crash_points.run import only, run
from tests.crash_points.scenarios import by_name

ACME = WorkspaceId("acme")
CHAT = QueueName.CHAT


@pytest.fixture(scope="module")
def here() -> Iterator[Cloud]:
    with cloud() as made:
        yield made


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


def behind(here: Cloud, clock: FixedClock, fault: Fault | None = None) -> Aws:
    """AWS for one test, where one call may go wrong."""
    boundary = Boundary(clock, nothing if fault is None else only(fault), lambda _: None)
    made = Aws(boundary, Sqs(clock))
    here.empty(made)
    return made


def queues(here: Cloud) -> SqsQueues:
    return SqsQueues(here.sqs_client, url_of, gather, sleep=lambda _: None)


def received(made: Aws, name: str = "chat") -> list[int]:
    return [json.loads(held.body)["n"] for held in made.sqs.receive(name, 30, 10)]


# ---------------------------------------------------------------- SQS


def test_messages_are_sent_ten_a_call_and_wait_for_their_delay(here: Cloud, clock: FixedClock) -> None:
    made = behind(here, clock)
    messages = [Message(body={"n": number}, group=ACME, delay_seconds=60 * (number > 11)) for number in range(12 + 1)]
    with made.boundary.running("a test"):
        queues(here).send(CHAT, messages)
        assert queues(here).backlog(CHAT) == 13
    assert [call.label for call in made.boundary.calls] == ["SendMessageBatch chat"] * 2 + ["GetQueueAttributes chat"]
    assert received(made) + received(made) == list(range(12))
    clock.advance(timedelta(seconds=60))
    assert 12 in received(made) + received(made)


def test_a_received_message_is_hidden_until_its_time_and_goes_to_the_dead_letters_in_the_end(
    here: Cloud, clock: FixedClock
) -> None:
    made = behind(here, clock)
    made.sqs.put(CHAT, '{"n": 1}')
    for _ in range(RECEIVES_MAX):
        assert (received(made), received(made)) == ([1], [])
        clock.advance(timedelta(seconds=30))
    assert (received(made), received(made, CHAT + DEAD_LETTERS)) == ([], [1])


def test_a_message_stays_hidden_for_as_long_as_its_consumer_asks(here: Cloud, clock: FixedClock) -> None:
    made = behind(here, clock)
    made.sqs.put(QueueName.REQUESTS, '{"n": 1}')
    (held,) = made.sqs.receive("requests", 30, 10)
    inbox = SqsInbox(here.sqs_client, url_of, dead_letters_url_of)
    inbox.extend_visibility(QueueName.REQUESTS, str(held.number), 300)
    clock.advance(timedelta(seconds=299))
    assert received(made, "requests") == []
    clock.advance(timedelta(seconds=1))
    assert received(made, "requests") == [1]


# ---------------------------------------------------------------- calls that go wrong


def ended_by(act: Callable[[], object]) -> type[BaseException] | None:
    try:
        act()
    except (Died, StoreUnavailable, Conflict) as end:
        return type(end)
    return None


@pytest.mark.parametrize(
    ("side", "put", "commit", "sent"),
    [
        (Side.DIED_BEFORE, (Died, False), (Died, False), (Died, 0)),
        (Side.DIED_AFTER, (Died, True), (Died, True), (Died, 1)),
        (Side.REQUEST_LOST, (StoreUnavailable, False), (StoreUnavailable, False), (StoreUnavailable, 0)),
        (Side.ANSWER_LOST, (StoreUnavailable, True), (StoreUnavailable, True), (StoreUnavailable, 3)),
        (Side.ANSWER_LOST_ONCE, (Conflict, True), (None, True), (None, 2)),
    ],
)
def test_what_a_caller_sees_and_what_has_happened(
    here: Cloud,
    clock: FixedClock,
    side: Side,
    put: tuple[type[BaseException] | None, bool],
    commit: tuple[type[BaseException] | None, bool],
    sent: tuple[type[BaseException] | None, int],
) -> None:
    """A client tries three times: a write meets itself, a transaction is known by its token, a message is doubled."""
    request = a_request(ACME)
    store = here.dynamo.stores().requests
    for act, expected in (
        (lambda: store.put(request, None), put),
        (lambda: store.commit([PutRequest(new=request, was=None)]), commit),
    ):
        made = behind(here, clock, Fault(0, side))
        with made.boundary.running("a test"):
            assert ended_by(act) is expected[0]
        assert (store.get(ACME, request.request_id) is not None) is expected[1]
    made = behind(here, clock, Fault(0, side))
    with made.boundary.running("a test"):
        assert ended_by(lambda: queues(here).send(CHAT, [Message(body={}, group=ACME)])) is sent[0]
    assert len(made.sqs.held["chat"]) == sent[1]


def test_a_dead_process_reaches_nothing_any_more(here: Cloud, clock: FixedClock) -> None:
    request, store = a_request(ACME), here.dynamo.stores().requests
    made = behind(here, clock, Fault(0, Side.DIED_BEFORE))
    with made.boundary.running("a test"):
        assert ended_by(lambda: store.get(ACME, request.request_id)) is Died
        assert ended_by(lambda: store.put(request, None)) is Died
    assert store.get(ACME, request.request_id) is None


def test_answers_are_those_that_moto_writes_itself(here: Cloud) -> None:
    mine = run(by_name("replaced"), here)
    with patch.object(ActionResult, "execute_result", aws.BY_MOTO):
        assert run(by_name("replaced"), here) == mine
