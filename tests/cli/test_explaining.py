"""`notify explain` answers "why was this person not told?" for whatever happens to a request."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from notify_core.application.ports import QueueName
from notify_core.application.record_dead_publication import record_dead_publication
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import ClaimId
from notify_core.domain.notice import Notice
from notify_core.domain.receipt import Receipt, ReceiptOutcome
from notify_core.domain.request import Publication
from notify_core.domain.send_result import Rejected, RejectionScope, Throttled, Unavailable, Unknown
from notify_core.messages.publications import parse_message
from tests.api.builders import CONSOLE, accepted
from tests.application.world import ACME, World
from tests.builders import an_entry
from tests.cli.conftest import Notify
from tests.cli.platform import Platform

Happening = Callable[[World], None]


def explained(notify: Notify, *about: str) -> list[str]:
    """The verdict, then each line's subject and sentence, times left out."""
    done = notify("explain", *(about or ("ana", "invoice.overdue/k1")), "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    return [document["verdict"], *(f"{line['about']}: {line['sentence']}" for line in document["lines"])]


def shown(at: datetime | None) -> str:
    """A time as sentences have it."""
    assert at is not None
    return f"{at:%Y-%m-%d %H:%M:%S}Z"


# ---------------------------------------------------------------- requests


def publish(world: World, request_key: str = "k1", **changes: object) -> None:
    world.publish(request_key, replacement_key="r", **changes)
    world.run()


def later(world: World, **units: float) -> datetime:
    return world.clock.now() + timedelta(**units)


def is_waiting(world: World) -> None:
    publish(world, not_before=later(world, hours=1))


def is_too_late(world: World) -> None:
    publish(world, deadline=world.clock.now())


def is_too_old(world: World) -> None:
    publish(world, published_at=later(world, days=-7))


def tells_nobody(world: World) -> None:
    publish(world, audience={"people": []})


def is_withdrawn_before(world: World) -> None:
    world.withdraw(request_key="k1")
    publish(world)


def is_replaced_before(world: World) -> None:
    publish(world, "newer", published_at=later(world, seconds=1))
    publish(world)


NOT_TOLD = "ana was not told."
WITHOUT_A_NOTICE: list[tuple[Happening, list[str]]] = [
    (is_too_late, [NOT_TOLD, "request: Its deadline had passed before it could be accepted, so it told nobody."]),
    (is_too_old, [NOT_TOLD,
                  "request: It was older than its definition allows before it could be accepted, so it told nobody."]),
    (tells_nobody, [NOT_TOLD, "request: Nobody whom it named could be told, so it told nobody.",
                    ("audience: ana was not meant: the request named neither them nor a team or role that they had "
                     "when it was accepted.")]),
    (is_withdrawn_before, [NOT_TOLD, "request: It was withdrawn before it was accepted, so it told nobody."]),
    (is_replaced_before, [NOT_TOLD, ("request: A later publication with its replacement key had been accepted before "
                                    "it, so it told nobody.")]),
]  # fmt: skip


@pytest.mark.parametrize(("happening", "sentences"), WITHOUT_A_NOTICE, ids=lambda value: getattr(value, "__name__", ""))
def test_a_request_that_gave_nobody_a_notice_says_why(
    platform: Platform, notify: Notify, happening: Happening, sentences: list[str]
) -> None:
    platform.world.register_definition(replace_previous=True)
    happening(platform.world)
    assert explained(notify) == sentences


def test_a_request_that_waits_says_until_when(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition(replace_previous=True)
    is_waiting(platform.world)
    until = shown(platform.world.request().not_before)
    assert explained(notify) == [
        "ana has not been told yet.",
        f"request: It waits until {until}; nobody is told before.",
    ]


def test_an_invalid_request_says_what_is_wrong_with_it(platform: Platform, notify: Notify) -> None:
    platform.world.publish("k1", data={})
    platform.world.run()
    assert explained(notify) == [
        NOT_TOLD,
        "request: It was refused as invalid, so it told nobody; its correction needs another request key.",
        "problem: data.number: add this field.",
    ]


def test_a_dead_lettered_request_says_who_has_to_act(platform: Platform, notify: Notify) -> None:
    publication = parse_message(platform_body(platform.world))
    assert isinstance(publication, Publication)
    record_dead_publication(publication, platform.world.ports)
    row = platform.world.request()
    assert explained(notify) == [
        "ana has not been told yet.",
        (
            "request: It could not be processed and was dead-lettered: nobody is told until an operator has found the "
            f"cause and runs `notify reprocess {row.request_id}`, and nobody ever if {shown(row.expires_at)} comes "
            "first."
        ),
        "problem: processing failed repeatedly; find the cause, then reprocess the request.",
    ]


def platform_body(world: World) -> str:
    """The text of a publication's message."""
    world.publish("k1")
    (item,) = world.queues.waiting
    world.queues.purge()
    return item.body


def test_what_was_never_processed_is_not_known(notify: Notify) -> None:
    assert explained(notify) == [
        NOT_TOLD,
        (
            "request: There is no such request: it was never published, is not processed yet, or was forgotten 90 days "
            "after its end."
        ),
    ]


# ---------------------------------------------------------------- who is meant


@pytest.mark.parametrize(
    ("audience", "sentences"),
    [
        ({"people": ["bob", "zoe"]}, ["zoe was meant, and is not registered in this workspace."]),
        ({"people": ["bob", "eva"]}, ["eva was meant, and was marked as inactive in the directory."]),
        (
            {"people": ["bob"], "teams": ["ghosts"], "roles": ["owl"]},
            [
                "The team ghosts was meant, and had no member: whoever should have been in it was not.",
                "The role owl was meant, and nobody held it: whoever should have held it did not.",
                (
                    "{who} was not meant: the request named neither them nor a team or role that they had when it was "
                    "accepted."
                ),
            ],
        ),
    ],
)
def test_somebody_left_out_is_told_why(
    platform: Platform, notify: Notify, audience: dict[str, list[str]], sentences: list[str]
) -> None:
    platform.world.register_people("eva", active=False)
    platform.world.publish("k1", audience=audience)
    platform.world.run()
    who = audience["people"][-1] if len(audience["people"]) > 1 else "ana"
    verdict, _, *lines = explained(notify, who, "invoice.overdue/k1")
    assert verdict == f"{who} was not told."
    assert lines == [f"audience: {sentence.format(who=who)}" for sentence in sentences]


# ---------------------------------------------------------------- deliveries


def notice_of(world: World) -> Notice:
    return world.notice()


def told_by(platform: Platform, notify: Notify, *channels: str, **changes: object) -> tuple[str, list[str]]:
    """Publish over channels, and give the verdict and what is said of each delivery."""
    world = platform.world
    if channels:
        world.register_definition(*channels)
    world.publish("k1", **changes)
    world.run()
    return deliveries(notify)


def deliveries(notify: Notify) -> tuple[str, list[str]]:
    verdict, *lines = explained(notify)
    return verdict, [line for line in lines if line.split(":")[0] in set(Channel)]


def at(platform: Platform, channel: Channel = Channel.CHAT) -> str:
    item = notice_of(platform.world).delivery(channel)
    assert item is not None
    return shown(item.updated_at)


def next_at(platform: Platform, channel: Channel = Channel.CHAT) -> str:
    item = notice_of(platform.world).delivery(channel)
    assert item is not None
    return shown(item.next_at)


def test_whom_everything_reached_was_told(platform: Platform, notify: Notify) -> None:
    assert told_by(platform, notify) == (
        "ana was told.",
        [
            f"console: It arrived: it stands in their inbox, at {at(platform, Channel.CONSOLE)}.",
            f"chat: It arrived: in their Slack messages, at {at(platform)}.",
        ],
    )


@pytest.mark.parametrize(
    ("person", "sentence"),
    [
        ({"slack_user_id": None}, "It was not sent: the directory had no Slack user id of theirs."),
        ({"opt_outs": {"billing": (Channel.CHAT,)}},
         "It was not sent: they have declined this category on this channel."),
    ],
)  # fmt: skip
def test_whom_a_channel_does_not_reach_is_told_why(
    platform: Platform, notify: Notify, person: dict[str, object], sentence: str
) -> None:
    platform.world.register_people("ana", **person)
    assert told_by(platform, notify, "chat") == (NOT_TOLD, [f"chat: {sentence}"])


def test_a_channel_that_is_off_says_so(platform: Platform, notify: Notify) -> None:
    platform.world.register_workspace(channels=frozenset({Channel.CONSOLE}))
    sentence = "chat: It was not sent: the channel is not switched on in this workspace."
    assert told_by(platform, notify, "chat") == (NOT_TOLD, [sentence])


def test_who_leaves_before_the_send_was_not_told(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition("chat")
    platform.world.publish("k1")
    platform.world.run_only(QueueName.REQUESTS)
    platform.world.register_people("ana", active=False)
    platform.world.run()
    sentence = "chat: It was not sent: they were marked as inactive meanwhile."
    assert deliveries(notify) == (NOT_TOLD, [sentence])


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (Throttled(retry_after=timedelta(seconds=30)),
         "Slack wants us to go slower: it is tried at {next_at}. This counts as no attempt."),
        (Unavailable(reason="service_unavailable"),
         "Slack could not take it, in its own code `service_unavailable`: it is tried again at {next_at}."),
        (Unavailable(reason="connection_refused"),
         "Slack could not be reached (`connection_refused`, our own word for it): it is tried again at {next_at}."),
        (Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE),
         ("Slack refuses whatever this workspace sends, its token or account has to be mended by an operator: until "
         "then everything on this channel waits. It is tried at {next_at}.")),
    ],
)  # fmt: skip
def test_what_waits_says_for_what(
    platform: Platform, notify: Notify, result: Throttled | Unavailable | Rejected, sentence: str
) -> None:
    platform.world.chat.faults = [result]
    verdict, lines = told_by(platform, notify, "chat")
    assert verdict == "ana has not been told yet."
    assert lines == [f"chat: {sentence.format(next_at=next_at(platform))}"]


