"""What the tests of deliveries share: batches as a function delivers them, providers that are watched, what is told."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TypeVar

from notify_core.application.deliver_notices import deliver_notices
from notify_core.application.ports import NoticeKey, Outgoing, Ports, QueueName
from notify_core.application.tasks import DispatchTask, parse_task
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS
from notify_core.domain.notice import Delivery
from notify_core.domain.send_result import (
    Rejected,
    RejectionScope,
    SendResult,
    Throttled,
    Unavailable,
    Unknown,
)
from tests.application.world import ACME, NOON, Provider, World

T = TypeVar("T")

DOWN = Unavailable(reason="service_unavailable")
LOST = Unknown(reason="timeout")
GONE = Rejected(reason="user_not_found", scope=RejectionScope.PERSON)
REVOKED = Rejected(reason="token_revoked", scope=RejectionScope.WORKSPACE)
BUSY = Throttled(retry_after=timedelta(seconds=30))


def at(**units: float) -> datetime:
    """A moment counted from noon."""
    return NOON + timedelta(**units)


# ---------------------------------------------------------------- doing


def accept_only(world: World) -> None:
    """Process what lies in the requests queue, and leave what it dispatches."""
    world.run_only(QueueName.REQUESTS)


def accepted(world: World, *people: str, queue: QueueName = QueueName.CHAT) -> list[DispatchTask]:
    """Publish k1 to people, and take what its acceptance dispatches."""
    world.publish("k1", *people)
    accept_only(world)
    return take(world, queue)


def take(world: World, queue: QueueName = QueueName.CHAT) -> list[DispatchTask]:
    """The dispatches that are visible now, received and no longer in the queue."""
    now = world.clock.now()
    visible = sorted(item for item in world.queues.waiting if item.queue is queue and item.visible_at <= now)
    tasks = [parse_task(json.loads(world.queues.take(item).body)) for item in visible]
    return [task for task in tasks if isinstance(task, DispatchTask)]


def deliver(
    world: World,
    tasks: Sequence[DispatchTask],
    ports: Ports | None = None,
    *,
    seconds: float = DELIVER_TIMEOUT_SECONDS,
) -> set[DispatchTask]:
    """Deliver a batch in a function that has so many seconds left; gives what has to come again."""
    return deliver_notices(tasks, ports or world.ports, until=world.clock.now() + timedelta(seconds=seconds))


def at_once(*calls: Callable[[], T]) -> list[T]:
    """What several calls give, each made in a thread of its own."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def while_sending(provider: Provider, act: Callable[[], object]) -> None:
    """Have something happen while a send is under way, each time."""
    send = provider.send

    def watched(outgoing: Outgoing) -> SendResult:
        act()
        return send(outgoing)

    provider.send = watched  # type: ignore[method-assign]


# ---------------------------------------------------------------- looking


def item(world: World, recipient: str = "ana", channel: Channel = Channel.CHAT, request_key: str = "k1") -> Delivery:
    """One delivery as it is."""
    found = world.notice(recipient, request_key).delivery(channel)
    assert found is not None, f"{recipient}'s notice has no {channel}"
    return found


def told(world: World, recipient: str = "ana", channel: Channel = Channel.CHAT, request_key: str = "k1") -> str:
    """A delivery's state, and its reason where it has one."""
    found = item(world, recipient, channel, request_key)
    return f"{found.state}({found.reason})" if found.reason else found.state.value


def moves(world: World, recipient: str = "ana", channel: Channel = Channel.CHAT, request_key: str = "k1") -> list[str]:
    """What a delivery's timeline tells: where it came from, where it went, who moved it and why."""
    return [
        f"{line.source} -> {line.target} by {line.by}" + (f": {line.reason}" if line.reason else "")
        for line in world.notice(recipient, request_key).timeline
        if line.channel is channel
    ]


def key_of(world: World, recipient: str = "ana", request_key: str = "k1") -> NoticeKey:
    """Where an unfolded notice stands."""
    identity = NoticeId(world.id_of(request_key))
    return NoticeKey(workspace_id=ACME, recipient=Recipient(recipient), notice_id=identity)


def texts(provider: Provider) -> list[tuple[str, str]]:
    """Whom a provider reached, and with what."""
    return [(outgoing.address, outgoing.text) for outgoing in provider.reached]
