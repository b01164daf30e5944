"""Every order of every call and every fault, breadth first: the first counterexample found is a shortest one.

What is not explored, and why nothing is lost by that:

- A call that reads what nothing in the configuration ever changes happens together with the step before it. It
  commutes with every other step, and no judge sees it. Where the code after it looks at the clock and time could pass
  in between, it stays a step of its own.
- The same holds for a request that nothing writes any more (closed, and no longer due).
- A function that dies before it changed anything is one that was never started: its message is still there.
- Once the last answer has come, nothing but the message's fate is left; it is decided in the same step.
- Versions are counted anew whenever nobody holds an earlier one, and of a notice's timeline only the line that decides
  anything is kept: code compares versions of the same row for equality alone.

What is taken together, and so is not explored: a message that is sent while its equal waits is one with it; time stops
only at moments that a row, a message or the configuration names; at most one sweep of a request runs at a time; a call
of a provider has its effect and its answer in one step, unless the fault is that it arrives late. When time may pass,
and whether what people send may wait, is the configuration's `pace` and `whenever`.
"""

import gc
import time
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from notify_core.application.ports import Conflict, StoreUnavailable
from notify_core.domain.receipt import ReceiptOutcome
from notify_core.domain.request import Request
from tests.exploration.configurations import Configuration
from tests.exploration.judges import Truth, Violation
from tests.exploration.programs import Call, Point, Program
from tests.exploration.stage import (
    Letter,
    Process,
    State,
    is_due,
    never_written_again,
)

HORIZON: Final = timedelta(days=60)
"""When everything has long ended; what is still due then goes round for ever."""


class Step(NamedTuple):
    """What happened, in a form that costs nothing until somebody reads it."""

    what: str
    point: int = -1
    task: int = 0
    how: str = ""


class Move(NamedTuple):
    """A step, whether it was a fault, and the state after it."""

    step: Step
    is_fault: bool
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class _Came:
    """What came of one call of a point: the rows, and what it adds to the rest of the state."""

    task: int
    how: str
    fault: str | None
    rows: tuple[int, ...]
    old: frozenset[tuple[int, int]]
    letters: frozenset[int]
    claims: frozenset[tuple[str, frozenset[str]]]
    truth: Truth | None
    point: int
    is_effect: bool
    lets_go: bool


@dataclass(kw_only=True)
class Result:
    """What an exploration came to."""

    name: str
    states: int
    edges: int
    depth: int
    runs: int
    seconds: float
    is_complete: bool
    ends: int
    violation: str | None = None
    trace: list[str] = field(default_factory=list[str])

    @property
    def steps(self) -> int:
        """How many steps lead to the violation."""
        return len(self.trace)


