"""Withdrawing: before, during and after the acceptance, in any order; recorded before a claim, nothing is sent."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.ports import Conflict, Ports, QueueName
from notify_core.application.withdraw_request import (
    TooLate,
    WithdrawalAnswer,
    WithdrawalResult,
    withdraw_request,
)
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import Recipient
from notify_core.domain.limits import DAY_SECONDS, KEEP_CLOSED_SECONDS
from notify_core.domain.request import Withdrawal
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Unavailable
from tests.application.faulty import watched
from tests.application.steps import Died, Steps
from tests.application.world import ACME, NOON, OVERDUE, World

ANA, BOB = Recipient("ana"), Recipient("bob")


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def withdraw(
    world: World, request_key: str | None = "k1", ports: Ports | None = None, **changes: Any
) -> WithdrawalAnswer:
    """Withdraw at once, and see the answer."""
    withdrawal = Withdrawal(
        workspace_id=ACME, definition=OVERDUE, withdrawn_at=world.clock.now(), request_key=request_key
    )
    return withdraw_request(replace(withdrawal, **changes), ports or world.ports)


def withdraw_key(world: World, replacement_key: str = "r", **changes: Any) -> WithdrawalAnswer:
    return withdraw(world, None, replacement_key=replacement_key, **changes)


def ending(world: World, request_key: str = "k1") -> tuple[str, str | None, str | None]:
    row = world.request(request_key)
    return row.state.value, row.reason and row.reason.value, row.caused_by and row.caused_by.value


WITHDRAWN = ("superseded", "withdrawn", "producer")
CANCELLED = ("cancelled", "withdrawn", "producer")


def accept_only(world: World) -> None:
    """Process what lies in the requests queue, and leave what it dispatches."""
    world.run_only(QueueName.REQUESTS)


# ---------------------------------------------------------------- by request key


def test_before_the_publication_arrives_a_tombstone_stops_it(world: World) -> None:
    assert withdraw(world) == WithdrawalAnswer(
        result=WithdrawalResult.ON_ARRIVAL,
        request_id=world.id_of("k1"),
        state=RequestState.CANCELLED,
        recipients={},
    )
    world.publish("k1")
    world.advance(minutes=5)
    assert ending(world) == CANCELLED
    assert (world.chat.calls, world.unread(), list(world.database.notices)) == (0, 0, [])


def test_a_tombstone_is_kept_longer_than_any_message_can_live(world: World) -> None:
    withdraw(world)
    kept = world.request().delete_at
    assert kept == at(days=90)
    assert KEEP_CLOSED_SECONDS > (60 + 14) * DAY_SECONDS


def test_while_it_waits_for_its_time_it_is_cancelled_and_its_content_forgotten(world: World) -> None:
    world.publish("k1", not_before=at(hours=1))
    world.run()
    assert withdraw(world).result is WithdrawalResult.ON_ARRIVAL
    row = world.request()
    assert (ending(world), row.data, row.audience, row.due_at) == (CANCELLED, None, None, None)
    world.advance(hours=2)
    assert (ending(world), world.chat.calls) == (CANCELLED, 0)


def test_before_anything_was_sent_all_is_cancelled_and_the_notice_stays_readable(world: World) -> None:
    world.publish("k1", "ana", "bob")
    accept_only(world)
    assert (world.unread("ana"), world.unread("bob")) == (1, 1)
    assert withdraw(world) == WithdrawalAnswer(
        result=WithdrawalResult.STOPPED,
        request_id=world.id_of("k1"),
        state=RequestState.SUPERSEDED,
        recipients={ANA: None, BOB: None},
    )
    assert ending(world) == WITHDRAWN
    assert world.states("ana") == {"console": "delivered", "chat": "cancelled"}
    assert [(item.status, item.is_unread) for item in world.inbox("ana")] == [("superseded", False)]
    assert (world.unread("ana"), world.unread("bob")) == (0, 0)
    world.advance(minutes=5)
    assert world.chat.calls == 0
    assert world.request().due_at is None


def test_after_everything_was_sent_nothing_is_recalled(world: World) -> None:
    world.publish("k1")
    world.run()
    world.skip(minutes=3)
    assert withdraw(world).recipients == {ANA: TooLate(channel=Channel.CHAT, since=NOON)}
    assert ending(world) == WITHDRAWN
    assert world.states() == {"console": "delivered", "chat": "delivered"}
    assert (world.notice().status, world.unread()) == ("superseded", 0)


def test_the_answer_names_who_was_told_already_and_who_was_not(world: World) -> None:
    """Scenario 11."""
    world.chat.faults = [Unavailable(reason="maintenance")]
    world.publish("k1", "ana", "bob")
    world.run()
    assert (world.states("ana")["chat"], world.states("bob")["chat"]) == ("deferred", "delivered")
    world.skip(seconds=2)
    assert withdraw(world).recipients == {ANA: None, BOB: TooLate(channel=Channel.CHAT, since=NOON)}
    assert (world.states("ana")["chat"], world.states("bob")["chat"]) == ("cancelled", "delivered")
    world.advance(hours=1)
    assert world.chat.calls == 2


def test_a_send_in_flight_is_not_recalled_and_its_result_is_still_recorded(world: World) -> None:
    """Scenarios 11 and 15."""
    answers: list[WithdrawalAnswer] = []
    sending = world.chat.send

    def send(outgoing: Any) -> Any:
        answers.append(withdraw(world))
        return sending(outgoing)

    world.chat.send = send
    world.publish("k1")
    world.advance(minutes=5)
    assert answers[0].recipients == {ANA: TooLate(channel=Channel.CHAT, since=NOON)}
    assert world.states() == {"console": "delivered", "chat": "delivered"}
    assert (world.notice().status, ending(world)) == ("superseded", WITHDRAWN)


def test_a_send_in_flight_that_was_refused_for_now_is_cancelled_not_tried_again(world: World) -> None:
    """Scenario 15."""

    def send(outgoing: Any) -> Any:
        del outgoing
        withdraw(world)
        return Unavailable(reason="maintenance")

    world.chat.send = send
    world.publish("k1")
    world.advance(minutes=30)
    (item,) = [item for item in world.notice().deliveries if item.channel is Channel.CHAT]
    assert (item.state, item.reason, item.attempts) == ("cancelled", "withdrawn", 1)
    assert (world.notice().status, world.request().due_at) == ("superseded", None)


@pytest.mark.parametrize("when", ["published", "accepted", "delivered", "settled"])
def test_withdrawing_twice_acts_once_and_says_so(world: World, when: str) -> None:
    if when != "published":
        world.publish("k1")
    {"published": lambda: None, "accepted": lambda: accept_only(world)}.get(when, world.run)()
    if when == "settled":
        world.advance(days=8)
    first = withdraw(world)
    row, notices = world.request(), list(world.database.notices)
    world.skip(minutes=1)
    second = withdraw(world)
    again = WithdrawalResult.ON_ARRIVAL if when == "published" else WithdrawalResult.NOTHING
    assert second == replace(first, result=again)
    assert (world.request(), list(world.database.notices)) == (row, notices)


def test_a_settled_request_is_left_as_it_is_and_the_answer_says_so(world: World) -> None:
    world.publish("k1", deadline=at(hours=1))
    world.advance(hours=2)
    before, notice = world.request(), world.notice()
    assert before.state is RequestState.SETTLED
    assert withdraw(world) == WithdrawalAnswer(
        result=WithdrawalResult.NOTHING,
        request_id=world.id_of("k1"),
        state=RequestState.SETTLED,
        recipients={},
    )
    assert (world.request(), world.notice(), world.unread()) == (before, notice, 1)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"data": {}}, RequestState.INVALID),
        ({"audience": {"people": []}}, RequestState.NO_RECIPIENTS),
        ({"deadline": NOON}, RequestState.EXPIRED),
    ],
)
def test_what_was_never_accepted_has_nothing_to_withdraw(
    world: World, changes: dict[str, Any], state: RequestState
) -> None:
    world.publish("k1", **changes)
    world.run()
    before = world.request()
    answer = withdraw(world)
    assert (answer.result, answer.state, world.request()) == (WithdrawalResult.NOTHING, state, before)


def test_a_request_retired_before_has_nothing_to_withdraw_and_still_goes_out(world: World) -> None:
    world.publish("k1")
    accept_only(world)
    world.retire()
    world.run_only(QueueName.RECONCILE)
    assert withdraw(world) == WithdrawalAnswer(
        result=WithdrawalResult.NOTHING, request_id=world.id_of("k1"), state=RequestState.CANCELLED, recipients={}
    )
    world.run()
    assert world.chat.calls == 1


def test_a_key_published_again_after_its_withdrawal_keeps_its_outcome(world: World) -> None:
    """Scenario 12: told by the repeat of the answer, not by silence."""
    world.publish("k1")
    world.run()
    withdraw(world)
    before = world.request()
    world.publish("k1")
    world.run()
    assert (world.request(), world.chat.calls) == (before, 1)
    world.publish("k1", data={"number": "43"})
    world.run()
    assert world.request() == replace(before, version=before.version + 1, differing_repeat_at=NOON)
    assert world.chat.calls == 1


def test_an_alert_to_the_headquarters_is_withdrawn_like_any_other(world: World) -> None:
    world.register_definition("slack_system", key="backup.failed")
    world.publish("k1", definition="backup.failed", audience={"hq": True})
    accept_only(world)
    answer = withdraw(world, definition="backup.failed")
    assert answer.recipients == {Recipient("-"): None}
    world.advance(minutes=5)
    assert (world.system.calls, world.notice("-", "k1", answer.request_id).status) == (0, "superseded")


# ---------------------------------------------------------------- others at the same moment


def once(act: Callable[[], object]) -> Callable[..., None]:
    """Does it at the first call."""
    left = [act]

    def look(*_: Any, **__: Any) -> None:
        if left:
            left.pop()()

    return look


def test_a_retirement_at_the_same_moment_is_not_taken_for_the_withdrawal(world: World) -> None:
    """Both close the request in the same version at the same time; a retired one's notices go out."""
    world.publish("k1")
    accept_only(world)

    def retire() -> None:
        world.retire()
        world.run_only(QueueName.RECONCILE)

    answer = withdraw(world, ports=watched(world.ports, "requests.put", before=once(retire)))
    assert answer.result is WithdrawalResult.NOTHING
    assert ending(world) == ("cancelled", "definition_retired", "retirement")
    world.run()
    assert (world.notice().status, world.chat.calls) == ("delivered", 1)


