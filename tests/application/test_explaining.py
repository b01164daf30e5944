"""Explaining: each request says why it ended and through whom, each notice what happened to it, when and why."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from notify_core.application.ports import NoticeKey, QueueName
from notify_core.application.read_history import HistoryQuery, read_history
from notify_core.application.read_notice import read_notice
from notify_core.application.read_request import read_request
from notify_core.application.retry_delivery import retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import TIMELINE_MAX
from notify_core.domain.notice import Notice, TimelineEntry
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Rejected, RejectionScope, Throttled, Unavailable
from tests.application.world import ACME, NOON, World, key_of

Line = tuple[float, str | None, str | None, str, str, str | None]
"""Seconds after noon, channel, from, to, by whom, why."""


def at(**units: float) -> datetime:
    return NOON + timedelta(**units)


def lines(notice: Notice) -> list[Line]:
    return [line_of(entry) for entry in notice.timeline]


def line_of(entry: TimelineEntry) -> Line:
    seconds = (entry.at - NOON).total_seconds()
    return seconds, entry.channel, entry.source, entry.target, entry.by, entry.reason


# ---------------------------------------------------------------- requests


def publish(world: World, request_key: str = "k1", **changes: object) -> None:
    world.publish(request_key, replacement_key="r", **changes)


def withdrawn_early(world: World) -> None:
    world.withdraw(request_key="k1")
    publish(world)


def withdrawn_by_key_early(world: World) -> None:
    world.withdraw(replacement_key="r")
    publish(world)


def replaced_early(world: World) -> None:
    publish(world, "newer", published_at=at(seconds=1))
    publish(world)


def withdrawn(world: World) -> None:
    publish(world)
    world.withdraw(request_key="k1")


def withdrawn_by_key(world: World) -> None:
    publish(world)
    world.withdraw(replacement_key="r")


def replaced(world: World) -> None:
    publish(world)
    publish(world, "newer", published_at=at(seconds=1))


def retired(world: World) -> None:
    publish(world)
    world.run()
    world.retire()


def expired_at_once(world: World) -> None:
    publish(world, deadline=NOON)


def too_old(world: World) -> None:
    publish(world, published_at=at(days=-7))


def expired_while_lost(world: World) -> None:
    publish(world, not_before=at(hours=1), deadline=at(hours=2))
    world.run()
    world.queues.purge()
    world.skip(hours=3)
    world.sweep()


def settled(world: World) -> None:
    publish(world, deadline=at(hours=1))
    world.advance(hours=2)


def invalid(world: World) -> None:
    publish(world, data={})


def nobody(world: World) -> None:
    publish(world, audience={"people": []})


def accepted(world: World) -> None:
    publish(world)


def waiting(world: World) -> None:
    publish(world, not_before=at(hours=1))


@pytest.mark.parametrize(
    ("happening", "expected"),
    [
        (accepted, ("open", None, "processor")),
        (waiting, ("queued", None, "processor")),
        (invalid, ("invalid", None, "processor")),
        (nobody, ("no_recipients", None, "processor")),
        (expired_at_once, ("expired", "deadline", "processor")),
        (too_old, ("expired", "age", "processor")),
        (expired_while_lost, ("expired", "deadline", "sweep")),
        (withdrawn_early, ("cancelled", "withdrawn", "producer")),
        (withdrawn_by_key_early, ("cancelled", "withdrawn", "processor")),
        (replaced_early, ("cancelled", "replaced_before_acceptance", "replacement")),
        (retired, ("cancelled", "definition_retired", "retirement")),
        (withdrawn, ("superseded", "withdrawn", "producer")),
        (withdrawn_by_key, ("superseded", "withdrawn", "producer")),
        (replaced, ("superseded", "replaced", "replacement")),
        (settled, ("settled", None, "sweep")),
    ],
)
def test_each_ending_names_its_reason_and_its_cause(
    world: World, happening: Callable[[World], None], expected: tuple[str, str | None, str]
) -> None:
    """Scenarios 12, 16 and 25."""
    world.register_definition(replace_previous=True)
    happening(world)
    world.run()
    row = world.request()
    assert (row.state, row.reason, row.caused_by) == expected
    history = read_history(HistoryQuery(workspace_id=ACME, limit=10), world.ports).rows
    assert [(item.state, item.reason) for item in history if item.request_key == "k1"] == [expected[:2]]
    assert (row.closed_at is None) == (row.state in {RequestState.QUEUED, RequestState.OPEN})


def test_the_history_lists_every_request_newest_first_in_its_place_whatever_becomes_of_it(world: World) -> None:
    for number in range(5):
        world.publish(f"k{number}", not_before=at(hours=1) if number == 2 else None)
        world.run()
        world.skip(seconds=1)
    world.withdraw(request_key="k3")
    world.advance(hours=2)
    history = read_history(HistoryQuery(workspace_id=ACME, limit=3), world.ports)
    assert [(row.request_key, row.state) for row in history.rows] == [
        ("k4", "open"),
        ("k3", "superseded"),
        ("k2", "open"),
    ]
    rest = read_history(HistoryQuery(workspace_id=ACME, limit=3, before=history.before), world.ports)
    assert ([row.request_key for row in rest.rows], rest.before) == (["k1", "k0"], None)


# ---------------------------------------------------------------- notices


def test_a_notice_tells_each_of_its_moves(world: World) -> None:
    world.chat.faults = [Unavailable(reason="maintenance"), Throttled(retry_after=timedelta(seconds=20))]
    world.publish("k1")
    world.advance(minutes=5)
    notice = world.notice()
    retried_at, again_at = (entry.at for entry in notice.timeline if entry.target == "deferred")
    sent = [entry.at for entry in notice.timeline if entry.target == "sending"]
    assert lines(notice) == [
        (0, None, None, "created", "processor", None),
        (0, "chat", "queued", "sending", "worker", None),
        (0, "chat", "sending", "deferred", "worker", "maintenance"),
        (seconds(sent[1]), "chat", "deferred", "sending", "worker", None),
        (seconds(again_at), "chat", "sending", "deferred", "worker", "throttled"),
        (seconds(sent[2]), "chat", "deferred", "sending", "worker", None),
        (seconds(sent[2]), "chat", "sending", "delivered", "worker", None),
    ]
    assert retried_at == NOON
    assert NOON < sent[1] < sent[2] < at(minutes=2)


def seconds(moment: datetime) -> float:
    return (moment - NOON).total_seconds()


def test_a_withdrawal_tells_what_it_ended_and_through_whom(world: World) -> None:
    world.publish("k1")
    world.run_only(QueueName.REQUESTS)
    world.skip(seconds=5)
    world.withdraw(request_key="k1")
    world.run_only(QueueName.REQUESTS)
    world.run()
    assert lines(world.notice()) == [
        (0, None, None, "created", "processor", None),
        (5, "chat", "queued", "cancelled", "producer", "withdrawn"),
        (5, None, "routed", "superseded", "producer", "withdrawn"),
    ]


def test_a_replacement_tells_what_it_ended(world: World) -> None:
    world.register_definition(replace_previous=True)
    publish(world)
    world.run()
    world.skip(seconds=5)
    publish(world, "newer")
    world.run()
    assert lines(world.notice())[-1:] == [(5, None, "delivered", "superseded", "replacement", "replaced")]


def test_an_expiry_tells_who_found_it(world: World) -> None:
    world.register_definition("chat")
    world.chat.faults = [Throttled(retry_after=timedelta(hours=1))]
    world.publish("k1", deadline=at(minutes=10))
    world.advance(minutes=10)
    assert lines(world.notice())[-2:] == [
        (600, "chat", "deferred", "expired", "sweep", "deadline"),
        (600, None, None, "expired", "sweep", "deadline"),
    ]


def test_folding_reading_and_handing_over_are_told_too(world: World) -> None:
    world.register_definition(fold_within=timedelta(hours=1))
    for number in (1, 2, 3):
        world.publish(f"k{number}", fold_key="f")
        world.run_only(QueueName.REQUESTS)
        world.skip(seconds=1)
    world.withdraw(request_key="k1")
    world.run_only(QueueName.REQUESTS)
    world.skip(seconds=1)
    world.read(world.folded()[0])
    (notice,) = world.folded()
    assert lines(notice) == [
        (0, None, None, "created", "processor", None),
        (1, None, None, "folded", "processor", world.id_of("k2")),
        (2, None, None, "folded", "processor", world.id_of("k3")),
        (3, None, None, "handed_over", "producer", "withdrawn"),
        (4, None, None, "read", "recipient", None),
    ]


def test_a_refusal_is_told_in_the_providers_words_and_a_retry_with_the_operator(world: World) -> None:
    world.register_definition("chat", "text")
    world.chat.faults = [Rejected(reason="account_inactive", scope=RejectionScope.PERSON)]
    world.text.faults = [Unavailable(reason="maintenance")] * 5
    world.publish("k1")
    world.advance(hours=1)
    assert [(item.state, item.reason) for item in world.notice().deliveries] == [
        ("failed", "account_inactive"),
        ("failed", "attempts_exhausted"),
    ]
    retry_delivery(key_of(world.notice()), Channel.TEXT, world.ports)
    assert lines(world.notice())[-1:] == [(3600, "text", "failed", "queued", "operator", None)]


def test_a_timeline_keeps_its_newest_thirty_moves(world: World) -> None:
    world.register_definition(fold_within=timedelta(days=1))
    for number in range(40):
        world.publish(f"k{number}", fold_key="f")
        world.run_only(QueueName.REQUESTS)
        world.skip(seconds=1)
    (notice,) = world.folded()
    assert TIMELINE_MAX == 30
    assert lines(notice) == [
        (number, None, None, "folded", "processor", world.id_of(f"k{number}")) for number in range(10, 40)
    ]


def test_every_move_of_a_notice_is_told_once(world: World) -> None:
    """What stands in the timeline leads from the first state of each delivery to its present one, without a gap."""
    world.register_definition("console", "chat", "text")
    world.chat.faults = [Unavailable(reason="maintenance"), Throttled(retry_after=timedelta(seconds=9)), "lose_request"]
    world.publish("k1", "ana", "bob")
    world.advance(minutes=10)
    world.withdraw(request_key="k1")
    world.advance(days=4)
    for name in ("ana", "bob"):
        notice = world.notice(name)
        assert [entry.at for entry in notice.timeline] == sorted(entry.at for entry in notice.timeline)
        for item in notice.deliveries:
            moves = [(entry.source, entry.target) for entry in notice.timeline if entry.channel is item.channel]
            state = "queued" if item.channel.is_sent else "delivered"
            for source, target in moves:
                assert source == state
                state = target
            assert state == item.state


# ---------------------------------------------------------------- what is not stored is told the same


@pytest.mark.parametrize("end", ["nothing", "withdrawn", "expired"])
def test_a_notice_that_is_not_stored_is_told_as_it_will_be_stored(world: World, end: str) -> None:
    world.register_definition("chat")
    world.publish("k1", deadline=at(hours=1))
    world.run_only(QueueName.REQUESTS)
    world.queues.purge()
    key = NoticeKey(workspace_id=ACME, recipient=Recipient("ana"), notice_id=NoticeId(world.id_of("k1")))
    if end == "withdrawn":
        row = world.request()
        world.skip(minutes=1)
        world.withdraw(request_key="k1")
        stored = world.ports.notices
        assert row.state is RequestState.OPEN
        world.run_only(QueueName.REQUESTS)
        derived_from_request = read_request(ACME, row.request_id, world.ports).notices[0]
        assert stored.get(key) == derived_from_request
    if end == "expired":
        world.skip(hours=1)
        derived = read_notice(key, world.ports).notice
        world.sweep()
        swept = world.notice()
        assert (derived.status, derived.deliveries, lines(derived)) == (swept.status, swept.deliveries, lines(swept))
    view = read_notice(key, world.ports)
    assert view.notice.status == {"nothing": "routed", "withdrawn": "superseded", "expired": "expired"}[end]
    assert view.requests == {world.id_of("k1"): world.request()}
    assert view.notice.timeline[0].by is Actor.PROCESSOR