class Explorer:
    """One configuration, from its beginning to every state that it can come to."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.cast = configuration.build()
        self.stage = self.cast.stage
        self.runner = self.cast.runner
        self.faults = list(configuration.faults)
        self._known: dict[Hashable, Sequence[_Came]] = {}
        self._unsent: frozenset[int] = frozenset()
        """What the configuration's people send: when is up to them."""
        self._programs: dict[Hashable, tuple[Callable[[], Any], int, bool]] = {}
        self._beginnings: dict[Hashable, Point] = {}
        self._times: dict[tuple[int, ...], list[datetime]] = {}
        self._places = {fault: place for place, fault in enumerate(self.faults)}
        self._deaths = [self._places[fault] for fault in ("crash", "dup") if fault in self._places]
        self.is_begun = False
        self._who = ""
        self.attempt = Step("")
        """What is being tried, for the history of what goes wrong with it."""

    # ---------------------------------------------------------------- the beginning

    def begin(self) -> State:
        """The state after what the configuration starts with, its messages waiting."""
        state = self.stage.begun()
        for step in self.configuration.start:
            state = self._prepare(state, step)
        numbers = {self.stage.letters.of(self.cast.letter(message)) for message in self.configuration.messages}
        budget = tuple(self.configuration.faults.values())
        self._unsent = frozenset(numbers) if self.configuration.whenever else frozenset()
        self.is_begun = True
        return state._replace(letters=state.letters | numbers, budget=budget, old=frozenset())

    def _prepare(self, state: State, step: str) -> State:
        """One step of what was done before, everything going as it should.

        `deliver` handles what lies in the channels' queues, or `deliver:chat` in one, and may say what the provider
        answers; `bounce` is such a receipt, `sweep` looks at all that is due, `wait` lets time pass to the next moment,
        `lose` takes every message away; `unreachable` and `reachable` are of a person. Anything else is a message.
        """
        word, *rest = step.split()
        match word.partition(":")[0]:
            case "wait":
                at = self._next_time(state)
                assert at is not None, "nothing is awaited"
                return state._replace(now=at)
            case "lose":
                return state._replace(letters=frozenset())
            case "reachable" | "unreachable":
                self.cast.meet(rest[0], is_reachable=word == "reachable")
                return state
            case "sweep":
                due = [request for request in self.stage.table(state, "requests") if is_due(request, state.now)]
                for request in due:
                    state = self._play(state, f"sweep {self.cast.short(request)}", "", (), request)
                return state
            case "deliver":
                channels = {word.partition(":")[2]} - {""} or {"chat", "text", "system"}
                how = rest[0].upper() if rest else ""
                for number in sorted(state.letters):
                    if self.stage.letters.values[number].queue in channels:
                        state = self._play(state, step, how, (number,))
                return state
            case "bounce":
                state = self.stage.receipt(state, state.truth.owed[0], ReceiptOutcome.BOUNCED)
                return self._play(state, step, "", (max(state.letters),))
            case _:
                return self._play(state, step, "", (self.stage.letters.of(self.cast.letter(step)),))

    def _play(self, state: State, name: str, how: str, taken: tuple[int, ...], request: Request | None = None) -> State:
        """Run one thing to its end, everything going as it should, except for what the provider answers."""
        moves = list(self._begin(name, taken, state._replace(letters=state.letters - set(taken)), request))
        while True:
            move = next((move for move in moves if how and move.step.how == how), None)
            move = move or next(move for move in moves if not move.is_fault)
            if not move.state.processes:
                return move.state
            moves = list(self._go_on(move.state.processes[0], move.state._replace(processes=()), name))

    # ---------------------------------------------------------------- what can happen

    def moves(self, state: State) -> Iterator[Move]:
        """Every step from a state."""
        for place, process in enumerate(state.processes):
            others = state.processes[:place] + state.processes[place + 1 :]
            yield from self._go_on(process, state._replace(processes=others), process.name)
        yield from self._environment(state)
        yield from self._receive(state)
        yield from self._sweep(state)
        yield from self._pass_time(state)

    def _spent(self, state: State, fault: str) -> State | None:
        """The state with one fault of a kind less to come; None where there is none left."""
        if not self.is_begun:
            return state
        place = self._places.get(fault)
        budget = state.budget
        if place is None or not budget[place]:
            return None
        budget = (*budget[:place], budget[place] - 1, *budget[place + 1 :])
        spent = sum(self.configuration.faults.values()) - sum(budget)
        if spent >= self.configuration.total:
            budget = (0,) * len(budget)
        return state._replace(budget=budget)

    def without_idle(self, state: State) -> State:
        """The state without what only faults would ask for that can't come any more."""
        budget, places = state.budget, self._places
        if state.old and not ("stale" in places and budget[places["stale"]]):
            state = state._replace(old=frozenset())
        if any(budget[place] for place in self._deaths):
            return state
        processes = state.processes
        if any(process.has_effect for process in processes):
            idle = sorted([process._replace(has_effect=False) for process in processes])
            state = state._replace(processes=tuple(idle))
        return state

    # ---------------------------------------------------------------- processes

    def _go_on(self, process: Process, state: State, name: str) -> Iterator[Move]:
        """Each of a process's pending calls with each of its answers, and its death."""
        if process.has_effect:
            spent = self._spent(state, "crash")
            if spent is not None:
                yield Move(Step(f"{name} DIES"), is_fault=True, state=self._put_back(process, spent))
        self._who = name
        for came in self._outcomes(process.point, state):
            budget = state.budget
            if came.fault is not None:
                spent = self._spent(state, came.fault)
                if spent is None:
                    continue
                budget = spent.budget
            after = State(
                state.now,
                came.rows,
                came.old,
                state.letters | came.letters,
                state.processes,
                budget,
                came.truth
                or (
                    state.truth._replace(not_carrying=state.truth.not_carrying | came.claims)
                    if came.claims
                    else state.truth
                ),
            )
            went = Process(
                process.name,
                () if came.lets_go else process.letters,
                process.claim,
                came.point,
                process.dies_at,
                process.has_effect or came.is_effect,
            )
            step = Step(name, process.point, came.task, came.how)
            if not self.runner.points[came.point].is_over:
                yield Move(step, came.fault is not None, self._with(went, after))
            else:
                yield from self._end(went, after, step, is_fault=came.fault is not None)

    def _outcomes(self, number: int, state: State) -> Sequence[_Came]:
        """What may come of a point's calls in a state, which only its rows and its time decide; looked up or found."""
        point = self.runner.points[number]
        is_local = all(call.port not in {"sender", "evidence"} for call in point.calls.values())
        key = (number, state.rows, state.old, state.now)
        if is_local:
            known = self._known.get(key)
            if known is not None:
                return known
            state = State(state.now, state.rows, state.old, frozenset(), (), (), Truth())
        found: list[_Came] = []
        for task, call in point.calls.items():
            self.attempt = Step(self._who, number, task)
            for seen in self.stage.perform(state, call):
                if seen.fault is not None and seen.fault not in self.configuration.faults and self.is_begun:
                    continue
                after = seen.state
                following = self._run_on(self.runner.follow(point, task, seen.answer, state.now), after)
                found.append(
                    _Came(
                        task=task,
                        how=seen.how,
                        fault=seen.fault,
                        rows=after.rows,
                        old=after.old,
                        letters=after.letters if is_local else frozenset(),
                        claims=after.truth.not_carrying if is_local else frozenset(),
                        truth=None if is_local else after.truth,
                        point=following.number,
                        is_effect=call.port in {"sender", "queues"} or after.rows != state.rows,
                        lets_go=call.port == "inbox",
                    )
                )
        if is_local:
            self._known[key] = found
        return found

    def _end(self, process: Process, state: State, step: Step, *, is_fault: bool) -> Iterator[Move]:
        """The last answer has come: what becomes of the process's letters."""
        if process.has_effect and process.letters:
            for fault, how in (("crash", "AND DIES"), ("dup", "AND A DUPLICATE STAYS")):
                spent = self._spent(state, fault)
                if spent is not None:
                    died = self._put_back(process, spent)
                    yield Move(step._replace(how=f"{step.how} {how}"), is_fault=True, state=died)
        yield Move(step, is_fault=is_fault, state=self._ended(process, self.runner.points[process.point], state))

    def _run_on(self, point: Point, state: State) -> Point:
        """Answer what can be answered in any order, here and now."""
        while not point.is_over:
            for task, call in point.calls.items():
                if not self._is_foregone(call, state):
                    continue
                following = self.runner.follow(point, task, self.stage.read(state, call), state.now)
                if following.read_clock and self.configuration.pace != "quiet":
                    continue
                point = following
                break
            else:
                return point
        return point

    def _is_foregone(self, call: Call, state: State) -> bool:
        if self.stage.is_static(call):
            return True
        if call.name != "requests.get" or call.options.get("consistent") is False:
            return False
        workspace, request = call.args
        row = next((row for row in self.stage.table(state, "requests") if row.request_id == request), None)
        return row is not None and row.workspace_id == workspace and never_written_again(row)

    def _with(self, process: Process, state: State) -> State:
        if not state.processes:
            return state._replace(processes=(process,))
        return state._replace(processes=tuple(sorted((*state.processes, process))))

    def _put_back(self, process: Process, state: State) -> State:
        """The state once a process has died: its letters are still there."""
        kept = {number for number in process.letters if self.stage.letters.values[number].queue != "errand"}
        return self._forget(state._replace(letters=state.letters | kept), process)

    def _ended(self, process: Process, point: Point, state: State) -> State:
        outcome = point.outcome
        if isinstance(outcome, Exception) and not isinstance(outcome, (Conflict, StoreUnavailable)):
            raise Violation(f"{process.name} raised {outcome!r}")
        if isinstance(outcome, Exception) or outcome is False:
            return self._put_back(process, state)
        if process.name.startswith("withdraw R"):
            key = process.name.removeprefix("withdraw ")
            rows = self.stage.table(state, "requests")
            self.stage.judge.at_withdrawn(next((row for row in rows if row.request_key == key), None))
        left: set[int] = set()
        if isinstance(outcome, set):  # of a batch: what has to come again
            left = {number for number in process.letters if str(number) in outcome}
        gone = set(process.letters) - left
        letters = (state.letters - gone) | left if self._is_shared(process) else state.letters | left
        return self._forget(state._replace(letters=letters), process)

    def _is_shared(self, process: Process) -> bool:
        """Whether its letters stayed in their queue while it ran."""
        return bool(process.letters) and self._slots(process.name) > 1

    def _forget(self, state: State, process: Process) -> State:
        """Drop what was only remembered for the process."""
        if process.claim and state.truth.not_carrying:
            kept = frozenset(item for item in state.truth.not_carrying if item[0].rpartition(".")[0] != process.claim)
            if kept != state.truth.not_carrying:
                state = state._replace(truth=state.truth._replace(not_carrying=kept))
        return self.stage.at_ease(state)

    # ---------------------------------------------------------------- beginnings

    def _slots(self, name: str) -> int:
        """How many functions may hold a letter at the same time."""
        return self.configuration.slots.get(name.split(maxsplit=1)[0], 1)

    def _receive(self, state: State) -> Iterator[Move]:
        letters = self.stage.letters.values
        visible = sorted(number for number in state.letters if letters[number].hidden_until is None)
        for number in visible:
            letter: Letter = letters[number]
            name = self.cast.name_of(letter)
            yield from self._mishaps(state, number, letter, name)
            if letter.queue in self.configuration.poisoned:
                continue
            holders = sum(number in process.letters for process in state.processes)
            slots = self._slots(name)
            if holders >= slots:
                continue
            taken: tuple[int, ...] = (number,)
            if self.configuration.batches and letter.queue in {"chat", "text"}:
                taken = tuple(item for item in visible if letters[item].queue == letter.queue)
                if number != taken[0]:
                    continue
            left = state if slots > 1 else state._replace(letters=state.letters - set(taken))
            yield from self._begin(name, taken, left)

    def _mishaps(self, state: State, number: int, letter: Letter, name: str) -> Iterator[Move]:
        if letter.queue == "errand":
            return
        spent = self._spent(state, "lose")
        if spent is not None:
            lost = spent._replace(letters=state.letters - {number})
            if letter.queue == "receipts":
                delivery = self.cast.delivery_of(letter)
                told = tuple(item for item in lost.truth.told if item[0] != delivery)
                lost = lost._replace(truth=lost.truth._replace(told=told))
            yield Move(Step(f"LOSE {name}"), is_fault=True, state=lost)
        spent = self._spent(state, "loseall")
        if spent is not None:
            kept = frozenset(item for item in state.letters if self.stage.letters.values[item].queue == "errand")
            if kept != state.letters:
                yield Move(Step("PURGE ALL QUEUES"), is_fault=True, state=spent._replace(letters=kept))
        if not letter.queue.startswith("dead:") and letter.queue != "receipts":
            is_poisoned = letter.queue in self.configuration.poisoned
            spent = state if is_poisoned else self._spent(state, "poison")
            if spent is not None:
                dead = self.stage.letters.of(Letter(f"dead:{letter.queue}", letter.body))
                died = spent._replace(letters=state.letters - {number} | {dead})
                yield Move(Step(f"{name} TO THE DEAD LETTERS"), is_fault=not is_poisoned, state=died)

    def _sweep(self, state: State) -> Iterator[Move]:
        sweeping = [process for process in state.processes if process.name.startswith("sweep")]
        if len(sweeping) >= self.configuration.sweeps:
            return
        for request in self.stage.table(state, "requests"):
            name = f"sweep {self.cast.short(request)}"
            if is_due(request, state.now) and all(process.name != name for process in sweeping):
                yield from self._begin(name, (), state, request)

    def _begin(self, name: str, taken: tuple[int, ...], state: State, request: Request | None = None) -> Iterator[Move]:
        key = (name, taken)
        begun = self._programs.get(key)
        if begun is None:
            begun = self._programs[key] = self.cast.program(taken, request)
        run, seconds, needs_claim = begun
        claim = self._free_claim(state) if needs_claim else ""
        place = (name, taken, claim, state.rows, state.now)
        point = self._beginnings.get(place)
        if point is None:
            program = Program((name, taken, claim), run, claim, state.now)
            point = self._beginnings[place] = self._run_on(self.runner.begin(program), state)
        process = Process(name, taken, claim, point.number, state.now + timedelta(seconds=seconds), has_effect=False)
        if point.is_over:
            yield Move(Step(name), is_fault=False, state=self._ended(process, point, state))
            return
        yield from self._go_on(process, state, f"begin {name}:")

    def _free_claim(self, state: State) -> str:
        """A name that nothing in the state mentions."""
        used = {process.claim for process in state.processes}
        for notice in self.stage.table(state, "notices"):
            used |= {str(item.claim_id).rpartition(".")[0] for item in notice.deliveries if item.claim_id}
        for number, _ in state.truth.flying:
            used.add(str(self.stage.outgoing.values[number].claim_id).rpartition(".")[0])
        for number in state.truth.owed:
            used.add(str(self.stage.outgoing.values[number].claim_id).rpartition(".")[0])
        for number in state.letters:
            letter: Letter = self.stage.letters.values[number]
            if not isinstance(letter.body, str):
                used.add(str(letter.body.claim_id).rpartition(".")[0])
        return next(name for name in (f"claim-{count}" for count in range(100)) if name not in used)

    # ---------------------------------------------------------------- the world outside

    def _environment(self, state: State) -> Iterator[Move]:
        truth = state.truth
        for number, until in truth.flying:
            name = self.cast.delivery_name(self.stage.outgoing.values[number])
            flying = tuple(item for item in truth.flying if item != (number, until))
            landed = state._replace(truth=truth._replace(flying=flying))
            yield Move(Step(f"the late send of {name} is lost"), is_fault=False, state=landed)
            arrived = self.stage.reach(landed, number)
            yield Move(Step(f"the late send of {name} arrives"), is_fault=False, state=arrived)
        for number in truth.owed:
            name = self.cast.delivery_name(self.stage.outgoing.values[number])
            owed = tuple(item for item in truth.owed if item != number)
            silent = state._replace(truth=truth._replace(owed=owed))
            yield Move(Step(f"no receipt for {name}, ever"), is_fault=False, state=silent)
            for outcome in (ReceiptOutcome.DELIVERED, ReceiptOutcome.BOUNCED):
                if outcome is ReceiptOutcome.DELIVERED or self.configuration.has_bounces:
                    said = self.stage.receipt(state, number, outcome)
                    yield Move(Step(f"receipt for {name}: {outcome}"), is_fault=False, state=said)
        if truth.is_refusing:
            relented = state._replace(truth=truth._replace(is_refusing=False))
            yield Move(Step("the token is restored"), is_fault=False, state=relented)

    def _visible(self, state: State, but: frozenset[int] = frozenset()) -> bool:
        return any(self.stage.letters.values[number].hidden_until is None for number in state.letters - but)

    def _next_time(self, state: State) -> datetime | None:
        """When something begins to matter next."""
        times = self._times.get(state.rows)
        if times is None:
            times = self._times[state.rows] = list(self.cast.stops)
            for request in self.stage.table(state, "requests"):
                times += [at for at in (request.due_at, request.expires_at) if at is not None]
        letters = [self.stage.letters.values[number].hidden_until for number in state.letters]
        return min((at for at in (*times, *letters) if at is not None and at > state.now), default=None)

    def _pass_time(self, state: State) -> Iterator[Move]:
        if self._has_to_wait(state):
            return
        at = self._next_time(state)
        if at is None or any(process.dies_at <= at for process in state.processes):
            return
        if any(until <= at for _, until in state.truth.flying):
            return
        if at > self.cast.begun_at + HORIZON:
            raise Violation("something is still due after sixty days")
        numbers = self.stage.letters
        letters = frozenset(
            numbers.of(Letter(letter.queue, letter.body))
            if (letter := numbers.values[number]).hidden_until is not None and letter.hidden_until <= at
            else number
            for number in state.letters
        )
        passed = state._replace(now=at, letters=letters, old=frozenset())
        yield Move(Step(f"time passes to {self.cast.clock(at)}"), is_fault=False, state=passed)

    def _has_to_wait(self, state: State) -> bool:
        """Whether time may not pass yet, at the configuration's pace."""
        pace = self.configuration.pace
        if pace == "late":
            return False
        if pace == "quiet" and (state.processes or state.truth.flying):
            return True
        is_due_now = any(is_due(row, state.now) for row in self.stage.table(state, "requests"))
        return is_due_now or self._visible(state, but=self._unsent)

    # ---------------------------------------------------------------- the search

    def explore(self, *, states_max: int = 1_000_000, seconds_max: float = 300) -> Result:
        """Every state, then whether each can still come to an end without another fault.

        The caps are states, and seconds of the processor.
        """
        was_collecting = gc.isenabled()
        gc.disable()
        try:
            with self.configuration.limits():
                return _Search(self, states_max, seconds_max).run()
        finally:
            if was_collecting:
                gc.enable()

    def tell(self, steps: Sequence[Step]) -> list[str]:
        """A readable history."""
        return [self._told(step) for step in steps]

    def _told(self, step: Step) -> str:
        if step.point < 0:
            return step.what
        call = self.runner.points[step.point].calls[step.task]
        return f"{step.what} {call.name} {self.cast.told(call)} {step.how}".rstrip()