def test_a_withdrawal_by_request_key_at_the_same_moment_does_not_leave_the_replacement_key_open(world: World) -> None:
    world.register_definition(replace_previous=True)
    world.publish("k1", replacement_key="r", published_at=at(seconds=-9))
    accept_only(world)
    ports = watched(world.ports, "requests.commit", before=once(lambda: withdraw(world, "k1")))
    withdraw_key(world, ports=ports)
    world.publish("k2", replacement_key="r", published_at=at(seconds=-5))
    world.run()
    assert (ending(world, "k2"), world.chat.calls) == (("cancelled", "withdrawn", "processor"), 0)


def test_a_withdrawal_whose_answer_is_lost_knows_it_again_though_others_wrote_on(world: World) -> None:
    world.publish("k1")
    accept_only(world)

    def write_on_and_lose_the_answer() -> None:
        request = world.request("k1")
        world.ports.requests.put(replace(request, version=request.version + 1), request)
        raise Conflict("the answer was lost, and the next try met what was written")

    answer = withdraw(world, ports=watched(world.ports, "requests.put", after=once(write_on_and_lose_the_answer)))
    assert answer.result is WithdrawalResult.STOPPED


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("withdrawn", "expected", "calls"),
    [(-1, CANCELLED, 0), (0, CANCELLED, 0), (1, CANCELLED, 0)],
)
def test_a_scheduled_request_withdrawn_around_its_time_and_before_its_message_comes_is_not_sent(
    world: World, withdrawn: int, expected: tuple[str, str, str], calls: int
) -> None:
    """Scenario 17."""
    world.publish("k1", not_before=at(minutes=1))
    world.run()
    world.skip(minutes=1, milliseconds=withdrawn)
    assert withdraw(world).result is WithdrawalResult.ON_ARRIVAL
    world.advance(minutes=5)
    assert (ending(world), world.chat.calls) == (expected, calls)


