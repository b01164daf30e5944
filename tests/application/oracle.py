"""What ought to become of publications: the seeds' rules, written down again by hand without the platform's code.

It hears what was processed and when, and keeps its own books. Two channels only: the console, shown at once, and chat,
which always gets through when its message is processed.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

FOLDED_MAX = 50


@dataclass(frozen=True)
class Kind:
    """A definition, as far as outcomes depend on it."""

    lasts: timedelta
    replaces: bool = False
    folds_within: timedelta | None = None


@dataclass
class Told:
    """A person's notice: the requests behind it, as published, and which of them have left it."""

    person: str
    begun_at: datetime
    requests: list["Asked"]
    left: list["Asked"] = field(default_factory=list)
    title: str = ""
    chat: str = "queued"
    is_read: bool = False
    is_superseded: bool = False

    @property
    def count(self) -> int:
        return len(self.requests) - len(self.left)


@dataclass
class Asked:
    """A request key, from the first that is heard of it."""

    key: str
    state: str = "queued"
    reason: str | None = None
    kind: str = ""
    version: int = 0
    number: str | None = ""
    people: tuple[str, ...] = ()
    published_at: datetime | None = None
    expires_at: datetime | None = None
    not_before: datetime | None = None
    replacement_key: str | None = None
    fold_key: str | None = None
    rank: str = ""
    was_accepted: bool = False
    differs: bool = False
    body: dict[str, Any] = field(default_factory=dict)

    def ends(self, state: str, reason: str | None = None) -> None:
        self.state, self.reason = state, reason

    def carries(self, now: datetime) -> bool:
        alive = self.state == "open" or (self.state == "cancelled" and self.was_accepted)
        return alive and self.expires_at is not None and now < self.expires_at


@dataclass
class Head:
    """A replacement key: its newest accepted request, and until when it is withdrawn."""

    current: Asked | None = None
    withdrawn_at: datetime | None = None


