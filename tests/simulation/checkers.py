"""Judges of a run, on ground truth and independent of the code under test: their tables are typed by hand.

They look at every write as it is made, at every call of a provider, at what readers are answered, and at the end.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from notify_core.adapters.memory import MemoryDatabase
from notify_core.application.ports import EvidenceQuery, Outgoing, QueueName, ReadMark
from notify_core.domain.definition import Definition
from notify_core.domain.directory import ChannelState
from notify_core.domain.notice import Notice
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.request import Request
from notify_core.domain.send_result import Rejected, SendResult, Throttled, Unavailable
from tests.simulation.linearizability import Facts, Key, Outcome, Undecided, is_linearizable, objects_of
from tests.simulation.rules import RULES, Rules

if TYPE_CHECKING:
    from tests.simulation.world import World


class Violation(BaseException):
    """Something happened that must never happen; no `except Exception` of the code under test can hide it."""


CHECKS = (
    "one outcome per publication",
    "accepted means all recipients or none",
    "a delivery reaches somebody once at most",
    "nothing is sent again on a guess",
    "nothing withdrawn before its claim is sent",
    "nothing ends while a request carries it",
    "recorded as delivered is delivered",
    "nothing vanishes and nothing appears",
    "unread is the visible unread",
    "no final state moves",
    "every write follows the one it read",
    "one open request a replacement key",
    "everything drains",
    "linearizable per request",
    "History shows what was",
    "the attention list shows what failed",
    "a retry is one attempt",
    "the audit finds no difference",
    *RULES,
)
"""What is judged; each is counted whenever it is."""

REQUEST_MOVES = {
    None: {"queued", "open", "no_recipients", "invalid", "expired", "cancelled"},
    "queued": {"queued", "open", "no_recipients", "invalid", "expired", "cancelled"},
    "open": {"open", "superseded", "settled", "cancelled"},
    "settled": {"settled"},
    "no_recipients": {"no_recipients"},
    "invalid": {"invalid"},
    "expired": {"expired"},
    "cancelled": {"cancelled"},
    "superseded": {"superseded"},
}
CLOSED = {"settled", "no_recipients", "invalid", "expired", "cancelled", "superseded"}
DELIVERY_MOVES = {
    "queued": {"sending", "deferred", "cancelled", "expired", "skipped", "failed:attempts_exhausted"},
    "deferred": {"sending", "deferred", "cancelled", "expired", "skipped", "failed:attempts_exhausted"},
    "sending": {
        "delivered", "sent", "deferred", "failed", "cancelled", "expired", "skipped", "bounced", "queued",
        "failed:attempts_exhausted", "failed:outcome_unknown",
    },
    "sent": {"delivered", "bounced", "failed:receipt_timeout"},
    "failed:outcome_unknown": {"delivered", "bounced"},
    "failed:receipt_timeout": {"delivered", "bounced"},
    "failed:attempts_exhausted": {"queued"},
}  # fmt: skip
STATUS_MOVES = {
    "routed": {"delivering", "delivered", "partially_delivered", "failed", "no_channel", "expired", "superseded"},
    "delivering": {"routed", "delivered", "partially_delivered", "failed", "no_channel", "expired", "superseded"},
    "delivered": {"superseded"},
    "partially_delivered": {"routed", "delivering", "delivered", "superseded"},
    "failed": {"routed", "delivering", "delivered", "partially_delivered", "superseded"},
    "no_channel": {"superseded"},
    "superseded": set[str](),
    "expired": set[str](),
}
ACTIVE = {"queued", "deferred", "sending", "sent"}
RECORDED_UNKNOWN = {"failed:outcome_unknown", "failed:receipt_timeout"}
OWN_REASONS = {"attempts_exhausted", "outcome_unknown", "receipt_timeout"}
LAST = "\U0010ffff"
CLOCK_OFF = timedelta(seconds=1)
"""From when on a producer's clock is off."""