@pytest.mark.parametrize("step", ["accepted", "sent"])
def test_a_scheduled_request_withdrawn_after_its_acceptance_is_stopped_or_too_late(world: World, step: str) -> None:
    """Scenario 17: the acceptance and the claim are the two instants that decide."""
    world.publish("k1", not_before=at(minutes=1))
    world.run()
    world.skip(minutes=1)
    (accept_only if step == "accepted" else World.run)(world)
    answer = withdraw(world)
    assert answer.result is WithdrawalResult.STOPPED
    assert answer.recipients == {
        ANA: None if step == "accepted" else TooLate(channel=Channel.CHAT, since=at(minutes=1))
    }
    world.advance(minutes=5)
    assert world.chat.calls == (0 if step == "accepted" else 1)


def test_a_withdrawal_from_more_than_five_minutes_ahead_is_malformed(world: World) -> None:
    """It would end every publication of its key for as long."""
    world.register_definition(replace_previous=True)
    world.withdraw(replacement_key="r", withdrawn_at=at(seconds=301))
    world.withdraw(request_key="k2", withdrawn_at=at(days=400))
    world.withdraw(replacement_key="s", withdrawn_at=at(seconds=300))
    world.publish("k1", replacement_key="r")
    world.publish("k2", replacement_key="other")
    world.publish("k3", replacement_key="s", published_at=at(seconds=299))
    world.run()
    assert {key: world.request(key).state.value for key in ("k1", "k2", "k3")} == {
        "k1": "open",
        "k2": "open",
        "k3": "cancelled",
    }
    assert [(queue, reason) for queue, _, reason in world.queues.dead] == [
        (QueueName.REQUESTS, "withdraw: withdrawn_at (in_future)"),
        (QueueName.REQUESTS, "withdraw: withdrawn_at (in_future)"),
    ]
    assert world.telemetry.counted("messages_malformed") == 2


