"""The compact texts inside rows: times, JSON, and what a request and a notice hold many of.

A row's size is its price, so that lists are JSON arrays, times within them are microseconds since a time that the row
has anyway, and words that come often are letters. The letters are for ever: a row written today is read by every later
version. A word without a letter stands as it is.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, TypeVar

from notify_core.adapters.dynamodb.errors import RowNotUnderstood
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import ClaimId, Recipient, RequestId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import Contributor, Delivery, TimelineEntry
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Exclusion, ManifestEntry, Planned

Member = TypeVar("Member", bound=StrEnum)
Thing = TypeVar("Thing")

MANIFESTS_REMEMBERED: Final = 64
"""Some 3 MB in all, were every one of them for 200 people."""
CHANNELS: Final[Mapping[Channel, str]] = {
    Channel.CONSOLE: "C",
    Channel.CHAT: "M",
    Channel.TEXT: "T",
    Channel.SLACK_SYSTEM: "S",
}
PLANS: Final[Mapping[tuple[DeliveryState, DeliveryReason | None], str]] = {
    (DeliveryState.QUEUED, None): "q",
    (DeliveryState.DELIVERED, None): "d",
    (DeliveryState.SKIPPED, DeliveryReason.NO_ADDRESS): "n",
    (DeliveryState.SKIPPED, DeliveryReason.OPTED_OUT): "o",
    (DeliveryState.SKIPPED, DeliveryReason.PERSON_INACTIVE): "i",
    (DeliveryState.SKIPPED, DeliveryReason.PERSON_GONE): "g",
    (DeliveryState.UNAVAILABLE, DeliveryReason.CHANNEL_OFF): "u",
}
"""How a delivery may begin."""
ACTORS: Final[Mapping[Actor, str]] = {
    Actor.PRODUCER: "p",
    Actor.PROCESSOR: "a",
    Actor.REPLACEMENT: "l",
    Actor.RETIREMENT: "t",
    Actor.WORKER: "w",
    Actor.RECEIPT: "c",
    Actor.SWEEP: "s",
    Actor.OPERATOR: "o",
    Actor.RECIPIENT: "r",
}
WORDS: Final[Mapping[str, str]] = {
    "queued": "q",
    "deferred": "w",
    "sending": "s",
    "sent": "t",
    "delivered": "d",
    "bounced": "b",
    "failed": "f",
    "cancelled": "c",
    "expired": "e",
    "skipped": "k",
    "unavailable": "u",
    "pending": "p",
    "routed": "r",
    "delivering": "g",
    "partially_delivered": "h",
    "no_channel": "n",
    "superseded": "z",
    "created": "a",
    "folded": "o",
    "handed_over": "v",
    "read": "y",
}
"""What a timeline moves from and to."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CHANNEL_OF: Final = {letter: channel for channel, letter in CHANNELS.items()}
_PLAN_OF: Final = {letter: plan for plan, letter in PLANS.items()}
_ACTOR_OF: Final = {letter: actor for actor, letter in ACTORS.items()}
_WORD_OF: Final = {letter: word for word, letter in WORDS.items()}
_MICROSECOND: Final = timedelta(microseconds=1)
_MOMENT_LENGTH: Final = len("2026-11-30T10:00:00.000000Z")


# ---------------------------------------------------------------- times


def moment_text(at: datetime) -> str:
    """A time in UTC, to the microsecond, always as long: texts sort as times do."""
    if at.tzinfo is None:
        raise ValueError("a time without a zone can't be stored")
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def moment(text: str) -> datetime:
    """The time that a text, or the beginning of an index key, tells."""
    return datetime.fromisoformat(text[:_MOMENT_LENGTH])


def index_key(at: datetime, *identifiers: str) -> str:
    """A sort key that no two rows share; identifiers sort as they would alone, `#` being below all they are made of."""
    return "#".join((moment_text(at), *identifiers))


def _since(base: datetime, at: datetime | None) -> int | None:
    return None if at is None else (at - base) // _MICROSECOND


def _after(base: datetime, microseconds: int | None) -> datetime | None:
    return None if microseconds is None else base + timedelta(microseconds=microseconds)


# ---------------------------------------------------------------- JSON and members


