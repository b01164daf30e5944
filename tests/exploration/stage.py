"""The world of an exploration: states that can be compared, and the memory stores set to any of them."""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any, Final, NamedTuple, cast

from notify_core.adapters.memory import FixedClock, MemoryDatabase, memory_ports
from notify_core.adapters.memory.table import Table
from notify_core.application.ports import Conflict, Head, Outgoing, Ports
from notify_core.domain.channel import Channel
from notify_core.domain.directory import ChannelState
from notify_core.domain.limits import SEND_SECONDS_MAX
from notify_core.domain.notice import Notice, What
from notify_core.domain.receipt import Receipt, ReceiptOutcome
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import (
    Absent,
    Accepted,
    Delivered,
    Found,
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
    Untold,
)
from tests.exploration.judges import Judge, Truth, Violation, told_as
from tests.exploration.programs import CONFLICT, UNAVAILABLE, Call, Runner

BEGIN: Final = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message in a queue, or an errand that somebody runs once; hidden until a time, or not."""

    queue: str
    """A queue's name, `dead:` and a queue's name, `receipts`, or `errand`."""
    body: str | Receipt
    hidden_until: datetime | None = None


class Process(NamedTuple):
    """A use case under way, with the letters that it handles."""

    name: str
    letters: tuple[int, ...]
    claim: str
    point: int
    dies_at: datetime
    has_effect: bool


class State(NamedTuple):
    """Everything that decides what can happen next."""

    now: datetime
    rows: tuple[int, ...]
    old: frozenset[tuple[int, int]]
    """Earlier rows, by slot, that a reader without consistency may still see."""
    letters: frozenset[int]
    processes: tuple[Process, ...]
    budget: tuple[int, ...]
    truth: Truth


class Numbers:
    """Gives equal values one number, and the number its value back; 0 is None."""

    def __init__(self) -> None:
        self.values: list[Any] = [None]
        self._by_content: dict[Hashable, int] = {}
        self._by_identity: dict[int, tuple[Any, int]] = {}

    def of(self, value: Any) -> int:
        """The value's number."""
        if value is None:
            return 0
        known = self._by_identity.get(id(value))
        if known is not None:
            return known[1]
        content = frozen(value)
        number = self._by_content.get(content)
        if number is None:
            number = self._by_content[content] = len(self.values)
            self.values.append(value)
        self._by_identity[id(value)] = (value, number)
        return number


_FIELDS: Final[dict[type, tuple[str, ...] | None]] = {}


def frozen(value: Any) -> Hashable:
    """The value's content in a form that can be hashed."""
    kind = type(value)
    if kind is tuple or kind is list:
        return tuple(map(frozen, value))
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(item.name for item in fields(value)) if is_dataclass(value) else None
    names = _FIELDS[kind]
    if names is not None:
        return (kind.__name__, *[frozen(getattr(value, name)) for name in names])
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), frozen(item)) for key, item in value.items()))
    unchanged: Hashable = value
    return unchanged


class Seen(NamedTuple):
    """One thing that a call may come to."""

    how: str
    fault: str | None
    answer: Any
    state: State


_SENT: Final = {"drop_response": True, "lose_request": False, "late": False}


