"""Any request and any notice that the types allow."""

from datetime import UTC, datetime
from typing import TypeVar

from hypothesis import strategies as st

from notify_core.adapters.dynamodb.text import PLANS
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import ClaimId, DefinitionKey, NoticeId, Recipient, RequestId, WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import (
    ConsoleContent,
    Contributor,
    Delivery,
    Notice,
    TimelineEntry,
    What,
)
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Exclusion, ManifestEntry, Planned, Request
from notify_core.domain.request_lifecycle import RequestReason, RequestState

T = TypeVar("T")

identifiers = st.text("aZ09._-", max_size=6).map(lambda rest: f"a{rest}")
derived = st.text("aZ09_~", min_size=22, max_size=22)
recipients = (identifiers | st.just("-")).map(Recipient)
keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
words = st.text(max_size=8)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
wire_values = st.dictionaries(
    words.map(lambda word: f"newer_{word}"), st.builds(lambda text: {"S": text}, keys), min_size=1, max_size=2
)
orders = st.permutations(list(Channel)).flatmap(
    lambda order: st.integers(1, len(order)).map(lambda length: tuple(order[:length]))
)


def maybe(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.none() | values


@st.composite
def manifests(draw: st.DrawFn) -> tuple[ManifestEntry, ...]:
    """Recipients with plans over the same channels, in the same order."""
    channels = draw(orders)
    begins = st.lists(st.sampled_from(sorted(PLANS, key=str)), min_size=len(channels), max_size=len(channels))
    return tuple(
        ManifestEntry(
            recipient=recipient,
            plan=tuple(
                Planned(channel=channel, state=state, reason=reason)
                for channel, (state, reason) in zip(channels, draw(begins), strict=True)
            ),
        )
        for recipient in draw(st.lists(recipients, unique=True, max_size=5))
    )


audiences = st.builds(
    Audience,
    people=st.lists(words, max_size=3).map(tuple),
    teams=st.lists(words, max_size=3).map(tuple),
    roles=st.lists(words, max_size=3).map(tuple),
    hq=st.booleans(),
)
requests = st.builds(
    Request,
    workspace_id=identifiers.map(WorkspaceId),
    request_id=derived.map(RequestId),
    definition=identifiers.map(DefinitionKey),
    request_key=keys,
    state=st.sampled_from(RequestState),
    recorded_at=moments,
    version=st.integers(1, 10**6),
    shard=st.integers(0, 63),
    definition_version=maybe(st.integers(1, 10**6)),
    replacement_key=maybe(keys),
    fold_key=maybe(keys),
    reason=maybe(st.sampled_from(RequestReason)),
    caused_by=maybe(st.sampled_from(Actor)),
    published_at=maybe(moments),
    not_before=maybe(moments),
    deadline=maybe(moments),
    expires_at=maybe(moments),
    accepted_at=maybe(moments),
    closed_at=maybe(moments),
    differing_repeat_at=maybe(moments),
    finished_version=maybe(st.integers(1, 1_000)),
    due_at=maybe(moments),
    data=maybe(st.dictionaries(st.text(max_size=5), json_values, max_size=3)),
    audience=maybe(audiences),
    content_hash=st.sampled_from(["", "0123abcd"]),
    problems=st.lists(st.builds(Problem, field=words, code=words, message=words), max_size=3).map(tuple),
    exclusions=st.lists(st.builds(Exclusion, kind=words, name=words, reason=words), max_size=3).map(tuple),
    manifest=manifests(),
    replaces=maybe(derived.map(RequestId)),
    unknown=maybe(wire_values),
)


@st.composite
def notices(draw: st.DrawFn) -> Notice:
    channels = draw(st.lists(st.sampled_from(Channel), unique=True))
    states = [*DeliveryState, *NoticeStatus, *What]
    return Notice(
        workspace_id=WorkspaceId(draw(identifiers)),
        recipient=draw(recipients),
        notice_id=NoticeId(draw(derived)),
        definition=DefinitionKey(draw(identifiers)),
        created_at=draw(moments),
        expires_at=draw(moments),
        contributors=tuple(
            draw(
                st.lists(
                    st.builds(
                        Contributor,
                        request_id=derived.map(RequestId),
                        published_at=moments,
                        joined_at=moments,
                        left_at=maybe(moments),
                    ),
                    max_size=4,
                )
            )
        ),
        deliveries=tuple(draw(deliveries(channel)) for channel in channels),
        version=draw(st.integers(1, 10**6)),
        shard=draw(st.integers(0, 63)),
        ended=draw(maybe(st.sampled_from(NoticeStatus))),
        content=draw(maybe(st.builds(ConsoleContent, title=words, body=st.text(), category=words))),
        read_at=draw(maybe(moments)),
        timeline=tuple(
            draw(
                st.lists(
                    st.builds(
                        TimelineEntry,
                        at=moments,
                        channel=maybe(st.sampled_from(Channel)),
                        source=maybe(st.sampled_from(states).map(str)),
                        target=st.sampled_from(states).map(str),
                        by=st.sampled_from(Actor),
                        reason=maybe(words),
                    ),
                    max_size=5,
                )
            )
        ),
        unknown=draw(maybe(wire_values)),
    )


def deliveries(channel: Channel) -> st.SearchStrategy[Delivery]:
    return st.builds(
        Delivery,
        channel=st.just(channel),
        state=st.sampled_from(DeliveryState),
        reason=maybe(st.sampled_from(DeliveryReason).map(str) | words),
        attempts=st.integers(0, 20),
        failing_since=maybe(moments),
        claim_id=maybe(derived.map(ClaimId)),
        claimed_at=maybe(moments),
        address=maybe(words),
        next_at=maybe(moments),
        provider_id=maybe(words),
        provider_channel=maybe(words),
        updated_at=moments,
    )
