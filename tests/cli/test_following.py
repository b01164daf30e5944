"""`notify watch`, `request` and `history`: what became of requests."""

import json
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from notify_cli.commands import history
from notify_core.application.ports import QueueName
from notify_core.application.record_dead_publication import record_dead_publication
from notify_core.domain.request import Publication
from notify_core.domain.request_lifecycle import RequestState
from notify_core.domain.send_result import Throttled
from notify_core.messages.publications import parse_message
from tests.cli.conftest import Notify
from tests.cli.platform import Platform

QUICK = ("--interval", "0.01")
K1 = "invoice.overdue/k1"


def step(platform: Platform) -> None:
    """Process one message, if any is waiting."""
    item = platform.world.queues.receive()
    if item is not None:
        platform.world.process(item)


# ---------------------------------------------------------------- watch


def test_watching_shows_each_change_until_nothing_is_left(platform: Platform, notify: Notify) -> None:
    platform.runs = False
    platform.world.publish("k1", "ana", "bob")
    platform.before = lambda: step(platform)
    done = notify("watch", K1, *QUICK, "--json")
    assert done.code == 0
    assert [[notice["deliveries"][1]["state"] for notice in told["notices"]] for told in done.documents] == [
        ["queued", "queued"],
        ["delivered", "queued"],
        ["delivered", "delivered"],
    ]


def test_watching_prints_a_line_a_change_and_the_end(platform: Platform, notify: Notify) -> None:
    platform.runs = False
    platform.world.publish("k1", "ana")
    platform.before = lambda: step(platform)
    done = notify("watch", K1, *QUICK)
    first, second, title, *_ = done.lines
    assert (done.code, first[9:], second[9:], title) == (
        0,
        " open console: 1 delivered; chat: 1 queued",
        " open console: 1 delivered; chat: 1 delivered",
        f"Request {platform.world.id_of('k1')}",
    )


def test_at_a_terminal_it_moves_in_place(platform: Platform, notify: Notify) -> None:
    platform.runs = False
    platform.world.publish("k1", *(f"p{number}" for number in range(25)))
    platform.world.register_people(*(f"p{number}" for number in range(25)))
    platform.before = lambda: step(platform)
    done = notify("watch", K1, *QUICK, FORCE_COLOR="1")
    assert done.code == 0
    live, _, end = done.out.rpartition("Request ")
    assert "and 5 more" in live
    assert "25 delivered" in end
    assert "p24" in end


def test_what_is_never_recorded_is_given_up(notify: Notify) -> None:
    done = notify("watch", K1, *QUICK, "--patience", "0.03")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("It was not recorded within 0.03 seconds.")


def test_what_stands_still_is_given_up(platform: Platform, notify: Notify) -> None:
    platform.world.chat.faults = [Throttled(retry_after=timedelta(hours=1))]
    platform.world.publish("k1")
    platform.world.run()
    done = notify("watch", K1, *QUICK, "--patience", "0")
    assert done.code == 1
    assert "ana delivered" not in done.out
    assert done.err.startswith("Nothing has moved for 0 seconds, and it isn't done.")


def test_a_dead_letter_is_the_end_of_watching(platform: Platform, notify: Notify) -> None:
    request_id = dead_letter(platform, "k1")
    done = notify("watch", request_id, *QUICK)
    assert done.code == 1
    assert f"notify reprocess '{request_id}'" in done.err


def dead_letter(platform: Platform, key: str) -> str:
    """Record a publication whose message ran out of receives."""
    publication = parse_message(json.dumps(platform.world.publication(key)))
    assert isinstance(publication, Publication)
    record_dead_publication(publication, platform.world.ports)
    return publication.request_id


# ---------------------------------------------------------------- request