class Stage:
    """The stores, queues and providers, set to one state after another."""

    def __init__(self, *, changing: frozenset[str], eventual: bool, provider: tuple[str, ...]) -> None:
        self.clock = FixedClock(BEGIN)
        self.database = MemoryDatabase(self)
        self.plain = memory_ports(self.clock, self.database)
        self.rows = Numbers()
        self.letters = Numbers()
        self.outgoing = Numbers()
        self.judge = Judge(self.database)
        self._changing = changing
        self._is_eventual = eventual
        self._provider = provider
        self._slots: dict[tuple[str, Hashable], int] = {}
        self._places: list[tuple[str, Hashable]] = []
        self._loaded: tuple[int, ...] = ()
        self._tables: dict[tuple[int, ...], dict[str, list[Any]]] = {}
        self._rested: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._touched: list[tuple[str, Hashable]] = []
        self._stale: tuple[str, Hashable, object | None] | None = None
        self._handlers: dict[str, Callable[[State, Call], Iterator[Seen]]] = {
            "queues": self._send_letters,
            "inbox": self._extend,
            "sender": self._post,
            "evidence": self._look_up,
        }

    # ---------------------------------------------------------------- adapters.memory.Lag

    def wrote(self, table: str, key: Hashable, before: object | None) -> None:
        """Note what a call wrote."""
        del before
        self._touched.append((table, key))

    def answers(self, reader: str) -> Mapping[Any, Any]:
        """What a reader without consistency sees of an earlier row, where it is to see one."""
        table = {"due": "requests", "history": "requests", "attention": "notices"}.get(reader, reader)
        if self._stale is None or self._stale[0] != table:
            return {}
        return {self._stale[1]: self._stale[2]}

    # ---------------------------------------------------------------- states

    def load(self, state: State) -> None:
        """Set the stores to a state."""
        self.clock.at = self.judge.now = state.now
        if state.rows == self._loaded:
            return
        for slot, (have, want) in enumerate(zip_longest(self._loaded, state.rows, fillvalue=0)):
            if have != want:
                self._set(*self._places[slot], self.rows.values[want])
        self._loaded = state.rows

    def _set(self, name: str, key: Any, value: Any) -> None:
        table: Any = getattr(self.database, name)
        if not isinstance(table, Table):
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        elif value is None:
            _drop(table, key)
        else:
            Table.put(table, key, value)

    def written(self, state: State) -> State:
        """The state with the rows as the stores hold them now."""
        for name in ("heads", "channels", "marks"):
            self._touched.extend((name, key) for key in getattr(self.database, name))
        rows = list(state.rows)
        old = set(state.old)
        for place in dict.fromkeys(self._touched):
            slot = self._slots.get(place)
            if slot is None:
                slot = self._slots[place] = len(self._places)
                self._places.append(place)
            rows.extend([0] * (slot + 1 - len(rows)))
            table: Any = getattr(self.database, place[0])
            number = self.rows.of(_essential(table.get(place[1])))
            if number != rows[slot]:
                if self._is_eventual:
                    old.add((slot, rows[slot]))
                rows[slot] = number
        new = state._replace(rows=tuple(rows), old=frozenset(old))
        self._loaded = new.rows
        self._reload()
        self._touched.clear()
        return new

    def _reload(self) -> None:
        """Hold every touched row as the state knows it."""
        for place in dict.fromkeys(self._touched):
            value = self.rows.values[self._loaded[self._slots[place]]]
            if value is not None:
                self._set(*place, value)

    def begun(self) -> State:
        """The state that the stores were set up in."""
        self._touched.extend(("definitions", key) for key in _keys(self.database.definitions))
        return self.written(State(BEGIN, (), frozenset(), frozenset(), (), (), Truth()))._replace(old=frozenset())

    def at_ease(self, state: State) -> State:
        """The same state, with versions counted anew where nobody holds an earlier one."""
        if state.processes:
            return state
        rows = self._rested.get(state.rows)
        if rows is None:
            values = self.rows.values
            rows = tuple(self.rows.of(_first_version(values[number])) if number else 0 for number in state.rows)
            self._rested[state.rows] = rows
        return state if rows == state.rows else state._replace(rows=rows)

    def table(self, state: State, name: str) -> list[Any]:
        """The rows of a table, in the order in which their places were first written."""
        tables = self._tables.get(state.rows)
        if tables is None:
            tables = self._tables[state.rows] = {}
            for (table, _), number in zip(self._places, state.rows, strict=False):
                if number:
                    tables.setdefault(table, []).append(self.rows.values[number])
        return tables.get(name, [])

    # ---------------------------------------------------------------- calls

    def is_static(self, call: Call) -> bool:
        """Whether it reads what nothing in this exploration ever changes."""
        return call.name in _STATIC and call.name not in self._changing

    def read(self, state: State, call: Call) -> Any:
        """The answer of a call that changes nothing."""
        self.load(state)
        return self._ask(call)

    def perform(self, state: State, call: Call) -> Iterator[Seen]:
        """Everything that may come of a call: the effect, the answer, and with which fault."""
        handler = self._handlers.get(call.port)
        if handler is not None:
            yield from handler(state, call)
        elif call.method in _WRITES:
            yield from self._write(state, call)
        else:
            yield from self._read(state, call)

    def _ask(self, call: Call) -> Any:
        if call.method == "generations":
            *where, before = call.args
            found = self.plain.notices.generations(*where)
            return next((item for item in found if before is None or item.notice_id < before), None)
        return getattr(getattr(self.plain, call.port), call.method)(*call.args, **call.options)

    def _read(self, state: State, call: Call) -> Iterator[Seen]:
        yield Seen("", "refuse", UNAVAILABLE, state)
        self.load(state)
        answer = self._ask(call)
        yield Seen("", None, answer, state)
        if not state.old:
            return
        seen = [answer]
        for slot, number in state.old:
            self.load(state)
            self._stale = (*self._places[slot], self.rows.values[number])
            try:
                answer = self._ask(call)
            finally:
                self._stale = None
            if answer not in seen:
                seen.append(answer)
                yield Seen("STALE", "stale", answer, state)

    def _write(self, state: State, call: Call) -> Iterator[Seen]:
        yield Seen("REFUSED", "refuse", UNAVAILABLE, state)
        self.load(state)
        self._touched.clear()
        self.judge.new_claims.clear()
        try:
            self._ask(call)
        except Conflict:
            yield Seen("CONFLICT", None, CONFLICT, state)
            return
        except BaseException:
            self._loaded = ()  # a violation: the stores are no longer what was loaded
            raise
        new = self.written(state)
        if call.port == "requests":
            self.judge.at_rest(self.table(new, "requests"))
        if self.judge.new_claims:
            claims = new.truth.not_carrying | set(self.judge.new_claims)
            new = new._replace(truth=new.truth._replace(not_carrying=claims))
        yield Seen("", None, None, new)
        yield Seen("ANSWER LOST", "answer", CONFLICT, new)
        yield Seen("ANSWER LOST", "answer", UNAVAILABLE, new)

    def _send_letters(self, state: State, call: Call) -> Iterator[Seen]:
        if call.method == "backlog":
            yield Seen("", None, len(state.letters), state)
            return
        yield Seen("REFUSED", "refuse", UNAVAILABLE, state)
        queue, messages = call.args
        sent = {self.letters.of(self._letter(queue, message, state.now)) for message in messages}
        new = state._replace(letters=state.letters | sent)
        yield Seen("", None, None, new)
        yield Seen("ANSWER LOST", "answer", UNAVAILABLE, new)

    def _letter(self, queue: Any, message: Any, now: datetime) -> Letter:
        hidden_until = now + timedelta(seconds=message.delay_seconds) if message.delay_seconds else None
        return Letter(str(queue), body_of(message.body), hidden_until)

    def _extend(self, state: State, call: Call) -> Iterator[Seen]:
        _, handle, seconds = call.args
        was: Letter = self.letters.values[int(handle)]
        hidden = self.letters.of(replace(was, hidden_until=state.now + timedelta(seconds=seconds)))
        yield Seen("", None, None, state._replace(letters=state.letters | {hidden}))

    # ---------------------------------------------------------------- providers

    def _post(self, state: State, call: Call) -> Iterator[Seen]:
        outgoing: Outgoing = call.args[0]
        self.load(state)
        before = state
        state = state._replace(truth=self.judge.posted(outgoing, state.truth))
        number = self.outgoing.of(outgoing)
        if state.truth.is_refusing:
            yield Seen("refused", None, _REFUSED, before)
            return
        answer: SendResult = (
            Accepted(provider_id="p") if outgoing.channel is Channel.TEXT else Delivered(provider_id="p")
        )
        yield Seen("accepted", None, answer, self.reach(state, number))
        for fault in self._provider:
            match fault:
                case "drop_response":
                    yield Seen("ACCEPTED, ANSWER LOST", "provider", Unknown(reason=fault), self.reach(state, number))
                case "lose_request":
                    yield Seen("REQUEST LOST", "provider", Unknown(reason=fault), state)
                case "late":
                    until = state.now + timedelta(seconds=SEND_SECONDS_MAX)
                    flying = (*state.truth.flying, (number, until))
                    truth = state.truth._replace(flying=tuple(sorted(flying)))
                    yield Seen("LATE", "provider", Unknown(reason=fault), state._replace(truth=truth))
                case "unavailable":
                    yield Seen("UNAVAILABLE", "provider", Unavailable(reason=fault), before)
                case "throttle":
                    yield Seen("THROTTLED", "provider", Throttled(retry_after=timedelta(seconds=30)), before)
                case "reject":
                    yield Seen("REJECTED", "provider", Rejected(reason=fault, scope=RejectionScope.PERSON), before)
                case "refuse":
                    truth = before.truth._replace(is_refusing=True)
                    yield Seen("TOKEN REVOKED", "provider", _REFUSED, before._replace(truth=truth))
                case _:
                    raise AssertionError(fault)

    def reach(self, state: State, number: int) -> State:
        """The state once a send has reached its recipient."""
        outgoing: Outgoing = self.outgoing.values[number]
        truth = self.judge.reached(outgoing, state.truth)
        if outgoing.channel is Channel.TEXT:
            truth = truth._replace(owed=tuple(sorted((*truth.owed, number))))
        return state._replace(truth=truth)

    def receipt(self, state: State, number: int, outcome: ReceiptOutcome) -> State:
        """The state once the provider has said what became of a text."""
        outgoing: Outgoing = self.outgoing.values[number]
        truth = state.truth
        told = tuple(sorted((*truth.told, (str(outgoing.delivery_id), told_as(outcome)))))
        receipt = Receipt(
            workspace_id=outgoing.workspace_id,
            recipient=outgoing.recipient,
            notice_id=outgoing.notice_id,
            channel=outgoing.channel,
            claim_id=outgoing.claim_id,
            provider_id="p",
            outcome=outcome,
            reason=None if outcome is ReceiptOutcome.DELIVERED else "UNREACHABLE",
            at=BEGIN,
        )
        letter = self.letters.of(Letter("receipts", receipt))
        owed = tuple(item for item in truth.owed if item != number)
        return state._replace(truth=truth._replace(owed=owed, told=told), letters=state.letters | {letter})

    def _look_up(self, state: State, call: Call) -> Iterator[Seen]:
        query = call.args[0]
        if query.delivery_id in state.truth.reached:
            yield Seen("", None, Found(provider_id="found"), state)
        else:
            truth = state.truth._replace(at_large=state.truth.at_large - {query.delivery_id})
            yield Seen("", None, Absent(), state._replace(truth=truth))
        yield Seen("RECORD UNREADABLE", "provider", Untold(reason="timeout"), state)


