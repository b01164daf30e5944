"""Judges of a run, on ground truth and independent of the code under test: their tables are typed by hand."""

from collections import Counter, defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from notify_core.adapters.memory import MemoryDatabase
from notify_core.application.ports import Outgoing
from notify_core.domain.notice import Notice
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.request import Request

if TYPE_CHECKING:
    from tests.simulation.world import World


class Violation(BaseException):
    """Something happened that must never happen; no `except Exception` of the code under test can hide it."""


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


def state_of(item: Any) -> str:
    """A delivery's state, with the reason of a failure that the platform gave itself."""
    if item.state == "failed" and item.reason in {"attempts_exhausted", "outcome_unknown", "receipt_timeout"}:
        return f"failed:{item.reason}"
    return str(item.state)


class Checkers:
    """Watches every write and every wire call, and the end."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.moves: Counter[tuple[str, str, str]] = Counter()
        self.reached_by: Counter[str] = Counter()
        self.posts: Counter[str] = Counter()
        self.texts: dict[str, ReceiptOutcome] = {}
        self._not_carrying: dict[str, set[str]] = {}
        self._open_by_key: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._dirty_keys: set[tuple[str, str]] = set()

    def watch(self, database: MemoryDatabase) -> None:
        """Look at every write of a request or a notice as it is made."""
        self.database = database
        for table, look in ((database.requests, self._request_written), (database.notices, self._notice_written)):
            put = table.put

            def looked(key: Any, value: Any, *, put: Any = put, look: Any = look, table: Any = table) -> None:
                look(table.get(key), value)
                put(key, value)

            table.put = looked  # type: ignore[method-assign]

    def fail(self, what: str) -> None:
        """Stop the run."""
        self.world.kernel.tell(f"VIOLATION {what}")
        raise Violation(what)

    # ---------------------------------------------------------------- requests

    def _request_written(self, before: Request | None, after: Request) -> None:
        source, target = before.state.value if before else None, after.state.value
        self.moves["request", source or "-", target] += 1
        if target not in REQUEST_MOVES[source]:
            self.fail(f"request {after.request_key} moved {source} -> {target}")
        if after.version != (before.version if before else 0) + 1:
            self.fail(f"request {after.request_key}: version {after.version} over {before and before.version}")
        if before and before.recorded_at != after.recorded_at:
            self.fail(f"request {after.request_key}: recorded_at moved")
        if before and before.closed_at and before.closed_at != after.closed_at:
            self.fail(f"request {after.request_key}: closed_at moved")
        if before and before.accepted_at and before.manifest != after.manifest:
            self.fail(f"request {after.request_key}: manifest changed")
        if after.replacement_key is not None:
            key = (after.definition, after.replacement_key)
            (self._open_by_key[key].add if target == "open" else self._open_by_key[key].discard)(after.request_id)
            self._dirty_keys.add(key)

    def at_rest(self) -> None:
        """Between writes (a transaction is one write): one open request a replacement key."""
        for key in self._dirty_keys:
            if len(self._open_by_key[key]) > 1:
                self.fail(f"two open requests under replacement key {key}")
        self._dirty_keys.clear()

    # ---------------------------------------------------------------- notices

    def _notice_written(self, before: Notice | None, after: Notice) -> None:
        name = f"notice of {after.recipient} {after.notice_id}"
        if after.version != (before.version if before else 0) + 1:
            self.fail(f"{name}: version {after.version} over {before and before.version}")
        self._check_deliveries(name, before, after)
        source, target = before.status.value if before else None, after.status.value
        if source is not None and source != target:
            self.moves["notice", source, target] += 1
            if target not in STATUS_MOVES[source]:
                self.fail(f"{name}: status moved {source} -> {target}")
        if after.ended and after.is_unread:
            self.fail(f"{name} is {after.ended} and unread")
        now = self.world.kernel.at
        carrying = [item.request_id for item in after.contributors if self.carries(item.request_id, after, now)]
        newly_ended = after.ended and not (before and before.ended)
        if newly_ended and carrying:
            self.fail(f"{name} ended ({after.ended}) though {len(carrying)} contributors carry it")
        ids = [item.request_id for item in after.contributors]
        if len(set(ids)) != len(ids):
            self.fail(f"{name} holds a contributor twice")

    def _check_deliveries(self, name: str, before: Notice | None, after: Notice) -> None:
        was = {item.channel: item for item in before.deliveries} if before else {}
        now = self.world.kernel.at
        for item in after.deliveries:
            old = was.get(item.channel)
            source, target = state_of(old) if old else None, state_of(item)
            if old and source != target:
                self.moves["delivery", str(source), target] += 1
                if target not in DELIVERY_MOVES.get(str(source), set()):
                    self.fail(f"{name}: {item.channel} moved {source} -> {target}")
            if item.state == "sending" and item.claim_id and (old is None or old.claim_id != item.claim_id):
                self._not_carrying[item.claim_id] = {
                    contributor.request_id
                    for contributor in after.contributors
                    if not self.carries(contributor.request_id, after, now)
                }
            carrying = any(self.carries(c.request_id, after, now) for c in after.contributors)
            if old and source != target and target in {"cancelled", "expired"} and carrying:
                self.fail(f"{name}: {item.channel} {target} though a contributor carries it")
            is_news = old is not None and source != target and target == "delivered"
            if is_news and not self.reached_by[after.delivery_id(item.channel)]:
                self.fail(f"{name}: {item.channel} recorded as delivered, and nobody was reached")

    def carries(self, request_id: str, notice: Notice, now: datetime) -> bool:
        """Whether a request justifies a notice, told from its row as it stands."""
        request: Any = self.database.requests.get((notice.workspace_id, request_id))  # type: ignore[arg-type]
        if request is None or now >= request.expires_at:
            return False
        return request.state == "open" or (request.state == "cancelled" and request.accepted_at is not None)

    # ---------------------------------------------------------------- providers

    def posted(self, outgoing: Outgoing, at: datetime) -> None:
        """A wire call is made: its content must not have been withdrawn before its claim."""
        del at
        self.posts[outgoing.delivery_id] += 1
        if outgoing.claim_id not in self._not_carrying:
            self.fail(f"{outgoing.delivery_id} sent under a claim that was never written")
        for request_id in self._not_carrying[outgoing.claim_id]:
            request: Any = self.database.requests.get((outgoing.workspace_id, request_id))  # type: ignore[arg-type]
            if f"[{request.request_key}]" in outgoing.text:
                self.fail(
                    f"{outgoing.delivery_id} sent with content of {request.request_key}, withdrawn before the claim"
                )

    def reached(self, outgoing: Outgoing, at: datetime) -> None:
        """Somebody was reached: once a delivery."""
        del at
        self.reached_by[outgoing.delivery_id] += 1
        if self.reached_by[outgoing.delivery_id] > 1:
            self.fail(f"{outgoing.delivery_id} ({outgoing.channel} to {outgoing.recipient}) reached somebody twice")

    def receipt_sent(self, outgoing: Outgoing, outcome: ReceiptOutcome) -> None:
        """The provider will send this receipt."""
        self.texts[outgoing.delivery_id] = outcome

    # ---------------------------------------------------------------- the end

    def at_end(self) -> None:
        """Once faults have stopped and time has passed: everything is final, and agrees with what really happened."""
        for request in self.database.requests:
            if request.state in {"queued", "open"}:
                self.fail(f"request {request.request_key} is still {request.state}, due {request.due_at}")
            if request.due_at is not None:
                self.fail(f"request {request.request_key} ({request.state}) is still due at {request.due_at}")
            if request.accepted_at is not None:
                self._check_accepted(request)
        for notice in self.database.notices:
            self._check_final(notice)
        self._check_inboxes()
        self._check_audits()

    def _check_accepted(self, request: Request) -> None:
        for entry in request.manifest:
            holding = [
                notice
                for notice in self.database.notices
                if notice.recipient == entry.recipient and notice.has_contributor(request.request_id)
            ]
            has_console = any(planned.channel == "console" for planned in entry.plan)
            to_send = any(planned.state == "queued" for planned in entry.plan)
            if len(holding) > 1:
                self.fail(f"{request.request_key} is in {len(holding)} notices of {entry.recipient}")
            is_needed = has_console or to_send or request.fold_key is not None
            if request.state == "superseded" and request.fold_key is not None:
                is_needed = False  # withdrawn before it was folded: nobody was told
            if not holding and is_needed:
                self.fail(f"{request.request_key} ({request.state}) has no notice for {entry.recipient}")
            if holding and request.state == "superseded":
                others = [c for c in holding[0].contributors if c.request_id != request.request_id]
                if not others and holding[0].ended is None:
                    self.fail(f"{request.request_key} is superseded, its notice for {entry.recipient} is not")

    def _check_final(self, notice: Notice) -> None:
        name = f"notice of {notice.recipient} {notice.notice_id} {[c.request_id[-4:] for c in notice.contributors]}"
        requests: list[Any] = [
            self.database.requests.get((notice.workspace_id, item.request_id)) for item in notice.contributors
        ]
        if any(request is None for request in requests):
            self.fail(f"{name} has a contributor without a row")
        if all(request.state == "superseded" for request in requests) and notice.ended is None:
            self.fail(f"{name} is live, though all its contributors were withdrawn")
        for item in notice.deliveries:
            state, reached = state_of(item), self.reached_by[notice.delivery_id(item.channel)]
            if state in ACTIVE:
                self.fail(f"{name}: {item.channel} is still {state}")
            if item.channel == "console":
                continue
            if reached and state not in {"delivered", "bounced", *RECORDED_UNKNOWN}:
                self.fail(f"{name}: {item.channel} reached somebody and is recorded as {state} {item.reason}")
            if not reached and state in {"delivered", "bounced"}:
                self.fail(f"{name}: {item.channel} is recorded as {state} and reached nobody")
            if item.channel == "text" and reached and notice.delivery_id(item.channel) in self.texts:
                told = {ReceiptOutcome.DELIVERED: "delivered", ReceiptOutcome.BOUNCED: "bounced"}
                expected = told[self.texts[notice.delivery_id(item.channel)]]
                if state != expected:
                    self.fail(f"{name}: the receipt says {expected}, the record {state}")

    def _check_inboxes(self) -> None:
        marks = self.database.marks
        unread: Counter[tuple[str, str]] = Counter()
        for notice in self.database.notices:
            place = (notice.workspace_id, notice.recipient)
            mark = marks.get(place)
            is_console = any(item.channel == "console" for item in notice.deliveries)
            is_marked = mark is not None and notice.created_at <= mark.read_up_to
            if is_console and notice.ended is None and notice.read_at is None and not is_marked:
                unread[place] += 1
        store = self.world.plain.notices
        for notice in self.database.notices:
            place = (notice.workspace_id, notice.recipient)
            mark = marks.get(place)
            counted = store.unread_count(
                notice.workspace_id, notice.recipient, after=mark.read_up_to if mark else None, limit=10_000
            )
            if counted != unread[place]:
                self.fail(f"{place}: unread {counted}, visible unread {unread[place]}")

    def _check_audits(self) -> None:
        """The nightly audits came to their end, and called nothing a difference: nobody damaged a row."""
        telemetry: Any = self.world.plain.telemetry
        found = [fields for event, fields in telemetry.alarms if event.startswith("audit_difference")]
        if found or telemetry.counted("audit_differences"):
            self.fail(f"the audit found {found[:3]} without any damage")
        if not self.database.ledgers:
            self.fail("no audit was ever finished")
