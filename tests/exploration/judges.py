"""The judges of an exploration: what may be written, sent and left behind, told from the rows and the truth alone.

They share their hand-typed tables with the simulation's. Those remember a whole run; these know one state and the next,
so that a run can be gone back to.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from notify_core.adapters.memory import MemoryDatabase
from notify_core.application.ports import Outgoing
from notify_core.domain.notice import Notice
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.request import Request
from tests.simulation.checkers import (
    ACTIVE,
    DELIVERY_MOVES,
    RECORDED_UNKNOWN,
    REQUEST_MOVES,
    STATUS_MOVES,
    Violation,
    state_of,
)

_SOON = timedelta(hours=1)
"""How soon a sweep has to look at work under way."""
_RECEIPT = timedelta(days=3)
"""How long a receipt is waited for."""
_EVIDENCE = timedelta(days=1)
"""How long an unknown text waits for one, at most."""
_CLOSING = timedelta(minutes=5)
"""How long after a retirement a request may still settle: a sweep that had read the definition before."""


class Truth(NamedTuple):
    """What the providers did, and what they may still do, whatever anybody recorded."""

    reached: tuple[str, ...] = ()
    """The deliveries that reached their recipient."""
    at_large: frozenset[str] = frozenset()
    """Deliveries that were posted and, for all that anybody knows, may have arrived."""
    flying: tuple[tuple[int, datetime], ...] = ()
    """Sends without an answer that may still arrive, and until when."""
    owed: tuple[int, ...] = ()
    """Accepted texts whose receipt may still come."""
    told: tuple[tuple[str, str], ...] = ()
    """What the receipt said of a delivery, where there was one."""
    not_carrying: frozenset[tuple[str, frozenset[str]]] = frozenset()
    """For each claim under way: the contributors that did not carry when it was written."""
    is_refusing: bool = False
    """Whether the provider refuses the whole workspace."""


class Judge:
    """Looks at every write as it is made, at every wire call, and at every end."""

    def __init__(self, database: MemoryDatabase) -> None:
        self.database = database
        self.now: datetime | None = None
        self.new_claims: list[tuple[str, frozenset[str]]] = []
        """Claims written since the list was last emptied, with the contributors that didn't carry then."""
        self._watch(database.requests, self._request_written)
        self._watch(database.notices, self._notice_written)

    def _watch(self, table: Any, look: Any) -> None:
        put = table.put

        def looked(key: Any, value: Any) -> None:
            look(table.get(key), value)
            put(key, value)

        table.put = looked

    # ---------------------------------------------------------------- writes

    def _request_written(self, before: Request | None, after: Request) -> None:
        source, target = before.state.value if before else None, after.state.value
        name = f"request {after.request_key}"
        if target not in REQUEST_MOVES[source]:
            raise Violation(f"{name} moved {source} -> {target}")
        if after.version != (before.version if before else 0) + 1:
            raise Violation(f"{name}: version {after.version} over {before and before.version}")
        if before is None:
            return
        if before.recorded_at != after.recorded_at:
            raise Violation(f"{name}: recorded_at moved")
        if before.closed_at and before.closed_at != after.closed_at:
            raise Violation(f"{name}: closed_at moved")
        if before.accepted_at and before.manifest != after.manifest:
            raise Violation(f"{name}: manifest changed")
        if target == "settled" and source == "open" and self._is_long_retired(after):
            raise Violation(f"{name} settled, though its definition had long been retired")

    def _is_long_retired(self, request: Request) -> bool:
        definition = self.database.definitions.get((request.workspace_id, request.definition))
        if definition is None or definition.state != "retired" or definition.retired_at is None or self.now is None:
            return False
        return self.now > definition.retired_at + _CLOSING

    def _notice_written(self, before: Notice | None, after: Notice) -> None:
        name = f"notice of {after.recipient}"
        if after.version != (before.version if before else 0) + 1:
            raise Violation(f"{name}: version {after.version} over {before and before.version}")
        source, target = before.status.value if before else None, after.status.value
        if source is not None and source != target and target not in STATUS_MOVES[source]:
            raise Violation(f"{name}: status moved {source} -> {target}")
        if after.ended != "superseded" and (after.ended == "expired") != _expires(after):
            raise Violation(f"{name} is {target} with {_told(after)}")
        if after.ended and after.is_unread:
            raise Violation(f"{name} is {after.ended} and unread")
        ids = [item.request_id for item in after.contributors]
        if len(set(ids)) != len(ids):
            raise Violation(f"{name} holds a contributor twice")
        not_carrying = frozenset(item for item in ids if not self.carries(item, after))
        is_carried = len(not_carrying) < len(ids)
        if is_carried and after.ended and not (before and before.ended):
            raise Violation(f"{name} ended ({after.ended}) though a contributor carries it")
        self._check_deliveries(name, before, after, not_carrying, is_carried=is_carried)
        if before is not None and len(after.contributors) > len(before.contributors):
            self._check_joined(name, before, after)

    def _check_deliveries(
        self, name: str, before: Notice | None, after: Notice, not_carrying: frozenset[str], *, is_carried: bool
    ) -> None:
        was = {item.channel: item for item in before.deliveries} if before else {}
        for item in after.deliveries:
            old = was.get(item.channel)
            if item.state == "sending" and item.claim_id and (old is None or old.claim_id != item.claim_id):
                self.new_claims.append((item.claim_id, not_carrying))
            if old is None:
                continue
            source, target = state_of(old), state_of(item)
            if source == target:
                continue
            if target not in DELIVERY_MOVES.get(source, set()):
                raise Violation(f"{name}: {item.channel} moved {source} -> {target}")
            if is_carried and target in {"cancelled", "expired"}:
                raise Violation(f"{name}: {item.channel} {target} though a contributor carries it")

    def _check_joined(self, name: str, before: Notice, after: Notice) -> None:
        """Nobody folds into a notice that has ended, or whose message will never come."""
        had = {item.request_id for item in before.contributors}
        if before.ended:
            raise Violation(f"{name} was {before.ended} when another request was folded into it")
        for contributor in after.contributors:
            if contributor.request_id in had:
                continue
            request = self._request(after, contributor.request_id)
            entry = request.entry(after.recipient) if request else None
            if entry is None:
                raise Violation(f"{name}: a request that doesn't tell this recipient was folded into it")
            for planned in entry.plan:
                item = before.delivery(planned.channel)
                if planned.state == "queued" and (item is None or state_of(item) in _NEVER_TO_COME):
                    raise Violation(f"{name}: folded where {planned.channel} will never be sent")

    def at_rest(self, requests: Iterable[Request]) -> None:
        """Between writes (a transaction is one write): one open request a replacement key."""
        if sum(request.replacement_key is not None and request.state == "open" for request in requests) > 1:
            raise Violation("two open requests under one replacement key")

    def carries(self, request_id: str, notice: Notice) -> bool:
        """Whether a request justifies a notice, told from its row as it stands."""
        request = self._request(notice, request_id)
        if request is None or request.expires_at is None or self.now is None or self.now >= request.expires_at:
            return False
        if request.state == "open":
            return not self._is_withdrawn_by_key(request)
        return request.state == "cancelled" and request.accepted_at is not None

    def _is_withdrawn_by_key(self, request: Request) -> bool:
        if request.replacement_key is None or request.published_at is None:
            return False
        head = self.database.heads.get((request.workspace_id, request.definition, request.replacement_key))
        return head is not None and head.withdrawn_at is not None and head.withdrawn_at >= request.published_at

    def _request(self, notice: Notice, request_id: str) -> Request | None:
        return self.database.requests.get((notice.workspace_id, request_id))  # type: ignore[arg-type]

    # ---------------------------------------------------------------- providers

    def posted(self, outgoing: Outgoing, truth: Truth) -> Truth:
        """A wire call is made: under a claim, with nothing withdrawn before it, and not on a guess."""
        not_carrying = dict(truth.not_carrying).get(outgoing.claim_id)
        if not_carrying is None:
            raise Violation(f"{outgoing.channel} sent under a claim that was never written")
        for request_id in not_carrying:
            request = self.database.requests.get((outgoing.workspace_id, request_id))  # type: ignore[arg-type]
            if request is not None and f"[{request.request_key}]" in outgoing.text:
                name = f"{outgoing.channel} sent with the content of {request.request_key}"
                raise Violation(f"{name}, which didn't carry at the claim")
        if outgoing.delivery_id in truth.at_large:
            raise Violation(f"{outgoing.channel} sent again, though the last send may have arrived")
        return truth._replace(at_large=truth.at_large | {outgoing.delivery_id})

    def reached(self, outgoing: Outgoing, truth: Truth) -> Truth:
        """Somebody was reached: once a delivery."""
        if outgoing.delivery_id in truth.reached:
            raise Violation(f"{outgoing.channel} reached {outgoing.recipient} twice")
        return truth._replace(reached=tuple(sorted((*truth.reached, outgoing.delivery_id))))

    # ---------------------------------------------------------------- whenever nothing is under way

    def at_quiet(self, now: datetime) -> None:
        """No message and no function is left: whatever is still to be done, a sweep will soon look at."""
        for notice in self.database.notices:
            looks = [
                request.due_at
                for item in notice.contributors
                if notice.ended or not item.left_at
                if (request := self._request(notice, item.request_id)) is not None and request.due_at is not None
            ]
            first = min(looks, default=None)
            for item in notice.deliveries:
                state = state_of(item)
                if state not in ACTIVE:
                    continue
                latest = now + _SOON
                if state == "sent":
                    latest = max(latest, item.updated_at + _RECEIPT)
                elif state == "sending" and item.channel == "text":
                    latest = max(latest, item.updated_at + _EVIDENCE)
                if first is None or first > latest:
                    raise Violation(f"{item.channel} of {notice.recipient} is {state}, and nothing looks at it soon")

    def at_withdrawn(self, request: Request | None) -> None:
        """A withdrawal by request key was done: whatever it names has ended, or ends on arrival."""
        if request is None or request.state in {"queued", "open"}:
            raise Violation(f"a withdrawal was done, and its request is {request and request.state}")

    # ---------------------------------------------------------------- the end

    def at_end(self, truth: Truth) -> None:
        """Once nothing can happen any more: everything is final, and agrees with what really happened."""
        for request in self.database.requests:
            if request.state in {"queued", "open"} or request.due_at is not None:
                raise Violation(f"request {request.request_key} is {request.state} for ever, due {request.due_at}")
            if request.accepted_at is not None:
                self._check_accepted(request)
        for notice in self.database.notices:
            self._check_final(notice, truth)
        self._check_inboxes()

    def _check_accepted(self, request: Request) -> None:
        for entry in request.manifest:
            holding = [
                notice
                for notice in self.database.notices
                if notice.recipient == entry.recipient and notice.has_contributor(request.request_id)
            ]
            if len(holding) > 1:
                raise Violation(f"{request.request_key} is in {len(holding)} notices of {entry.recipient}")
            is_needed = request.fold_key is not None or any(
                item.state in {"queued", "delivered"} for item in entry.plan
            )
            if request.state == "superseded" and request.fold_key is not None:
                is_needed = False  # withdrawn before it was folded: nobody was told
            if not holding and is_needed:
                raise Violation(f"{request.request_key} ({request.state}) has no notice for {entry.recipient}")
            if holding and request.state == "superseded":
                others = [item for item in holding[0].contributors if item.request_id != request.request_id]
                if not others and holding[0].ended is None:
                    raise Violation(f"{request.request_key} is superseded, its notice for {entry.recipient} is not")

    def _check_final(self, notice: Notice, truth: Truth) -> None:
        requests = [self._request(notice, item.request_id) for item in notice.contributors]
        name = f"notice of {notice.recipient} ({', '.join(item.request_key if item else '?' for item in requests)})"
        if any(item is None for item in requests):
            raise Violation(f"{name} has a contributor without a row")
        if all(item is not None and item.state == "superseded" for item in requests) and notice.ended is None:
            raise Violation(f"{name} is live, though all its contributors were withdrawn")
        told = dict(truth.told)
        for item in notice.deliveries:
            state, identity = state_of(item), notice.delivery_id(item.channel)
            if state in ACTIVE:
                raise Violation(f"{name}: {item.channel} is {state} for ever")
            if item.channel == "console":
                continue
            if identity in truth.reached:
                if state not in {"delivered", "bounced", *RECORDED_UNKNOWN}:
                    raise Violation(f"{name}: {item.channel} reached somebody and is recorded as {state} {item.reason}")
            elif state in {"delivered", "bounced"}:
                raise Violation(f"{name}: {item.channel} is recorded as {state} and reached nobody")
            if identity in told and state != told[identity]:
                raise Violation(f"{name}: the receipt says {told[identity]}, the record {state}")

    def _check_inboxes(self) -> None:
        unread: Counter[Any] = Counter()
        for notice in self.database.notices:
            place = (notice.workspace_id, notice.recipient)
            mark = self.database.marks.get(place)
            is_shown = any(item.channel == "console" and item.state == "delivered" for item in notice.deliveries)
            is_marked = mark is not None and notice.created_at <= mark.read_up_to
            unread[place] += is_shown and notice.ended is None and notice.read_at is None and not is_marked
        for place, expected in unread.items():
            mark = self.database.marks.get(place)
            after = () if mark is None else (mark.read_up_to, "\U0010ffff")
            counted = self.database.notices.count(self.database.unread, place, after=after)
            if counted != expected:
                raise Violation(f"{place}: unread {counted}, visible unread {expected}")


_NEVER_TO_COME = {"cancelled", "expired", "skipped", "unavailable", "failed:attempts_exhausted"}


def _expires(notice: Notice) -> bool:
    """The rule of the design: something expired, nothing is left, and nothing reached or may have reached anybody."""
    states = {state_of(item) for item in notice.deliveries}
    return "expired" in states and not states & {*ACTIVE, *RECORDED_UNKNOWN, "delivered", "bounced"}


def _told(notice: Notice) -> str:
    return ", ".join(f"{item.channel}={state_of(item)}" for item in notice.deliveries)


def told_as(outcome: ReceiptOutcome) -> str:
    """The state that a receipt's outcome amounts to."""
    return "delivered" if outcome is ReceiptOutcome.DELIVERED else "bounced"


__all__ = ["Judge", "Truth", "Violation", "told_as"]