_REFUSED: Final = Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
_WRITES: Final = frozenset(
    {"put", "put_head", "commit", "mark_read", "put_channel_state", "put_definition", "put_workspace"}
)
_STATIC: Final = frozenset(
    {
        "registry.workspace",
        "registry.workspaces",
        "registry.definition",
        "registry.definition_version",
        "registry.channel_state",
        "directory.people",
        "directory.team",
        "directory.role",
        "notices.read_mark",
    }
)


def body_of(body: Mapping[str, Any]) -> str:
    """A message's body as it lies in its queue."""
    return json.dumps(body, sort_keys=True)


def _keys(table: Table[Any, Any]) -> list[Any]:
    return [(item.workspace_id, item.key) for item in table]


def _drop(table: Table[Any, Any], key: Any) -> None:
    """Take a row away, as no store does: the exploration goes back to before it was written."""
    before = table._rows.pop(key)  # noqa: SLF001
    for index in table._indexes:  # noqa: SLF001
        index.move(key, before, None)


def _essential(row: Any) -> Any:
    """The row without what only people read: of the timeline, the one line that decides anything stays."""
    if not isinstance(row, Notice):
        return row
    lines = tuple(line for line in row.timeline if line.target == What.SUPERSEDED)
    return row if lines == row.timeline else replace(row, timeline=lines)


