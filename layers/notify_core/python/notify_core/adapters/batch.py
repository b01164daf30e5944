"""The shape of a function that reads a queue: records in, the failed ones out."""

import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePath
from typing import Any, Protocol

from notify_core.application.ports import Clock, Gather, Telemetry
from notify_core.settings import SettingUnusable


class Context(Protocol):
    """What Lambda tells of an invocation."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """How much of its time is left."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A received message; `receives` counts this time, `queue_name` is that of the queue it was read from."""

    message_id: str
    receipt_handle: str
    body: str
    receives: int
    queue_name: str


BatchResponse = Mapping[str, Sequence[Mapping[str, str]]]
"""Lambda's partial batch response: the messages named in it come again, every other one is deleted."""


def deadline(context: Context, clock: Clock) -> datetime:
    """When the invocation will be ended by Lambda."""
    return clock.now() + timedelta(milliseconds=context.get_remaining_time_in_millis())


def process_batch(
    event: Mapping[str, Any],
    handle_all: Callable[[Sequence[Record]], Collection[str]],
    telemetry: Telemetry,
) -> BatchResponse:
    """Hand over all records together; `handle_all` gives the message ids that failed: all have if it raises.

    Lambda takes an identifier that it doesn't know for a failure of everything, and an empty answer for a
    success of everything: only identifiers of this batch are named, each once.
    """
    records = [_record(record) for record in event["Records"]]
    try:
        failed = set(handle_all(records))
    except Exception as error:  # noqa: BLE001  (its message may quote content; the records come again)
        _tell(telemetry, error, len(records))
        failed = {record.message_id for record in records}
    return {
        "batchItemFailures": [
            {"itemIdentifier": record.message_id} for record in records if record.message_id in failed
        ]
    }


def process_each(
    event: Mapping[str, Any],
    handle: Callable[[Record], bool],
    telemetry: Telemetry,
    gather: Gather,
) -> BatchResponse:
    """Hand over the records one by one, at the same time; one that raises, or that isn't done, comes again alone."""

    def fails(record: Record) -> bool:
        try:
            return not handle(record)
        except Exception as error:  # noqa: BLE001  (its message may quote content; the record comes again)
            _tell(telemetry, error, 1)
            return True

    def handle_all(records: Sequence[Record]) -> Collection[str]:
        outcomes = gather([partial(fails, record) for record in records])
        return [record.message_id for record, failed in zip(records, outcomes, strict=True) if failed]

    return process_batch(event, handle_all, telemetry)


def where(error: BaseException) -> str:
    """The module and line that an exception came from, without a word of its message."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{PurePath(frames[0].filename).stem}:{frames[0].lineno}" if frames else ""


def setting(error: BaseException) -> str | None:
    """The variable that can't be used, where that is what an exception says."""
    return str(error).partition(" ")[0] if isinstance(error, SettingUnusable) else None


def _tell(telemetry: Telemetry, error: Exception, records: int) -> None:
    kind = type(error).__name__
    telemetry.count("records_failed", records, error=kind)
    telemetry.info("records_failed", records=records, error=kind, where=where(error), setting=setting(error))


def _record(record: Mapping[str, Any]) -> Record:
    return Record(
        message_id=record["messageId"],
        receipt_handle=record["receiptHandle"],
        body=record["body"],
        receives=int(record["attributes"]["ApproximateReceiveCount"]),
        queue_name=record["eventSourceARN"].rpartition(":")[2],
    )