# ---------------------------------------------------------------- by replacement key


@pytest.fixture
def replacing(world: World) -> World:
    world.register_definition(replace_previous=True)
    return world


def test_by_replacement_key_the_open_request_is_superseded(replacing: World) -> None:
    world = replacing
    world.publish("k1", replacement_key="r")
    accept_only(world)
    assert withdraw_key(world) == WithdrawalAnswer(
        result=WithdrawalResult.STOPPED,
        request_id=world.id_of("k1"),
        state=RequestState.SUPERSEDED,
        recipients={ANA: None},
    )
    assert ending(world) == WITHDRAWN
    head = world.ports.requests.head(ACME, OVERDUE, "r")
    assert head is not None
    assert (head.current, head.withdrawn_at, head.version) == (world.id_of("k1"), NOON, 2)
    world.advance(minutes=5)
    assert (world.chat.calls, world.unread()) == (0, 0)


@pytest.mark.parametrize(("published", "state"), [(-1, "cancelled"), (0, "cancelled"), (1, "open")])
def test_publications_up_to_the_withdrawal_end_on_arrival_and_later_ones_are_unaffected(
    replacing: World, published: int, state: str
) -> None:
    world = replacing
    answer = withdraw_key(world)
    assert answer == WithdrawalAnswer(result=WithdrawalResult.ON_ARRIVAL, request_id=None, state=None, recipients={})
    world.publish("k1", replacement_key="r", published_at=at(milliseconds=published))
    world.publish("other.key", replacement_key="s", published_at=at(milliseconds=-1))
    world.run()
    assert world.request().state == state
    assert world.request("other.key").state == "open"
    if state == "cancelled":
        assert ending(world) == ("cancelled", "withdrawn", "processor")