def _first_version(row: Any) -> Any:
    if isinstance(row, Request) and row.version > 1:
        return replace(row, version=1, finished_version=1 if row.is_finished else None)
    if isinstance(row, (Notice, Head, ChannelState)) and row.version > 1:
        return replace(row, version=1)
    return row


def is_due(row: Any, now: datetime) -> bool:
    """Whether a sweep has something to look at."""
    return row.due_at is not None and row.due_at <= now


def never_written_again(row: Any) -> bool:
    """Whether nothing in an exploration writes the request any more."""
    return (
        isinstance(row, Request)
        and row.due_at is None
        and row.state in {RequestState.SETTLED, RequestState.SUPERSEDED, RequestState.EXPIRED, RequestState.INVALID}
    )


def ports_of(runner: Runner) -> Ports:
    """Ports whose every call is answered by the exploration."""

    class Asked:
        def __init__(self, port: str) -> None:
            self._port = port

        def __getattr__(self, method: str) -> Any:
            port = self._port
            if method == "generations":
                return lambda *args: _pages(runner, args)
            return lambda *args, **options: runner.ask(Call(port, method, args, options))

    class Silent:
        def __getattr__(self, method: str) -> Any:
            return lambda *args, **options: None

    asked = {name: cast("Any", Asked(name)) for name in ("registry", "directory", "requests", "notices", "queues")}
    channels = (Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM)
    return Ports(
        **asked,
        clock=runner,
        gather=runner.gather,
        telemetry=cast("Any", Silent()),
        new_claim_id=runner.new_claim_id,
        senders=dict.fromkeys(channels, cast("Any", Asked("sender"))),
        evidence=dict.fromkeys((Channel.CHAT, Channel.SLACK_SYSTEM), cast("Any", Asked("evidence"))),
        hq_channel="C-HQ",
    )


def inbox_of(runner: Runner) -> Any:
    """ports.Inbox whose every call is answered by the exploration."""

    class Asked:
        def __getattr__(self, method: str) -> Any:
            return lambda *args: runner.ask(Call("inbox", method, args, {}))

    return Asked()


def _pages(runner: Runner, args: tuple[Any, ...]) -> Iterator[Any]:
    before = None
    while True:
        found = runner.ask(Call("notices", "generations", (*args, before), {}))
        if found is None:
            return
        yield found
        before = found.notice_id


__all__ = ["BEGIN", "Letter", "Process", "Seen", "Stage", "State", "Truth", "Violation"]
