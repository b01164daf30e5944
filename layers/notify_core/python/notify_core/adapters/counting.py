"""Stores that count what their writes move, by the state that it is moved to: every move, whoever makes it."""

from collections.abc import Sequence
from typing import Any, cast

from notify_core.application.ports import NoticeStore, PutRequest, RequestStore, Telemetry, Write
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request


def counting_requests(store: RequestStore, telemetry: Telemetry) -> RequestStore:
    """The store; its writes count in the metric `request_moves`."""
    return cast("RequestStore", _CountingRequests(store, telemetry))


def counting_notices(store: NoticeStore, telemetry: Telemetry) -> NoticeStore:
    """The store; its writes count in the metric `delivery_moves`."""
    return cast("NoticeStore", _CountingNotices(store, telemetry))


class _Delegating:
    """Has whatever the store behind it has."""

    def __init__(self, store: Any, telemetry: Telemetry) -> None:  # noqa: ANN401  (either store)
        self._store = store
        self._telemetry = telemetry

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever the store has)
        return getattr(self._store, name)


class _CountingRequests(_Delegating):
    def put(self, new: Request, was: Request | None) -> None:
        self._store.put(new, was)
        self._count(new, was)

    def commit(self, writes: Sequence[Write]) -> None:
        self._store.commit(writes)
        for write in writes:
            if isinstance(write, PutRequest):
                self._count(write.new, write.was)

    def _count(self, new: Request, was: Request | None) -> None:
        if was is None or was.state is not new.state:
            self._telemetry.count("request_moves", state=new.state.value)


class _CountingNotices(_Delegating):
    """A claim isn't counted: whatever ends it is."""

    def put(self, new: Notice, was: Notice | None) -> None:
        self._store.put(new, was)
        for item in new.deliveries:
            before = was.delivery(item.channel) if was else None
            state = before.state if before else DeliveryState.QUEUED
            if item.state not in {state, DeliveryState.SENDING}:
                self._telemetry.count("delivery_moves", channel=item.channel.value, state=item.state.value)