def json_text(value: object) -> str:
    """Compact JSON; lone surrogates, which UTF-8 can't hold, make it all ASCII."""
    text = _ENCODER.encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def member(kind: type[Member], word: str) -> Member:
    """The member of an enumeration that a row names.

    Raises:
        RowNotUnderstood: this version of the code doesn't know it.
    """
    try:
        return kind(word)
    except ValueError:
        raise RowNotUnderstood(f"{word!r} is no {kind.__name__} that this version knows") from None


def _known(table: Mapping[str, Thing], letter: str, what: str) -> Thing:
    try:
        return table[letter]
    except KeyError:
        raise RowNotUnderstood(f"{letter!r} is no {what} that this version knows") from None


def optional_integer(number: float | None) -> int | None:
    """A number that a row may leave out, whole."""
    return None if number is None else int(number)


# ---------------------------------------------------------------- requests


def manifest_text(manifest: Sequence[ManifestEntry]) -> str | None:
    """`channels recipient:plan recipient:plan …`, a letter for each of the channels; None for an empty one.

    Raises:
        ValueError: the plans aren't all over the same channels, or one begins in a way that PLANS has no letter for.
    """
    if not manifest:
        return None
    channels = [planned.channel for planned in manifest[0].plan]
    order = "".join(CHANNELS[channel] for channel in channels)
    return " ".join((order, *(f"{entry.recipient}:{_plan_text(entry, channels)}" for entry in manifest)))


def _plan_text(entry: ManifestEntry, channels: Sequence[Channel]) -> str:
    if [planned.channel for planned in entry.plan] != channels:
        raise ValueError(f"the plan of {entry.recipient} isn't over the definition's channels, in their order")
    return "".join(_planned_letter(planned) for planned in entry.plan)


def _planned_letter(planned: Planned) -> str:
    letter = PLANS.get((planned.state, planned.reason))
    if letter is None:
        raise ValueError(f"no delivery begins as {planned.state} ({planned.reason})")
    return letter


@lru_cache(maxsize=MANIFESTS_REMEMBERED)
def manifest(text: str | None) -> tuple[ManifestEntry, ...]:
    """The manifest in a text; a batch reads its request twice, and every batch of a request has the same."""
    if text is None:
        return ()
    order, *entries = text.split(" ")
    channels = [_known(_CHANNEL_OF, letter, "channel") for letter in order]
    plans: dict[str, tuple[Planned, ...]] = {}
    found: list[ManifestEntry] = []
    for entry in entries:
        recipient, _, letters = entry.partition(":")
        if letters not in plans:
            plans[letters] = tuple(map(_planned, channels, letters))
        found.append(ManifestEntry(recipient=Recipient(recipient), plan=plans[letters]))
    return tuple(found)


def _planned(channel: Channel, letter: str) -> Planned:
    state, reason = _known(_PLAN_OF, letter, "plan")
    return Planned(channel=channel, state=state, reason=reason)


def audience_text(audience: Audience | None) -> str | None:
    """An audience without what it leaves empty."""
    if audience is None:
        return None
    fields = {"people": audience.people, "teams": audience.teams, "roles": audience.roles, "hq": audience.hq}
    return json_text({name: value for name, value in fields.items() if value})


def audience(text: str | None) -> Audience | None:
    """The audience in a text."""
    if text is None:
        return None
    fields: dict[str, Any] = json.loads(text)
    return Audience(
        people=tuple(fields.get("people", ())),
        teams=tuple(fields.get("teams", ())),
        roles=tuple(fields.get("roles", ())),
        hq=fields.get("hq", False),
    )


def exclusions_text(exclusions: Sequence[Exclusion]) -> str | None:
    """Exclusions as `[kind, name, reason]`."""
    return json_text([(item.kind, item.name, item.reason) for item in exclusions]) if exclusions else None


def exclusions(text: str | None) -> tuple[Exclusion, ...]:
    """The exclusions in a text."""
    if text is None:
        return ()
    return tuple(Exclusion(kind=kind, name=name, reason=reason) for kind, name, reason in json.loads(text))


def problems_text(problems: Sequence[Problem]) -> str | None:
    """Problems as `[field, code, message]`."""
    return json_text([(item.field, item.code, item.message) for item in problems]) if problems else None


def problems(text: str | None) -> tuple[Problem, ...]:
    """The problems in a text."""
    if text is None:
        return ()
    return tuple(Problem(field=field, code=code, message=message) for field, code, message in json.loads(text))


# ---------------------------------------------------------------- notices


def contributors_text(contributors: Sequence[Contributor], base: datetime) -> str:
    """Contributors as `[request_id, published, joined]`, and when they left where they have."""
    return json_text([_contributor_line(item, base) for item in contributors])


