"""Why somebody was told, or not: the platform's answers put into sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from notify_cli.api import Json
from notify_cli.sentences import (
    ACTORS,
    BOUNCES,
    BY_PROVIDERS_CODE,
    CHANNELS,
    DEAD_LETTERED,
    DELIVERIES,
    EXCLUSIONS,
    MOMENTS,
    NOT_FOLDED_YET,
    NOT_MEANT,
    NOT_PROCESSED,
    NOTICES,
    REQUESTS,
    SCHEDULED,
    UNREACHED,
    UNREACHED_REASONS,
    VERDICTS,
    Told,
)

HQ: Final = "-"
_REACHED: Final = frozenset({"delivered"})
_MAY_HAVE: Final = frozenset({("sending", None), ("sent", None)})
_MAY_HAVE_FAILED: Final = frozenset({"outcome_unknown", "receipt_timeout"})
_STILL_TO_COME: Final = frozenset({"queued", "deferred"})
_TELLING: Final = frozenset({"handed_over", "superseded", "expired", "read"})
"""The moves of a notice that its status doesn't tell by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that is said: about what, the state and reason that it comes from, and the sentence."""

    about: str
    state: str | None
    reason: str | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The answer to "why was this person not told?"."""

    person: str
    told: Told
    verdict: str
    lines: Sequence[Line]

    def as_json(self) -> Json:
        """The same for machines."""
        return asdict(self)


def explain(person: str, requests: Sequence[Json], notice: Json | None) -> Explanation:
    """Explain a notice by the requests behind it, or, without one, a request that gave this person none."""
    told = _told(requests, notice)
    who = "The headquarters" if person == HQ else person
    lines = [line for request in requests for line in _about_request(request)]
    if not requests and notice is None:
        lines = [Line(about="request", state=None, reason=None, sentence=NOT_PROCESSED)]
    lines += _about_notice(person, notice) if notice else _without_notice(person, who, requests)
    return Explanation(person=person, told=told, verdict=VERDICTS[told].format(who=who), lines=lines)


def _told(requests: Sequence[Json], notice: Json | None) -> Told:
    """The short answer, from the deliveries; without any, from whether a request may still give some."""
    if notice is None:
        return Told.NOT_YET if any(request["state"] == "queued" for request in requests) else Told.NO
    outcomes = {(item["state"], item["reason"]) for item in notice["deliveries"]}
    states = {state for state, _ in outcomes}
    if states & _REACHED:
        return Told.YES
    if outcomes & _MAY_HAVE or any(reason in _MAY_HAVE_FAILED for _, reason in outcomes):
        return Told.MAYBE
    return Told.NOT_YET if states & _STILL_TO_COME or not states else Told.NO


# ---------------------------------------------------------------- requests


def _about_request(request: Json) -> Iterator[Line]:
    state, reason = request["state"], request["reason"]
    template = REQUESTS.get((state, reason or _why_queued(request)))
    sentence = template.format_map(_shown(request)) if template else _unworded(state, reason)
    yield Line(about="request", state=state, reason=reason, sentence=sentence)
    for problem in request["problems"]:
        field = f"{problem['field']}: " if problem["field"] else ""
        yield Line(about="problem", state=None, reason=problem["code"], sentence=f"{field}{problem['message']}.")


def _why_queued(request: Json) -> str | None:
    if request["state"] != "queued":
        return None
    if request["problems"]:
        return DEAD_LETTERED
    return SCHEDULED if request["not_before"] else None


def _without_notice(person: str, who: str, requests: Sequence[Json]) -> Iterator[Line]:
    """Why a recorded request has no notice for this person."""
    for request in requests:
        own = [item for item in request["exclusions"] if item.get("person") == person]
        groups = [item for item in request["exclusions"] if "person" not in item]
        for item in own or groups:
            yield _about_exclusion(item)
        if not own and _was_resolved(request):
            yield Line(about="audience", state=None, reason=None, sentence=NOT_MEANT.format(who=who))


def _was_resolved(request: Json) -> bool:
    """Whether its audience was ever turned into people."""
    return request["state"] == "no_recipients" or bool(request["notices"])


def _about_exclusion(item: Json) -> Line:
    name = next(value for kind, value in item.items() if kind != "reason")
    template = EXCLUSIONS.get(item["reason"])
    sentence = template.format(name=name) if template else _unworded("excluded", item["reason"])
    return Line(about="audience", state="excluded", reason=item["reason"], sentence=sentence)


# ---------------------------------------------------------------- notices


def _about_notice(person: str, notice: Json) -> Iterator[Line]:
    if notice.get("notice_id") is None:
        yield Line(about="notice", state=notice["status"], reason=None, sentence=NOT_FOLDED_YET)
        return
    status = notice["status"]
    sentence = NOTICES.get(status) or _unworded(status, None)
    yield Line(about="notice", state=status, reason=None, sentence=sentence)
    if count := len(notice["contributors"]) - 1:
        yield Line(about="notice", state=None, reason=None, sentence=_folded(count, notice["contributors"]))
    for entry in notice["timeline"]:
        if entry["channel"] is None and entry["to"] in _TELLING:
            yield _about_moment(entry)
    for item in notice["deliveries"]:
        yield _about_delivery(person, notice["notice_id"], item)


def _folded(others: int, contributors: Sequence[Json]) -> str:
    carrying = sum(item["state"] == "open" for item in contributors)
    return f"It stands for {others + 1} requests folded into one notice, of which {carrying} are open."


def _about_moment(entry: Json) -> Line:
    values = {"by": ACTORS.get(entry["by"], entry["by"]), "at": at_second(entry["at"]), "reason": entry["reason"]}
    sentence = MOMENTS[entry["to"]].format_map(values)
    return Line(about="notice", state=entry["to"], reason=entry["reason"], sentence=sentence)


def _about_delivery(person: str, notice_id: str, item: Json) -> Line:
    state, reason, channel = item["state"], item["reason"], item["channel"]
    values = {**_shown(item), **CHANNELS.get(channel, {}), "notice_id": notice_id, "recipient": person}
    template = _delivery_template(state, reason)
    sentence = template.format_map(values) if template else _unworded(state, reason)
    return Line(about=channel, state=state, reason=reason, sentence=sentence)


def _delivery_template(state: str, reason: str | None) -> str | None:
    if (state, reason) in DELIVERIES:
        return DELIVERIES[state, reason]
    if state == "bounced" and reason is not None and reason in BOUNCES:
        return BOUNCES[reason]
    if state == "deferred" and reason in UNREACHED_REASONS:
        return UNREACHED
    return BY_PROVIDERS_CODE.get(state) if reason else None


def _unworded(state: str, reason: str | None) -> str:
    """What is said of a state that a newer platform may have."""
    return f"It is `{state}`{f' (`{reason}`)' if reason else ''}, which this version of the command has no words for."


def _shown(thing: Json) -> Mapping[str, Any]:
    """Its fields for a sentence: times to the second, what is missing as a dash."""
    return {
        name: at_second(value) if name.endswith("_at") or name == "not_before" else "-" if value is None else value
        for name, value in thing.items()
    }


def at_second(at: str | None) -> str:
    """A time of the API, in UTC to the second; a dash for none."""
    return "-" if at is None else f"{at[:10]} {at[11:19]}Z"