def test_a_refusal_is_quoted_and_named_as_the_providers(platform: Platform, notify: Notify) -> None:
    platform.world.chat.faults = [Rejected(reason="user_disabled", scope=RejectionScope.PERSON)]
    sentence = "chat: Slack refused it for good, in its own code `user_disabled`."
    assert told_by(platform, notify, "chat") == (NOT_TOLD, [sentence])


def test_what_ran_out_of_attempts_names_the_remedy(platform: Platform, notify: Notify) -> None:
    platform.world.chat.faults = [Unavailable(reason="service_unavailable")] * 20
    told_by(platform, notify, "chat")
    platform.world.advance(hours=12)
    item = notice_of(platform.world).delivery(Channel.CHAT)
    assert item is not None
    notice_id = notice_of(platform.world).notice_id
    assert deliveries(notify) == (
        NOT_TOLD,
        [
            (
                f"chat: It could not be sent: {item.attempts} attempts, and nothing went out on any. An operator may "
                f"try again: `notify retry {notice_id} ana chat`."
            )
        ],
    )


def test_an_unknown_send_may_have_told_them(platform: Platform, notify: Notify) -> None:
    platform.world.text.faults = [Unknown(reason="timeout")]
    verdict, lines = told_by(platform, notify, "text")
    assert (verdict, lines) == (
        "ana may have been told.",
        ["text: It is being sent, or its result is not known and is being settled by evidence."],
    )
    platform.world.advance(days=2)
    assert deliveries(notify) == (
        "ana may have been told.",
        [("text: It may have arrived: the send was cut off, no evidence told what became of it, and nothing is sent "
         "twice by guess.")],
    )  # fmt: skip


