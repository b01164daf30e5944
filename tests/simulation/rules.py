"""More judges of a run: times, attempts, folds, channels and damage, by rules and numbers that are typed by hand."""

import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from notify_core.adapters.memory import MemoryDatabase, MemoryQueues, MemoryTelemetry
from notify_core.application.audit_request import audit_request
from notify_core.application.ports import EvidenceQuery, NoticeKey, Outgoing, QueueName, ReadMark
from notify_core.domain.definition import Definition
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.directory import ChannelState, Person
from notify_core.domain.identifiers import request_id
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS, SEND_SECONDS_MAX
from notify_core.domain.notice import Contributor, Notice
from notify_core.domain.request import Request
from notify_core.domain.send_result import Rejected, RejectionScope, SendResult, Throttled
from tests.simulation.faults import NO_FAULTS

if TYPE_CHECKING:
    from tests.simulation.checkers import Checkers
    from tests.simulation.kernel import Process

RULES = (
    "a key keeps what it was first published with",
    "other content under a key is noted",
    "accepted in its time",
    "everybody named is told or left out",
    "settled when nothing is left to do",
    "a retirement leaves nothing open",
    "somebody looks at what is under way",
    "attempts are counted as they are",
    "only what is carried is tried again",
    "a write changes something",
    "a deferred delivery waits for its time",
    "given up no sooner than it may be",
    "an expired notice told nobody",
    "superseded is what was withdrawn",
    "a fold joins what it may",
    "work handed over is looked at soon",
    "contributors stand in order",
    "the inbox shows the newest that carries",
    "a closed gate lets nobody through",
    "a probe puts the next one off",
    "nobody gone is told",
    "silence is believed when nothing can come",
    "what can be delivered is delivered",
    "a circuit closes",
    "a dead letter waits for its operator",
    "the audit finds damage",
)
"""What is judged here; each is counted whenever it is."""

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FUNCTION = dict.fromkeys(("chat", "text", "system"), timedelta(seconds=DELIVER_TIMEOUT_SECONDS))
"""How long a function that sends lives; any other no longer than a minute."""
SENDING = timedelta(seconds=SEND_SECONDS_MAX)
"""How long a message may be on its way after it was posted."""
LEFT = timedelta(hours=4)
"""Within this time after the last fault whatever can be delivered is."""
ATTEMPTS = {"chat": 5, "text": 5, "slack_system": 8}
FAILING = {"chat": DAY, "text": DAY, "slack_system": 12 * HOUR}
PROBE_PAUSE = {"chat": MINUTE, "text": 5 * MINUTE, "slack_system": MINUTE}
BUSY = {"queued", "deferred", "sending"}
UNDER_WAY = {*BUSY, "sent"}
MAY_HAVE_REACHED = {*UNDER_WAY, "delivered", "bounced"}
UNKNOWN = {"outcome_unknown", "receipt_timeout"}
NO_ATTEMPT = {"throttled", "circuit_open", None}
"""Why a claim is put back without having been an attempt."""
SAID_ONCE = ("published_at", "not_before", "deadline", "fold_key", "replacement_key", "data", "content_hash")


