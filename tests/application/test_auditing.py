"""The nightly audit: all damage is found, listed, counted and repaired; what is as it has to be is no difference."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from notify_core.application.audit_request import Difference
from notify_core.application.ports import Conflict, QueueName, StoreUnavailable
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId, shard_of
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import rescheduled
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Rejected, RejectionScope
from tests.application.damage import (
    alter_delivery,
    alter_notice,
    alter_request,
    notice_key,
    remove_generation,
    remove_notice,
    remove_request,
)
from tests.application.faulty import failing, losing, watched
from tests.application.world import ACME, World, key_of

ANA = Recipient("ana")


def found_on(world: World, kind: str, recipient: str | None = None, request_key: str = "k1") -> Difference:
    return Difference(
        kind=kind, request_id=world.id_of(request_key), recipient=Recipient(recipient) if recipient else None
    )


def audited(world: World) -> list[Difference]:
    """What an audit finds, counts and lists; the next one finds nothing."""
    counted, listed = world.telemetry.counted("audit_differences"), len(world.telemetry.alarms)
    differences: list[Difference] = world.audit().differences
    assert world.telemetry.counted("audit_differences") - counted == sum(item.number for item in differences)
    assert world.telemetry.alarms[listed:] == [
        (
            "audit_difference",
            {
                "workspace_id": ACME,
                "kind": item.kind,
                "request_id": item.request_id,
                "recipient": item.recipient,
                "count": item.number,
            },
        )
        for item in differences
    ]
    world.run()
    assert world.audit().differences == []
    return differences


def told(world: World, request_key: str = "k1", *people: str, **changes: Any) -> None:
    """A publication that was accepted and delivered, long enough ago."""
    world.publish(request_key, *people, **changes)
    world.advance(minutes=30)


# ---------------------------------------------------------------- nothing is wrong


class Forgetful:
    """A store whose rows are deleted as soon as they may be."""

    def __init__(self, store: Any, world: World) -> None:
        self._store, self._world = store, world

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def _is_kept(self, row: Any) -> bool:
        return row is not None and (row.delete_at is None or self._world.clock.now() < row.delete_at)

    def get(self, *place: Any, **options: Any) -> Any:
        row = self._store.get(*place, **options)
        return row if self._is_kept(row) else None

    def get_many(self, *places: Any, **options: Any) -> Any:
        return {key: row for key, row in self._store.get_many(*places, **options).items() if self._is_kept(row)}


@pytest.mark.parametrize("forgotten", ["notices", "requests"])
@pytest.mark.parametrize("end", ["settled", "settled late", "withdrawn", "retired", "folded"])
def test_what_is_forgotten_after_its_ninety_days_is_no_difference(world: World, end: str, forgotten: str) -> None:
    """Rows are deleted one by one, in no order, some days after they may be."""
    world.register_definition(fold_within=timedelta(hours=1) if end == "folded" else None)
    world.publish("k1", fold_key="f" if end == "folded" else None)
    world.run()
    if end == "withdrawn":
        world.withdraw(request_key="k1")
    if end == "retired":
        world.retire()
    world.advance(minutes=5)
    world.skip(days=8 if end == "settled late" else 7)
    world.sweep()
    world.advance(minutes=5)
    world.ports = replace(world.ports, **{forgotten: Forgetful(getattr(world.ports, forgotten), world)})
    for _ in range(110):
        assert world.audit().differences == []
        world.skip(days=1)


def test_a_busy_workspace_has_no_differences_at_any_time(world: World) -> None:
    world.register_definition("console", "chat", "text", key="fold", fold_within=timedelta(hours=1))
    world.register_definition("console", "chat", key="replace", replace_previous=True)
    until: datetime = world.clock.now() + timedelta(hours=3)
    world.chat.faults = [
        "drop_response",
        Rejected(reason="user_not_found", scope=RejectionScope.PERSON),
        "lose_request",
    ]
    for number in range(40):
        world.publish(f"k{number}", "ana", "bob", deadline=until if number % 2 else None)
        world.publish(f"f{number}", "ana", definition="fold", fold_key=f"f{number % 3}")
        world.publish(f"r{number}", "bob", definition="replace", replacement_key=f"r{number % 4}")
        world.publish(f"w{number}", not_before=world.clock.now() + timedelta(hours=number))
        if number % 5 == 0:
            world.withdraw(request_key=f"k{number}")
        if number % 7 == 0:
            world.read_all()
        world.advance(minutes=3)
        assert world.audit().differences == []
    world.retire()
    for _ in range(30):
        world.advance(hours=8)
        assert world.audit().differences == []
    assert world.telemetry.counted("audit_differences") == 0


# ---------------------------------------------------------------- a request's row


def test_a_live_request_that_is_never_due_is_found_and_swept(world: World) -> None:
    world.publish("k1")
    world.run_only(QueueName.REQUESTS)
    row = world.request()
    world.ports.requests.put(rescheduled(row, None), row)
    world.queues.purge()
    assert audited(world) == [found_on(world, "live_request_never_due")]
    assert (world.chat.calls, world.request().due_at is None) == (1, False)


def test_a_request_due_long_ago_is_found_and_swept(world: World) -> None:
    """The scheduler was off, and its messages are lost."""
    world.publish("k1", deadline=world.clock.now() + timedelta(hours=1))
    world.run()
    world.skip(hours=4)
    assert audited(world) == [found_on(world, "due_long_ago")]
    assert world.request().state is RequestState.SETTLED


def test_lost_messages_of_an_accepted_request_are_found_and_replaced(world: World) -> None:
    """Its dispatch and the reconcile message of every sweep."""
    world.publish("k1")
    world.run_only(QueueName.REQUESTS)
    world.queues.purge()
    world.skip(hours=3)
    assert audited(world) == [found_on(world, "due_long_ago")]
    assert world.states() == {"console": "delivered", "chat": "delivered"}


STATES = [
    ("open", {"state": RequestState.SETTLED}, RequestState.OPEN),
    ("open", {"state": RequestState.SUPERSEDED}, RequestState.OPEN),
    ("open", {"state": RequestState.QUEUED}, RequestState.OPEN),
    ("waits", {"state": RequestState.INVALID}, RequestState.QUEUED),
    ("waits", {"state": RequestState.OPEN}, RequestState.QUEUED),
    ("settled", {"state": RequestState.OPEN}, RequestState.SETTLED),
    ("settled", {"state": RequestState.SUPERSEDED}, RequestState.SETTLED),
    ("withdrawn", {"state": RequestState.OPEN}, RequestState.SUPERSEDED),
    ("withdrawn", {"state": RequestState.CANCELLED}, RequestState.SUPERSEDED),
    ("early", {"state": RequestState.SUPERSEDED}, RequestState.CANCELLED),
    ("early", {"state": RequestState.QUEUED}, RequestState.CANCELLED),
    ("invalid", {"state": RequestState.NO_RECIPIENTS}, RequestState.INVALID),
    ("nobody", {"state": RequestState.INVALID}, RequestState.NO_RECIPIENTS),
    ("late", {"state": RequestState.NO_RECIPIENTS}, RequestState.EXPIRED),
]


@pytest.mark.parametrize(("key", "changes", "right"), STATES)
def test_an_altered_state_of_a_request_is_found_and_put_right(
    world: World, key: str, changes: Mapping[str, Any], right: RequestState
) -> None:
    publish_one_of_each(world)
    assert world.request(key).state is right
    alter_request(world, key, **changes)
    assert audited(world) == [found_on(world, "request_state_altered", request_key=key)]
    assert world.request(key).state is right


def publish_one_of_each(world: World) -> None:
    now: datetime = world.clock.now()
    world.publish("open")
    world.publish("settled", deadline=now + timedelta(hours=1))
    world.publish("waits", not_before=now + timedelta(days=1))
    world.publish("invalid", data={})
    world.publish("nobody", "zoe")
    world.publish("late", published_at=now - timedelta(days=8))
    world.publish("withdrawn")
    world.run()
    world.withdraw(request_key="withdrawn")
    world.withdraw(request_key="early")
    world.advance(hours=2)


def test_a_request_that_the_due_index_doesnt_show_is_found_and_shown(world: World) -> None:
    told(world)
    world.database.due.hide((ACME, world.id_of("k1")))
    assert audited(world) == [found_on(world, "request_shown_wrongly")]
    world.skip(days=8)
    world.sweep()
    assert world.request().state is RequestState.SETTLED


def test_a_request_left_open_by_a_lost_retirement_is_found_and_closed(world: World) -> None:
    told(world)
    world.retire()
    world.queues.purge()
    world.skip(hours=3)
    assert audited(world) == [found_on(world, "open_though_retired")]
    assert world.request().state is RequestState.CANCELLED


def test_a_request_left_open_by_a_retirement_under_way_is_closed_and_no_difference(world: World) -> None:
    told(world)
    world.retire()
    world.queues.purge()
    assert audited(world) == []
    assert world.request().state is RequestState.CANCELLED


# ---------------------------------------------------------------- its notices


def test_a_removed_console_notice_is_found_and_stored_again_without_sending_again(world: World) -> None:
    told(world)
    remove_notice(world)
    assert audited(world) == [found_on(world, "notice_missing", "ana")]
    assert ([item.content and item.content.title for item in world.inbox()], world.chat.calls) == (["Invoice 42"], 1)
    chat = world.notice().delivery(Channel.CHAT)
    assert chat is not None
    assert (chat.state, chat.reason) == (DeliveryState.FAILED, DeliveryReason.OUTCOME_UNKNOWN)
    world.advance(days=8)
    assert world.chat.calls == 1


def test_a_removed_notice_of_chat_alone_is_found_and_not_sent_again(world: World) -> None:
    world.register_definition("chat")
    told(world)
    remove_notice(world)
    assert audited(world) == [found_on(world, "notice_missing", "ana")]
    world.advance(days=8)
    assert (world.chat.calls, world.is_stored()) == (1, True)


@pytest.mark.parametrize("channels", [("console",), ("console", "chat"), ("chat",)])
@pytest.mark.parametrize("end", ["settled", "withdrawn", "retired"])
def test_a_removed_notice_of_a_closed_request_is_found_and_stored_again(
    world: World, channels: tuple[str, ...], end: str
) -> None:
    world.register_definition(*channels)
    told(world, deadline=world.clock.now() + timedelta(hours=1) if end == "settled" else None)
    if end == "withdrawn":
        world.withdraw(request_key="k1")
    if end == "retired":
        world.retire()
    world.advance(hours=2)
    was, calls = world.notice().ended, world.chat.calls
    remove_notice(world)
    assert audited(world) == [found_on(world, "notice_missing", "ana")]
    assert (world.is_stored(), world.notice().ended, world.chat.calls) == (True, was, calls)


def test_a_removed_generation_of_a_folded_notice_is_found_and_begun_again_without_sending_again(world: World) -> None:
    world.register_definition(fold_within=timedelta(hours=1))
    told(world, fold_key="f")
    remove_generation(world, key_of(world.folded()[0]))
    assert audited(world) == [found_on(world, "notice_missing", "ana")]
    assert [[item.request_id for item in notice.contributors] for notice in world.folded()] == [[world.id_of("k1")]]
    world.advance(days=8)
    assert world.chat.calls == 1


@pytest.mark.parametrize("altered", [DeliveryState.QUEUED, DeliveryState.FAILED, DeliveryState.CANCELLED])
def test_an_altered_state_of_a_delivery_is_found_and_put_right(world: World, altered: DeliveryState) -> None:
    told(world)
    alter_delivery(world, Channel.CHAT, state=altered)
    assert audited(world) == [found_on(world, "notice_state_altered", "ana")]
    world.advance(days=8)
    assert (world.states(), world.chat.calls) == ({"console": "delivered", "chat": "delivered"}, 1)


def test_an_altered_state_of_a_delivery_that_never_moved_is_put_right_from_the_manifest(world: World) -> None:
    told(world)
    alter_delivery(world, Channel.CONSOLE, state=DeliveryState.SKIPPED)
    assert audited(world) == [found_on(world, "notice_state_altered", "ana")]
    assert (world.states(), world.unread()) == ({"console": "delivered", "chat": "delivered"}, 1)


@pytest.mark.parametrize("altered", [NoticeStatus.EXPIRED, NoticeStatus.SUPERSEDED])
def test_a_live_notice_altered_to_ended_is_found_and_put_right(world: World, altered: NoticeStatus) -> None:
    told(world)
    alter_notice(world, ended=altered)
    assert audited(world) == [found_on(world, "notice_state_altered", "ana")]
    assert (world.notice().status, world.unread()) == (NoticeStatus.DELIVERED, 1)


@pytest.mark.parametrize("altered", [None, NoticeStatus.EXPIRED])
def test_an_ended_notice_altered_to_another_status_is_found_and_put_right(
    world: World, altered: NoticeStatus | None
) -> None:
    told(world)
    world.withdraw(request_key="k1")
    world.advance(minutes=30)
    alter_notice(world, ended=altered)
    assert audited(world) == [found_on(world, "notice_state_altered", "ana")]
    assert (world.notice().status, world.unread()) == (NoticeStatus.SUPERSEDED, 0)


def test_a_live_notice_of_a_withdrawn_request_is_found_and_ended(world: World) -> None:
    told(world)
    before = world.notice()
    world.withdraw(request_key="k1")
    world.advance(minutes=30)
    alter_notice(world, ended=None, timeline=before.timeline)
    assert audited(world) == [found_on(world, "withdrawn_notice_not_ended", "ana")]
    assert (world.notice().status, world.unread()) == (NoticeStatus.SUPERSEDED, 0)


def test_a_notice_that_waits_for_a_receipt_nobody_looks_for_is_found_and_watched(world: World) -> None:
    world.register_definition("text")
    told(world)
    world.retire()
    world.advance(minutes=30)
    alter_request(world, due_at=None)
    assert audited(world) == [found_on(world, "active_notice_never_due", "ana")]
    world.advance(days=4)
    assert world.states() == {"text": "failed"}


# ---------------------------------------------------------------- inboxes


def test_an_unread_total_without_one_of_its_notices_is_found_and_put_right(world: World) -> None:
    told(world)
    world.database.unread.hide(notice_key(world))
    assert audited(world) == [Difference(kind="unread_total_wrong", recipient=ANA)]
    assert world.unread() == 1


def test_an_unread_total_that_counts_a_read_notice_is_found_and_put_right(world: World) -> None:
    told(world)
    notice = world.notice()
    world.read(notice)
    world.database.unread.show(notice_key(world), ((ACME, ANA), (notice.created_at, notice.notice_id)))
    assert world.unread() == 1
    assert audited(world) == [Difference(kind="unread_total_wrong", recipient=ANA)]
    assert world.unread() == 0


def test_a_notice_that_its_inbox_doesnt_show_is_found_and_shown(world: World) -> None:
    told(world)
    world.database.inbox.hide(notice_key(world))
    world.database.unread.hide(notice_key(world))
    assert audited(world) == [found_on(world, "notice_shown_wrongly", "ana")]
    assert (len(world.inbox()), world.unread()) == (1, 1)


def test_a_failed_notice_that_the_attention_list_doesnt_show_is_found_and_shown(world: World) -> None:
    world.chat.faults = [Rejected(reason="user_not_found", scope=RejectionScope.PERSON)]
    told(world)
    world.database.attention.hide(notice_key(world))
    assert audited(world) == [found_on(world, "notice_shown_wrongly", "ana")]
    assert len(world.ports.notices.attention(ACME, 0, before=None, limit=10)) == 1


def test_a_wrong_total_is_found_among_the_newest_of_more_notices_than_are_counted(world: World) -> None:
    told(world)
    notice = world.notice()
    for number in range(1, 1_010):
        identity = NoticeId(f"copy-{number:04}")
        later = notice.created_at + timedelta(seconds=number)
        world.ports.notices.put(replace(notice, notice_id=identity, created_at=later, version=1), None)
    assert world.audit().differences == []
    world.database.unread.hide(replace(notice_key(world), notice_id=NoticeId("copy-0900")))
    assert audited(world) == [Difference(kind="unread_total_wrong", recipient=ANA)]
    world.read_all()
    assert world.audit().differences == []


# ---------------------------------------------------------------- races


def test_a_lost_race_leaves_the_repair_to_the_next_audit(world: World) -> None:
    told(world)
    alter_request(world, due_at=None)
    plain = world.ports
    world.ports = failing(plain, "requests.put", Conflict("moved"))
    assert world.audit().differences == [found_on(world, "live_request_never_due")]
    world.ports = plain
    assert audited(world) == [found_on(world, "live_request_never_due")]


@pytest.mark.parametrize("fault", [failing, losing])
def test_a_lost_race_for_a_removed_notice_is_tried_again(world: World, fault: Any) -> None:
    """Another wrote it, or nobody did: then its own write comes after all."""
    told(world)
    remove_notice(world)
    world.ports = fault(world.ports, "notices.put", Conflict("another was faster"))
    assert audited(world) == [found_on(world, "notice_missing", "ana")]
    assert world.is_stored()


def test_a_notice_that_a_sweep_is_about_to_store_is_not_missing(world: World) -> None:
    told(world)
    remove_notice(world)
    alter_request(world, due_at=world.clock.now())
    assert world.audit().differences == []


def test_a_total_that_is_wrong_once_is_a_recipient_reading(world: World) -> None:
    told(world)
    notice = world.notice()

    def read_meanwhile(*_: Any, **__: Any) -> None:
        if world.notice().read_at is None:
            world.read(notice)

    world.ports = watched(world.ports, "notices.unread_count", before=read_meanwhile)
    assert world.audit().differences == []
    assert world.unread() == 0


def test_a_notice_that_moves_while_a_total_is_repaired_is_left_to_the_next_audit(world: World) -> None:
    told(world)
    world.database.unread.hide(notice_key(world))
    plain = world.ports
    world.ports = failing(plain, "notices.repair", Conflict("moved"), times=2)
    assert [item.kind for item in world.audit().differences] == ["unread_total_wrong", "notice_shown_wrongly"]
    world.ports = plain
    assert [item.kind for item in audited(world)] == ["unread_total_wrong"]


# ---------------------------------------------------------------- removed requests


def test_a_removed_request_that_the_last_audit_accounted_for_is_found_and_named(world: World) -> None:
    world.register_definition("chat")
    told(world, "k1")
    told(world, "k2")
    assert world.audit().differences == []
    remove_request(world, "k1")
    assert audited(world) == [found_on(world, "request_missing")]
    ledger = world.ports.registry.ledger(ACME)
    assert ledger is not None
    assert ledger.lost == (world.id_of("k1"),)


@pytest.mark.parametrize("key", ["open", "settled", "waits", "invalid", "nobody", "late", "withdrawn", "early"])
def test_a_removed_request_of_any_state_is_found_by_the_ledger(world: World, key: str) -> None:
    world.register_definition("chat")
    publish_one_of_each(world)
    assert world.audit().differences == []
    world.advance(days=1)
    remove_request(world, key)
    assert audited(world) == [found_on(world, "request_missing", request_key=key)]


def test_a_request_that_ended_after_the_last_audit_and_was_removed_is_found(world: World) -> None:
    world.register_definition("chat")
    told(world, "k1")
    world.audit()
    world.advance(days=8)
    assert world.request().state is RequestState.SETTLED
    remove_request(world, "k1")
    assert audited(world) == [found_on(world, "request_missing")]


def test_several_removed_requests_of_a_day_are_counted_without_their_names(world: World) -> None:
    world.register_definition("chat")
    for number in range(5):
        world.publish(f"k{number}")
    world.advance(minutes=30)
    world.audit()
    for number in range(3):
        remove_request(world, f"k{number}")
    assert audited(world) == [Difference(kind="request_missing", number=3)]


def test_a_removed_request_that_no_audit_has_seen_is_found_from_an_inbox(world: World) -> None:
    told(world, "k1")
    told(world, "k2")
    remove_request(world, "k1")
    assert audited(world) == [found_on(world, "request_missing", "ana")]


def test_a_removed_request_is_told_once(world: World) -> None:
    """From the inbox, or from the ledger: whichever has it first."""
    told(world, "k1")
    told(world, "k2")
    world.audit()
    remove_request(world, "k1")
    assert audited(world) == [found_on(world, "request_missing", "ana")]
    for _ in range(3):
        world.advance(days=1)
        assert world.audit().differences == []


# ---------------------------------------------------------------- counting


def test_the_audit_counts_what_was_opened_what_was_closed_and_what_remains(world: World) -> None:
    publish_one_of_each(world)
    report = world.audit()
    assert dict(report.requests) == {
        "open": 1, "settled": 1, "queued": 1, "invalid": 1, "no_recipients": 1, "expired": 1, "superseded": 1,
        "cancelled": 1,
    }  # fmt: skip
    assert balance(world) == {
        "opened": 8, "remains": 2, "settled": 1, "invalid": 1, "no_recipients": 1, "expired": 1, "superseded": 1,
        "cancelled": 1,
    }  # fmt: skip
    world.publish("new")
    world.withdraw(request_key="open")
    world.advance(minutes=30)
    world.telemetry.events.clear()
    world.audit()
    assert balance(world) == {"opened": 1, "remains": 2, "superseded": 1}
    assert world.telemetry.counted("audit_differences") == 0


def balance(world: World) -> dict[str, float | str | None]:
    """What the log says was opened, remains, and was closed in each state, since the audit before."""
    return {
        str(fields.get("state", event.removeprefix("audit_"))): fields["count"]
        for event, fields in world.telemetry.events
        if event in {"audit_opened", "audit_remains", "audit_closed"}
    }


def test_many_differences_are_all_counted_and_some_listed(world: World) -> None:
    for number in range(60):
        world.publish(f"k{number}")
    world.advance(minutes=30)
    for number in range(60):
        remove_notice(world, "ana", f"k{number}")
    report = world.audit()
    assert Counter(item.kind for item in report.differences) == {"notice_missing": 60}
    assert world.telemetry.counted("audit_differences") == 60
    listed = Counter(event for event, _ in world.telemetry.alarms)
    assert listed == {"audit_difference": 50, "audit_differences_unlisted": 1}
    assert world.telemetry.alarms[-1] == ("audit_differences_unlisted", {"workspace_id": ACME, "count": 10})


# ---------------------------------------------------------------- time and trouble


class Slow:
    """A store whose pages of the history take a while."""

    def __init__(self, store: Any, world: World, seconds: float) -> None:
        self._store, self._world, self._seconds = store, world, seconds

    def __getattr__(self, method: str) -> Any:
        return getattr(self._store, method)

    def history(self, *place: Any, **options: Any) -> Any:
        self._world.skip(seconds=self._seconds)
        return self._store.history(*place, **options)


def test_ten_thousand_requests_are_audited_in_calls_that_go_on_and_lose_no_account(world: World) -> None:
    world.register_workspace(shards=3)
    world.publish("k0", data={})
    world.run()
    for number in range(1, 10_000):
        identity = world.id_of(f"k{number}")
        row = replace(world.request("k0"), request_id=identity, request_key=f"k{number}", shard=shard_of(identity, 3))
        world.ports.requests.put(row, None)
    world.skip(hours=1)
    world.ports = replace(world.ports, requests=Slow(world.ports.requests, world, 1))  # type: ignore[arg-type]
    assert audited_in_calls(world) == (12, 10_000, 0)
    remove_request(world, "k77")
    assert audited_in_calls(world) == (12, 9_999, 1)
    assert [fields["request_id"] for _, fields in world.telemetry.alarms] == [world.id_of("k77")]
    assert audited_in_calls(world) == (12, 9_999, 0)


def audited_in_calls(world: World) -> tuple[int, int, int]:
    """In how many calls an audit comes to its end, and how many requests and differences it counts."""
    world.telemetry.counts.clear()
    world.audit()
    calls = 1
    while world.waiting(QueueName.RECONCILE):
        world.run_only(QueueName.RECONCILE)
        calls += 1
    return calls, world.telemetry.counted("audit_requests"), world.telemetry.counted("audit_differences")


def test_an_audit_begun_twice_at_once_ends_once(world: World) -> None:
    """SQS may deliver a message twice: whichever comes to its end first leaves the ledger."""
    for number in range(100):
        world.publish(f"k{number}", data={})
    world.run()
    world.skip(hours=1)
    world.ports = replace(world.ports, requests=Slow(world.ports.requests, world, 40))  # type: ignore[arg-type]
    world.audit()
    world.audit()
    while world.waiting(QueueName.RECONCILE):
        world.run_only(QueueName.RECONCILE)
    ledger = world.ports.registry.ledger(ACME)
    assert ledger is not None
    assert (ledger.version, sum(account.count for account in ledger.accounts.values())) == (1, 100)
    assert [event for event, _ in world.telemetry.events if event == "audit_overtaken"] == ["audit_overtaken"]
    assert world.telemetry.counted("audit_differences") == 0


def test_an_audit_of_what_is_right_writes_nothing_but_its_ledger(world: World) -> None:
    publish_one_of_each(world)
    rows = [list(world.database.requests), list(world.database.notices)]
    world.audit()
    world.audit()
    assert [list(world.database.requests), list(world.database.notices)] == rows
    assert world.waiting(QueueName.RECONCILE) == []


def test_a_row_that_cant_be_read_stops_no_other_and_is_told(world: World) -> None:
    told(world, "k1")
    told(world, "k2", "bob")
    remove_notice(world, "ana", "k1")
    remove_notice(world, "bob", "k2")
    plain = world.ports
    world.ports = failing(plain, "requests.get", StoreUnavailable("unreadable"))
    assert [item.request_id for item in world.audit().differences] == [world.id_of("k1")]
    assert world.telemetry.alarms[0] == (
        "audit_of_rows_failed",
        {"workspace_id": ACME, "error": "StoreUnavailable", "count": 1},
    )
    world.ports = plain
    assert [item.request_id for item in world.audit().differences] == [world.id_of("k2")]


def test_a_workspace_that_isnt_registered_has_nothing_to_audit(world: World) -> None:
    assert world.audit(WorkspaceId("nowhere")).differences == []
