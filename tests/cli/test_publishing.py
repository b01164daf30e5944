"""`notify publish`: a publication as any producer sends it, or a look at what it would do."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from notify_core.domain.request import Publication
from notify_core.messages.publications import parse_message
from tests.cli.aws import Aws
from tests.cli.conftest import Notify
from tests.cli.platform import Platform

INVOICE = ("publish", "invoice.overdue", "k1", "--data", '{"number": "42"}')
ANA = (*INVOICE, "--person", "ana")


def test_a_publication_is_sent_and_its_request_named(platform: Platform, notify: Notify) -> None:
    done = notify(*ANA, "--person", "bob")
    request_id = platform.world.id_of("k1")
    assert (done.code, done.lines) == (
        0,
        [
            f"Published as request {request_id}: the queue has it.",
            f"What becomes of it: notify watch '{request_id}' -w acme",
        ],
    )
    assert [entry.recipient for entry in platform.world.request().manifest] == ["ana", "bob"]


def test_for_machines_it_is_one_document(platform: Platform, notify: Notify) -> None:
    assert notify(*ANA, "--json").document == {"request_id": platform.world.id_of("k1"), "via": "http"}


def test_everything_that_can_be_said_is_sent(platform: Platform, notify: Notify) -> None:
    platform.runs = False
    notify(*ANA, "--team", "billing", "--role", "approver", "--not-before", "+15m",
           "--deadline", "2030-01-01T00:00:00+01:00", "--replacement-key", "r", "--fold-key", "f")  # fmt: skip
    (body,) = platform.queued()
    published_at, not_before = (datetime.fromisoformat(body.pop(name)) for name in ("published_at", "not_before"))
    assert not_before - published_at == timedelta(minutes=15)
    assert body == {
        "type": "publish",
        "version": 1,
        "workspace_id": "acme",
        "definition": "invoice.overdue",
        "request_key": "k1",
        "data": {"number": "42"},
        "audience": {"people": ["ana"], "teams": ["billing"], "roles": ["approver"]},
        "deadline": "2030-01-01T00:00:00+01:00",
        "replacement_key": "r",
        "fold_key": "f",
    }


def test_an_alert_goes_to_the_headquarters(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition("slack_system", key="backup.failed")
    done = notify("publish", "backup.failed", "k1", "--data", '{"number": "7"}', "--hq", "--watch")
    assert done.code == 0
    assert [(item.address, item.text) for item in platform.world.system.reached] == [("C-HQ", "Alert 7")]


@pytest.mark.parametrize("source", ["@file", "@-"])
def test_the_data_may_lie_in_a_file(platform: Platform, notify: Notify, tmp_path: Path, source: str) -> None:
    file = tmp_path / "data.json"
    file.write_text('{"number": "é"}', encoding="utf-8")
    given = f"@{file}" if source == "@file" else source
    done = notify("publish", "invoice.overdue", "k1", "--person", "ana", "--data", given, stdin='{"number": "é"}')
    assert done.code == 0
    assert platform.world.chat.reached[0].text == "Invoice é"


def test_over_the_queue_it_is_the_same_publication(platform: Platform, notify: Notify, with_queues: Aws) -> None:
    done = notify(*ANA, "--via", "sqs", "--json")
    ((group, text),) = with_queues.take("requests")
    publication = parse_message(text)
    assert isinstance(publication, Publication)
    assert (group, publication.data, publication.request_id) == ("acme", {"number": "42"}, platform.world.id_of("k1"))
    assert done.document == {"request_id": platform.world.id_of("k1"), "via": "sqs"}
    assert platform.calls == []


def test_the_queue_alone_is_enough_for_a_producer(platform: Platform, bare: Notify, aws: Aws) -> None:
    done = bare(*ANA, "--via", "sqs", "-w", "acme", "--requests-queue-url", aws.queues["requests"])
    assert done.code == 0
    assert len(aws.take("requests")) == 1
    assert "NOTIFY_TOKEN" in bare(*ANA, "-w", "acme", "--api-url", platform.url).err


def test_watching_begins_once_it_is_published(platform: Platform, notify: Notify) -> None:
    done = notify(*ANA, "--watch")
    assert (done.code, platform.world.states()) == (0, {"console": "delivered", "chat": "delivered"})
    assert "deliveries console: 1 delivered; chat: 1 delivered" in done.lines


def test_an_invalid_publication_fails_where_it_is_watched(platform: Platform, notify: Notify) -> None:
    done = notify("publish", "invoice.overdue", "k1", "--person", "ana", "--watch")
    assert done.code == 1
    assert "data.number required add this field" in done.lines
    assert "publish it under another key" in done.err
    assert platform.world.request().state == "invalid"


# ---------------------------------------------------------------- dry run


def test_a_dry_run_shows_everything_and_does_nothing(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition("console", "text", fold_within=timedelta(hours=1))
    platform.world.register_people("eva", active=False)
    done = notify(*ANA, "--person", "eva", "--team", "ghosts", "--dry-run")
    assert (done.code, platform.world.has("k1"), platform.queued()) == (0, False, [])
    assert done.lines == [
        "Nothing was published. If it were now:",
        "would be open",
        "recipients 1",
        "excluded name reason",
        "person eva inactive",
        "team ghosts unknown_team",
        "recipient channel begins parts content",
        "ana console delivered Invoice 42",
        "For Ana",
        "ana text queued 1 Invoice 42",
    ]


def test_a_dry_run_of_what_would_be_invalid_fails(notify: Notify) -> None:
    done = notify("publish", "invoice.overdue", "k1", "--person", "ana", "--dry-run", "--json")
    assert (done.code, done.document["state"]) == (1, "invalid")
    assert [item["field"] for item in done.document["problems"]] == ["data.number"]


def test_a_dry_run_tells_what_it_would_replace_and_fold_into(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition(replace_previous=True)
    platform.world.publish("older", replacement_key="r")
    platform.world.register_definition("console", key="comment.added", fold_within=timedelta(hours=1))
    platform.world.publish("first", definition="comment.added", fold_key="f")
    platform.world.run()
    (live,) = platform.world.folded(definition="comment.added")
    replacing = notify(*ANA, "--replacement-key", "r", "--dry-run")
    assert f"would replace {platform.world.id_of('older')}" in replacing.lines
    comment = ("publish", "comment.added", "k2", "--data", '{"number": "1"}', "--person", "ana")
    assert f"would fold into ana's {live.notice_id}" in notify(*comment, "--fold-key", "f", "--dry-run").lines


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--data", "{"), "it isn't JSON"),
        (("--data", "[1]"), "it has to be a JSON object"),
        (("--data", "@nowhere.json"), "nowhere.json can't be read"),
        ((), "say who is to be told"),
        (("--hq", "--person", "ana"), "it stands alone"),
        (("--person", "an a"), "has to be 1 to 64 letters"),
        (("--person", "ana", "--not-before", "tomorrow"), "'tomorrow' is no time"),
        (("--person", "ana", "--not-before", "2030-01-01T00:00:00"), "write one with an offset"),
        (("--person", "ana", "--deadline", "+999999999d"), "leaves the calendar"),
        (("--person", "ana", "--fold-key", ""), "1 to 256 characters"),
        (("--person", "ana", "--dry-run", "--watch"), "publishes nothing"),
        (("--person", "ana", "--via", "post"), "'post' is not one of"),
        (("--person", "ana", "--workspace", "ac/me"), "'ac/me' has to be"),
    ],
)
def test_what_can_not_be_a_publication_is_not_sent(
    platform: Platform, notify: Notify, arguments: tuple[str, ...], says: str
) -> None:
    """It would be recorded as invalid, and its key be spent."""
    done = notify("publish", "invoice.overdue", "k1", *arguments)
    assert (done.code, platform.calls) == (2, [])
    assert says in " ".join(done.err.replace("│", "").split())


def test_what_the_platform_refuses_is_told_field_by_field(notify: Notify, platform: Platform) -> None:
    problem = {"field": "definition", "code": "invalid_identifier", "message": "name it otherwise"}
    document = {"title": "Something has to be corrected", "status": 422, "errors": [problem]}
    platform.replies = [(422, {"content-type": "application/problem+json"}, json.dumps(document))] * 2
    done = notify(*ANA)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "Something has to be corrected",
        "  definition: name it otherwise (invalid_identifier)",
    ]
    assert json.loads(notify(*ANA, "--json").err) == {
        "status": 422,
        "title": "Something has to be corrected",
        "remedy": None,
        "errors": [problem],
    }
