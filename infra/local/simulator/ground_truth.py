"""What really reached somebody, whatever was answered about it."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from infra.local.simulator.wire import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which messages to list; an absent field matches all."""

    channel: str | None = None
    to: str | None = None
    delivery_id: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    channel: str
    to: str
    delivery_id: str | None
    at: datetime
    json: bytes


class GroundTruth:
    """An append-only list; each message is encoded once, so that listing 100,000 of them is a join."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._lock = threading.Lock()

    def record(self, *, channel: str, to: str, text: str, blocks: object = None, delivery_id: str | None) -> None:
        """Notes that this reached `to` now."""
        with self._lock:
            at = datetime.now(tz=UTC)
            message = {
                "channel": channel,
                "to": to,
                "text": text,
                "blocks": blocks,
                "delivery_id": delivery_id,
                "at": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            }
            entry = _Entry(channel=channel, to=to, delivery_id=delivery_id, at=at, json=to_json(message))
            self._entries.append(entry)

    def to_json(self, wanted: Filter, *, offset: int = 0, limit: int | None = None) -> bytes:
        """The matching messages in the order they arrived, as a JSON list."""
        with self._lock:
            entries = self._entries.copy()
        if wanted != Filter():
            entries = list(_matching(entries, wanted))
        end = None if limit is None else offset + limit
        return b"[%b]" % b",".join([entry.json for entry in entries[offset:end]])

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


def _matching(entries: Iterable[_Entry], wanted: Filter) -> Iterable[_Entry]:
    return (
        entry
        for entry in entries
        if wanted.channel in (None, entry.channel)
        and wanted.to in (None, entry.to)
        and wanted.delivery_id in (None, entry.delivery_id)
        and (wanted.since is None or entry.at >= wanted.since)
    )
