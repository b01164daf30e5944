"""Random orders of publishing, withdrawing, replacing, folding, retiring, reading, redelivery and time: what comes of
them is what the oracle's books say, after every step.
"""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notify_core.application.ports import QueueName
from notify_core.application.tasks import DispatchTask, RetireTask, SweepTask, parse_task
from notify_core.domain.notice import Notice
from tests.application.oracle import Kind, Oracle, Told
from tests.application.world import World

HOUR = timedelta(hours=1)
KINDS = {
    "plain": Kind(lasts=HOUR),
    "replacing": Kind(lasts=2 * HOUR, replaces=True),
    "folding": Kind(lasts=2 * HOUR, folds_within=timedelta(minutes=10)),
    "both": Kind(lasts=HOUR, replaces=True, folds_within=HOUR),
}
PEOPLE = ("ana", "bob")
Deed = Callable[..., None]


class Observed(World):
    """A world whose queues are read in any order, and whose every processed message the oracle hears of."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.doubles = 20
        self.oracle = Oracle(KINDS, set(PEOPLE))
        self.register_people(*PEOPLE)
        for key, kind in KINDS.items():
            self.register_definition(
                key=key, expires_after=kind.lasts, replace_previous=kind.replaces, fold_within=kind.folds_within
            )

    def _pace(self) -> timedelta:
        return timedelta(minutes=5)

    def run(self) -> None:
        """Process what is visible in a random order, some of it twice."""
        for _ in range(1_000):
            now = self.clock.now()
            visible = sorted(item for item in self.queues.waiting if item.visible_at <= now)
            if not visible:
                return
            item = self.queues.take(self.random.choice(visible))
            if self.doubles and self.random.random() < 0.2:
                self.doubles -= 1
                self.queues.put(item.queue, item.body)
            self._hear_before(item.queue, json.loads(item.body))
            self.process(item)
        raise AssertionError("the queues never run dry")

    def _hear_before(self, queue: QueueName, body: dict[str, Any]) -> None:
        """Tell the oracle what is processed now: it decides on its own, with the same clock."""
        now = self.clock.now()
        if queue is QueueName.REQUESTS and body["type"] == "publish":
            self.oracle.published(body, self.id_of(body["request_key"], body["definition"]), now)
            return
        if queue is QueueName.REQUESTS:
            self.oracle.withdrawn(body, now)
            return
        match parse_task(body):
            case SweepTask(request_id=request_id):
                row = next(row for row in self.database.requests if row.request_id == request_id)
                if row.due_at is not None and row.due_at <= now:
                    self.oracle.swept(row.request_key, now)
            case RetireTask(definition=definition):
                self.oracle.retirement_processed(definition)
            case DispatchTask(recipient=recipient, request_id=request_id):
                row = next(row for row in self.database.requests if row.request_id == request_id)
                self.oracle.dispatched(recipient, row.request_key, now)
            case _:
                pass

    # ---------------------------------------------------------------- judging

    def check(self) -> None:
        rows = {row.request_key: row for row in self.database.requests}
        assert self.failures == []
        assert {
            key: (row.state.value, row.reason and row.reason.value, row.differing_repeat_at is not None)
            for key, row in rows.items()
        } == self.oracle.outcomes()
        for person in PEOPLE:
            assert Counter(map(self._seen, self.inbox(person))) == self.oracle.inbox(person)
            assert self.unread(person) == self.oracle.unread(person)
        assert Counter((item.recipient, item.text.split()[1]) for item in self.chat.reached) == self.oracle.sent
        assert not self.chat.times() or set(self.chat.times().values()) == {1}

    def _seen(self, notice: Notice) -> tuple[str, int, bool, bool]:
        assert notice.content is not None
        mark = self.ports.notices.read_mark(notice.workspace_id, notice.recipient)
        is_read = notice.read_at is not None or (mark is not None and notice.created_at <= mark.read_up_to)
        return notice.content.title.split()[1], notice.count, notice.status == "superseded", is_read

    def check_the_end(self) -> None:
        self.check()
        for row in self.database.requests:
            assert row.state not in {"queued", "open"}
            assert row.due_at is None
        for notice in self.database.notices:
            assert not notice.is_active
        assert self.queues.waiting == []
        assert self.audit().differences == []


# ---------------------------------------------------------------- what may happen

numbers = st.integers(0, 5)
seconds = st.sampled_from([-90, -1, 0, 0, 0, 0, 1, 30])
publications = st.fixed_dictionaries(
    {
        "do": st.just("publish"),
        "key": numbers,
        "kind": st.sampled_from([*KINDS, "folding", "both"]),
        "published": seconds,
        "not_before": st.sampled_from([None, None, None, 20, 600, 1_500, 4_000, 9_000]),
        "deadline": st.sampled_from([None, None, None, 0, 60, 700, 1_500, 5_000]),
        "shared": st.sampled_from(["a", "b"]),
        "is_folded": st.sampled_from([True, True, True, False]),
        "people": st.sampled_from([["ana"], ["ana"], ["ana", "bob"], ["bob", "eve"], ["eve"], []]),
        "is_right": st.sampled_from([True, True, True, True, False]),
    }
)
others = st.one_of(
    st.fixed_dictionaries({"do": st.just("withdraw"), "key": numbers, "kind": st.sampled_from(sorted(KINDS))}),
    st.fixed_dictionaries(
        {
            "do": st.just("withdraw key"),
            "kind": st.sampled_from(["replacing", "both"]),
            "shared": st.sampled_from(["a", "b"]),
            "withdrawn": seconds,
        }
    ),
    st.fixed_dictionaries({"do": st.just("repeat"), "which": st.integers(0, 20)}),
    st.fixed_dictionaries({"do": st.just("run")}),
    st.fixed_dictionaries({"do": st.just("pass"), "seconds": st.sampled_from([1, 59, 61, 600, 601, 1_800, 4_000])}),
    st.fixed_dictionaries({"do": st.just("lose every message")}),
    st.fixed_dictionaries({"do": st.sampled_from(["retire", "register"]), "kind": st.sampled_from(sorted(KINDS))}),
    st.fixed_dictionaries({"do": st.just("read"), "which": st.integers(0, 5)}),
    st.fixed_dictionaries({"do": st.just("read all"), "person": st.sampled_from(PEOPLE)}),
)


class Story:
    """One run: what was published is remembered, so that it can be repeated as it was."""

    def __init__(self, world: Observed) -> None:
        self.world = world
        self.bodies: list[str] = []
        self._does: dict[str, Deed] = {
            "publish": self._publish,
            "repeat": self._repeat,
            "withdraw": self._withdraw,
            "withdraw key": self._withdraw_key,
            "run": self._run,
            "pass": self._pass,
            "lose every message": self._lose,
            "retire": self._retire,
            "register": self._register,
            "read": self._read,
            "read all": self._read_all,
        }

    def tell(self, happening: dict[str, Any]) -> None:
        self._does[happening["do"]](**{name: value for name, value in happening.items() if name != "do"})

    def _publish(
        self,
        *,
        key: int,
        kind: str,
        published: int,
        not_before: int | None,
        deadline: int | None,
        shared: str,
        is_folded: bool,
        people: list[str],
        is_right: bool,
    ) -> None:
        now = self.world.clock.now()
        body = self.world.publication(
            f"{kind}{key}",
            definition=kind,
            published_at=now + timedelta(seconds=published),
            not_before=None if not_before is None else now + timedelta(seconds=not_before),
            deadline=None if deadline is None else now + timedelta(seconds=deadline),
            replacement_key=shared if KINDS[kind].replaces else None,
            fold_key=shared if is_folded and KINDS[kind].folds_within is not None else None,
            audience={"people": people},
            data={"number": str(len(self.bodies))} if is_right else {},
        )
        self.bodies.append(json.dumps(body))
        self.world.queues.put(QueueName.REQUESTS, self.bodies[-1])

    def _repeat(self, *, which: int) -> None:
        if self.bodies:
            self.world.queues.put(QueueName.REQUESTS, self.bodies[which % len(self.bodies)])

    def _withdraw(self, *, key: int, kind: str) -> None:
        self.world.withdraw(request_key=f"{kind}{key}", definition=kind)

    def _withdraw_key(self, *, kind: str, shared: str, withdrawn: int) -> None:
        at = self.world.clock.now() + timedelta(seconds=withdrawn)
        self.world.withdraw(replacement_key=shared, definition=kind, withdrawn_at=at)

    def _run(self) -> None:
        self.world.run()
        self.world.check()

    def _pass(self, *, seconds: int) -> None:
        self.world.advance(seconds=seconds)
        self.world.check()

    def _lose(self) -> None:
        self.world.run()
        self.world.queues.purge()

    def _retire(self, *, kind: str) -> None:
        self.world.retire(kind)
        self.world.oracle.definition_retired(kind)

    def _register(self, *, kind: str) -> None:
        self.world.register_again(kind)
        self.world.oracle.definition_registered_again(kind)

    def _read(self, *, which: int) -> None:
        """Read a notice of ana's, in both books."""
        notices = self.world.inbox("ana")
        if not notices:
            return
        notice = notices[which % len(notices)]
        keys = {row.request_id: row.request_key for row in self.world.database.requests}
        self.world.read(notice)
        self.world.oracle.read(self._told_of(keys[notice.contributors[0].request_id]))

    def _read_all(self, *, person: str) -> None:
        self.world.read_all(person)
        self.world.oracle.read_all(person, self.world.clock.now())

    def _told_of(self, key: str) -> Told:
        (told,) = [told for told in self.world.oracle.told if told.person == "ana" and told.requests[0].key == key]
        return told


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    happenings=st.lists(publications | publications | others, min_size=1, max_size=30),
    random=st.randoms(use_true_random=False),
)
def test_whatever_the_order_outcomes_notices_and_messages_are_what_the_rules_say(
    happenings: list[dict[str, Any]], random: Random
) -> None:
    """Scenarios 10, 12 to 17, 20, 22, 25, 28, 29 and 41."""
    world = Observed(random)
    story = Story(world)
    for happening in happenings:
        story.tell(happening)
    world.run()
    world.check()
    world.advance(hours=6)
    world.check_the_end()