class Oracle:
    """The books."""

    def __init__(self, kinds: dict[str, Kind], people: set[str]) -> None:
        self.kinds = kinds
        self.people = people
        self.versions = dict.fromkeys(kinds, 1)
        self.retired = dict.fromkeys(kinds, 0)
        """The newest version of each kind that was retired."""
        self.asked: dict[str, Asked] = {}
        self.heads: dict[tuple[str, str], Head] = {}
        self.told: list[Told] = []
        self.marks: dict[str, datetime] = {}
        self.sent: Counter[tuple[str, str]] = Counter()
        """How often which number reached whom over chat."""

    # ---------------------------------------------------------------- producers

    def published(self, body: dict[str, Any], rank: str, now: datetime) -> None:
        """A publication was processed; `rank` orders those of equal times."""
        found = self.asked.get(body["request_key"])
        if found is None:
            found = self.asked[body["request_key"]] = Asked(key=body["request_key"], body=body, rank=rank)
        elif found.body:
            found.differs = found.differs or _content(found.body) != _content(body)
        if found.state == "queued":
            self._judge(found, found.body, now)
        elif found.state == "open" and self._is_retired(found):
            found.ends("cancelled", "definition_retired")

    def _judge(self, asked: Asked, body: dict[str, Any], now: datetime) -> None:
        kind = self.kinds[body["definition"]]
        asked.kind, asked.version = body["definition"], self.versions[body["definition"]]
        asked.published_at = _time(body["published_at"])
        asked.not_before, deadline = _time(body["not_before"]), _time(body["deadline"])
        assert asked.published_at is not None
        too_old_at = asked.published_at + kind.lasts
        asked.expires_at = too_old_at if deadline is None else min(deadline, too_old_at)
        asked.replacement_key, asked.fold_key = body["replacement_key"], body["fold_key"]
        asked.number, asked.people = body["data"].get("number"), tuple(sorted(body["audience"]["people"]))
        eligible = [person for person in asked.people if person in self.people]
        head = self.heads.get((asked.kind, asked.replacement_key or ""), Head())
        is_contradictory = asked.not_before is not None and asked.not_before >= asked.expires_at
        if self._is_retired(asked) or is_contradictory:
            asked.ends("invalid")
        elif head.withdrawn_at is not None and asked.published_at <= head.withdrawn_at:
            asked.ends("cancelled", "withdrawn")
        elif head.current is not None and _is_newer(head.current, asked):
            asked.ends("cancelled", "replaced_before_acceptance")
        elif now >= asked.expires_at:
            asked.ends("expired", "deadline" if deadline is not None and deadline <= too_old_at else "age")
        elif asked.not_before is not None and now < asked.not_before:
            asked.ends("queued")
        elif asked.number is None:
            asked.ends("invalid")
        elif not eligible:
            asked.ends("no_recipients")
        else:
            self._accept(asked, eligible, now)

    def _accept(self, asked: Asked, eligible: list[str], now: datetime) -> None:
        asked.ends("open")
        asked.was_accepted = True
        for person in eligible:
            self._tell(asked, person, now)
        if asked.replacement_key is not None:
            head = self.heads.setdefault((asked.kind, asked.replacement_key), Head())
            before, head.current = head.current, asked
            if before is not None and before.state == "open":
                before.ends("superseded", "replaced")
                self._end_share(before, now)

    def _tell(self, asked: Asked, person: str, now: datetime) -> None:
        live = self._live(asked, person, now) if asked.fold_key is not None else None
        if live is None:
            live = Told(person=person, begun_at=now, requests=[])
            self.told.append(live)
        live.requests.append(asked)
        live.requests.sort(key=_order)
        if asked is [other for other in live.requests if other not in live.left][-1]:
            live.title = str(asked.number)

    def _live(self, asked: Asked, person: str, now: datetime) -> Told | None:
        same = [
            told
            for told in self.told
            if told.person == person
            and (told.requests[0].kind, told.requests[0].fold_key) == (asked.kind, asked.fold_key)
        ]
        within = self.kinds[asked.kind].folds_within
        assert within is not None
        if not same:
            return None
        newest = same[-1]
        is_open = now < newest.begun_at + within and len(newest.requests) < FOLDED_MAX
        is_fit = newest.chat in {"queued", "delivered"} and not self._is_read(newest) and not newest.is_superseded
        return newest if is_open and is_fit else None

    def withdrawn(self, body: dict[str, Any], now: datetime) -> None:
        """A withdrawal was processed."""
        if body.get("request_key") is not None:
            asked = self.asked.setdefault(body["request_key"], Asked(key=body["request_key"]))
            self._withdraw(asked, now, is_tombstone=True)
            return
        head = self.heads.setdefault((body["definition"], body["replacement_key"]), Head())
        at = _time(body["withdrawn_at"])
        assert at is not None
        head.withdrawn_at = at if head.withdrawn_at is None else max(at, head.withdrawn_at)
        current = head.current
        if current is not None and current.published_at is not None and current.published_at <= at:
            self._withdraw(current, now, is_tombstone=False)

    def _withdraw(self, asked: Asked, now: datetime, *, is_tombstone: bool) -> None:
        if asked.state == "queued" and is_tombstone:
            asked.ends("cancelled", "withdrawn")
        elif asked.state == "open":
            asked.ends("superseded", "withdrawn")
            self._end_share(asked, now)

    # ---------------------------------------------------------------- registrars, recipients, time

    def definition_retired(self, kind: str) -> None:
        """A definition was retired; its requests are closed when that is processed."""
        self.retired[kind] = self.versions[kind]

    def definition_registered_again(self, kind: str) -> None:
        """A retired definition is active again, as its next version."""
        if self.retired[kind] == self.versions[kind]:
            self.versions[kind] += 1

    def retirement_processed(self, kind: str) -> None:
        """The open requests of the retired versions were closed."""
        for asked in self.asked.values():
            if asked.kind == kind and asked.state == "open" and self._is_retired(asked):
                asked.ends("cancelled", "definition_retired")

    def _is_retired(self, asked: Asked) -> bool:
        return asked.version <= self.retired[asked.kind]

    def swept(self, key: str, now: datetime) -> None:
        """A request that was due was swept."""
        asked = self.asked[key]
        is_past = asked.expires_at is not None and now >= asked.expires_at
        if asked.state == "queued" and is_past:
            assert asked.published_at is not None
            is_age = asked.expires_at == asked.published_at + self.kinds[asked.kind].lasts
            is_deadline = _time(asked.body["deadline"]) == asked.expires_at
            asked.ends("expired", "deadline" if is_deadline or not is_age else "age")
        elif asked.state == "open" and self._is_retired(asked):
            asked.ends("cancelled", "definition_retired")
        elif asked.was_accepted and is_past:
            self._end_share(asked, now)
            if asked.state == "open":
                asked.ends("settled")

    def dispatched(self, person: str, key: str, now: datetime) -> None:
        """The message of a chat delivery was processed."""
        for told in self._of(self.asked[key]):
            if told.person != person or told.chat != "queued":
                continue
            carrying = [asked for asked in told.requests if asked.carries(now)]
            if carrying:
                told.chat = "delivered"
                self.sent[person, str(carrying[-1].number)] += 1
            else:
                self._end(told, told.requests[-1])

    def read(self, told: Told) -> None:
        told.is_read = True

    def read_all(self, person: str, now: datetime) -> None:
        self.marks[person] = now

    def _is_read(self, told: Told) -> bool:
        mark = self.marks.get(told.person)
        return told.is_read or (mark is not None and told.begun_at <= mark)

    # ---------------------------------------------------------------- sharing

    def _of(self, asked: Asked) -> Iterator[Told]:
        return (told for told in self.told if asked in told.requests)

    def _end_share(self, asked: Asked, now: datetime) -> None:
        for told in self._of(asked):
            if asked in told.left:
                continue
            carrying = [other for other in told.requests if other is not asked and other.carries(now)]
            if not carrying:
                self._end(told, asked)
            elif not told.is_superseded:
                told.left = [other for other in told.requests if other not in carrying]
                told.title = str(carrying[-1].number)

    def _end(self, told: Told, last: Asked) -> None:
        """Nobody carries it any more: superseded by a withdrawal or replacement; past a deadline the console stays."""
        if last.state == "superseded":
            told.is_superseded = True
        if told.chat == "queued":
            told.chat = "cancelled" if last.state == "superseded" else "expired"

    # ---------------------------------------------------------------- what is seen

    def outcomes(self) -> dict[str, tuple[str, str | None, bool]]:
        return {key: (asked.state, asked.reason, asked.differs) for key, asked in self.asked.items()}

    def inbox(self, person: str) -> Counter[tuple[str, int, bool, bool]]:
        """Title, count, superseded, read of each notice."""
        return Counter(
            (told.title, told.count, told.is_superseded, self._is_read(told))
            for told in self.told
            if told.person == person
        )

    def unread(self, person: str) -> int:
        return sum(not self._is_read(told) and not told.is_superseded for told in self.told if told.person == person)


def _is_newer(one: Asked, other: Asked) -> bool:
    return one is not other and _order(one) > _order(other)


def _order(asked: Asked) -> tuple[datetime, str]:
    assert asked.published_at is not None
    return (asked.published_at, asked.rank)


def _content(body: dict[str, Any]) -> tuple[object, ...]:
    said = [body[name] for name in ("data", "replacement_key", "fold_key")]
    return (*said, set(body["audience"]["people"]), _time(body["not_before"]), _time(body["deadline"]))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