def _contributor_line(item: Contributor, base: datetime) -> tuple[str | int | None, ...]:
    line = (item.request_id, _since(base, item.published_at), _since(base, item.joined_at))
    return line if item.left_at is None else (*line, _since(base, item.left_at))


def contributors(text: str, base: datetime) -> tuple[Contributor, ...]:
    """The contributors in a text."""
    return tuple(_contributor(base, *line) for line in json.loads(text))


def _contributor(base: datetime, request: str, published: int, joined: int, left: int | None = None) -> Contributor:
    return Contributor(
        request_id=RequestId(request),
        published_at=base + timedelta(microseconds=published),
        joined_at=base + timedelta(microseconds=joined),
        left_at=_after(base, left),
    )


def deliveries_text(deliveries: Sequence[Delivery], base: datetime) -> str:
    """All deliveries but their states: `{channel: {u, n, r, f, i, a, t, x, p, c}}`, without what is none or zero.

    u updated_at, n attempts, r reason, f failing_since, i claim_id, a claimed_at, t address, x next_at, p provider_id,
    c provider_channel.
    """
    return json_text(
        {
            CHANNELS[item.channel]: {
                "u": _since(base, item.updated_at),
                **({"n": item.attempts} if item.attempts else {}),
                **{key: value for key, value in _optional(item, base) if value is not None},
            }
            for item in deliveries
        }
    )


def _optional(item: Delivery, base: datetime) -> Sequence[tuple[str, str | int | None]]:
    return (
        ("r", item.reason),
        ("f", _since(base, item.failing_since)),
        ("i", item.claim_id),
        ("a", _since(base, item.claimed_at)),
        ("t", item.address),
        ("x", _since(base, item.next_at)),
        ("p", item.provider_id),
        ("c", item.provider_channel),
    )


def deliveries(text: str, states: Mapping[Channel, str], base: datetime) -> tuple[Delivery, ...]:
    """The deliveries in a text, with the states that stand beside it."""
    return tuple(
        _delivery(_known(_CHANNEL_OF, letter, "channel"), fields, states, base)
        for letter, fields in json.loads(text).items()
    )


def _delivery(channel: Channel, fields: Mapping[str, Any], states: Mapping[Channel, str], base: datetime) -> Delivery:
    claim = fields.get("i")
    return Delivery(
        channel=channel,
        state=member(DeliveryState, states[channel]),
        reason=fields.get("r"),
        attempts=fields.get("n", 0),
        failing_since=_after(base, fields.get("f")),
        claim_id=None if claim is None else ClaimId(claim),
        claimed_at=_after(base, fields.get("a")),
        address=fields.get("t"),
        next_at=_after(base, fields.get("x")),
        provider_id=fields.get("p"),
        provider_channel=fields.get("c"),
        updated_at=base + timedelta(microseconds=fields["u"]),
    )


def timeline_text(timeline: Sequence[TimelineEntry], base: datetime) -> str | None:
    """Moves as `[at, channel, from, to, by]`, and the reason where there is one; `0` for no channel and no source."""
    if not timeline:
        return None
    return json_text([_line(entry, base) for entry in timeline])


def _line(entry: TimelineEntry, base: datetime) -> tuple[object, ...]:
    line = (
        _since(base, entry.at),
        CHANNELS[entry.channel] if entry.channel else 0,
        WORDS.get(entry.source, entry.source) if entry.source else 0,
        WORDS.get(entry.target, entry.target),
        ACTORS[entry.by],
    )
    return line if entry.reason is None else (*line, entry.reason)


def timeline(text: str | None, base: datetime) -> tuple[TimelineEntry, ...]:
    """The timeline in a text."""
    if text is None:
        return ()
    return tuple(_entry(base, *line) for line in json.loads(text))


def _entry(
    base: datetime,
    at: int,
    channel: str | int,
    source: str | int,
    target: str,
    by: str,
    reason: str | None = None,
) -> TimelineEntry:
    return TimelineEntry(
        at=base + timedelta(microseconds=at),
        channel=_known(_CHANNEL_OF, channel, "channel") if isinstance(channel, str) else None,
        source=_WORD_OF.get(source, source) if isinstance(source, str) else None,
        target=_WORD_OF.get(target, target),
        by=_known(_ACTOR_OF, by, "actor"),
        reason=reason,
    )
