"""Whether what was answered about a request could have come from one request, asked one thing after the other.

The specification is typed by hand: a dozen rules over a request's state and the head of its replacement key. The search
is Wing and Gong's: try every operation that may come next, remember which sets of operations led to which state, and
give up only when none is left. Requests that share a replacement key are one object; every other stands alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tests.simulation.operations import Operation, WithdrawalResultOnly

Key = tuple[str, str]
"""A definition and a request key."""
Outcome = tuple[str, str | None]
"""A state, and its reason where a withdrawal or a replacement is told from others."""

QUEUED: Outcome = ("queued", None)
OPEN: Outcome = ("open", None)
WITHDRAWN_EARLY: Outcome = ("cancelled", "withdrawn")
REPLACED_EARLY: Outcome = ("cancelled", "replaced_before_acceptance")
WITHDRAWN: Outcome = ("superseded", "withdrawn")
REPLACED: Outcome = ("superseded", "replaced")
RETIRED: Outcome = ("cancelled", "definition_retired")
SETTLED: Outcome = ("settled", None)
EXPIRED: Outcome = ("expired", None)
INVALID: Outcome = ("invalid", None)
NOBODY: Outcome = ("no_recipients", None)
UNDECIDED = {None, QUEUED}
LATER = {None: {None}, QUEUED: {QUEUED, EXPIRED}, OPEN: {OPEN, WITHDRAWN, REPLACED, RETIRED, SETTLED}}
"""What may become of a state by itself, or of an open one by anybody; all others stay."""

STATES_MAX = 200_000
"""After so many a search is given up: no run has come near."""


@dataclass(frozen=True, slots=True)
class State:
    """One object: the state of each of its requests, in the order of its keys, and the head of its replacement key."""

    outcomes: tuple[Outcome | None, ...]
    current: int | None = None
    withdrawn_at: datetime | None = None

    def having(self, number: int, outcome: Outcome) -> "State":
        outcomes = (*self.outcomes[:number], outcome, *self.outcomes[number + 1 :])
        return State(outcomes, self.current, self.withdrawn_at)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a publication said, and the id that equal times are ordered by."""

    published_at: datetime
    request_id: str
    expires_at: datetime | None
    not_before: datetime | None
    replacement_key: str | None


@dataclass(frozen=True, kw_only=True)
class Object:
    """A request, or all those under one replacement key, with everything that was asked of it."""

    operations: Sequence[Operation]
    keys: Sequence[Key]
    facts: Mapping[Key, Facts]
    ends: Mapping[Key, Outcome] = field(default_factory=dict[Key, Outcome])
    """Each request's state in the end; those that were never recorded are missing."""
    retired_at: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """When a definition's first retirement began."""

    def facts_of(self, number: int) -> Facts | None:
        """What is known of the n-th request; None of one that was never well published."""
        return self.facts.get(self.keys[number])


class Undecided(Exception):
    """The search was given up."""


def is_linearizable(thing: Object) -> bool:
    """Whether some order of the operations, true to their times, explains every answer."""
    operations = sorted(thing.operations, key=lambda item: item.began)
    over = [item.over_at for item in operations]
    everything = (1 << len(operations)) - 1
    ends = [thing.ends.get(key) for key in thing.keys]
    first = State((None,) * len(thing.keys))
    pending, seen = [(0, first)], {(0, first)}
    while pending:
        done, state = pending.pop()
        if done == everything:
            if all(end in LATER.get(found, {found}) for found, end in zip(state.outcomes, ends, strict=True)):
                return True
            continue
        left = [number for number in range(len(operations)) if not done >> number & 1]
        until = min(over[number] for number in left)
        steps = [(done, after) for after in _by_itself(state, thing, until, [operations[number] for number in left])]
        for number in left:
            operation = operations[number]
            if operation.began > until:
                break
            after = list(_after(state, operation, thing))
            if after == [state] and _is_plain(operation):
                steps = [(done | 1 << number, state)]  # it changes nothing, here or later: now is as good as then
                break
            is_blocking = over[number] == until
            steps += [(done | 1 << number, found) for found in after if found != state or is_blocking]
        for step in reversed(steps):  # the earliest is tried first
            if step not in seen and _leads_to(step[1], ends):
                seen.add(step)
                pending.append(step)
        if len(seen) > STATES_MAX:
            raise Undecided
    return False