def test_a_request_is_shown_with_all_that_is_known_of_it(platform: Platform, notify: Notify) -> None:
    platform.world.register_people("eva", active=False)
    platform.world.publish("k1", "ana", "eva", deadline=platform.world.clock.now() + timedelta(days=1))
    platform.world.run()
    row = platform.world.request()
    done = notify("request", K1)
    assert (done.code, done.lines) == (
        0,
        [
            f"Request {row.request_id}",
            "state open",
            "definition invoice.overdue (version 1)",
            "request key k1",
            f"published {row.published_at:%Y-%m-%d %H:%M:%S}Z",
            f"expires {row.expires_at:%Y-%m-%d %H:%M:%S}Z",
            f"recorded {row.recorded_at:%Y-%m-%d %H:%M:%S}Z",
            "recipients 1",
            "deliveries console: 1 delivered; chat: 1 delivered",
            "excluded name reason",
            "person eva inactive",
            "recipient status deliveries notice",
            f"ana delivered console delivered, chat delivered {row.request_id}",
        ],
    )
    assert notify("request", row.request_id, "--json").document["exclusions"] == [
        {"person": "eva", "reason": "inactive"}
    ]


def test_a_request_that_is_not_there_is_refused(notify: Notify) -> None:
    done = notify("request", "x" * 22)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == "There is no such thing"
    assert "(request_not_found)" in done.err


@pytest.mark.parametrize("name", ["k1", "a b/k1", "invoice.overdue/", "x" * 23, ""])
def test_what_names_no_request_is_not_understood(platform: Platform, notify: Notify, name: str) -> None:
    assert [notify(command, name).code for command in ("request", "watch", "reprocess")] == [2, 2, 2]
    assert platform.calls == []


def test_a_key_may_hold_anything(platform: Platform, notify: Notify) -> None:
    key = "inv/42 é[red]\x1b[31m"
    platform.world.publish(key)
    platform.world.run()
    done = notify("request", f"invoice.overdue/{key}")
    assert r"request key inv/42 é[red]\x1b[31m" in done.lines
    assert "\x1b" not in done.out
    assert notify("request", f"invoice.overdue/{key}", "--json").document["request_key"] == key


# ---------------------------------------------------------------- history


def publish_many(platform: Platform, count: int) -> list[str]:
    """Requests a second apart, newest first."""
    for number in range(count):
        platform.world.publish(f"k{number}", data={} if number % 2 else {"number": "1"})
        platform.world.run()
        platform.world.skip(seconds=1)
    return [f"k{number}" for number in reversed(range(count))]


def keys(out: list[dict[str, str]]) -> list[str]:
    return [item["request_key"] for item in out]


def test_the_history_is_newest_first_and_as_long_as_asked(platform: Platform, notify: Notify) -> None:
    expected = publish_many(platform, 5)
    done = notify("history", "--limit", "3")
    assert [line.split()[2:5] for line in done.lines[1:]] == [
        ["open", "invoice.overdue", "k4"],
        ["invalid", "invoice.overdue", "k3"],
        ["open", "invoice.overdue", "k2"],
    ]
    assert done.err == "The newest 3. --all or --limit shows more.\n"
    assert keys(notify("history", "--json").documents) == expected


def test_the_history_is_read_page_by_page_to_its_end(
    platform: Platform, notify: Notify, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify_cli.api.PAGE_ITEMS_MAX", 2)
    expected = publish_many(platform, 5)
    assert keys(notify("history", "--all", "--json").documents) == expected
    queries = [parse_qs(urlsplit(target).query) for _, target in platform.calls]
    assert [(query["limit"], "cursor" in query) for query in queries] == [(["2"], False), (["2"], True), (["2"], True)]


def test_the_history_is_filtered_by_the_platform(platform: Platform, notify: Notify) -> None:
    publish_many(platform, 4)
    platform.world.register_definition(key="other")
    platform.world.publish("k9", definition="other")
    platform.world.run()
    filtered = notify("history", "--state", "open", "--definition", "invoice.overdue", "--json").documents
    assert keys(filtered) == ["k2", "k0"]
    assert notify("history", "--state", "lost").code == 2


def test_the_history_knows_every_state() -> None:
    assert [*history.State] == [*RequestState]


def test_an_empty_history_is_no_failure(notify: Notify) -> None:
    done = notify("history")
    assert (done.code, done.lines, done.err) == (0, ["recorded state definition request key request"], "")
    assert notify("history", "--json").out == ""


def test_a_queued_request_is_watched_until_it_is_given_up(platform: Platform, notify: Notify) -> None:
    platform.world.publish("k1", not_before=platform.world.clock.now() + timedelta(hours=1))
    platform.world.run_only(QueueName.REQUESTS)
    assert notify("watch", K1, *QUICK, "--patience", "0").code == 1