@pytest.mark.parametrize(("withdrawn", "state"), [(-1, "open"), (0, "superseded"), (1, "superseded")])
def test_an_accepted_publication_is_covered_by_its_published_at(replacing: World, withdrawn: int, state: str) -> None:
    world = replacing
    world.publish("k1", replacement_key="r")
    world.run()
    withdraw_key(world, withdrawn_at=at(milliseconds=withdrawn))
    assert world.request().state == state


def test_an_older_withdrawal_never_takes_a_newer_ones_cover_away(replacing: World) -> None:
    world = replacing
    withdraw_key(world, withdrawn_at=at(minutes=1))
    withdraw_key(world, withdrawn_at=at(minutes=-1))
    world.publish("k1", replacement_key="r", published_at=NOON)
    world.run()
    assert ending(world) == ("cancelled", "withdrawn", "processor")


def test_a_waiting_publication_is_covered_when_its_time_comes(replacing: World) -> None:
    world = replacing
    world.publish("k1", replacement_key="r", not_before=at(hours=1))
    world.run()
    assert withdraw_key(world, withdrawn_at=at(minutes=1)).result is WithdrawalResult.ON_ARRIVAL
    world.advance(hours=1)
    assert (ending(world), world.chat.calls) == (("cancelled", "withdrawn", "processor"), 0)


def test_what_is_covered_but_ended_stays_and_the_answer_says_so(replacing: World) -> None:
    world = replacing
    world.publish("k1", replacement_key="r", deadline=at(hours=1))
    world.advance(hours=2)
    before = world.request()
    assert withdraw_key(world) == WithdrawalAnswer(
        result=WithdrawalResult.NOTHING, request_id=world.id_of("k1"), state=RequestState.SETTLED, recipients={}
    )
    assert world.request() == before


def test_two_withdrawals_by_replacement_key_act_once(replacing: World) -> None:
    world = replacing
    world.publish("k1", replacement_key="r")
    world.run()
    first = withdraw_key(world)
    row = world.request()
    assert withdraw_key(world) == replace(first, result=WithdrawalResult.NOTHING)
    assert world.request() == row


def test_a_withdrawal_by_key_and_one_by_request_key_act_once(replacing: World) -> None:
    world = replacing
    world.publish("k1", replacement_key="r")
    world.run()
    assert withdraw(world).result is WithdrawalResult.STOPPED
    row = world.request()
    assert withdraw_key(world).result is WithdrawalResult.NOTHING
    assert world.request() == row


# ---------------------------------------------------------------- between any two steps of an acceptance


@pytest.mark.parametrize(
    ("wanted", "by"),
    [
        ("plain", "request_key"),
        ("folded", "request_key"),
        ("replacing", "request_key"),
        ("replacing", "replacement_key"),
    ],
)
def test_a_withdrawal_between_any_two_steps_of_an_acceptance_stops_all_or_comes_before_it(wanted: str, by: str) -> None:
    """Scenarios 10 and 14."""
    changes: dict[str, Any] = {
        "plain": {},
        "folded": {"fold_key": "f"},
        "replacing": {"replacement_key": "r"},
    }[wanted]
    outcomes: set[tuple[str, str | None, str | None]] = set()
    for number in range(1_000):
        world, steps = stepped(wanted)
        withdrawal = {"request_key": "k1"} if by == "request_key" else {"replacement_key": "r"}
        steps.interrupt(number, lambda world=world, withdrawal=withdrawal: now_withdraw(world, **withdrawal))
        world.publish("k1", "ana", "bob", **changes)
        accept_only(world)
        if not steps.is_interrupted:
            break
        world.advance(minutes=10)
        assert_nobody_is_told(world, number)
        outcomes.add(ending(world))
    assert number > 10
    assert outcomes == {WITHDRAWN, CANCELLED if by == "request_key" else ("cancelled", "withdrawn", "processor")}


