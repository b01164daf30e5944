"""Rows stay as small as the price of a delivery needs, and far below DynamoDB's 400 KB."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bench.meter.capacity import write_units
from bench.meter.sizes import item_bytes
from notify_core.adapters.dynamodb.items import NoticeItem, RequestItem
from notify_core.adapters.dynamodb.notices import notice_item
from notify_core.adapters.dynamodb.requests import request_item
from notify_core.adapters.dynamodb.text import manifest_text
from notify_core.domain.channel import Channel
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.identifiers import ClaimId, DefinitionKey, Recipient, WorkspaceId, request_id
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import DATA_BYTES_MAX, PROBLEMS_MAX, RECIPIENTS_MAX, TIMELINE_MAX
from notify_core.domain.notice import ConsoleContent, Notice, claimed, created, first_notice, held, with_result
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Exclusion, ManifestEntry, Planned, Request
from notify_core.domain.send_result import Delivered
from tests.conformance.backends import Stores, fresh_workspace
from tests.conformance.builders import NOON, a_request, accepted, at

LONG = "i" * 64
LIMIT_BYTES = 400 * 1024
WORST_PLAN = tuple(
    Planned(channel=channel, state=DeliveryState.SKIPPED, reason=DeliveryReason.PERSON_INACTIVE)
    for channel in (Channel.CONSOLE, Channel.CHAT, Channel.TEXT)
)


def long_request(*channels: Channel) -> Request:
    """A request of workspace, definition and recipient with the longest names."""
    workspace, definition = WorkspaceId(LONG), DefinitionKey(LONG)
    plan = tuple(Planned(channel=channel, state=DeliveryState.QUEUED) for channel in channels)
    return accepted(
        a_request(workspace, definition=definition, request_id=request_id(workspace, definition, "k"), version=0),
        ManifestEntry(recipient=Recipient(LONG), plan=plan),
    )


def finished(notice: Notice, channel: Channel) -> Notice:
    """The notice claimed, and delivered by a provider that says where."""
    taken = claimed(notice, channel, ClaimId("0123456789abcdef"), now=at(1.234_567))
    answer = Delivered(provider_id="1796040001.123456", provider_channel="D0123456789")
    done = with_result(taken, channel, answer, now=at(1.654_321))
    assert done is not None
    return done


def notice_bytes(notice: Notice) -> int:
    return item_bytes(notice_item(NoticeItem, notice).serialize())


def test_a_delivered_chat_notice_with_the_longest_names_costs_one_unit() -> None:
    request = long_request(Channel.CHAT)
    size_bytes = notice_bytes(finished(first_notice(request, request.manifest[0]), Channel.CHAT))
    assert size_bytes == 585
    assert write_units(size_bytes) == 1


def test_a_console_notice_with_a_long_text_costs_one_unit() -> None:
    request = long_request(Channel.CONSOLE)
    content = ConsoleContent(title="t" * 80, body="b" * 320, category="billing")
    size_bytes = notice_bytes(created(first_notice(request, request.manifest[0], content=content)))
    assert size_bytes == 868
    assert write_units(size_bytes) == 1


def test_a_notice_over_three_channels_costs_one_unit_to_its_end() -> None:
    request = long_request(Channel.CONSOLE, Channel.CHAT, Channel.TEXT)
    content = ConsoleContent(title="t" * 40, body="b" * 160, category="billing")
    notice = first_notice(request, request.manifest[0], content=content)
    size_bytes = notice_bytes(finished(finished(notice, Channel.CHAT), Channel.TEXT))
    assert size_bytes == 1000
    assert write_units(size_bytes) == 1


def test_a_timeline_stays_small() -> None:
    request = long_request(Channel.CHAT)
    notice = created(first_notice(request, request.manifest[0]))
    for number in range(2 * TIMELINE_MAX):
        reason = (DeliveryReason.CIRCUIT_OPEN, DeliveryReason.THROTTLED)[number % 2]
        notice = held(notice, Channel.CHAT, until=at(number + 60), reason=reason, now=at(number))
    assert len(notice.timeline) == TIMELINE_MAX
    assert notice_bytes(notice) < 2 * 1024


@pytest.mark.parametrize(("recipient", "size_bytes"), [("ana", 8), ("p" * 64, 69)])
def test_a_manifest_is_under_eighty_bytes_a_recipient(recipient: str, size_bytes: int) -> None:
    entries = [ManifestEntry(recipient=Recipient(recipient), plan=WORST_PLAN)] * RECIPIENTS_MAX
    text = manifest_text(entries)
    assert text is not None
    assert len(text) == len("CMT") + RECIPIENTS_MAX * size_bytes
    assert size_bytes < 80


def a_largest_request(workspace: WorkspaceId) -> Request:
    """Everything that a producer may send, at its limit."""
    people = [f"{number:03d}{'p' * 61}" for number in range(1_000)]
    return accepted(
        a_request(
            workspace,
            "漢" * 256,
            version=0,
            data={"text": "x" * (DATA_BYTES_MAX - 16)},
            audience=Audience(people=tuple(people)),
            replacement_key="漢" * 256,
            fold_key="漢" * 256,
        ),
        *(ManifestEntry(recipient=Recipient(person), plan=WORST_PLAN) for person in people[:RECIPIENTS_MAX]),
        problems=tuple(
            Problem(field="data." + "f" * 256, code="pattern", message="m" * 300) for _ in range(PROBLEMS_MAX)
        ),
        exclusions=tuple(
            Exclusion(kind="person", name=person, reason="not_in_workspace") for person in people[RECIPIENTS_MAX:]
        ),
    )


def test_the_largest_request_is_far_below_the_limit_of_a_row(stores: Stores) -> None:
    request = a_largest_request(fresh_workspace())
    assert item_bytes(request_item(RequestItem, request).serialize()) < LIMIT_BYTES * 0.7
    stores.requests.put(request, None)
    assert stores.requests.get(request.workspace_id, request.request_id) == request


def test_data_that_takes_most_room_as_ascii_fits_too(stores: Stores) -> None:
    """A lone surrogate makes all of the data ASCII."""
    request = replace(a_largest_request(fresh_workspace()), data={"text": "é" * (DATA_BYTES_MAX // 2 - 20) + "\ud800"})
    assert item_bytes(request_item(RequestItem, request).serialize()) < LIMIT_BYTES
    stores.requests.put(request, None)
    assert stores.requests.get(request.workspace_id, request.request_id) == request


def test_a_request_for_two_hundred_people_takes_few_units() -> None:
    entries = [
        ManifestEntry(
            recipient=Recipient(f"person-{number:04d}"),
            plan=(Planned(channel=Channel.CHAT, state=DeliveryState.QUEUED),),
        )
        for number in range(RECIPIENTS_MAX)
    ]
    request = accepted(
        a_request(WorkspaceId("acme"), version=0, audience=Audience(teams=("everyone",))), *entries, now=NOON
    )
    item = request_item(RequestItem, request).serialize()
    assert write_units(item_bytes(item)) == 4
    assert request.expires_at == NOON + timedelta(days=7)
    assert Actor.PROCESSOR == request.caused_by