def test_a_text_without_its_receipt_may_have_told_them(platform: Platform, notify: Notify) -> None:
    verdict, lines = told_by(platform, notify, "text")
    assert verdict == "ana may have been told."
    assert lines == [
        (
            f"text: The SMS service took it, at {at(platform, Channel.TEXT)}; whether it arrived is told by a receipt, "
            "which is to come."
        )
    ]
    platform.world.advance(days=4)
    assert deliveries(notify) == (
        "ana may have been told.",
        ["text: The SMS service took it, and no receipt ever came: it may have arrived."],
    )


def test_a_bounce_says_why_it_did_not_arrive(platform: Platform, notify: Notify) -> None:
    told_by(platform, notify, "text")
    item = notice_of(platform.world).delivery(Channel.TEXT)
    assert item is not None
    receipt = Receipt(
        workspace_id=ACME,
        recipient=notice_of(platform.world).recipient,
        notice_id=notice_of(platform.world).notice_id,
        channel=Channel.TEXT,
        claim_id=ClaimId(item.claim_id or ""),
        provider_id=item.provider_id or "",
        outcome=ReceiptOutcome.BOUNCED,
        reason="carrier_blocked",
        at=platform.world.clock.now(),
    )
    platform.world.receipt(receipt)
    sentence = "text: It did not arrive: the carrier blocks messages to this number."
    assert deliveries(notify) == (NOT_TOLD, [sentence])