def stepped(wanted: str) -> tuple[World, Steps]:
    world = World()
    world.register_people("ana", "bob")
    world.register_definition(
        *(["chat"] if wanted == "chat" else []),
        replace_previous=wanted == "replacing",
        fold_within=timedelta(hours=1) if wanted == "folded" else None,
    )
    steps = Steps(world.ports)
    world.ports = steps.ports
    return world, steps


def now_withdraw(world: World, **key: str) -> None:
    withdraw(world, **{"request_key": None, **key}, ports=world.plain)


def assert_nobody_is_told(world: World, number: int) -> None:
    assert (world.chat.calls, world.unread("ana"), world.unread("bob")) == (0, 0, 0), number
    for notice in world.database.notices:
        assert notice.status == "superseded", number
        assert {item.state for item in notice.deliveries if item.channel.is_sent} <= {"cancelled"}, number
    assert world.request().due_at is None, number
    assert (world.failures, world.queues.dead) == ([], []), number


@pytest.mark.parametrize("wanted", ["plain", "folded", "replacing"])
def test_an_acceptance_that_dies_between_any_two_steps_and_is_withdrawn_before_it_is_redone_tells_nobody(
    wanted: str,
) -> None:
    """Scenarios 10 and 20."""
    changes = {"plain": {}, "folded": {"fold_key": "f"}, "replacing": {"replacement_key": "r"}}[wanted]
    for number in range(1_000):
        world, steps = stepped(wanted)
        steps.interrupt(number, die)
        world.publish("k1", "ana", "bob", **changes)
        accept_only(world)
        if not steps.is_interrupted:
            break
        withdraw(world, ports=world.plain)
        world.advance(minutes=10)
        assert_nobody_is_told(world, number)
        assert world.audit().differences == [], number
    assert number > 10


def die() -> None:
    raise Died


@pytest.mark.parametrize("wanted", ["plain", "chat", "folded", "replacing"])
def test_a_withdrawal_that_dies_between_any_two_steps_is_finished_by_the_sweep(wanted: str) -> None:
    changes = {"folded": {"fold_key": "f"}, "replacing": {"replacement_key": "r"}}.get(wanted, {})
    for number in range(1_000):
        world, steps = stepped(wanted)
        world.publish("k1", "ana", "bob", **changes)
        accept_only(world)
        steps.interrupt(number, die)
        try:
            withdraw(world)
            break
        except Died:
            world.queues.purge()
        world.advance(minutes=3)
        if ending(world) == WITHDRAWN:
            assert_nobody_is_told(world, number)
        else:
            assert number < 2  # it died before it was recorded
            assert world.chat.calls == 2
    assert number > 5


# ---------------------------------------------------------------- races


def test_a_withdrawal_that_loses_its_race_looks_again_and_acts(world: World) -> None:
    """Scenario 16."""
    world.publish("k1")
    accept_only(world)
    steps = Steps(world.ports)

    def overtake() -> None:
        row = world.request()
        world.ports.requests.put(replace(row, version=row.version + 1), row)

    steps.interrupt(1, overtake)
    assert withdraw(world, ports=steps.ports).result is WithdrawalResult.STOPPED
    assert steps.names()[:2] == ["requests.get", "requests.get"]
    assert world.unread() == 0


def test_a_withdrawal_that_keeps_losing_its_race_says_so_and_comes_again(world: World) -> None:
    """Scenario 16: whoever gives up leaves its message."""
    world.publish("k1")
    accept_only(world)
    contended = replace(world.ports, requests=Contended(world.ports.requests))
    with pytest.raises(Conflict):
        withdraw(world, ports=contended)
    assert world.request().state is RequestState.OPEN


class Contended:
    """A store whose every write of a request loses its race."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def put(self, *_: object) -> None:
        raise Conflict


class AnswersLost:
    """A store whose writes of requests are made, and come back as conflicts."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def put(self, *written: Any) -> None:
        self._store.put(*written)
        raise Conflict

    def commit(self, *written: Any) -> None:
        self._store.commit(*written)
        raise Conflict


