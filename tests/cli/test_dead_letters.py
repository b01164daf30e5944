"""`notify dead-letters`: a look at what could not be handled, which takes nothing."""

import json
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from notify_cli.commands.dead_letters import Queue
from notify_core.application.ports import QueueName
from tests.cli.aws import QUEUES, Aws
from tests.cli.conftest import Notify
from tests.cli.platform import Platform
from tests.cli.test_following import dead_letter

if TYPE_CHECKING:
    from collections.abc import Callable

PUBLICATION = {"type": "publish", "version": 9, "workspace_id": "acme", "definition": "d", "data": {"name": "Ana"}}
EMPTY = [f"{name} 0" for name in QUEUES]


def test_every_queue_is_counted(notify: Notify, with_queues: Aws) -> None:
    done = notify("dead-letters")
    assert (done.code, done.lines) == (0, ["queue dead letters", *EMPTY])


def test_letters_are_shown_without_their_content_and_stay(notify: Notify, with_queues: Aws) -> None:
    first = with_queues.bury("requests", PUBLICATION, reason="unknown version")
    second = with_queues.bury("chat", "not JSON")
    done = notify("dead-letters")
    assert done.lines[:3] == ["queue dead letters", "requests 1", "chat 1"]
    assert [line.split(maxsplit=2)[2] for line in done.lines[8:]] == [
        f"requests 1 unknown version type=publish workspace_id=acme definition=d {first}",
        f"chat 1 not readable {second}",
    ]
    assert (with_queues.left("requests"), with_queues.left("chat")) == (1, 1)


def test_for_machines_letters_are_whole(notify: Notify, with_queues: Aws) -> None:
    letter = with_queues.bury("receipts", "not JSON")
    count, told = notify("dead-letters", "--queue", "receipts", "--json").documents
    assert count == {"queue": "receipts", "visible": 1, "hidden": 0}
    assert {name: value for name, value in told.items() if name != "sent_at"} == {
        "queue": "receipts",
        "message_id": letter,
        "receives": 1,
        "reason": None,
        "body": "not JSON",
    }


def test_what_somebody_else_holds_is_counted_as_hidden(notify: Notify, with_queues: Aws) -> None:
    with_queues.bury("text", "kept")
    with_queues.sqs.receive_message(QueueUrl=with_queues.dead["text"], VisibilityTimeout=600)
    assert notify("dead-letters", "--queue", "text").lines == [
        "queue dead letters",
        "text 0 and 1 hidden: being recorded, or kept because nothing could read them",
    ]


def test_many_letters_are_looked_at_up_to_the_limit(notify: Notify, with_queues: Aws) -> None:
    for number in range(25):
        with_queues.bury("chat", {"notice_id": str(number)})
    shown = notify("dead-letters", "--queue", "chat", "--json", "--limit", "23").documents[1:]
    assert len({told["message_id"] for told in shown}) == 23
    assert with_queues.left("chat") == 25


def test_recorded_publications_are_shown_with_the_remedy(platform: Platform, notify: Notify, with_queues: Aws) -> None:
    request_id = dead_letter(platform, "k1")
    platform.world.publish("k2", not_before=platform.world.clock.now() + timedelta(hours=1))
    platform.world.run()
    done = notify("dead-letters", "--queue", "requests")
    assert done.lines[2:] == [
        "recorded definition request key when the cause is gone",
        f"{platform.world.request().recorded_at:%Y-%m-%d %H:%M:%S}Z invoice.overdue k1 notify reprocess '{request_id}'",
    ]
    assert with_queues.left("requests") == 0


def test_queues_alone_can_be_looked_at(bare: Notify, aws: Aws) -> None:
    done = bare("dead-letters", "--requests-queue-url", aws.queues["requests"])
    assert (done.code, done.lines) == (0, ["queue dead letters", "requests 0"])
    assert done.err == "Name a --workspace to see its dead-lettered publications, too.\n"


def test_following_shows_what_comes_once_until_it_is_interrupted(
    notify: Notify, with_queues: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Callable[[], object]] = [
        lambda: with_queues.bury("chat", {"notice_id": "second"}),
        lambda: None,
        lambda: with_queues.bury("text", {"notice_id": "third"}),
        interrupt,
    ]
    monkeypatch.setattr(time, "sleep", lambda _: events.pop(0)())
    with_queues.bury("chat", {"notice_id": "first"})
    done = notify("dead-letters", "--follow", "--json")
    assert done.code == 0
    assert [told["body"] for told in done.documents[len(QUEUES) :]] == [
        '{"notice_id": "first"}',
        '{"notice_id": "second"}',
        '{"notice_id": "third"}',
    ]


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_queue_whose_address_is_not_known_is_named(bare: Notify, aws: Aws) -> None:
    done = bare("dead-letters", "--queue", "chat", "--requests-queue-url", aws.queues["requests"])
    assert (done.code, done.err.splitlines()) == (
        1,
        ["The address of the queue chat is not known. Give a file with --stack that lists the queues"],
    )


def test_without_keys_it_says_where_they_are_looked_for(
    bare: Notify, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)  # it remembers the keys of the test before
    done = bare("dead-letters", "--requests-queue-url", "https://sqs.eu-west-1.amazonaws.com/1/requests")
    assert done.code == 1
    assert done.err.startswith("There are no AWS credentials. Set AWS_PROFILE or AWS_ACCESS_KEY_ID and ")


def test_queues_that_are_not_there_are_told(bare: Notify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "stack.json"
    gone = "http://127.0.0.1:1"
    file.write_text(json.dumps({"endpoint_url": gone, "region": "us-east-1", "queues": {"chat": f"{gone}/1/chat"}}))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    done = bare("dead-letters", "--stack", str(file))
    assert (done.code, done.err.startswith("SQS can't be reached: ")) == (1, True)


def test_every_queue_of_the_platform_can_be_named() -> None:
    assert [*Queue] == [*QueueName]


def test_what_aws_refuses_is_told(bare: Notify, aws: Aws) -> None:
    done = bare("dead-letters", "--requests-queue-url", f"{aws.queues['requests']}-gone")
    assert done.code == 1
    assert done.err.startswith("SQS refused: AWS.SimpleQueueService.NonExistentQueue")