class _Search:
    """Breadth first, each state kept as a 64-bit hash, with the step that led to it."""

    def __init__(self, explorer: Explorer, states_max: int, seconds_max: float) -> None:
        self.explorer = explorer
        self.states_max = states_max
        self.ends_at = time.process_time() + seconds_max
        self.begun = time.process_time()
        self.parents = array("i", [-1])
        self.labels = array("i", [0])
        self.depths = array("i", [0])
        self.steps: list[Step] = [Step("")]
        self.numbers: dict[Step, int] = {Step(""): 0}
        self.sources, self.targets = array("i"), array("i")
        self.ends: list[int] = []

    def run(self) -> Result:
        explorer = self.explorer
        first = explorer.begin()
        seen: dict[int, int] = {hash(first): 0}
        front = deque([(0, first)])
        while front:
            if len(seen) > self.states_max or time.process_time() > self.ends_at:
                return self._result(is_complete=False)
            number, state = front.popleft()
            is_end = True
            try:
                for move in explorer.moves(state):
                    is_end = is_end and move.is_fault
                    after = explorer.without_idle(move.state)
                    key = hash(after)
                    known = seen.get(key)
                    if known is None:
                        known = seen[key] = len(self.parents)
                        self._add(number, move.step)
                        front.append((known, after))
                    if not move.is_fault and known != number:
                        self.sources.append(number)
                        self.targets.append(known)
                if not state.letters and not state.processes:
                    explorer.attempt = Step("nothing is under way")
                    explorer.cast.check_quiet(state)
                if is_end:
                    explorer.attempt = Step("nothing more can happen")
                    explorer.cast.check_end(state)
                    self.ends.append(number)
            except Violation as found:
                return self._result(is_complete=False, violation=str(found), at=number, last=explorer.attempt)
        stuck = self._stuck()
        if stuck is not None:
            result = self._result(is_complete=True, violation="STUCK: no way leads to an end from here", at=stuck)
            result.trace += self._round(first, stuck)
            return result
        return self._result(is_complete=True)

    def _add(self, parent: int, step: Step) -> None:
        label = self.numbers.get(step)
        if label is None:
            label = self.numbers[step] = len(self.steps)
            self.steps.append(step)
        self.parents.append(parent)
        self.labels.append(label)
        self.depths.append(self.depths[parent] + 1)

    def _trace(self, number: int, last: Step | None) -> list[str]:
        steps: list[Step] = [last] if last else []
        while self.parents[number] >= 0:
            steps.append(self.steps[self.labels[number]])
            number = self.parents[number]
        return self.explorer.tell(steps[::-1])

    def _stuck(self) -> int | None:
        """The first state from which no way without a fault leads to an end."""
        count = len(self.parents)
        degrees = array("i", bytes(4 * (count + 1)))
        for target in self.targets:
            degrees[target + 1] += 1
        for place in range(count):
            degrees[place + 1] += degrees[place]
        position, reverse = array("i", degrees), array("i", bytes(4 * len(self.targets)))
        for source, target in zip(self.sources, self.targets, strict=True):
            reverse[position[target]] = source
            position[target] += 1
        reaches = bytearray(count)
        for end in self.ends:
            reaches[end] = 1
        left = list(self.ends)
        while left:
            at = left.pop()
            for place in range(degrees[at], degrees[at + 1]):
                before = reverse[place]
                if not reaches[before]:
                    reaches[before] = 1
                    left.append(before)
        found = reaches.find(0)
        return None if found < 0 else found

    def _round(self, first: State, stuck: int) -> list[str]:
        """What goes on from a stuck state without another fault, until it comes round."""
        steps: list[Step] = []
        number = stuck
        while self.parents[number] >= 0:
            steps.append(self.steps[self.labels[number]])
            number = self.parents[number]
        explorer, state = self.explorer, first
        for step in reversed(steps):
            state = explorer.without_idle(next(move.state for move in explorer.moves(state) if move.step == step))
        seen = {state}
        going: list[Step] = []
        while True:
            moves = (move for move in explorer.moves(state) if not move.is_fault)
            found = next((move for move in moves if explorer.without_idle(move.state) not in seen), None)
            if found is None:
                return ["... and then, for ever:", *explorer.tell(going)]
            going.append(found.step)
            state = explorer.without_idle(found.state)
            seen.add(state)

    def _result(
        self, *, is_complete: bool, violation: str | None = None, at: int = 0, last: Step | None = None
    ) -> Result:
        return Result(
            name=self.explorer.configuration.name,
            states=len(self.parents),
            edges=len(self.sources),
            depth=max(self.depths),
            runs=self.explorer.runner.runs,
            seconds=round(time.process_time() - self.begun, 1),
            is_complete=is_complete,
            ends=len(self.ends),
            violation=violation,
            trace=self._trace(at, last) if violation else [],
        )


__all__ = ["Explorer", "Move", "Result", "Step"]