@pytest.mark.parametrize(
    ("is_published", "by_key", "result"),
    [
        (False, False, WithdrawalResult.ON_ARRIVAL),
        (True, False, WithdrawalResult.STOPPED),
        (True, True, WithdrawalResult.STOPPED),
    ],
)
def test_a_withdrawal_whose_own_answer_was_lost_knows_its_write_again(
    replacing: World, is_published: bool, by_key: bool, result: WithdrawalResult
) -> None:
    world = replacing
    if is_published:
        world.publish("k1", replacement_key="r")
        accept_only(world)
    lossy = replace(world.ports, requests=AnswersLost(world.ports.requests))
    answer = withdraw_key(world, ports=lossy) if by_key else withdraw(world, ports=lossy)
    assert (answer.result, answer.request_id) == (result, world.id_of("k1"))
    assert world.request().version == 2 if is_published else 1


def test_many_withdrawals_at_once_act_once(world: World) -> None:
    world.publish("k1", "ana", "bob")
    accept_only(world)

    def one(number: int) -> WithdrawalResult:
        clock = type(world.clock)(at(milliseconds=number))
        return withdraw(world, ports=replace(world.ports, clock=clock)).result

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(one, range(16)))
    assert sorted(results) == [WithdrawalResult.NOTHING] * 15 + [WithdrawalResult.STOPPED]
    assert (ending(world), world.unread("ana"), world.request().version) == (WITHDRAWN, 0, 2)


READS: dict[str, Callable[[World], object]] = {
    "read": lambda world: world.read(world.notice()),
    "withdraw": lambda world: withdraw(world, ports=world.plain),
    "read_all": lambda world: world.read_all(),
}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("read", "withdraw"),
        ("withdraw", "read"),
        ("read_all", "withdraw"),
        ("withdraw", "read_all"),
        ("withdraw", "withdraw"),
    ],
)
def test_reading_withdrawing_and_claiming_interleave_in_every_order(first: str, second: str) -> None:
    """Scenario 14: withdrawn before the claim, nothing is sent; whatever the order, nothing unread remains."""
    sent: set[int] = set()
    for number in range(100):
        for gap in range(3):
            world, steps = stepped("plain")
            world.publish("k1")
            accept_only(world)

            def interfere(world: World = world, steps: Steps = steps, gap: int = gap) -> None:
                READS[first](world)
                steps.interrupt(gap, lambda: READS[second](world))

            steps.interrupt(number, interfere)
            world.run()
            if not steps.is_interrupted:
                READS["withdraw"](world)
            world.advance(minutes=5)
            assert world.unread() == 0
            assert (world.notice().status, ending(world)) == ("superseded", WITHDRAWN)
            assert world.chat.calls == (world.states()["chat"] == "delivered")
            sent.add(world.chat.calls)
        if number > 10:
            break
    assert sent == {0, 1}


# ---------------------------------------------------------------- by message


def test_a_withdrawal_by_message_does_the_same(world: World) -> None:
    world.publish("k1")
    accept_only(world)
    world.withdraw(request_key="k1", reason="paid")
    accept_only(world)
    world.advance(minutes=5)
    assert (ending(world), world.chat.calls, world.unread()) == (WITHDRAWN, 0, 0)
    assert world.telemetry.counted("withdrawals", result="stopped") == 1


@pytest.mark.parametrize("order", ["publish first", "withdraw first"])
def test_publication_and_withdrawal_come_in_any_order_and_nobody_is_told(world: World, order: str) -> None:
    bodies = [
        world.publication("k1"),
        {
            "type": "withdraw",
            "version": 1,
            "workspace_id": ACME,
            "definition": OVERDUE,
            "withdrawn_at": NOON.isoformat(),
            "request_key": "k1",
        },
    ]
    for body in bodies if order == "publish first" else bodies[::-1]:
        world.queues.put(QueueName.REQUESTS, json.dumps(body))
    world.advance(minutes=5)
    assert ending(world) == (WITHDRAWN if order == "publish first" else CANCELLED)
    assert (world.chat.calls, world.unread()) == (0, 0)
