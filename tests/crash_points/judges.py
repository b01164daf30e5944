"""Judges of what is really stored and whom the providers really reached, by the simulation's hand-typed tables."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from notify_core.application.ports import EvidenceQuery, NoticeKey, Outgoing
from notify_core.domain.definition import Definition
from notify_core.domain.directory import ChannelState
from notify_core.domain.notice import Notice
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.request import Request
from notify_core.domain.send_result import Absent, Evidence, Rejected, SendResult, Throttled, Unavailable
from tests.simulation.checkers import (
    ACTIVE,
    DELIVERY_EVENTS,
    DELIVERY_MOVES,
    FAILURES,
    RECORDED_UNKNOWN,
    REQUEST_EVENTS,
    REQUEST_MOVES,
    STATUS_MOVES,
    Violation,
    first_status,
    is_unread,
    notice_event,
    state_of,
)

Move = tuple[str, str, str]
"""Of what, by what event, and from where to where."""
Place = tuple[str, str]
"""A workspace and a recipient."""


class Judges:
    """See every write in its order, every post, and the end; a Violation ends the run."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.requests: dict[str, Request] = {}
        self.notices: dict[NoticeKey, Notice] = {}
        self.definitions: dict[str, Definition] = {}
        self.channels: dict[tuple[str, str], ChannelState] = {}
        self.read_up_to: dict[Place, datetime] = {}
        self.moves: Counter[Move] = Counter()
        self._now = now
        self._reached: Counter[str] = Counter()
        self._posted: set[str] = set()
        """Deliveries whose last post may have arrived, for all that anybody can know."""
        self._receipts: dict[str, str] = {}
        self._not_carrying: dict[str, set[str]] = {}
        """By claim, the contributors that had ended when it was written."""

    def check(self, is_right: bool, what: str) -> None:
        """End the run where something isn't right."""
        if not is_right:
            raise Violation(what)

    # ---------------------------------------------------------------- requests

    def request_written(self, after: Request) -> None:
        before = self.requests.get(after.request_id)
        name = f"request {after.request_key}"
        source, target = before.state.value if before else None, after.state.value
        self.check(target in REQUEST_MOVES[source], f"{name} moved {source} -> {target}")
        self.check(after.version == (before.version if before else 0) + 1, f"{name}: version {after.version}")
        if before is not None:
            self.check(before.recorded_at == after.recorded_at, f"{name}: recorded_at moved")
            self.check(before.closed_at in {None, after.closed_at}, f"{name}: closed_at moved")
            self.check(before.accepted_at is None or before.manifest == after.manifest, f"{name}: manifest changed")
        self._note_request(before, after)
        self.requests[after.request_id] = after

    def _note_request(self, before: Request | None, after: Request) -> None:
        source, target = before.state.value if before else "queued", after.state.value
        if source == target:
            if before is not None or after.problems:
                return
            event = "defer"
        elif target in {"superseded", "cancelled"} and after.reason != "definition_retired":
            event = "withdraw" if after.reason == "withdrawn" else "replace"
        else:
            event = REQUEST_EVENTS[source, target]
        self.moves["request", event, f"{source} -> {target}"] += 1

    def heads_agree(self) -> None:
        """Between writes (a transaction is one): one open request a replacement key."""
        keys = Counter(
            (row.definition, row.replacement_key)
            for row in self.requests.values()
            if row.replacement_key is not None and row.state.value == "open"
        )
        self.check(all(times == 1 for times in keys.values()), f"open requests under replacement keys: {keys}")

    def _carrying(self, notice: Notice) -> set[str]:
        return {item.request_id for item in notice.contributors if self._carries(item.request_id)}

    def _carries(self, request_id: str) -> bool:
        request = self.requests[request_id]
        if request.expires_at is None or self._now() >= request.expires_at:
            return False
        return request.state.value == "open" or (request.state.value == "cancelled" and request.accepted_at is not None)

    # ---------------------------------------------------------------- notices

    def notice_written(self, after: Notice) -> None:
        key = NoticeKey(workspace_id=after.workspace_id, recipient=after.recipient, notice_id=after.notice_id)
        before = self.notices.get(key)
        name = f"notice of {after.recipient} {after.notice_id[-6:]}"
        self.check(after.version == (before.version if before else 0) + 1, f"{name}: version {after.version}")
        begun_by = self.requests[after.contributors[0].request_id]
        source, target = before.status.value if before else first_status(after, begun_by), after.status.value
        if before is None:
            self.moves["notice", "create", f"pending -> {source}"] += 1
        if source != target:
            self.check(target in STATUS_MOVES[source], f"{name}: status moved {source} -> {target}")
            self.moves["notice", notice_event(source, target), f"{source} -> {target}"] += 1
        if after.ended and not (before and before.ended):
            self.check(not self._carrying(after), f"{name} ended ({after.ended}) though a contributor carries it")
        ids = [item.request_id for item in after.contributors]
        self.check(len(set(ids)) == len(ids), f"{name} holds a contributor twice")
        self.check(before is None or {c.request_id for c in before.contributors} <= set(ids), f"{name} lost one")
        self._check_deliveries(name, before, after)
        self.notices[key] = after

    def _check_deliveries(self, name: str, before: Notice | None, after: Notice) -> None:
        was = {item.channel: item for item in before.deliveries} if before else {}
        for item in after.deliveries:
            old = was.get(item.channel)
            source, target = state_of(old) if old else "queued", state_of(item)
            is_first = old is None and target in {"delivered", "skipped", "unavailable"} and not item.attempts
            is_held = source == target == "deferred" and old is not None and old.next_at != item.next_at
            if (source != target or is_held) and not is_first:
                self._check_move(f"{name}: {item.channel}", item, source, target, after)
            if item.state == "sending" and item.claim_id and (old is None or old.claim_id != item.claim_id):
                ids: set[str] = {contributor.request_id for contributor in after.contributors}
                self._not_carrying[item.claim_id] = ids - self._carrying(after)

    def _check_move(self, name: str, item: Any, source: str, target: str, notice: Notice) -> None:
        self.check(target in DELIVERY_MOVES.get(source, ()), f"{name} moved {source} -> {target}")
        short = source.partition(":")[0], target.partition(":")[0]
        event = DELIVERY_EVENTS.get(short) or FAILURES.get(item.reason, "reject")
        self.moves["delivery", event, f"{short[0]} -> {short[1]}"] += 1
        if target in {"cancelled", "expired"}:
            self.check(not self._carrying(notice), f"{name} {target} though a contributor carries it")
        if target == "delivered":
            self.check(self._reached[notice.delivery_id(item.channel)] > 0, f"{name} delivered, and nobody was reached")

    # ---------------------------------------------------------------- definitions and circuits

    def definition_written(self, after: Definition) -> None:
        before = self.definitions.get(after.key)
        source = before.state.value if before else "absent"
        event = "retire" if after.state.value == "retired" else "register"
        self.moves["definition", event, f"{source} -> {after.state.value}"] += 1
        self.definitions[after.key] = after

    def channel_written(self, after: ChannelState) -> None:
        key = (after.workspace_id, after.channel)
        before = self.channels.get(key)
        source, target = _circuit(before), _circuit(after)
        is_throttled = after.blocked_until != (before.blocked_until if before else None)
        events = {("closed", "open"): "open", ("open", "closed"): "close"}
        event = events.get((source, target)) or ("throttle" if is_throttled else "probe")
        self.moves["circuit", event, f"{source} -> {target}"] += 1
        self.channels[key] = after

    # ---------------------------------------------------------------- providers

    def posted(self, outgoing: Outgoing) -> None:
        """A post leaves: under a claim, with nothing that had been withdrawn before it, and not on a guess."""
        name = f"{outgoing.channel} to {outgoing.recipient}"
        self.check(outgoing.claim_id in self._not_carrying, f"{name} sent under a claim that was never written")
        for request_id in self._not_carrying[outgoing.claim_id]:
            number = str((self.requests[request_id].data or {}).get("number"))
            self.check(number not in outgoing.text, f"{name} sent with the content of {number}, ended before the claim")
        self.check(outgoing.delivery_id not in self._posted, f"{name} sent again, though the last may have arrived")
        self._posted.add(outgoing.delivery_id)

    def answered(self, outgoing: Outgoing, result: SendResult) -> None:
        """What the provider itself said: a refusal means that nothing was sent."""
        if isinstance(result, Throttled | Unavailable | Rejected):
            self._posted.discard(outgoing.delivery_id)

    def reached(self, outgoing: Outgoing) -> None:
        self._reached[outgoing.delivery_id] += 1
        self.check(
            self._reached[outgoing.delivery_id] == 1, f"{outgoing.channel} to {outgoing.recipient} arrived twice"
        )

    def evidence_shown(self, query: EvidenceQuery, evidence: Evidence) -> None:
        if isinstance(evidence, Absent):
            self._posted.discard(query.delivery_id)

    def receipt_sent(self, outgoing: Outgoing, outcome: ReceiptOutcome) -> None:
        self._receipts[outgoing.delivery_id] = outcome.value

    # ---------------------------------------------------------------- the end

    def ended(self) -> None:
        """All time has passed: everything is final, and agrees with what really happened."""
        for request in self.requests.values():
            self.check(
                request.state.value not in {"queued", "open"} and request.due_at is None,
                f"request {request.request_key} is still {request.state}, due {request.due_at}",
            )
            if request.accepted_at is not None:
                self._check_told(request)
        for notice in self.notices.values():
            self._check_final(notice)

    def _check_told(self, request: Request) -> None:
        """Everybody or nobody: each recipient has the one notice."""
        for entry in request.manifest:
            name = f"{request.request_key} for {entry.recipient}"
            holding = [
                notice
                for notice in self.notices.values()
                if notice.recipient == entry.recipient and notice.has_contributor(request.request_id)
            ]
            self.check(len(holding) <= 1, f"{name} is in {len(holding)} notices")
            is_shown = any(planned.channel == "console" for planned in entry.plan)
            is_sent = any(planned.state.value == "queued" for planned in entry.plan)
            is_folded = request.fold_key is not None and request.state.value != "superseded"
            is_needed = is_folded or (request.fold_key is None and (is_shown or is_sent))
            self.check(bool(holding) or not is_needed, f"{name} ({request.state}) has no notice")

    def _check_final(self, notice: Notice) -> None:
        name = f"notice of {notice.recipient} {notice.notice_id[-6:]}"
        requests = [self.requests[item.request_id] for item in notice.contributors]
        is_withdrawn = all(request.state.value == "superseded" for request in requests)
        self.check(not is_withdrawn or notice.ended is not None, f"{name} is live, though all of it was withdrawn")
        for item in notice.deliveries:
            identity, state = notice.delivery_id(item.channel), state_of(item)
            reached = self._reached[identity] > 0
            self.check(state not in ACTIVE, f"{name}: {item.channel} is still {state}")
            if item.channel == "console":
                continue
            allowed = {"delivered", "bounced", *RECORDED_UNKNOWN} if reached else set[str]()
            self.check(not reached or state in allowed, f"{name}: {item.channel} arrived and is recorded as {state}")
            self.check(
                reached or state not in {"delivered", "bounced"},
                f"{name}: {item.channel} is recorded as {state} and reached nobody",
            )
            if identity in self._receipts:
                self.check(state == self._receipts[identity], f"{name}: {item.channel} is {state} despite its receipt")

    def unread(self) -> dict[Place, int]:
        """How many notices are there to be seen as unread, by place."""
        found: dict[Place, int] = defaultdict(int)
        for notice in self.notices.values():
            place = (notice.workspace_id, notice.recipient)
            mark = self.read_up_to.get(place)
            found[place] += is_unread(notice) and (mark is None or notice.created_at > mark)
        return found

    def published(self, keys: Iterable[str]) -> None:
        """Nothing that was laid into the queue is without an outcome."""
        recorded = {request.request_key for request in self.requests.values()}
        missing = set(keys) - recorded
        self.check(not missing, f"{sorted(missing)} published and never recorded")


def _circuit(state: ChannelState | None) -> str:
    return "open" if state is not None and state.open_since is not None else "closed"
