"""Rows give back what they were made of, whatever it is."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.adapters.dynamodb.items import NoticeItem, RequestItem
from notify_core.adapters.dynamodb.notices import notice_item, notice_of
from notify_core.adapters.dynamodb.requests import request_item, request_of
from notify_core.adapters.dynamodb.text import (
    ACTORS,
    CHANNELS,
    PLANS,
    WORDS,
    index_key,
    manifest,
    manifest_text,
    moment,
    moment_text,
)
from notify_core.adapters.dynamodb.writing import STATES
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DELIVERY_LIFECYCLE, DeliveryState
from notify_core.domain.identifiers import WorkspaceId
from notify_core.domain.lifecycle import Actor
from notify_core.domain.notice import Notice, What
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.request import ManifestEntry, Planned, Request
from tests.conformance import strategies
from tests.conformance.backends import fresh_workspace
from tests.conformance.builders import ANA, NOON, an_open_request, at


@given(strategies.requests)
def test_any_request_comes_back_from_its_row(request_: Request) -> None:
    row = request_item(RequestItem, request_).serialize()
    assert request_of(RequestItem.from_raw_data(row)) == request_


@given(strategies.notices())
def test_any_notice_comes_back_from_its_row(notice: Notice) -> None:
    row = notice_item(NoticeItem, notice).serialize()
    assert notice_of(NoticeItem.from_raw_data(row)) == notice


@given(strategies.moments, strategies.moments, st.integers(-12, 14))
def test_times_sort_as_their_texts_do(one: datetime, other: datetime, hours: int) -> None:
    elsewhere = one.astimezone(timezone(timedelta(hours=hours)))
    assert moment_text(one) == moment_text(elsewhere)
    assert moment(moment_text(elsewhere)) == one
    assert (moment_text(one) < moment_text(other)) == (one < other)


@given(strategies.moments, st.lists(strategies.identifiers, min_size=2, max_size=2), strategies.identifiers)
def test_places_sort_as_their_parts_do(when: datetime, pair: list[str], last: str) -> None:
    one, other = pair
    assert (index_key(when, one, last) < index_key(when, other, last)) == (one < other)
    assert (index_key(when, one, "zz") < index_key(when, other, "0")) == ((one, "zz") < (other, "0"))


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        request_item(RequestItem, an_open_request(fresh_workspace(), due_at=at(5).replace(tzinfo=None)))


def test_every_word_has_a_letter_of_its_own() -> None:
    states = {*DeliveryState, *NoticeStatus, *What}
    assert set(WORDS) == {str(state) for state in states}
    assert set(ACTORS) == set(Actor)
    assert set(CHANNELS) == set(STATES) == set(Channel)
    for letters in (WORDS.values(), ACTORS.values(), CHANNELS.values(), PLANS.values()):
        assert len(set(letters)) == len(letters)
        assert {len(letter) for letter in letters} == {1}


def test_every_state_that_a_delivery_begins_in_has_a_plan() -> None:
    assert {state for state, _ in PLANS} == DELIVERY_LIFECYCLE.initial


def test_the_state_of_each_channel_stands_under_its_name() -> None:
    assert {channel: attribute.attr_name for channel, attribute in STATES.items()} == {
        Channel.CONSOLE: "console",
        Channel.CHAT: "chat",
        Channel.TEXT: "text",
        Channel.SLACK_SYSTEM: "slack_system",
    }


def test_a_plan_that_no_delivery_begins_with_is_refused() -> None:
    entry = ManifestEntry(recipient=ANA, plan=(Planned(channel=Channel.CHAT, state=DeliveryState.SENT),))
    with pytest.raises(ValueError, match="no delivery begins as sent"):
        manifest_text([entry])


def test_a_manifest_is_read_once_however_often_its_request_is() -> None:
    """A batch reads its request twice, and a request for 200 people has twenty batches."""
    text = manifest_text(
        [ManifestEntry(recipient=ANA, plan=(Planned(channel=Channel.CHAT, state=DeliveryState.QUEUED),))]
    )
    assert text is not None
    assert manifest("".join(text)) is manifest(text[:3] + text[3:])


def test_rows_are_what_the_documentation_says() -> None:
    """The forms are for ever: rows written by this version are read by every later one."""
    request = an_open_request(WorkspaceId("acme"))
    assert request_item(RequestItem, request).serialize() == {
        "pk": {"S": f"R#acme#{request.request_id}"},
        "due_shard": {"S": "acme#0"},
        "due_at": {"S": f"2026-11-30T12:01:30.250000Z#{request.request_id}"},
        "history_shard": {"S": "acme#0"},
        "history_key": {"S": f"2026-11-30T12:00:00.250000Z#{request.request_id}"},
        "version": {"N": "1"},
        "shard": {"N": "0"},
        "state": {"S": "open"},
        "caused_by": {"S": "processor"},
        "definition": {"S": "invoice.overdue"},
        "definition_version": {"N": "1"},
        "request_key": {"S": "inv-42:1"},
        "published_at": {"S": "2026-11-30T11:59:59.250000Z"},
        "expires_at": {"S": "2026-12-07T12:00:00.250000Z"},
        "recorded_at": {"S": "2026-11-30T12:00:00.250000Z"},
        "accepted_at": {"S": "2026-11-30T12:00:00.250000Z"},
        "data": {"S": '{"number":"42"}'},
        "audience": {"S": '{"people":["ana"]}'},
        "content_hash": {"S": "0123456789abcdef"},
        "manifest": {"S": "M ana:q"},
    }
    assert NOON.microsecond == 250_000