def _leads_to(state: State, ends: Sequence[Outcome | None]) -> bool:
    """Whether every request can still come to its end: an outcome stays, and only an open one moves on."""
    return all(
        found in UNDECIDED or end in LATER.get(found, {found}) for found, end in zip(state.outcomes, ends, strict=True)
    )


def _is_plain(operation: Operation) -> bool:
    """Whether it was answered, and an answer that changed nothing here never stands for a change elsewhere."""
    return operation.answered_at is not None and operation.answer != "later"


# ---------------------------------------------------------------- the specification


def _by_itself(state: State, thing: Object, until: datetime, left: Sequence[Operation]) -> Iterator[State]:
    """What time and a retirement bring about, at any moment from their own on, where anybody could still notice."""
    noticed = {thing.keys.index(key) for operation in left if (key := named(operation)) is not None}
    if state.current is not None:
        noticed.add(state.current)
    for number in sorted(noticed):
        outcome, facts = state.outcomes[number], thing.facts_of(number)
        is_past = facts is not None and facts.expires_at is not None and facts.expires_at <= until
        if outcome == OPEN and is_past:
            yield state.having(number, SETTLED)
        if outcome == QUEUED and is_past:
            yield state.having(number, EXPIRED)
        retired_at = thing.retired_at.get(thing.keys[number][0])
        if outcome == OPEN and retired_at is not None and retired_at <= until:
            yield state.having(number, RETIRED)


def _after(state: State, operation: Operation, thing: Object) -> Iterator[State]:
    """The states that an operation may leave, given what it answered; without an answer it may have left none."""
    is_told = operation.answered_at is not None
    if not is_told:
        yield state
    if operation.kind == "withdraw_key":
        yield from _told(operation, thing, state, *_key_withdrawn(state, operation.asked.withdrawn_at, thing))
        return
    key = named(operation)
    assert key is not None
    number = thing.keys.index(key)
    was = state.outcomes[number]
    match operation.kind:
        case "process":
            yield from _processed(state, number, operation, thing)
        case "withdraw":
            yield from _told(operation, thing, state, *_withdrawn(state, number))
        case "bury" if was in UNDECIDED:
            yield state.having(number, QUEUED)
            yield state.having(number, INVALID)
        case "read" if is_told and operation.answer == was:
            yield state
        case _:
            pass


def _processed(state: State, number: int, operation: Operation, thing: Object) -> Iterator[State]:
    """A publication gets its one outcome, once; whoever comes later finds it."""
    is_told, answer = operation.answered_at is not None, operation.answer
    if is_told and (answer == "later" or (answer == "repeated" and state.outcomes[number] not in UNDECIDED)):
        yield state  # what has to come again has decided nothing
    if state.outcomes[number] in UNDECIDED:
        for after in _outcomes(state, number, operation, thing):
            outcome = after.outcomes[number]
            assert outcome is not None
            if not is_told or answer in {"later" if outcome == QUEUED else outcome[0], "repeated"}:
                yield after


def _outcomes(state: State, number: int, operation: Operation, thing: Object) -> Iterator[State]:
    """Every outcome that the rules leave: times by the operation's own, an order among publications by their heads."""
    yield state.having(number, INVALID)
    facts = thing.facts_of(number)
    if facts is None:
        return
    yield state.having(number, NOBODY)
    if facts.expires_at is not None and facts.expires_at <= operation.over_at:
        yield state.having(number, EXPIRED)
    if facts.not_before is not None and operation.began < facts.not_before:
        yield state.having(number, QUEUED)
    replaces = facts.replacement_key is not None
    if replaces and state.withdrawn_at is not None and facts.published_at <= state.withdrawn_at:
        yield state.having(number, WITHDRAWN_EARLY)
        return
    current = None if state.current in {None, number} else thing.facts_of(state.current or 0)
    if replaces and current is not None and _rank(current) > _rank(facts):
        yield state.having(number, REPLACED_EARLY)
        return
    is_late = facts.expires_at is not None and facts.expires_at <= operation.began
    is_early = facts.not_before is not None and operation.over_at < facts.not_before
    if not is_late and not is_early:
        yield _accepted(state, number) if replaces else state.having(number, OPEN)


