"""The configurations that are explored: few requests, people and faults each, one question each.

The names of the first part are those of the abstract model that the protocols were designed on. A deadline of ten
seconds lies within the life of every function, so it may pass between any two of its calls.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.list_attention import AttentionQuery
from notify_core.application.mark_read import mark_all_read, mark_read
from notify_core.application.ports import NoticeKey, Outgoing, QueueName
from notify_core.application.process_message import Received, process_message
from notify_core.application.reconcile import reconcile
from notify_core.application.record_dead_message import record_dead_request_message, record_dead_task_message
from notify_core.application.record_receipt import record_receipt
from notify_core.application.refusals import NotFound
from notify_core.application.register_definition import register_definition
from notify_core.application.reprocess_request import reprocess_request
from notify_core.application.retire_definition import retire_definition
from notify_core.application.retry_deliveries import retry_deliveries
from notify_core.application.retry_delivery import retry_delivery
from notify_core.application.tasks import SweepTask, parse_task
from notify_core.domain import policy
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import (
    DefinitionKey,
    PersonId,
    Recipient,
    WorkspaceId,
    fold_id,
    generation_notice_id,
    request_id,
    unfolded_notice_id,
)
from notify_core.domain.limits import (
    API_TIMEOUT_SECONDS,
    DEAD_LETTERS_TIMEOUT_SECONDS,
    DELIVER_TIMEOUT_SECONDS,
    PROCESS_TIMEOUT_SECONDS,
    RECEIPTS_TIMEOUT_SECONDS,
    RECONCILE_TIMEOUT_SECONDS,
)
from notify_core.domain.request import Request
from notify_core.messages.publications import parse_message
from tests.exploration.judges import Violation
from tests.exploration.programs import Call, Runner
from tests.exploration.stage import BEGIN, Letter, Stage, State, body_of, inbox_of, ports_of

ACME: Final = WorkspaceId("acme")
KEY: Final = DefinitionKey("bill")
FOLD: Final = "f"
_TEMPLATES: Final[Mapping[Channel, dict[str, Any]]] = {
    Channel.CONSOLE: {"title": "{{ key }}", "body": "b"},
    Channel.CHAT: {"text": "{{ key }}", "blocks": None},
    Channel.TEXT: {"body": "{{ key }}"},
    Channel.SLACK_SYSTEM: {"text": "{{ key }}", "blocks": None},
}
_LOST: Final = ("drop_response", "lose_request", "late")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What is there, what is done to it, and how much may go wrong."""

    name: str
    asks: str
    """The question that it answers."""
    messages: tuple[str, ...]
    """What people send: `publish R1`, `withdraw R1`, `withdraw key 1`, `retry R1.chat`, `retire`, `read G1`, …"""
    start: tuple[str, ...] = ()
    """What has been done before, in order and without a fault: see `Explorer.begin`."""
    channels: tuple[str, ...] = ("console", "chat")
    people: tuple[str, ...] = ("ana",)
    deadline: int = 3600
    """Seconds after the beginning at which every request expires."""
    deadlines: Mapping[str, int] = field(default_factory=dict[str, int])
    not_before: Mapping[str, int] = field(default_factory=dict[str, int])
    is_replacing: bool = False
    is_folding: bool = False
    faults: Mapping[str, int] = field(default_factory=dict[str, int])
    """The most of each kind: crash, answer, refuse, provider, dup, lose, loseall, poison, stale."""
    total: int = 1
    """The most faults of all kinds together."""
    provider: tuple[str, ...] = (*_LOST, "unavailable")
    has_bounces: bool = False
    slots: Mapping[str, int] = field(default_factory=dict[str, int])
    """By the first word of its name: how many functions may hold a message at the same time."""
    sweeps: int = 1
    pace: str = "quiet"
    """When time may pass: `quiet` while nothing is under way, `prompt` while no message and no sweep waits (functions
    may be slow), `late` at any moment (messages and sweeps may be arbitrarily late)."""
    whenever: bool = False
    """Whether what people send may come at any time; it comes before time passes where not."""
    is_eventual: bool = False
    batches: bool = False
    poisoned: tuple[str, ...] = ()
    """Queues whose every message ends among the dead letters."""
    attempts: int | None = None
    stops: tuple[int, ...] = ()
    """Seconds after the beginning at which time may stop, besides the moments that the rows name."""

    def build(self) -> "Cast":
        """The configuration, ready to be explored."""
        return Cast(self)

    @contextmanager
    def limits(self) -> Iterator[None]:
        """The platform's numbers as the configuration has them."""
        if self.attempts is None:
            yield
            return
        policies: Any = policy.POLICIES
        kept = dict(policies)
        try:
            policies.update({channel: replace(was, attempts_max=self.attempts) for channel, was in kept.items()})
            yield
        finally:
            policies.update(kept)