class Rules:
    """Watches what the other judges watch; `checkers` are asked to stop the run."""

    def __init__(self, checkers: "Checkers") -> None:
        self._checkers = checkers
        self._world = checkers.world
        self._database: Any = None
        self._holding: dict[tuple[str, str], NoticeKey] = {}
        """The notice of each contributor and recipient."""
        self._gates: dict[tuple[str, str], list[tuple[datetime, ChannelState]]] = defaultdict(list)
        self._marks: dict[tuple[str, str], list[tuple[datetime, datetime]]] = defaultdict(list)
        self._people: dict[tuple[str, str], list[tuple[datetime, Person]]] = defaultdict(list)
        self._under_circuit: dict[tuple[int, str], int] = defaultdict(int)
        """By invocation and channel: probes taken, less the posts that needed one."""
        self._claimants: dict[str, Process | None] = {}
        self._posted_at: dict[str, datetime] = {}
        """By claim."""
        self._last_answers: dict[str, tuple[datetime, SendResult]] = {}
        self._calm_since: datetime | None = None
        self._dead_since: dict[str, datetime] = {}
        """When each dead-lettered request became one."""
        self._purges = 0
        self._retired_at: dict[tuple[str, int], datetime] = {}
        self._retried_at: dict[str, datetime] = {}
        """When each delivery was last tried again."""

    def watch(self, database: MemoryDatabase) -> None:
        """Look at what is written about people; the other judges tell of the rest."""
        self._database = database
        database.people = _Noted(self._person_written)

    def _judge(self, rule: str, is_right: bool, what: str) -> None:
        self._checkers.judge(rule, is_right, what)

    @property
    def _now(self) -> datetime:
        return self._world.kernel.at

    def _began(self) -> datetime:
        """When the running invocation began, or before it; whose late write lands isn't known any more."""
        running = self._world.kernel.running
        if running is None or running.root.dies_at is None:
            return self._now - HOUR
        return running.root.dies_at - FUNCTION.get(running.root.name.split("#")[0], MINUTE)

    # ---------------------------------------------------------------- requests

    def request_written(self, before: Request | None, after: Request) -> None:
        """A request is about to be written."""
        purges = self._world.fault_counts["purge"]
        if self._world.faults is NO_FAULTS and (self._calm_since is None or purges != self._purges):
            self._calm_since, self._purges = self._now, purges
        if after.problems and after.state.value == "queued" and not (before and before.problems):
            self._dead_since[after.request_id] = self._now
        name = f"request {after.request_key}"
        state, was = after.state.value, before.state.value if before else None
        if before is not None:
            for field in SAID_ONCE:
                old, new = getattr(before, field), getattr(after, field)
                is_kept = not old or new == old or (field == "data" and new is None)
                self._judge("a key keeps what it was first published with", is_kept, f"{name}: {field} {old} -> {new}")
        if state == "open" and was != "open":
            self._check_acceptance(name, after)
        is_looked_at = state not in {"queued", "open"} or after.due_at is not None
        self._judge("somebody looks at what is under way", is_looked_at, f"{name} is {state} and never due")
        if state == "settled" and was == "open":
            self._check_settled(name, after)
        if before is not None and before.due_at is not None and after.due_at is None:
            self._check_watched(after)

    def _check_acceptance(self, name: str, request: Request) -> None:
        at: Any = request.accepted_at
        self._judge(
            "accepted in its time",
            at < request.expires_at
            and (request.not_before is None or at >= request.not_before)
            and (request.published_at is not None and request.published_at <= at + 5 * MINUTE),
            f"{name} was accepted at {at}: {request.published_at}, {request.not_before}, {request.expires_at}",
        )

    def _check_settled(self, name: str, request: Request) -> None:
        rule = "settled when nothing is left to do"
        self._judge(rule, request.expires_at is not None and self._now >= request.expires_at, f"{name} settled early")
        retired_at = self._retired_at.get((request.definition, request.definition_version or 0), self._now)
        self._judge(
            "a retirement leaves nothing open",
            retired_at > self._now - 2 * MINUTE,
            f"{name} was open until it settled, though its definition was retired at {retired_at}",
        )
        for entry in request.manifest:
            notice = self._held_by(request, entry.recipient)
            if notice is None:
                to_do = request.fold_key is not None or any(item.state.value == "queued" for item in entry.plan)
                self._judge(rule, not to_do, f"{name} settled, and {entry.recipient} has no notice")
                continue
            is_left = any(c.request_id == request.request_id and c.left_at is not None for c in notice.contributors)
            states = {item.state.value for item in notice.deliveries}
            self._judge(rule, is_left or not states & BUSY, f"{name} settled while {entry.recipient} has {states}")

    def _check_watched(self, cleared: Request) -> None:
        """A request isn't due any more: nothing under way may hang on it alone."""
        for entry in cleared.manifest:
            notice = self._held_by(cleared, entry.recipient)
            if notice is None or not any(item.state.value in UNDER_WAY for item in notice.deliveries):
                continue
            others = [c for c in notice.contributors if c.request_id != cleared.request_id]
            self._judge(
                "somebody looks at what is under way",
                self._is_watched(notice, others),
                f"request {cleared.request_key} isn't due any more, and {entry.recipient} has work under way",
            )

    def _is_watched(self, notice: Notice, contributors: list[Contributor]) -> bool:
        rows = [self._database.requests.get((notice.workspace_id, item.request_id)) for item in contributors]
        return any(row is not None and row.due_at is not None for row in rows)

    def _held_by(self, request: Request, recipient: str) -> Any:
        key = self._holding.get((request.request_id, recipient))
        return None if key is None else self._database.notices.get(key)

    def sent(self, queue: QueueName, body: str) -> None:
        """A message was laid into a queue: no sweep that has begun since publishes what waits for its operator."""
        running = self._world.kernel.running
        if queue is not QueueName.REQUESTS or running is None or not running.root.name.startswith("reconcile"):
            return
        message = json.loads(body)
        identity = request_id(message["workspace_id"], message["definition"], message["request_key"])
        row = self._database.requests.get((message["workspace_id"], identity))
        self._judge(
            "a dead letter waits for its operator",
            row is not None and (not row.problems or self._dead_since[identity] > self._began()),
            f"request {message['request_key']} was dead-lettered, and a sweep published it again",
        )

    # ---------------------------------------------------------------- notices

    def notice_written(self, before: Notice | None, after: Notice) -> None:
        """A notice is about to be written."""
        name = f"notice of {after.recipient} {after.notice_id}"
        for item in after.contributors:
            self._holding[item.request_id, after.recipient] = NoticeKey(
                workspace_id=after.workspace_id, recipient=after.recipient, notice_id=after.notice_id
            )
        running = self._world.kernel.running
        for item in after.deliveries:
            if item.claim_id and item.claim_id not in self._claimants:
                self._claimants[item.claim_id] = None if running is None else running.root
        if before is not None:
            is_news = replace(after, version=before.version) != before
            self._judge("a write changes something", is_news, f"{name} was written as it was")
            if len(after.contributors) > len(before.contributors):
                self._check_joined(name, before, after)
            else:
                self._check_handed_over(name, before, after)
            for item, old in zip(after.deliveries, before.deliveries, strict=True):
                if item is not old:
                    self._check_delivery(f"{name}: {item.channel}", old, item, after)
        if any(item.state.value in UNDER_WAY for item in after.deliveries):
            self._judge(
                "somebody looks at what is under way",
                self._is_watched(after, list(after.contributors)),
                f"{name} has work under way, and no request of it is due",
            )
        self._check_ended(name, before, after)
        self._check_order(name, after)

    def _check_delivery(self, name: str, old: Any, new: Any, notice: Notice) -> None:
        source, target = old.state.value, new.state.value
        grown = new.attempts - old.attempts
        self._judge(
            "attempts are counted as they are",
            grown in _attempts_of(source, target, new.reason)
            if target != "queued" or source != "failed"
            else not new.attempts,
            f"{name} {source} -> {target} ({new.reason}): attempts {old.attempts} -> {new.attempts}",
        )
        if (source, target) == ("failed", "queued"):
            self._retried_at[notice.delivery_id(new.channel)] = self._now
            carried = any(
                self._checkers.carries(item.request_id, notice, self._now - MINUTE) for item in notice.contributors
            )
            self._judge(
                "only what is carried is tried again", carried, f"{name} was tried again, and nobody carries it"
            )
        if source == "deferred" and target == "sending":
            self._judge(
                "a deferred delivery waits for its time",
                old.next_at is None or self._now >= old.next_at,
                f"{name} was claimed at {self._now}, deferred until {old.next_at}",
            )
        if target == "failed" and new.reason in {"attempts_exhausted", *UNKNOWN}:
            self._judge(
                "given up no sooner than it may be",
                self._may_be_given_up(old, new, notice),
                f"{name} {source} -> {target} ({new.reason}) at {self._now}: {old}",
            )

    def _may_be_given_up(self, old: Any, new: Any, notice: Notice) -> bool:
        channel, now = new.channel.value, self._now
        if new.reason == "attempts_exhausted":
            is_old = old.failing_since is not None and now >= old.failing_since + FAILING[channel]
            return new.attempts >= ATTEMPTS[channel] or is_old
        if new.reason == "receipt_timeout":
            return now >= old.updated_at + 3 * DAY
        if channel == "text":
            return now >= max(old.claimed_at + MINUTE / 2, min(notice.expires_at, old.claimed_at + DAY))
        return now >= old.claimed_at + MINUTE + DAY

    def _check_ended(self, name: str, before: Notice | None, after: Notice) -> None:
        states = {item.state.value for item in after.deliveries}
        reasons = {item.reason for item in after.deliveries if item.state.value == "failed"}
        is_expired = "expired" in states and not states & MAY_HAVE_REACHED and not reasons & UNKNOWN
        ended = after.ended.value if after.ended else None
        if ended != "superseded":
            is_news = ended == "expired" and (before is None or before.ended is None)
            is_right = is_expired if is_news else ended == "expired" or not is_expired
            self._judge("an expired notice told nobody", is_right, f"{name}: {states} {reasons} and {ended}")
        elif before is None or before.ended is None:
            rows = [self._database.requests.get((after.workspace_id, c.request_id)) for c in after.contributors]
            self._judge(
                "superseded is what was withdrawn",
                any(row is not None and row.state.value == "superseded" for row in rows),
                f"{name} is superseded, and nothing of it was withdrawn or replaced",
            )

    def _check_order(self, name: str, notice: Notice) -> None:
        places = [(item.published_at, item.request_id) for item in notice.contributors]
        self._judge("contributors stand in order", places == sorted(places), f"{name}: {places}")
        staying = [item for item in notice.contributors if item.left_at is None]
        if notice.content is None or not staying:
            return
        newest = max(staying, key=lambda item: (item.published_at, item.request_id))
        request = self._database.requests.get((notice.workspace_id, newest.request_id))
        shown = request.data and request.data["key"]
        self._judge(
            "the inbox shows the newest that carries",
            notice.content.title == shown,
            f"{name} shows {notice.content.title}, not {shown}",
        )

    def _check_handed_over(self, name: str, before: Notice, after: Notice) -> None:
        """Whoever takes unfinished work over is looked at within the hour: its own deadline may be days away.

        A text that was sent and not answered is nobody's work: its receipt comes, or its time is over.
        """
        staying = [item for item in after.contributors if item.left_at is None]
        is_handed_over = len(staying) < sum(item.left_at is None for item in before.contributors)
        is_work = any(
            item.state.value in BUSY and (item.channel, item.state) != ("text", "sending") for item in after.deliveries
        )
        if is_handed_over and after.ended is None and is_work:
            rows = [self._database.requests.get((after.workspace_id, item.request_id)) for item in staying]
            self._judge(
                "work handed over is looked at soon",
                any(row.due_at is not None and row.due_at <= self._now + HOUR + MINUTE for row in rows),
                f"{name} was handed over, and those that took it are due at {[row.due_at for row in rows]}",
            )

    def _check_joined(self, name: str, before: Notice, after: Notice) -> None:
        known = {item.request_id for item in before.contributors}
        (new,) = (item for item in after.contributors if item.request_id not in known)
        request: Any = self._database.requests.get((after.workspace_id, new.request_id))
        plan = {item.channel.value: item.state.value for item in request.entry(after.recipient).plan}
        definition = self._database.versions[after.workspace_id, request.definition, request.definition_version]
        place, began = (after.workspace_id, after.recipient), self._began()
        marks = [up_to for at, up_to in self._marks[place] if at <= began]
        has_console = any(
            item.channel.value == "console" and item.state.value == "delivered" for item in before.deliveries
        )
        wrong = {
            "ended": before.ended is not None,
            "done": before.status.value not in {"routed", "delivering", "delivered"},
            "read": before.read_at is not None,
            "marked as read": has_console and bool(marks) and before.created_at <= max(marks),
            "full": len(after.contributors) > 50,
            "too old": request.accepted_at >= before.created_at + definition.fold_within,
            "over other channels": set(plan) != {item.channel.value for item in before.deliveries},
            "over an ended channel": any(_is_closed_to(item, plan) for item in before.deliveries),
            "moved by it": after.deliveries != before.deliveries,
        }
        reasons = [reason for reason, is_so in wrong.items() if is_so]
        self._judge(
            "a fold joins what it may", not reasons, f"{request.request_key} joined {name}: {', '.join(reasons)}"
        )

    # ---------------------------------------------------------------- inboxes, people and channels

    def mark_written(self, place: tuple[str, str], mark: ReadMark) -> None:
        """A read-all mark was moved."""
        self._marks[place].append((self._now, mark.read_up_to))

    def _person_written(self, key: tuple[str, str], person: Person) -> None:
        self._people[key].append((self._now, person))

    def channel_written(self, key: Any, before: ChannelState | None, after: ChannelState) -> None:
        """A channel's state was written: a probe is taken, or another answer learned."""
        place = (str(key[0]), key[1].value)
        self._gates[place].append((self._now, after))
        if after.open_since is None or after.probe_at is None:
            return
        is_probe = before is not None and before.open_since is not None and before.probe_at != after.probe_at
        if is_probe or before is None or before.open_since is None:
            pause = after.probe_at - self._now
            self._judge(
                "a probe puts the next one off",
                pause > PROBE_PAUSE[place[1]] / 2,
                f"{place}: probed at {self._now}, the next at {after.probe_at}",
            )
        if is_probe and (running := self._world.kernel.running) is not None:
            self._under_circuit[id(running.root), place[1]] += 1

    def definition_written(self, definition: Definition) -> None:
        """A definition was registered or retired."""
        if definition.state.value == "retired":
            for version in range(definition.version + 1):
                self._retired_at.setdefault((definition.key, version), self._now)

    def posted(self, outgoing: Outgoing) -> None:
        """A wire call is made: to somebody who is there, and through an open gate."""
        self._posted_at[outgoing.claim_id] = self._now
        self._check_person(outgoing)
        channel = outgoing.channel.value
        place = ("-" if channel == "slack_system" else str(outgoing.workspace_id), channel)
        began = self._began()
        states = self._gates.get(place, ())
        known = [state for at, state in states if at <= began][-1:]
        since = [state for at, state in states if at > began]
        blocked_until = known[0].blocked_until if known else None
        self._judge(
            "a closed gate lets nobody through",
            blocked_until is None or self._now >= blocked_until,
            f"{outgoing.delivery_id} was posted over {channel}, throttled until {blocked_until}",
        )
        if not known or any(state.open_since is None for state in (*known, *since)):
            return
        mine = id(self._world.kernel.current.root), channel
        self._under_circuit[mine] -= 1
        self._judge(
            "a closed gate lets nobody through",
            self._under_circuit[mine] >= 0,
            f"{outgoing.delivery_id} was posted over {channel} without a probe, refused since {known[0].open_since}",
        )

    def _check_person(self, outgoing: Outgoing) -> None:
        began = self._began()
        written = self._people.get((outgoing.workspace_id, outgoing.recipient), [])
        meant = [person for at, person in written if at <= began][-1:] + [
            person for at, person in written if at > began
        ]
        if meant:
            self._judge(
                "nobody gone is told",
                any(person.active for person in meant),
                f"{outgoing.recipient} was told over {outgoing.channel}, and had left",
            )

    def answered(self, outgoing: Outgoing, result: SendResult) -> None:
        """A provider answered."""
        if not isinstance(result, Throttled):
            self._last_answers[outgoing.channel.value] = (self._now, result)

    def absent(self, query: EvidenceQuery) -> None:
        """A provider's record was asked, and shows nothing: nothing of the claim may be under way any more."""
        posted_at, claimant = self._posted_at.get(query.claim_id), self._claimants.get(query.claim_id)
        if posted_at is not None:
            is_over = self._now >= posted_at + SENDING
        else:
            is_over = (
                claimant is None or claimant.ended or claimant.dead or self._now >= (claimant.dies_at or self._now)
            )
        self._judge(
            "silence is believed when nothing can come",
            is_over,
            f"{query.delivery_id}: the record was read at {self._now}, claimed at {query.claimed_at}, sent {posted_at}",
        )

    # ---------------------------------------------------------------- the end

    def at_end(self) -> None:
        """What has to be true once faults have stopped and time has passed."""
        calm_since = self._calm_since or self._now
        self._check_named()
        for request in self._database.requests:
            self._check_not_missed(request, calm_since)
        for notice in self._database.notices:
            self._check_delivered(notice, calm_since)
        for (_, channel), states in self._gates.items():
            at, answer = self._last_answers.get(channel, (calm_since, None))
            is_refused = isinstance(answer, Rejected) and answer.scope is RejectionScope.WORKSPACE
            open_since = states[-1][1].open_since
            self._judge(
                "a circuit closes",
                is_refused or open_since is None or at <= max(calm_since, open_since + FUNCTION["chat"]),
                f"{channel} got through at {at}, and counts as refused",
            )
        self._check_audit()

    def _check_named(self) -> None:
        asked: dict[str, list[Any]] = defaultdict(list)
        for operation in self._world.operations.all:
            if operation.kind != "process" or getattr(operation.asked, "audience", None) is None:
                continue
            asked[operation.asked.request_id].append(operation.asked)
            row = self._database.requests.get((operation.asked.workspace_id, operation.asked.request_id))
            is_over = operation.answered_at is not None and operation.failed_at is None
            if is_over and operation.process.root.died_at is None and row.content_hash:
                self._judge(
                    "other content under a key is noted",
                    operation.asked.content_hash == row.content_hash or row.differing_repeat_at is not None,
                    f"request {row.request_key} was published with other content, and nothing says so",
                )
        for request in self._database.requests:
            told = {str(entry.recipient) for entry in request.manifest}
            left_out = {item.name for item in request.exclusions}
            if request.accepted_at is not None:
                named = [{"-"} if item.audience.hq else set(item.audience.people) for item in asked[request.request_id]]
                self._judge(
                    "everybody named is told or left out",
                    any(told | left_out == people for people in named),
                    f"request {request.request_key} names {named} and tells {told}, without {left_out}",
                )

    def _check_not_missed(self, request: Request, calm_since: datetime) -> None:
        at: Any = request.expires_at
        waited_for = max(calm_since, request.not_before or calm_since)
        self._judge(
            "what can be delivered is delivered",
            request.state.value != "expired" or at < waited_for + LEFT or bool(request.problems),
            f"request {request.request_key} expired at {at} without having been accepted",
        )

    def _check_delivered(self, notice: Notice, calm_since: datetime) -> None:
        requests = [self._database.requests.get((notice.workspace_id, c.request_id)) for c in notice.contributors]
        expired = [item.channel.value for item in notice.deliveries if item.state.value == "expired"]
        retried = [self._retried_at.get(notice.delivery_id(item.channel), calm_since) for item in notice.deliveries]
        had_time = all(item.expires_at >= max(calm_since, item.accepted_at, *retried) + LEFT for item in requests)
        self._judge(
            "what can be delivered is delivered",
            not expired or not had_time,
            f"notice of {notice.recipient} {notice.notice_id} expired over {expired}, and there was time",
        )

    def _check_audit(self) -> None:
        """Damage a row behind everybody's back, each time another way, and have the audit find it."""
        moved = [
            (notice, item)
            for notice in self._database.notices
            if self._now < notice.created_at + 80 * DAY  # later its requests may be forgotten
            for item in notice.deliveries
            if any(line.channel is item.channel for line in notice.timeline)
        ]
        if not moved:
            return
        notice, item = self._world.kernel.pick(moved, "damaged")
        state = DeliveryState.CANCELLED if item.state.value != "cancelled" else DeliveryState.DELIVERED
        damaged = tuple(replace(old, state=state) if old is item else old for old in notice.deliveries)
        del self._database.notices.put  # nobody looks on any more
        self._database.notices.put(self._holding[notice.owner, notice.recipient], replace(notice, deliveries=damaged))
        ports = replace(self._world.plain, queues=MemoryQueues(), telemetry=MemoryTelemetry())
        rows = ports.requests.history(notice.workspace_id, notice.shard, before=None, limit=10_000)
        owner = next(row for row in rows if row.request_id == notice.owner)
        kinds = {item.kind for item in audit_request(notice.workspace_id, owner, ports)}
        self._judge(
            "the audit finds damage",
            bool(kinds & {"notice_state_altered"}),
            f"nobody noticed that the notice of {notice.recipient} {notice.notice_id} was altered: {kinds}",
        )


class _Noted(dict[Any, Any]):
    """A dict whose every write is told."""

    def __init__(self, tell: Any) -> None:
        self._tell = tell

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._tell(key, value)


def _is_closed_to(item: Any, plan: dict[str, str]) -> bool:
    state, is_wanted = item.state.value, plan.get(item.channel.value) == "queued"
    if state == "failed":
        return item.reason == "attempts_exhausted"
    return state in {"cancelled", "expired"} or (is_wanted and state in {"skipped", "unavailable"})


def _attempts_of(source: str, target: str, reason: str | None) -> set[int]:
    """By how much a move may raise the attempts."""
    if source == target == "queued":
        return {1}
    if source != "sending":
        return {1} if target == "failed" and source in {"queued", "deferred"} else {0}
    if target == "deferred":
        return {0} if reason in NO_ATTEMPT else {1}
    if target in {"cancelled", "expired", "skipped"}:
        return {0, 1}
    return {0} if target == "sending" else {1}
