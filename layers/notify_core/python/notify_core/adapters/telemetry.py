"""Logs and metrics by AWS Lambda Powertools: JSON lines, and CloudWatch's embedded metric format."""

import json
import re
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TextIO

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

NAMESPACE: Final = "NotifyPlatform"
VALUES_MAX: Final = 100
"""CloudWatch: values of one metric in one line."""

LOGGED_FIELDS: Final = frozenset(
    {
        # identifiers
        "workspace_id",
        "definition",
        "definition_version",
        "request_id",
        "notice_id",
        "delivery_id",
        "claim_id",
        "provider_id",
        "message_id",
        "recipient",
        # words of ours, and codes
        "channel",
        "code",
        "error",
        "kind",
        "queue",
        "reason",
        "result",
        "state",
        "status",
        "setting",
        "where",
        # numbers
        "age_seconds",
        "attempts",
        "count",
        "difference",
        "duration_seconds",
        "receives",
        "messages",
        "records",
        "sent",
    }
)
"""All that a line may hold besides its event: no name, address, key or text has a field to stand in. A recipient is the
opaque id of a person, without which a notice can't be found."""
METRIC_DIMENSIONS: Final = frozenset({"channel", "error", "event", "outcome", "queue", "reason", "result", "state"})
"""All that may split a metric: each value is a metric of its own to pay for, so no identifiers."""
REDACTED: Final = "[redacted]"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:~-]{0,200}")
_TOKEN: Final = re.compile(r"xox|xapp-|^\d{7,}$")

Value = str | int | float | None
_Dimensions = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Invocation:
    """What is summed up until the end of an invocation; a group of metrics has the same dimensions."""

    identifier: str | None = None
    lines: int = 0
    counts: dict[_Dimensions, dict[str, int]] = field(default_factory=dict[_Dimensions, dict[str, int]])
    durations: dict[_Dimensions, dict[str, list[float]]] = field(
        default_factory=dict[_Dimensions, dict[str, list[float]]]
    )


class PowertoolsTelemetry:
    """ports.Telemetry: a line at once for what happened, one flush an invocation for the metrics.

    Lambda runs one invocation at a time in a process; its threads share the sums.
    """

    def __init__(self, *, service: str, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._logger = Logger(
            service=service,
            level="INFO",
            stream=self._stream,
            location=None,
            xray_trace_id=None,
            utc=True,
            use_rfc3339=True,
        )
        self._metrics: Any = AmazonCloudWatchEMFProvider(namespace=NAMESPACE)
        self._invocation = _Invocation()
        self._lock = Lock()

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add to a metric, summed over the invocation."""
        with self._lock:
            group = self._invocation.counts.setdefault(_group(dimensions), {})
            group[metric] = group.get(metric, 0) + value

    def observe(self, metric: str, seconds: float, **dimensions: str) -> None:
        """Record a duration."""
        with self._lock:
            group = self._invocation.durations.setdefault(_group(dimensions), {})
            group.setdefault(metric, []).append(round(seconds, 3))

    def info(self, event: str, **fields: Value) -> None:
        """Log what happened."""
        self._logger.info(event, extra=self._fields(fields))

    def alarm(self, event: str, **fields: Value) -> None:
        """Log what an operator has to know of, and count it in the metric `alarms` by event."""
        self._logger.error(event, extra=self._fields(fields))
        self.count("alarms", event=event)

    @contextmanager
    def invocation(self, identifier: str) -> Generator[None, None, None]:
        """The extent of an invocation: begins the sums anew, and writes them at its end, however it ends."""
        with self._lock:
            self._invocation = _Invocation(identifier=identifier)
        try:
            yield
        finally:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            ended, self._invocation = self._invocation, _Invocation()
        lines = [json.dumps(line, separators=(",", ":")) for line in self._metric_lines(ended)]
        if lines:
            print(*lines, sep="\n", file=self._stream, flush=True)
        elif not ended.lines:
            # ministack waits 50 ms for a first line.
            self._logger.info("nothing_to_tell", extra={"invocation_id": ended.identifier})

    def _metric_lines(self, ended: _Invocation) -> Iterator[Mapping[str, Any]]:
        for dimensions, counts in ended.counts.items():
            yield self._line(ended, dimensions, "Count", counts)
        for dimensions, durations in ended.durations.items():
            for name, values in durations.items():
                for start in range(0, len(values), VALUES_MAX):
                    yield self._line(ended, dimensions, "Seconds", {name: values[start : start + VALUES_MAX]})

    def _line(
        self, ended: _Invocation, dimensions: _Dimensions, unit: str, values: Mapping[str, int | list[float]]
    ) -> Mapping[str, Any]:
        line: Mapping[str, Any] = self._metrics.serialize_metric_set(
            metrics={name: {"Unit": unit, "Value": value} for name, value in values.items()},
            dimensions=dict(dimensions),
            metadata={"invocation_id": ended.identifier},
        )
        return line

    def _fields(self, fields: Mapping[str, Value]) -> dict[str, Value]:
        with self._lock:
            self._invocation.lines += 1
            identifier = self._invocation.identifier
        return {
            "invocation_id": identifier,
            **{name: _harmless(name, value) for name, value in fields.items()},
        }


def _group(dimensions: Mapping[str, str]) -> _Dimensions:
    return tuple(
        (name, value if name in METRIC_DIMENSIONS and _is_plain(value) else REDACTED)
        for name, value in sorted(dimensions.items())
    )


def _harmless(name: str, value: Value) -> Value:
    is_allowed = name in LOGGED_FIELDS and (not isinstance(value, str) or _is_plain(value))
    return value if is_allowed else REDACTED


def _is_plain(text: str) -> bool:
    """Whether it looks like an identifier or a code, and not like a token or a number to call."""
    return _PLAIN.fullmatch(text) is not None and _TOKEN.search(text) is None