class Cast:
    """A configuration's stores, code, messages and their names."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.begun_at = BEGIN
        self.stops = [BEGIN + timedelta(seconds=seconds) for seconds in configuration.stops]
        self.stops += [BEGIN + timedelta(seconds=seconds) for seconds in configuration.not_before.values()]
        words = {message.split()[0] for message in (*configuration.messages, *configuration.start)}
        changing = {
            name
            for name, is_changing in {
                "registry.definition": bool({"retire", "redefine", "register"} & words),
                "registry.channel_state": bool({"throttle", "refuse"} & set(configuration.provider)),
                "notices.read_mark": "read-all" in words,
            }.items()
            if is_changing
        }
        self.stage = Stage(
            changing=frozenset(changing), eventual=configuration.is_eventual, provider=configuration.provider
        )
        self.runner = Runner(self._key_of)
        self.ports = ports_of(self.runner)
        self.inbox = inbox_of(self.runner)
        self._names: dict[Letter, str] = {}
        self._register(configuration.channels)

    def _key_of(self, answer: Any) -> Any:
        """What tells one answer from another."""
        if isinstance(answer, dict):
            return tuple((key, self._key_of(value)) for key, value in answer.items())
        if isinstance(answer, (list, tuple)):
            return tuple(map(self._key_of, answer))
        try:
            hash(answer)
        except TypeError:
            return ("row", self.stage.rows.of(answer))
        return answer

    # ---------------------------------------------------------------- setting up

    def _register(self, channels: tuple[str, ...]) -> None:
        plain = self.stage.plain
        every = frozenset({Channel.CONSOLE, Channel.CHAT, Channel.TEXT})
        plain.registry.put_workspace(Workspace(workspace_id=ACME, name="Acme", channels=every, version=1), None)
        for name in self.configuration.people:
            plain.directory.put_person(_person(name, version=1), None)
        plain.registry.put_definition(self.definition(1, channels), None)

    def meet(self, name: str, *, is_reachable: bool) -> None:
        """Give a person a Slack id, or take it away."""
        was = self.stage.plain.directory.people(ACME, [PersonId(name)])[PersonId(name)]
        new = _person(name, version=was.version + 1)
        self.stage.plain.directory.put_person(new if is_reachable else replace(new, slack_user_id=None), was)

    def definition(self, version: int, channels: tuple[str, ...]) -> Definition:
        """A version of the one definition."""
        used = tuple(map(Channel, channels))
        return Definition(
            workspace_id=ACME,
            key=KEY,
            version=version,
            title="Bill",
            category="c",
            critical=False,
            channels=used,
            schema={"type": "object"},
            templates={channel: _TEMPLATES[channel] for channel in used},
            expires_after=timedelta(days=80),
            replace_previous=self.configuration.is_replacing,
            fold_within=timedelta(days=1) if self.configuration.is_folding else None,
        )

    def letter(self, message: str) -> Letter:
        """What a producer, an operator or a recipient sends, by its name in the configuration."""
        word, *rest = message.split()
        match word:
            case "publish":
                return Letter("requests", body_of(self._publication(rest[0])))
            case "withdraw":
                return Letter("requests", body_of(self._withdrawal(rest)))
            case _:
                return Letter("errand", message)

    def _publication(self, key: str) -> dict[str, Any]:
        configuration = self.configuration
        number = int(key.removeprefix("R"))
        deadline = configuration.deadlines.get(key, configuration.deadline)
        body: dict[str, Any] = {
            "type": "publish",
            "version": 1,
            "workspace_id": ACME,
            "definition": KEY,
            "request_key": key,
            "published_at": (BEGIN + timedelta(seconds=number - 5)).isoformat(),
            "deadline": (BEGIN + timedelta(seconds=deadline)).isoformat(),
            "data": {"key": f"[{key}]"},
            "audience": {"people": list(configuration.people)},
        }
        if configuration.channels == ("slack_system",):
            body["audience"] = {"hq": True}
        if configuration.is_replacing:
            body["replacement_key"] = "k"
        if configuration.is_folding:
            body["fold_key"] = FOLD
        if key in configuration.not_before:
            body["not_before"] = (BEGIN + timedelta(seconds=configuration.not_before[key])).isoformat()
        return body

    def _withdrawal(self, words: list[str]) -> dict[str, Any]:
        body = {
            "type": "withdraw",
            "version": 1,
            "workspace_id": ACME,
            "definition": KEY,
            "withdrawn_at": BEGIN.isoformat(),
        }
        if words[0] != "key":
            return body | {"request_key": words[0]}
        withdrawn_at = BEGIN + timedelta(seconds=int(words[1]) - 5)
        return body | {"replacement_key": "k", "withdrawn_at": withdrawn_at.isoformat()}

    def notice_key(self, name: str) -> NoticeKey:
        """Where a notice stands: `R1` of an unfolded request, `G1` of a generation; of the first person."""
        if name.startswith("G"):
            identity = generation_notice_id(fold_id(KEY, FOLD), int(name[1:]))
        else:
            identity = unfolded_notice_id(request_id(ACME, KEY, name))
        return NoticeKey(workspace_id=ACME, recipient=Recipient(self.configuration.people[0]), notice_id=identity)

    # ---------------------------------------------------------------- running

    def program(self, taken: tuple[int, ...], request: Request | None) -> tuple[Callable[[], Any], int, bool]:
        """What handles these letters, or sweeps the request; for how many seconds at most; and whether it claims."""
        if request is not None:
            return self._reconciling(SweepTask(workspace_id=ACME, request_id=request.request_id))
        letter: Letter = self.stage.letters.values[taken[0]]
        body, ports = letter.body, self.ports
        match letter.queue:
            case "requests":
                assert isinstance(body, str)
                received = Received(body=body, receipt_handle=str(taken[0]), receives=1)
                parsed = parse_message(body)
                return lambda: process_message(parsed, received, ports, self.inbox), PROCESS_TIMEOUT_SECONDS, False
            case "chat" | "text" | "system":
                bodies = {str(number): self.stage.letters.values[number].body for number in taken}
                return lambda: self._deliver(bodies), DELIVER_TIMEOUT_SECONDS, True
            case "reconcile":
                assert isinstance(body, str)
                return self._reconciling(parse_task(json.loads(body)))
            case "receipts":
                assert not isinstance(body, str)
                return lambda: record_receipt(body, ports), RECEIPTS_TIMEOUT_SECONDS, False
            case "errand":
                assert isinstance(body, str)
                return lambda: self._errand(body), API_TIMEOUT_SECONDS, False
            case queue:
                assert isinstance(body, str)
                return lambda: self._bury(queue, body), DEAD_LETTERS_TIMEOUT_SECONDS, False

    def _deliver(self, bodies: Mapping[str, str]) -> set[str]:
        until = self.runner.now() + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)
        return deliver_messages(bodies, self.ports, until=until)

    def _reconciling(self, task: Any) -> tuple[Callable[[], Any], int, bool]:
        def run() -> None:
            until = self.runner.now() + timedelta(seconds=RECONCILE_TIMEOUT_SECONDS)
            reconcile(task, self.ports, until=until)

        return run, RECONCILE_TIMEOUT_SECONDS, False

    def _bury(self, queue: str, body: str) -> bool:
        name = QueueName(queue.removeprefix("dead:"))
        if name is QueueName.REQUESTS:
            return record_dead_request_message(parse_message(body), self.ports)
        return record_dead_task_message(body, name, self.ports)

    def _errand(self, errand: str) -> None:
        word, *rest = errand.split()
        match word:
            case "retry":
                name, _, channel = rest[0].partition(".")
                retry_delivery(self.notice_key(name), Channel(channel), self.ports)
            case "register":
                register_definition(self.definition(1, self.configuration.channels), self.ports)
            case "bulk":
                retry_deliveries(AttentionQuery(workspace_id=ACME, limit=10, reason="attempts_exhausted"), self.ports)
            case "retire":
                retire_definition(ACME, KEY, self.ports)
            case "reprocess":
                reprocess_request(ACME, request_id(ACME, KEY, rest[0]), self.ports)
            case "read":
                self._read(rest[0])
            case "read-all":
                mark_all_read(ACME, Recipient(self.configuration.people[0]), self.runner.now(), self.ports)
            case "redefine":
                register_definition(self.definition(1, tuple(rest[0].split(","))), self.ports)
            case _:
                raise AssertionError(errand)

    def _read(self, name: str) -> None:
        try:
            mark_read(self.notice_key(name), self.ports)
        except NotFound:
            return  # not in the inbox yet

    # ---------------------------------------------------------------- judging

    def check_end(self, state: State) -> None:
        """Nothing can happen any more: everything is final, and agrees with what happened."""
        self.stage.load(state)
        if state.letters or state.processes:
            raise Violation("nothing can happen any more, and a message is left")
        self.stage.judge.at_end(state.truth)
        if not {"lose", "loseall"} & set(self.configuration.faults):
            rows = {request.request_key for request in self.stage.table(state, "requests")}
            for message in self.configuration.messages:
                if message.startswith("publish") and message.split()[1] not in rows:
                    raise Violation(f"{message} has no outcome")

    def check_quiet(self, state: State) -> None:
        """No message and no function is left for now."""
        self.stage.load(state)
        self.stage.judge.at_quiet(state.now)

    # ---------------------------------------------------------------- names

    def short(self, request: Request) -> str:
        """A request's name."""
        return request.request_key

    def name_of(self, letter: Letter) -> str:
        """What a letter asks for."""
        name = self._names.get(letter)
        if name is None:
            name = self._names[letter] = self._name_of(letter)
        return name

    def _name_of(self, letter: Letter) -> str:
        if not isinstance(letter.body, str):
            return f"receipt {letter.body.outcome} for {letter.body.recipient}"
        if letter.queue == "errand":
            return letter.body
        body = json.loads(letter.body)
        again = "dead letter: " if letter.queue.startswith("dead:") else ""
        if "type" in body:
            return f"{again}{body['type']} {body.get('request_key') or 'by replacement key'}"
        if body["task"] == "dispatch":
            return f"{again}deliver {body['channel']} to {body['recipient']} ({self._notice(body['notice_id'])})"
        return f"{again}{body['task']}"

    def _notice(self, identity: str) -> str:
        keys = {request_id(ACME, KEY, f"R{number}"): f"R{number}" for number in range(1, 5)}
        return keys.get(identity) or f"G{identity.rpartition('.')[2].lstrip('0')}"  # type: ignore[call-overload]

    def delivery_name(self, outgoing: Outgoing) -> str:
        """What a send is for."""
        return f"{outgoing.channel} to {outgoing.recipient} ({self._notice(outgoing.notice_id)})"

    def delivery_of(self, letter: Letter) -> str:
        """Which delivery a receipt speaks of."""
        receipt = letter.body
        assert not isinstance(receipt, str)
        key = NoticeKey(workspace_id=receipt.workspace_id, recipient=receipt.recipient, notice_id=receipt.notice_id)
        notice = self.stage.plain.notices.get(key)
        assert notice is not None
        return notice.delivery_id(receipt.channel)

    def clock(self, at: datetime) -> str:
        """A time, as what has passed since the beginning."""
        return f"+{at - BEGIN}"

    def told(self, call: Call) -> str:
        """What a call asks or writes."""
        return " ".join(filter(None, (self._value(value) for value in call.args)))

    def _value(self, value: Any) -> str:
        match value:
            case Request():
                due = f" due {self.clock(value.due_at)}" if value.due_at else ""
                return f"[{value.request_key} {value.state}{due}]"
            case tuple() | list():
                return " ".join(self._value(item) for item in value)
            case _ if hasattr(value, "deliveries"):
                states = " ".join(f"{item.channel}={item.state}" for item in value.deliveries)
                return f"[{value.recipient} {self._notice(value.notice_id)} {value.ended or ''} {states}]"
            case _ if hasattr(value, "new"):
                return self._value(value.new)
            case _ if hasattr(value, "withdrawn_at"):
                return "[head]"
            case _ if hasattr(value, "delivery_id"):
                return getattr(value, "text", "")
            case _ if hasattr(value, "body"):
                return ""
            case _:
                return ""


