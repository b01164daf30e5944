from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from notify_core.adapters.batch import Record, deadline, process_batch, process_each, setting, where
from notify_core.application.ports import StoreUnavailable
from notify_core.settings import SettingUnusable


@dataclass
class Told:
    """Telemetry that keeps what it is told."""

    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    counts: list[tuple[str, int, dict[str, str]]] = field(default_factory=list)

    def info(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        self.counts.append((metric, value, dimensions))


def at_once(tasks: Sequence[Any]) -> list[Any]:
    return [task() for task in tasks]


def event(*bodies: str) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": f"m-{body}",
                "receiptHandle": f"h-{body}",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1796032800250"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:notify-chat",
                "awsRegion": "us-east-1",
            }
            for body in bodies
        ]
    }


def failures(*bodies: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": f"m-{body}"} for body in bodies]}


def poison(record: Record) -> bool:
    """Raises for a bad record, and isn't done with a waiting one."""
    if record.body.startswith("bad"):
        raise StoreUnavailable("content of the message")
    return record.body != "waiting"


TEN = tuple("0123456789")


@pytest.mark.parametrize(
    ("bodies", "failed"),
    [
        (("bad",), ("bad",)),
        (("good",), ()),
        (("bad-0", *TEN[1:]), ("bad-0",)),
        ((*TEN[:9], "bad-9"), ("bad-9",)),
        (TEN, ()),
        (tuple(f"bad-{n}" for n in TEN), tuple(f"bad-{n}" for n in TEN)),
        (("1", "waiting", "2"), ("waiting",)),
        ((), ()),
    ],
    ids=["1 bad", "1 good", "first bad", "last bad", "all good", "all bad", "1 waiting", "none"],
)
def test_exactly_the_records_that_fail_come_again(bodies: tuple[str, ...], failed: tuple[str, ...]) -> None:
    assert process_each(event(*bodies), poison, Told(), at_once) == failures(*failed)


def test_a_record_that_only_waits_is_no_failure_to_tell_of() -> None:
    told = Told()
    process_each(event("waiting"), poison, told, at_once)
    assert (told.lines, told.counts) == ([], [])


def test_a_record_that_fails_is_told_by_the_kind_and_place_of_its_error_alone() -> None:
    told = Told()
    process_each(event("bad"), poison, told, at_once)
    ((name, fields),) = told.lines
    assert name == "records_failed"
    assert fields.pop("where").startswith("test_batch:")
    assert fields == {"records": 1, "error": "StoreUnavailable", "setting": None}
    assert told.counts == [("records_failed", 1, {"error": "StoreUnavailable"})]


def test_every_record_is_handled_though_the_first_fails() -> None:
    handled: list[str] = []

    def handle(record: Record) -> bool:
        handled.append(record.body)
        return poison(record)

    process_each(event("bad", "1", "2"), handle, Told(), at_once)
    assert handled == ["bad", "1", "2"]


def test_a_record_is_what_lambda_says() -> None:
    seen: list[Record] = []
    process_each(event("0"), lambda record: not seen.append(record), Told(), at_once)
    assert seen == [
        Record(
            message_id="m-0",
            receipt_handle="h-0",
            body="0",
            receives=3,
            queue_name="notify-chat",
        )
    ]


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        ([], ()),
        (["m-1"], ("1",)),
        ({"m-2", "m-0"}, ("0", "2")),
        (["m-1", "m-1"], ("1",)),
        (["m-1", "of another batch", ""], ("1",)),
        (["m-0", "m-1", "m-2"], ("0", "1", "2")),
    ],
    ids=["none", "one", "two", "twice", "unknown", "all"],
)
def test_only_messages_of_the_batch_are_named_each_once(answer: Collection[str], failed: tuple[str, ...]) -> None:
    assert process_batch(event("0", "1", "2"), lambda _: answer, Told()) == failures(*failed)


def test_a_batch_that_raises_comes_again_as_a_whole() -> None:
    def fail(_: Sequence[Record]) -> Collection[str]:
        raise KeyError("content of the message")

    told = Told()
    assert process_batch(event("0", "1"), fail, told) == failures("0", "1")
    assert told.counts == [("records_failed", 2, {"error": "KeyError"})]
    assert "content" not in str(told.lines)


def test_the_deadline_is_when_the_time_of_the_invocation_is_over() -> None:
    class Clock:
        def now(self) -> datetime:
            return datetime(2026, 11, 30, 10, 0, tzinfo=UTC)

    class Context:
        aws_request_id = "i-1"

        def get_remaining_time_in_millis(self) -> int:
            return 24_500

    assert deadline(Context(), Clock()) == datetime(2026, 11, 30, 10, 0, 24, 500_000, tzinfo=UTC)


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert where(ValueError("x")) == ""


def test_a_setting_that_cannot_be_used_is_named() -> None:
    assert setting(SettingUnusable("NOTIFY_X is not set")) == "NOTIFY_X"
    assert setting(ValueError("what somebody wrote")) is None