# What moved a thing, told from where it went and why.
REQUEST_EVENTS = {
    ("open", "open"): "reschedule",
    ("queued", "open"): "accept",
    ("queued", "no_recipients"): "find_nobody",
    ("queued", "invalid"): "reject",
    ("queued", "expired"): "expire",
    ("open", "settled"): "settle",
    ("open", "cancelled"): "retire",
}
DELIVERY_EVENTS = {
    ("queued", "sending"): "claim", ("deferred", "sending"): "claim",
    ("queued", "deferred"): "hold", ("deferred", "deferred"): "hold",
    ("sending", "sent"): "accept", ("sending", "delivered"): "deliver", ("sending", "bounced"): "bounce",
    ("sending", "deferred"): "defer", ("sending", "queued"): "requeue", ("sending", "cancelled"): "cancel",
    ("sending", "expired"): "expire", ("sending", "skipped"): "skip",
    ("sent", "delivered"): "deliver", ("sent", "bounced"): "bounce", ("sent", "failed"): "time_out",
    ("queued", "cancelled"): "cancel", ("deferred", "cancelled"): "cancel",
    ("queued", "expired"): "expire", ("deferred", "expired"): "expire",
    ("queued", "skipped"): "skip", ("deferred", "skipped"): "skip",
    ("queued", "failed"): "exhaust", ("deferred", "failed"): "exhaust",
    ("failed", "queued"): "retry", ("failed", "delivered"): "deliver", ("failed", "bounced"): "bounce",
}  # fmt: skip
FAILURES = {"attempts_exhausted": "exhaust", "outcome_unknown": "lose"}


def first_status(notice: Notice, request: Request) -> str:
    """What a notice begins as: by the plan of the request that began it."""
    plan = next(entry.plan for entry in request.manifest if entry.recipient == notice.recipient)
    states = {planned.state.value for planned in plan}
    return "routed" if "queued" in states else "delivered" if "delivered" in states else "no_channel"


def notice_event(source: str, target: str) -> str:
    """What moved a notice's status."""
    if target in {"superseded", "expired"}:
        return target.removesuffix("d")
    if source in {"failed", "partially_delivered"}:
        return "retry" if target in {"routed", "delivering"} else "receive"
    return "progress"


def state_of(item: Any) -> str:
    """A delivery's state, with the reason of a failure that the platform gave itself."""
    if item.state == "failed" and item.reason in OWN_REASONS:
        return f"failed:{item.reason}"
    return str(item.state)


def is_unread(notice: Notice) -> bool:
    """Whether the inbox shows it as unread, a read-all mark aside."""
    is_shown = any(item.channel == "console" and item.state == "delivered" for item in notice.deliveries)
    return is_shown and notice.ended is None and notice.read_at is None


class _Watched(dict[Any, Any]):
    """A dict whose every write is looked at."""

    def __init__(self, look: Callable[[Any, Any, Any], None]) -> None:
        self._look = look

    def __setitem__(self, key: Any, value: Any) -> None:
        before = self.get(key)
        super().__setitem__(key, value)
        self._look(key, before, value)