def _person(name: str, *, version: int) -> Person:
    return Person(
        workspace_id=ACME,
        person_id=PersonId(name),
        name=name,
        slack_user_id=f"U{name.upper()}",
        phone="+33123456789",
        version=version,
    )


def _c(name: str, asks: str, *messages: str, **options: Any) -> Configuration:
    return Configuration(name=name, asks=asks, messages=messages, **options)


_OPEN = ("publish R1",)
_TWO = ("publish R1", "publish R2")
_EXHAUSTED = ("publish R1", "deliver unavailable")
_CHAT = {"channels": ("chat",)}
_CONSOLE = {"channels": ("console",)}
_TEXT = {"channels": ("text",)}
_BOTH = {"channels": ("console", "chat", "text")}
_DEADLINE = {"deadline": 10, "pace": "prompt"}
_DEADLINES = {"deadlines": {"R1": 10, "R2": 20}, "pace": "prompt"}
_FAR = {"deadline": 500_000}
_PAIR = {"people": ("ana", "ben")}

CONFIGURATIONS: Final[tuple[Configuration, ...]] = (
    # ---------------------------------------------------------------- one request, one recipient
    _c(
        "1a-accept2-withdraw", "two processors of one publication, and its withdrawal",
        "publish R1", "withdraw R1", **_CONSOLE, faults={"crash": 1, "answer": 1, "stale": 1},
        slots={"publish": 2}, is_eventual=True, whenever=True,
    ),
    _c(
        "1b-lazy", "a notice that isn't stored until it is claimed, and its withdrawal",
        "publish R1", "withdraw R1", **_CHAT, faults={"crash": 1, "provider": 1}, whenever=True,
    ),
    _c(
        "1c-workers2-withdraw", "two workers of one delivery, and a withdrawal",
        "withdraw R1", start=_OPEN, faults={"crash": 1, "answer": 1, "provider": 1, "dup": 1}, slots={"deliver": 2},
        whenever=True,
    ),
    _c(
        "1d-evidence", "unknown sends, settled by evidence",
        start=_OPEN, faults={"crash": 2, "provider": 2}, total=2, slots={"deliver": 2}, pace="prompt", deadline=200,
    ),
    _c(
        "1d2-evidence-late", "the same where the message comes as late as the first sweep",
        start=("publish R1", "wait"), **_CHAT, faults={"provider": 1}, pace="prompt", deadline=600, stops=(100, 114),
        provider=("late",),
    ),
    _c(
        "1e-withdraw-sweep", "sweeps beside a withdrawal and its death, at the deadline",
        "withdraw R1", start=_OPEN, **_CHAT, **_DEADLINE, faults={"crash": 2, "provider": 2}, total=2,
    ),
    # ---------------------------------------------------------------- replacement key
    _c(
        "2a-replace2-withdraw", "two publications under one key, and its withdrawal",
        "publish R1", "publish R2", "withdraw key 1", **_CONSOLE, is_replacing=True, faults={"crash": 1, "answer": 1},
        whenever=True,
    ),
    _c(
        "2b-replace3-withdraw", "three publications under one key, and its withdrawal",
        "publish R1", "publish R2", "publish R3", "withdraw key 2", **_CONSOLE, is_replacing=True, total=0,
    ),
    _c(
        "2c-replace-settle", "a replacement while the request before it settles",
        "publish R2", start=_OPEN, **_CONSOLE, is_replacing=True, faults={"crash": 1}, deadlines={"R1": 10},
        pace="prompt",
    ),
    _c(
        "2d-withdrawkey-chat", "a withdrawal by key beside the worker",
        "withdraw key 1", start=_OPEN, is_replacing=True, faults={"crash": 1}, whenever=True,
    ),
    _c(
        "2e-replace2-chat", "a replacement, a withdrawal by key and the workers",
        "publish R1", "publish R2", "withdraw key 1", is_replacing=True, total=0,
    ),
    # ---------------------------------------------------------------- fold
    _c(
        "3a-fold2-withdraw2", "folding beside the worker, with both contributors withdrawn",
        "publish R2", "withdraw R1", "withdraw R2", start=_OPEN, is_folding=True, total=0,
    ),
    _c(
        "3a2-fold2-crash", "folding beside the worker and a withdrawal, with a death",
        "publish R2", "withdraw R1", start=_OPEN, is_folding=True, faults={"crash": 1},
    ),
    _c(
        "3b-fold2-deadlines", "folding beside the worker, at two deadlines",
        "publish R2", start=_OPEN, **_CHAT, **_DEADLINES, is_folding=True, faults={"crash": 1, "provider": 1},
        provider=_LOST,
    ),
    _c(
        "3b2-fold2-deadlines-console", "the same with an inbox",
        "publish R2", start=_OPEN, **_DEADLINES, is_folding=True, faults={"provider": 1}, provider=_LOST,
    ),
    _c(
        "3c-fold3-withdraw2", "a third contributor while two are withdrawn",
        "publish R3", "withdraw R1", "withdraw R2", start=_TWO, is_folding=True, total=0,
    ),
    _c(
        "3d-fold-read", "folding while the recipient reads",
        "publish R2", "publish R3", "read G1", start=_OPEN, **_CONSOLE, is_folding=True, faults={"crash": 1},
    ),
    _c(
        "3e-fold1-withdraw", "a folded publication and its withdrawal",
        "publish R1", "withdraw R1", is_folding=True, faults={"crash": 1, "answer": 1},
    ),
    _c(
        "3f-fold1-console-sweep", "the same with late sweeps",
        "publish R1", "withdraw R1", **_CONSOLE, is_folding=True, faults={"crash": 1}, pace="late", deadline=200,
    ),
    _c(
        "3g-fold2-both-new", "two folded publications and both withdrawals at once",
        "publish R1", "publish R2", "withdraw R1", "withdraw R2", **_CONSOLE, is_folding=True, total=0,
    ),
    _c(
        "3h-fold-plan", "folding where a channel has come to the definition",
        "publish R2", "publish R3", start=("publish R1", "redefine console,chat"), **_CONSOLE, is_folding=True,
        faults={"crash": 1},
    ),
    _c(
        "3i-fold-revive", "folding beside an operator's retry",
        "publish R2", "publish R3", "retry G1.chat", start=_EXHAUSTED, **_CHAT, is_folding=True, attempts=1,
        faults={"crash": 1},
    ),
    _c(
        "3b3-fold-expired", "folding where a channel has expired and the inbox hasn't",
        "publish R2", start=_OPEN, deadlines={"R1": 10, "R2": 20}, pace="late", is_folding=True, total=0,
    ),
    _c(
        "3j-fold-skipped", "folding where the recipient could not be reached before",
        "publish R2", start=("unreachable ana", "publish R1", "reachable ana"), is_folding=True, faults={"crash": 1},
    ),
    # ---------------------------------------------------------------- sweep, operator, receipts
    _c(
        "4a-retry", "a retry at the deadline",
        "retry R1.chat", start=_EXHAUSTED, **_CHAT, **_DEADLINE, attempts=1, faults={"crash": 1, "provider": 1},
        whenever=True,
    ),
    _c(
        "4a2-retry-withdraw", "a retry and a withdrawal",
        "retry R1.chat", "withdraw R1", start=_EXHAUSTED, attempts=1, faults={"provider": 1}, whenever=True,
    ),
    _c(
        "4b-receipt", "a text and its receipt, early, late or never, at the deadline",
        start=_OPEN, **_TEXT, **_DEADLINE, faults={"crash": 1, "provider": 1, "lose": 1},
    ),
    _c(
        "4b2-receipt-days", "the same where the deadline is days away",
        start=_OPEN, **_TEXT, deadline=200_000, pace="prompt", has_bounces=True,
        faults={"crash": 1, "provider": 1, "lose": 1}, provider=_LOST,
    ),
    _c(
        "4c-retry-fold", "a retry of what two requests stand behind, one of them withdrawn",
        "retry G1.chat", "withdraw R1", start=(*_TWO, "deliver unavailable", "wait", "sweep"), **_CHAT, **_FAR,
        is_folding=True, attempts=1, faults={"crash": 1, "loseall": 1},
    ),
    _c(
        "4d-retry-withdraw-expire", "a retry and a withdrawal at the deadline",
        "retry R1.chat", "withdraw R1", start=_EXHAUSTED, **_CHAT, **_DEADLINE, attempts=1,
        faults={"crash": 1, "provider": 1},
    ),
    _c(
        "4e-receipt-withdraw", "a text, its receipt and a withdrawal",
        "withdraw R1", start=_OPEN, **_TEXT, **_DEADLINE, faults={"crash": 1, "provider": 1, "lose": 1},
    ),
    _c(
        "4f-receipt-fold", "a receipt that is owed when its notice is handed over",
        "withdraw R1", start=(*_TWO, "deliver unavailable", "wait", "sweep", "retry G1.text"), **_TEXT, **_FAR,
        is_folding=True, attempts=1, faults={"lose": 1},
    ),
    _c(
        "4g-retry-fold3", "the same with a third that has left before",
        "retry G1.chat", "withdraw R2", **_CHAT, **_FAR, is_folding=True, attempts=1, faults={"loseall": 1},
        start=(*_TWO, "publish R3", "deliver unavailable", "wait", "sweep", "withdraw R1", "wait", "sweep"),
    ),
    # ---------------------------------------------------------------- retirement closes requests and ends nothing
    _c(
        "5-retire", "a publication beside the retirement of its definition",
        "publish R1", "retire", faults={"crash": 1, "lose": 1, "stale": 1}, total=2, is_eventual=True,
    ),
    _c(
        "5a-retire-deadline", "the worker and a retirement at the deadline",
        "retire", start=_OPEN, **_CHAT, **_DEADLINE, faults={"crash": 1, "provider": 1}, total=2,
    ),
    _c(
        "5b-retire-withdraw", "the worker, a withdrawal and a retirement at the deadline",
        "withdraw R1", "retire", start=_OPEN, **_DEADLINE, faults={"crash": 1, "provider": 1},
    ),
    _c(
        "5c-retire-loss", "a retirement and the loss of every message",
        "publish R1", "retire", **_DEADLINE, faults={"loseall": 2, "crash": 1}, total=2,
    ),
    _c(
        "5d-retire-fold", "a retirement while its requests fold and are withdrawn",
        "publish R2", "withdraw R1", "retire", start=_OPEN, is_folding=True, total=0,
    ),
    _c(
        "5e-retire-retry", "a retry of what a retirement has closed",
        "retry R1.chat", "retire", start=_EXHAUSTED, **_CHAT, attempts=1, faults={"crash": 1, "provider": 1},
    ),
    _c(
        "5f-retire-lazy", "a retirement beside a publication without an inbox, at the deadline",
        "publish R1", "retire", **_CHAT, **_DEADLINE, faults={"crash": 1, "lose": 1},
    ),
    _c(
        "5g-retire-fold-new", "a retirement before a folded publication has its notice",
        "publish R1", "retire", **_CONSOLE, is_folding=True, faults={"crash": 1},
    ),
    # ---------------------------------------------------------------- lost messages, time to wait, dead letters
    _c(
        "6a-loss", "the loss of every message, twice",
        "publish R1", "withdraw R1", deadline=300, faults={"loseall": 2, "crash": 1, "provider": 1}, total=2,
    ),
    _c(
        "6b-loss-fold", "the loss of every message while requests fold",
        "publish R2", "withdraw R1", start=_OPEN, is_folding=True, deadline=300, faults={"loseall": 1},
    ),
    _c(
        "6e-loss-fold-chat", "a folded publication whose processor dies, and whose message is lost",
        "publish R1", **_CHAT, is_folding=True, deadline=60, faults={"crash": 1, "lose": 1}, total=2,
    ),
    _c(
        "6c-defer", "a publication that waits for its time, and its withdrawal",
        "publish R1", "withdraw R1", not_before={"R1": 5}, **_DEADLINE, faults={"loseall": 1, "crash": 1},
    ),
    _c(
        "6d-defer-far", "a publication that waits beyond what a message can be delayed",
        "publish R1", "withdraw R1", **_CHAT, not_before={"R1": 2000}, deadline=3000, pace="prompt",
        faults={"lose": 1, "crash": 1},
    ),
    _c(
        "7a-deadletter", "a dispatch that dies, a withdrawal, at the deadline",
        "withdraw R1", start=_OPEN, **_CHAT, **_DEADLINE, attempts=2, faults={"poison": 2, "crash": 1, "provider": 1},
        total=2,
    ),
    _c(
        "7b-poison", "a dispatch that always dies",
        start=_OPEN, attempts=2, poisoned=("chat",), deadline=300, faults={"crash": 1},
    ),
    # ---------------------------------------------------------------- several channels of one notice
    _c(
        "8a-channels-withdraw", "two channels' workers and a withdrawal",
        "withdraw R1", start=_OPEN, **_BOTH, total=0,
    ),
    _c(
        "8b-channels-faults", "two channels' workers, with receipts that may be bounces",
        start=_OPEN, **_BOTH, has_bounces=True, faults={"provider": 1}, provider=_LOST,
    ),
    _c(
        "8c-channels-retry", "a retry of one channel beside the other's worker and a withdrawal",
        "retry R1.chat", "withdraw R1", start=("publish R1", "deliver:chat unavailable"), channels=("chat", "text"),
        attempts=1, total=0,
    ),
    _c(
        "8c2-retry-bounced", "a retry beside a channel that bounced",
        "retry R1.chat", "withdraw R1", start=("publish R1", "deliver:chat unavailable", "deliver:text", "bounce"),
        channels=("chat", "text"), **_DEADLINE, attempts=1, faults={"provider": 1},
    ),
    _c(
        "8d-channels-expire", "two channels at the deadline",
        start=_OPEN, channels=("chat", "text"), **_DEADLINE, faults={"provider": 1}, provider=_LOST,
    ),
    # ---------------------------------------------------------------- what the abstract model leaves out
    _c(
        "9a-people2-withdraw", "two recipients, each with a worker, and a withdrawal",
        "withdraw R1", start=_OPEN, **_CHAT, **_PAIR, faults={"crash": 1},
    ),
    _c(
        "9b-people2-batch", "two recipients in one batch, and a withdrawal",
        "withdraw R1", start=_OPEN, **_CHAT, **_PAIR, batches=True, faults={"crash": 1},
    ),
    _c(
        "9c-people2-accept", "a publication to two recipients, and its withdrawal",
        "publish R1", "withdraw R1", **_CONSOLE, **_PAIR, faults={"crash": 1},
    ),
    _c(
        "9d-people2-replace", "a replacement for two recipients",
        "publish R2", start=_OPEN, **_CONSOLE, **_PAIR, is_replacing=True, faults={"crash": 1},
    ),
    _c(
        "9e-dead-publication", "a publication among the dead letters, reprocessed and withdrawn",
        "publish R1", "reprocess R1", "withdraw R1", **_DEADLINE, faults={"poison": 1, "crash": 1}, total=2,
    ),
    _c(
        "9f-dead-retire", "a retirement's message among the dead letters",
        "retire", start=_OPEN, **_CHAT, deadline=2000, faults={"poison": 1, "crash": 1}, total=2,
    ),
    _c(
        "9g-circuit", "a circuit that opens, lets one delivery try, and closes",
        start=_OPEN, **_CHAT, **_PAIR, provider=("refuse",), faults={"provider": 2, "crash": 1}, total=2, deadline=300,
    ),
    _c(
        "9h-throttle", "a channel that is throttled, and a withdrawal",
        "withdraw R1", start=_OPEN, **_CHAT, **_PAIR, provider=("throttle",), faults={"provider": 1}, deadline=300,
    ),
    _c(
        "9i-bulk-retry", "a bulk retry beside a single one",
        "bulk", "retry R1.chat", start=_EXHAUSTED, **_CHAT, **_PAIR, attempts=1, faults={"crash": 1},
    ),
    _c(
        "9j-bulk2-withdraw", "two bulk retries and a withdrawal",
        "bulk", "bulk again", "withdraw R1", start=_EXHAUSTED, **_CHAT, attempts=1, faults={"crash": 1},
    ),
    _c(
        "9k-register-again", "a definition retired and registered again, beside its requests",
        "publish R2", "retire", "register", start=_OPEN, **_CHAT, faults={"crash": 1, "lose": 1},
    ),
    _c(
        "9l-alert", "an alert to the headquarters",
        "publish R1", channels=("slack_system",), deadline=300, faults={"crash": 1, "provider": 1, "dup": 1}, total=2,
    ),
    _c(
        "9m-fold-channels2", "folding over two channels beside both workers",
        "publish R2", start=_OPEN, channels=("chat", "text"), is_folding=True, faults={"crash": 1},
    ),
    _c(
        "9n-read-all", "reading everything beside folding and a withdrawal",
        "publish R2", "withdraw R1", "read-all", start=_OPEN, **_CONSOLE, is_folding=True, faults={"crash": 1},
    ),
    _c(
        "9o-refused", "a store that refuses a call, at any of them",
        "publish R1", "withdraw R1", deadline=300, faults={"refuse": 1},
    ),
    _c(
        "9p-late", "messages and sweeps that are late in any order",
        "publish R1", "withdraw R1", **_CHAT, deadline=100, pace="late", faults={"crash": 1},
    ),
    _c(
        "9q-stale-worker", "a worker whose first reading is old",
        "withdraw R1", start=_OPEN, is_eventual=True, faults={"stale": 2, "crash": 1}, total=2, slots={"deliver": 2},
    ),
    _c(
        "9r-stale-sweep", "a sweep whose reading of a retried notice is old",
        "retry R1.chat", start=_EXHAUSTED, **_DEADLINE, attempts=1, is_eventual=True,
        faults={"stale": 2, "crash": 1, "provider": 1}, total=2, whenever=True,
    ),
)  # fmt: skip