def _accepted(state: State, number: int) -> State:
    """Accepted under a replacement key: it takes the place of the one before."""
    before = state.current
    if before is not None and before != number and state.outcomes[before] == OPEN:
        state = state.having(before, REPLACED)
    return replace(state.having(number, OPEN), current=number)


_Answer = tuple[str, int | None, str | None]
"""A withdrawal's result, the request that it was about, and the state of that."""


def _withdrawn(state: State, number: int) -> tuple[State, _Answer]:
    """By request key: on arrival while nothing is accepted, stopped while it is open, nothing after its end."""
    was = state.outcomes[number]
    if was in UNDECIDED or was == WITHDRAWN_EARLY:
        return state.having(number, WITHDRAWN_EARLY), ("on_arrival", number, "cancelled")
    if was == OPEN:
        return state.having(number, WITHDRAWN), ("stopped", number, "superseded")
    assert was is not None
    return state, ("nothing", number, was[0])


def _key_withdrawn(state: State, at: datetime, thing: Object) -> tuple[State, _Answer]:
    """By replacement key: everything published up to a time, accepted or still to come."""
    marked = replace(state, withdrawn_at=at if state.withdrawn_at is None else max(at, state.withdrawn_at))
    current = state.current
    facts = None if current is None else thing.facts_of(current)
    if current is None or facts is None or facts.published_at > at:
        return marked, ("on_arrival", None, None)
    was = state.outcomes[current]
    assert was is not None
    if was == OPEN:
        return marked.having(current, WITHDRAWN), ("stopped", current, "superseded")
    return marked, ("nothing", current, was[0])


def _told(operation: Operation, thing: Object, state: State, after: State, right: _Answer) -> Iterator[State]:
    """The state after a withdrawal, where its answer is the right one; from a queue only its result is heard."""
    answer = operation.answer
    if operation.answered_at is None or answer == WithdrawalResultOnly(right[0]):
        yield after
    elif answer == WithdrawalResultOnly("refused"):
        yield state
    elif answer == (right[0], None if right[1] is None else thing.keys[right[1]], right[2]):
        yield after


def _rank(facts: Facts) -> tuple[datetime, str]:
    return (facts.published_at, facts.request_id)


# ---------------------------------------------------------------- from a run


def objects_of(
    operations: Sequence[Operation],
    facts: Mapping[Key, Facts],
    ends: Mapping[Key, Outcome],
    retired_at: Mapping[str, datetime],
) -> Iterator[Object]:
    """The operations of a run by what they are about; the requests of one replacement key stay together."""
    groups: dict[object, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(_group(operation, facts), []).append(operation)
    for group in groups.values():
        keys = dict.fromkeys(key for operation in group if (key := named(operation)) is not None)
        known = {key: facts[key] for key in keys if key in facts}
        yield Object(operations=group, keys=[*keys], facts=known, ends=ends, retired_at=retired_at)


def named(operation: Operation) -> Key | None:
    """The request that an operation names; None where it names a replacement key."""
    match operation.kind:
        case "withdraw_key":
            return None
        case "read":
            return operation.asked
        case _:
            return str(operation.asked.definition), str(operation.asked.request_key)


def _group(operation: Operation, facts: Mapping[Key, Facts]) -> object:
    if operation.kind == "withdraw_key":
        return str(operation.asked.definition), "replaces", operation.asked.replacement_key
    key = named(operation)
    found = facts.get(key) if key is not None else None
    if key is not None and found is not None and found.replacement_key is not None:
        return key[0], "replaces", found.replacement_key
    return key