def test_what_is_withdrawn_in_time_says_so(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition("chat")
    platform.world.publish("k1")
    platform.world.run_only(QueueName.REQUESTS)
    platform.world.withdraw(request_key="k1")
    platform.world.run_only(QueueName.REQUESTS)
    closed_at = shown(platform.world.request().closed_at)
    assert explained(notify) == [
        NOT_TOLD,
        f"request: It was accepted, then withdrawn at {closed_at}: what had not been sent was stopped.",
        "notice: It ended because every request behind it was withdrawn or replaced; it no longer counts as unread.",
        f"notice: It was ended by the producer (withdrawn), at {closed_at}.",
        f"chat: It was not sent: it was withdrawn first, at {closed_at}.",
    ]


def test_what_is_replaced_in_time_says_so(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition("chat", replace_previous=True)
    platform.world.publish("k1", replacement_key="r")
    platform.world.run_only(QueueName.REQUESTS)
    platform.world.publish("newer", replacement_key="r", published_at=later(platform.world, seconds=1))
    platform.world.run_only(QueueName.REQUESTS)
    lines = explained(notify)
    closed_at = shown(platform.world.request().closed_at)
    assert lines[1] == (
        f"request: It was accepted, then replaced at {closed_at} by a later publication with its replacement key: what "
        "had not been sent was stopped."
    )
    assert lines[-1] == f"chat: It was not sent: it was replaced first, at {closed_at}."


@pytest.mark.parametrize(
    ("deadline_hours", "sentence"),
    [
        (1, "its deadline came first"),
        (None, "it became older than its definition allows"),
    ],
)
def test_what_expired_unsent_says_so(
    platform: Platform, notify: Notify, deadline_hours: int | None, sentence: str
) -> None:
    platform.world.register_definition("chat", expires_after=timedelta(hours=2))
    platform.world.chat.faults = [Throttled(retry_after=timedelta(hours=5))]
    deadline = deadline_hours and later(platform.world, hours=deadline_hours)
    platform.world.publish("k1", deadline=deadline)
    platform.world.advance(hours=3)
    assert explained(notify) == [
        NOT_TOLD,
        (
            "request: It was accepted, nothing of it was left to be done, and its time ended at "
            f"{shown(platform.world.request().expires_at)}."
        ),
        "notice: It ended because its deadline passed with nothing sent.",
        f"notice: It was ended by the sweep ({'deadline' if deadline else 'age'}), at {at(platform)}.",
        f"chat: It was not sent: {sentence}, at {at(platform)}.",
    ]


def test_a_retired_definition_stops_nothing(platform: Platform, notify: Notify) -> None:
    told_by(platform, notify)
    platform.world.retire()
    platform.world.run()
    verdict, line, *_ = explained(notify)
    assert verdict == "ana was told."
    assert line == (
        "request: It was accepted, and its definition was retired afterwards: it can't be withdrawn or replaced any "
        f"more, and what it owed is still delivered until {shown(platform.world.request().expires_at)}."
    )


# ---------------------------------------------------------------- folded notices, and how things are named


def fold_three(platform: Platform) -> Notice:
    world = platform.world
    world.register_definition(fold_within=timedelta(hours=1))
    for number in (1, 2, 3):
        world.publish(f"k{number}", fold_key="f")
        world.run()
        world.skip(seconds=1)
    world.withdraw(request_key="k1")
    world.run()
    world.read(world.folded()[0])
    return world.folded()[0]


def test_a_notice_lives_on_when_one_of_its_requests_is_withdrawn(platform: Platform, notify: Notify) -> None:
    notice = fold_three(platform)
    closed_at = shown(platform.world.request().closed_at)
    verdict, *lines = explained(notify)
    assert verdict == "ana was told."
    assert lines[:5] == [
        f"request: It was accepted, then withdrawn at {closed_at}: what had not been sent was stopped.",
        "notice: It reached them, and failed on no channel.",
        "notice: It stands for 3 requests folded into one notice, of which 2 are open.",
        (
            f"notice: A request behind it ended by the producer (withdrawn), at {closed_at}, and the notice was handed "
            "over to another."
        ),
        f"notice: It was read, at {shown(notice.read_at)}.",
    ]


def test_a_folded_notice_is_explained_by_each_request_behind_it(platform: Platform, notify: Notify) -> None:
    notice = fold_three(platform)
    by_notice = explained(notify, "ana", notice.notice_id)
    assert [line[:40] for line in by_notice if line.startswith("request:")] == [
        "request: It was accepted, then withdrawn",
        "request: It was accepted, and is good un",
        "request: It was accepted, and is good un",
    ]


def test_a_request_not_folded_yet_says_so(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition(fold_within=timedelta(hours=1))
    accepted(platform.world.ports, platform.world.clock.now(), "k1", an_entry("ana", CONSOLE), fold_key="f")
    assert explained(notify)[2:] == ["notice: The notice is about to be made: the request is being folded into one."]


def test_the_same_is_explained_however_it_is_named(platform: Platform, notify: Notify) -> None:
    told_by(platform, notify)
    request_id = platform.world.id_of("k1")
    by_key = explained(notify)
    assert explained(notify, "ana", request_id) == by_key
    assert explained(notify, "acme", "ana", request_id) == by_key
    assert notify("explain", "acme", "ana", request_id, NOTIFY_WORKSPACE="other").lines[0] == "ana was told."


def test_an_alert_is_explained_for_the_headquarters(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition("slack_system", key="backup.failed")
    platform.world.publish("k1", definition="backup.failed", audience={"hq": True})
    platform.world.run()
    done = notify("explain", "-", "backup.failed/k1")
    assert done.lines[0] == "The headquarters was told."
    assert done.lines[-1].startswith("slack_system It arrived: in the headquarters' Slack channel, at ")


def test_a_notice_that_is_not_theirs_is_not_found(platform: Platform, notify: Notify) -> None:
    notice = fold_three(platform)
    done = notify("explain", "bob", notice.notice_id)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"bob has no notice {notice.notice_id}.")


@pytest.mark.parametrize("about", [("ana",), ("acme", "ana", "x" * 22, "y"), ("ana", "k1"), ("a b", "x" * 22)])
def test_what_names_nothing_is_not_understood(notify: Notify, about: tuple[str, ...]) -> None:
    assert notify("explain", *about).code == 2


def test_a_notice_outlives_its_request(platform: Platform, notify: Notify) -> None:
    """A row is forgotten 90 days after its end, a notice 90 days after its deadline."""
    told_by(platform, notify)
    key, lost = platform.world.id_of("k1"), json.dumps(PROBLEM)
    platform.replies = [(404, {"content-type": "application/problem+json"}, lost)]
    verdict, *lines = explained(notify, "ana", key)
    assert verdict == "ana was told."
    assert lines[0] == "notice: It reached them, and failed on no channel."


PROBLEM = {"title": "There is no such thing", "errors": [{"field": "", "code": "request_not_found", "message": ""}]}