class Checkers:
    """Watches every write and every wire call, and the end."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.rules = Rules(self)
        self.evaluated: Counter[str] = Counter()
        self.moves: Counter[tuple[str, str, str]] = Counter()
        """By kind of thing, event, and from where to where."""
        self.is_dirty = False
        """Whether something was written that is judged once the write is complete."""
        self.reached_by: Counter[str] = Counter()
        self.accepted_at: dict[str, datetime] = {}
        self.states: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
        """Each request's states, from when on."""
        self.unread_seen: dict[object, tuple[tuple[str, str], set[int]]] = {}
        """Readers of an unread total, with every value that it had since they began."""
        self.retries: Counter[str] = Counter()
        """How often each delivery was really queued again by an operator."""
        self._texts: dict[str, ReceiptOutcome] = {}
        self._receipts_left: Counter[str] = Counter()
        """How many of a claim's receipts weren't lost."""
        self._claims: dict[str, str] = {}
        """The claim that each delivery was sent under, where it reached somebody."""
        self._at_large: set[str] = set()
        """Deliveries that were posted and, for all that anybody knows, may have arrived."""
        self._not_carrying: dict[str, set[str]] = {}
        self._open_by_key: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._dirty_keys: set[tuple[str, str]] = set()
        self._dirty_places: set[tuple[str, str]] = set()
        self._unread: dict[tuple[str, str], dict[str, datetime]] = defaultdict(dict)
        self._sent: Counter[Key] = Counter()
        self._lost: Counter[Key] = Counter()
        self._named: set[Key] = set()
        self._retired_at: dict[str, datetime] = {}

    def watch(self, database: MemoryDatabase) -> None:
        """Look at every write as it is made."""
        self.database = database
        for table, look in (
            (database.requests, self._request_written),
            (database.notices, self._notice_written),
            (database.definitions, self._definition_written),
        ):
            put = table.put

            def looked(key: Any, value: Any, *, put: Any = put, look: Any = look, table: Any = table) -> None:
                look(table.get(key), value)
                put(key, value)

            table.put = looked  # type: ignore[method-assign]
        database.channels = _Watched(self._channel_written)
        database.marks = _Watched(self._mark_written)
        self.rules.watch(database)

    def judge(self, check: str, is_right: bool, what: Callable[[], str] | str) -> None:
        """Count a judgement; stop the run where it is bad."""
        self.evaluated[check] += 1
        if not is_right:
            self.fail(what if isinstance(what, str) else what())

    def fail(self, what: str) -> None:
        """Stop the run."""
        self.world.kernel.tell(f"VIOLATION {what}")
        raise Violation(what)

    # ---------------------------------------------------------------- requests

    def _request_written(self, before: Request | None, after: Request) -> None:
        source, target = before.state.value if before else None, after.state.value
        name = f"request {after.request_key}"
        self.judge(
            "one outcome per publication",
            target in REQUEST_MOVES[source] and not (before and before.closed_at not in {None, after.closed_at}),
            lambda: f"{name} moved {source} -> {target}",
        )
        if source in CLOSED:
            self.judge("no final state moves", target == source, lambda: f"{name} moved {source} -> {target}")
        self._note_request_move(before, after)
        self.judge(
            "every write follows the one it read",
            after.version == (before.version if before else 0) + 1,
            lambda: f"{name}: version {after.version} over {before and before.version}",
        )
        if before and before.recorded_at != after.recorded_at:
            self.fail(f"{name}: recorded_at moved")
        if before and before.accepted_at and before.manifest != after.manifest:
            self.fail(f"{name}: manifest changed")
        now = self.world.kernel.at
        if source != target:
            self.states[after.request_id].append((now, target))
        if after.accepted_at and after.request_id not in self.accepted_at:
            self.accepted_at[after.request_id] = now
        if after.replacement_key is not None:
            key = (after.definition, after.replacement_key)
            (self._open_by_key[key].add if target == "open" else self._open_by_key[key].discard)(after.request_id)
            self._dirty_keys.add(key)
            self.is_dirty = True
        if after.due_at is not None:
            self.world.is_due(after.due_at)
        self.rules.request_written(before, after)

    def _note_request_move(self, before: Request | None, after: Request) -> None:
        """The move by its event; a row that is written for the first time comes from `queued`."""
        source, target = before.state.value if before else "queued", after.state.value
        if source == target:
            if source != "queued" or before is not None or after.problems:
                return
            event = "defer"
        elif target in {"superseded", "cancelled"} and after.reason != "definition_retired":
            event = "withdraw" if after.reason == "withdrawn" else "replace"
        else:
            event = REQUEST_EVENTS.get((source, target), "?")
        self.moves["request", event, f"{source} -> {target}"] += 1

    def at_rest(self) -> None:
        """Between writes (a transaction is one write)."""
        for key in self._dirty_keys:
            self.judge(
                "one open request a replacement key",
                len(self._open_by_key[key]) <= 1,
                lambda key=key: f"two open requests under replacement key {key}",
            )
        for place in self._dirty_places:
            self._check_unread(place)
        self._dirty_keys.clear()
        self._dirty_places.clear()
        self.is_dirty = False

    # ---------------------------------------------------------------- notices

    def _notice_written(self, before: Notice | None, after: Notice) -> None:
        name = f"notice of {after.recipient} {after.notice_id}"
        self.evaluated["every write follows the one it read"] += 1
        if after.version != (before.version if before else 0) + 1:
            self.fail(f"{name}: version {after.version} over {before and before.version}")
        self._check_deliveries(name, before, after)
        self._check_status(name, before, after)
        if after.ended and not (before and before.ended):
            self.judge(
                "nothing ends while a request carries it",
                not self._carrying(after),
                lambda: f"{name} ended ({after.ended}) though a contributor carries it",
            )
        ids = [item.request_id for item in after.contributors]
        if len(set(ids)) != len(ids):
            self.fail(f"{name} holds a contributor twice")
        if before is not None:
            self._check_kept(name, before, after)
        self.rules.notice_written(before, after)
        place = (after.workspace_id, after.recipient)
        if is_unread(after):
            self._unread[place][after.notice_id] = after.created_at
        else:
            self._unread[place].pop(after.notice_id, None)
        self._dirty_places.add(place)
        self.is_dirty = True
        self._see_unread(place)

    def _check_kept(self, name: str, before: Notice, after: Notice) -> None:
        kept = {item.request_id for item in before.contributors} <= {item.request_id for item in after.contributors}
        same = [item.channel for item in before.deliveries] == [item.channel for item in after.deliveries]
        self.evaluated["nothing vanishes and nothing appears"] += 1
        if not kept or not same or before.created_at != after.created_at:
            self.fail(f"{name} lost or gained something: {before} -> {after}")

    def _check_status(self, name: str, before: Notice | None, after: Notice) -> None:
        if before is None:
            request = self.database.requests.get((after.workspace_id, after.contributors[0].request_id))
            assert request is not None
            source = first_status(after, request)
            self.moves["notice", "create", f"pending -> {source}"] += 1
        else:
            source = before.status.value
        target = after.status.value
        if source in {"superseded", "expired"}:
            self.judge("no final state moves", target == source, lambda: f"{name}: status moved {source} -> {target}")
        if source == target:
            return
        if target not in STATUS_MOVES[source]:
            self.fail(f"{name}: status moved {source} -> {target}")
        self.moves["notice", notice_event(source, target), f"{source} -> {target}"] += 1

    def _check_deliveries(self, name: str, before: Notice | None, after: Notice) -> None:
        was = {item.channel: item for item in before.deliveries} if before else {}
        for item in after.deliveries:
            old = was.get(item.channel)
            if item is old:
                continue
            source, target = ("queued" if old is None else state_of(old)), state_of(item)
            is_held = source == target == "deferred" and old is not None and old.next_at != item.next_at
            is_new = old is None and target in {"delivered", "skipped", "unavailable"} and not item.attempts
            if (source != target or is_held) and not is_new:
                self._check_delivery_move(name, item, source, target, after)
            if item.state == "sending" and item.claim_id and (old is None or old.claim_id != item.claim_id):
                carrying = self._carrying(after)
                self._not_carrying[item.claim_id] = {c.request_id for c in after.contributors} - carrying

    def _check_delivery_move(self, name: str, item: Any, source: str, target: str, notice: Notice) -> None:
        short = source.split(":", maxsplit=1)[0], target.split(":", maxsplit=1)[0]
        event = DELIVERY_EVENTS.get(short) or FAILURES.get(item.reason, "reject")
        self.moves["delivery", event, f"{short[0]} -> {short[1]}"] += 1
        self.evaluated["no final state moves"] += 1
        if target not in DELIVERY_MOVES.get(source, ()):
            self.fail(f"{name}: {item.channel} moved {source} -> {target}")
        if event == "retry":
            self.retries[notice.delivery_id(item.channel)] += 1
        if target in {"cancelled", "expired"}:
            self.judge(
                "nothing ends while a request carries it",
                not self._carrying(notice),
                lambda: f"{name}: {item.channel} {target} though a contributor carries it",
            )
        if target == "delivered":
            self.judge(
                "recorded as delivered is delivered",
                self.reached_by[notice.delivery_id(item.channel)] > 0,
                lambda: f"{name}: {item.channel} recorded as delivered, and nobody was reached",
            )

    def _carrying(self, notice: Notice) -> set[str]:
        now = self.world.kernel.at
        return {item.request_id for item in notice.contributors if self.carries(item.request_id, notice, now)}

    def carries(self, request_id: str, notice: Notice, now: datetime) -> bool:
        """Whether a request justifies a notice, told from its row as it stands."""
        request: Any = self.database.requests.get((notice.workspace_id, request_id))  # type: ignore[arg-type]
        if request is None or now >= request.expires_at:
            return False
        return request.state == "open" or (request.state == "cancelled" and request.accepted_at is not None)

    # ---------------------------------------------------------------- inboxes

    def _mark_written(self, place: tuple[str, str], before: ReadMark | None, after: ReadMark) -> None:
        if before is not None and after.read_up_to < before.read_up_to:
            self.fail(f"{place}: the read mark moved back")
        self.rules.mark_written(place, after)
        self._dirty_places.add(place)
        self.is_dirty = True
        self._see_unread(place)

    def unread(self, place: tuple[str, str]) -> int:
        """How many notices are unread, told from their rows."""
        mark = self.database.marks.get(place)  # type: ignore[call-overload]
        created = self._unread[place].values()
        return len(created) if mark is None else sum(at > mark.read_up_to for at in created)

    def _check_unread(self, place: tuple[str, str]) -> None:
        mark = self.database.marks.get(place)  # type: ignore[call-overload]
        after = () if mark is None else (mark.read_up_to, LAST)
        counted, unread = self.database.notices.count(self.database.unread, place, after=after), self.unread(place)
        self.evaluated["unread is the visible unread"] += 1
        if counted != unread:
            self.fail(f"{place}: unread {counted}, visible unread {unread}")

    def _see_unread(self, place: tuple[str, str]) -> None:
        for looked_at, seen in self.unread_seen.values():
            if looked_at == place:
                seen.add(self.unread(place))

    # ---------------------------------------------------------------- definitions and channels

    def _definition_written(self, before: Definition | None, after: Definition) -> None:
        self.rules.definition_written(after)
        source, target = before.state.value if before else "absent", after.state.value
        event = "retire" if target == "retired" else "register"
        self.moves["definition", event, f"{source} -> {target}"] += 1
        if target == "retired":
            self._retired_at.setdefault(after.key, self.world.kernel.at)
        if before is not None and after.version < before.version:
            self.fail(f"definition {after.key}: version {after.version} over {before.version}")

    def _channel_written(self, key: Any, before: ChannelState | None, after: ChannelState) -> None:
        self.rules.channel_written(key, before, after)
        was_open, is_open = bool(before and before.open_since), after.open_since is not None
        if not is_open and not was_open:
            event = "throttle"
        elif is_open and not was_open:
            event = "open"
        elif was_open and not is_open:
            event = "close"
        elif before is not None and before.blocked_until != after.blocked_until:
            event = "throttle"
        else:
            event = "probe"
        word = {True: "open", False: "closed"}
        self.moves["circuit", event, f"{word[was_open]} -> {word[is_open]}"] += 1

    # ---------------------------------------------------------------- messages

    def sent(self, queue: QueueName, body: str) -> None:
        """A message was laid into a queue."""
        self.rules.sent(queue, body)
        if queue is not QueueName.REQUESTS:
            return
        said = _read(body)
        if (key := _key_of(said)) is not None:
            self._sent[key] += 1
            self._named.add(key)
        if self.world.kernel.running is None and isinstance(said.get("published_at"), str):
            off = datetime.fromisoformat(said["published_at"]) - self.world.kernel.at
            if abs(off) >= CLOCK_OFF:
                self.world.happened("producer's clock ahead" if off > CLOCK_OFF else "producer's clock behind")

    def lost(self, queue: QueueName, body: str) -> None:
        """A message was purged, or can't be read by anybody."""
        if queue is QueueName.REQUESTS and (key := _key_of(_read(body))) is not None:
            self._lost[key] += 1
        if queue is QueueName.RECEIPTS:
            self._receipts_left[self.world.receipt(body)] -= 1

    # ---------------------------------------------------------------- providers

    def posted(self, outgoing: Outgoing) -> None:
        """A wire call is made: under a claim, with nothing withdrawn before it, and not on a guess."""
        if outgoing.claim_id not in self._not_carrying:
            self.fail(f"{outgoing.delivery_id} sent under a claim that was never written")
        for request_id in self._not_carrying[outgoing.claim_id]:
            request: Any = self.database.requests.get((outgoing.workspace_id, request_id))  # type: ignore[arg-type]
            if f"[{request.request_key}]" in outgoing.text:
                self.fail(
                    f"{outgoing.delivery_id} sent with content of {request.request_key}, withdrawn before the claim"
                )
        self.evaluated["nothing withdrawn before its claim is sent"] += 1
        self.judge(
            "nothing is sent again on a guess",
            outgoing.delivery_id not in self._at_large,
            lambda: f"{outgoing.delivery_id} posted again, though the last post may have arrived",
        )
        self._at_large.add(outgoing.delivery_id)
        self.rules.posted(outgoing)

    def answered(self, outgoing: Outgoing, result: SendResult) -> None:
        """The provider answered: a refusal is evidence that nothing was sent."""
        self.rules.answered(outgoing, result)
        if isinstance(result, (Throttled, Unavailable, Rejected)):
            self._at_large.discard(outgoing.delivery_id)

    def evidence_shown(self, query: EvidenceQuery, *, is_absent: bool) -> None:
        """The provider's record was read."""
        if is_absent:
            self.rules.absent(query)
            self._at_large.discard(query.delivery_id)

    def reached(self, outgoing: Outgoing) -> None:
        """Somebody was reached: once a delivery."""
        self.reached_by[outgoing.delivery_id] += 1
        self._claims[outgoing.delivery_id] = outgoing.claim_id
        self.judge(
            "a delivery reaches somebody once at most",
            self.reached_by[outgoing.delivery_id] == 1,
            lambda: f"{outgoing.delivery_id} ({outgoing.channel} to {outgoing.recipient}) reached somebody twice",
        )

    def receipts_sent(self, outgoing: Outgoing, outcome: ReceiptOutcome, times: int) -> None:
        """The provider will send this receipt, so many times."""
        self._texts[outgoing.delivery_id] = outcome
        self._receipts_left[outgoing.claim_id] += times

    # ---------------------------------------------------------------- the end

    def at_end(self) -> None:
        """Once faults have stopped and time has passed: everything is final, and agrees with what really happened."""
        self._check_drained()
        self._check_conserved()
        holding: dict[tuple[str, str], list[Notice]] = defaultdict(list)
        for notice in self.database.notices:
            for item in notice.contributors:
                holding[item.request_id, notice.recipient].append(notice)
        for request in self.database.requests:
            if request.accepted_at is not None:
                self._check_accepted(request, holding)
        for notice in self.database.notices:
            self._check_final(notice)
        for place in list(self._unread):
            self._check_unread(place)
        self._check_audits()
        self._check_linearizable()
        self.rules.at_end()

    def _check_drained(self) -> None:
        for request in self.database.requests:
            self.judge(
                "everything drains",
                request.state not in {"queued", "open"} and request.due_at is None,
                lambda request=request: f"request {request.request_key} is {request.state}, due {request.due_at}",
            )
        waiting = {queue.value: len(shelf) for queue, shelf in self.world.queues.held.items() if len(shelf)}
        dead = {queue.value: len(letters) for queue, letters in self.world.queues.dead.items() if letters}
        self.judge("everything drains", not waiting and not dead, f"messages are left: {waiting}, dead: {dead}")

    def _check_conserved(self) -> None:
        """Every publication that wasn't lost has its row, and every row was asked for."""
        rows = {(str(request.definition), request.request_key) for request in self.database.requests}
        for key, times in self._sent.items():
            self.judge(
                "nothing vanishes and nothing appears",
                key in rows or self._lost[key] >= times,
                lambda key=key: f"{key} was published and has no row",
            )
        for key in rows:
            self.judge(
                "nothing vanishes and nothing appears", key in self._named, lambda key=key: f"nobody asked for {key}"
            )

    def _check_accepted(self, request: Request, holding: dict[tuple[str, str], list[Notice]]) -> None:
        for entry in request.manifest:
            notices = holding[request.request_id, entry.recipient]
            self.evaluated["accepted means all recipients or none"] += 1
            if len(notices) > 1:
                self.fail(f"{request.request_key} is in {len(notices)} notices of {entry.recipient}")
            has_console = any(planned.channel == "console" for planned in entry.plan)
            to_send = any(planned.state == "queued" for planned in entry.plan)
            is_needed = has_console or to_send or request.fold_key is not None
            if request.state == "superseded" and request.fold_key is not None:
                is_needed = False  # withdrawn before it was folded: nobody was told
            if not notices and is_needed:
                self.fail(f"{request.request_key} ({request.state}) has no notice for {entry.recipient}")
            if notices and request.state == "superseded":
                others = [c for c in notices[0].contributors if c.request_id != request.request_id]
                if not others and notices[0].ended is None:
                    self.fail(f"{request.request_key} is superseded, its notice for {entry.recipient} is not")

    def _check_final(self, notice: Notice) -> None:
        name = f"notice of {notice.recipient} {notice.notice_id} {[c.request_id[-4:] for c in notice.contributors]}"
        requests: list[Any] = [
            self.database.requests.get((notice.workspace_id, item.request_id)) for item in notice.contributors
        ]
        self.judge(
            "nothing vanishes and nothing appears",
            all(request is not None and request.entry(notice.recipient) is not None for request in requests),
            lambda: f"{name} has a contributor that doesn't tell its recipient",
        )
        if all(request.state == "superseded" for request in requests) and notice.ended is None:
            self.fail(f"{name} is live, though all its contributors were withdrawn")
        for item in notice.deliveries:
            self._check_final_delivery(name, notice, item)

    def _check_final_delivery(self, name: str, notice: Notice, item: Any) -> None:
        identity = notice.delivery_id(item.channel)
        state, reached = state_of(item), self.reached_by.get(identity, 0)
        self.judge("everything drains", state not in ACTIVE, lambda: f"{name}: {item.channel} is still {state}")
        if item.channel == "console":
            return
        self.evaluated["recorded as delivered is delivered"] += 1
        if reached and state not in {"delivered", "bounced", *RECORDED_UNKNOWN}:
            self.fail(f"{name}: {item.channel} reached somebody and is recorded as {state} {item.reason}")
        if not reached and state in {"delivered", "bounced"}:
            self.fail(f"{name}: {item.channel} is recorded as {state} and reached nobody")
        if item.channel == "text" and identity in self._texts and self._receipts_left[self._claims[identity]] > 0:
            told = {ReceiptOutcome.DELIVERED: "delivered", ReceiptOutcome.BOUNCED: "bounced"}
            expected = told[self._texts[identity]]
            if state != expected:
                self.fail(f"{name}: the receipt says {expected}, the record {state}")

    def _check_audits(self) -> None:
        """The nightly audits came to their end, and called nothing a difference: nobody damaged a row."""
        telemetry = self.world.telemetry
        found = [fields for event, fields in telemetry.alarms if event.startswith("audit_difference")]
        if self.world.fault_counts["purge"]:  # a purged retirement is damage: the audit closes what it left open
            found = [fields for fields in found if fields["kind"] != "open_though_retired"]
        self.judge(
            "the audit finds no difference",
            not found and (bool(self.world.fault_counts["purge"]) or not telemetry.totals["audit_differences"]),
            lambda: f"the audit found {found[:3]} without any damage",
        )
        self.judge("the audit finds no difference", bool(self.database.ledgers), "no audit was ever finished")

    def _check_linearizable(self) -> None:
        ends = {
            (str(request.definition), request.request_key): outcome_of(request) for request in self.database.requests
        }
        for thing in objects_of(self.world.operations.all, dict(self._facts()), ends, self._retired_at):
            try:
                is_right = is_linearizable(thing)
            except Undecided:
                self.fail(f"nobody could decide about {len(thing.operations)} operations of {list(thing.facts)}")
            self.judge(
                "linearizable per request",
                is_right,
                lambda thing=thing: (
                    "no order explains\n  "
                    + "\n  ".join(
                        f"{item.began:%d %H:%M:%S.%f} to {item.over_at:%d %H:%M:%S.%f} {item.kind} {item.asked} = "
                        f"{item.answer if item.answered_at else 'no answer'}"
                        for item in thing.operations
                    )
                ),
            )

    def _facts(self) -> Iterator[tuple[Key, Facts]]:
        for request in self.database.requests:
            if request.published_at is not None:
                yield (
                    (str(request.definition), request.request_key),
                    Facts(
                        published_at=request.published_at,
                        request_id=request.request_id,
                        expires_at=request.expires_at,
                        not_before=request.not_before,
                        replacement_key=request.replacement_key,
                    ),
                )


def outcome_of(request: Request) -> Outcome:
    """Its state, with the reason where a withdrawal or a replacement is told from others."""
    state = request.state.value
    return state, str(request.reason) if state in {"cancelled", "superseded"} else None


def _read(body: str) -> dict[str, Any]:
    """What a producer's message says; nothing where it isn't an object of JSON."""
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _key_of(said: dict[str, Any]) -> Key | None:
    """The request that a producer's message names; None where it names none."""
    key = said.get("request_key")
    return None if key is None else (str(said.get("definition")), str(key))
