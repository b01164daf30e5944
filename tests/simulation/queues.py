"""Standard SQS queues: disorder, duplicates, delays, visibility, receive counts, dead letters, purges."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from notify_core.application.ports import Message, QueueName, StoreUnavailable
from notify_core.domain.limits import BATCH_MESSAGES, RECEIVES_MAX

if TYPE_CHECKING:
    from tests.simulation.world import World

DELAYED_SECONDS_MAX = 30.0
DOUBLED_SECONDS = 0.2
"""When a message that SQS has twice comes again."""


@dataclass(eq=False, slots=True)
class Held:
    """A message in a queue; `number` is its place in the order of sending."""

    body: str
    number: int
    sent_at: datetime
    visible_at: datetime
    receives: int = 0
    slot: int = -1
    """Its place among the visible ones; -1 while it is hidden."""
    is_gone: bool = False


class Shelf:
    """A queue's messages: those that can be received, and those that are hidden until a time."""

    def __init__(self) -> None:
        self._visible: list[Held] = []
        self._hidden: list[tuple[datetime, int, Held]] = []
        self._pushes = count()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Held]:
        hidden = {id(held): held for at, _, held in self._hidden if held.visible_at == at and held.slot < 0}
        return (held for held in (*self._visible, *hidden.values()) if not held.is_gone)

    def add(self, held: Held) -> None:
        self._count += 1
        heappush(self._hidden, (held.visible_at, next(self._pushes), held))

    def hide(self, held: Held, until: datetime) -> None:
        self._unslot(held)
        held.visible_at = until
        heappush(self._hidden, (until, next(self._pushes), held))

    def remove(self, held: Held) -> None:
        self._unslot(held)
        held.is_gone = True
        self._count -= 1

    def clear(self) -> None:
        for held in [*self]:
            self.remove(held)
        self._hidden.clear()

    def visible(self, now: datetime) -> Sequence[Held]:
        """Those that can be received now."""
        hidden = self._hidden
        while hidden and hidden[0][0] <= now:
            at, _, held = heappop(hidden)
            if not held.is_gone and held.slot < 0 and held.visible_at == at:
                held.slot = len(self._visible)
                self._visible.append(held)
        return self._visible

    def next_at(self, now: datetime) -> datetime | None:
        """When there is something to receive; None while it is empty."""
        if self.visible(now):
            return now
        return self._hidden[0][0] if self._hidden else None

    def _unslot(self, held: Held) -> None:
        if held.slot < 0:
            return
        last = self._visible.pop()
        if last is not held:
            self._visible[held.slot] = last
            last.slot = held.slot
        held.slot = -1


class Queues:
    """ports.Queues and ports.Inbox; `dead` are the queues' dead letters, `kept` those that nobody can read."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.held: dict[QueueName, Shelf] = {queue: Shelf() for queue in QueueName}
        self.dead: dict[QueueName, list[Held]] = {queue: [] for queue in QueueName}
        self.kept: dict[QueueName, list[Held]] = {queue: [] for queue in QueueName}
        self._numbers = 0
        self._handles = 0
        self._by_handle: dict[str, tuple[QueueName, Held]] = {}
        self._newest: dict[QueueName, int] = dict.fromkeys(QueueName, 0)

    # ---------------------------------------------------------------- ports.Queues

    def send(self, queue: QueueName, messages: Sequence[Message]) -> None:
        world = self._world
        for begin in range(0, len(messages), BATCH_MESSAGES):
            batch = messages[begin : begin + BATCH_MESSAGES]
            world.reach(f"send.{queue}")
            if world.chance(world.faults.send_fails, "send failed"):
                world.happened("send failed", queue)
                raise StoreUnavailable("send")
            is_partial = len(batch) > 1 and world.chance(world.faults.send_fails, "send failed in part")
            taken = batch[: 1 + int(world.kernel.draw("part") * (len(batch) - 1))] if is_partial else batch
            for message in taken:
                self.put(queue, json.dumps(message.body), message.delay_seconds)
            if world.kernel.history is not None:
                world.kernel.tell(f"sends {len(taken)} to {queue}")
            if is_partial:
                world.happened("send failed in part", queue)
                raise StoreUnavailable("send")
            world.answered(f"send.{queue}", may_conflict=False)

    def put(self, queue: QueueName, body: str, delay_seconds: float = 0) -> None:
        """Lay a message into a queue."""
        world = self._world
        now = world.kernel.at
        visible_at = now + timedelta(seconds=delay_seconds)
        if world.chance(world.faults.delay, "message delayed"):
            world.happened("message delayed", queue)
            visible_at += timedelta(seconds=world.kernel.draw("delay") * DELAYED_SECONDS_MAX)
        self._numbers += 1
        self.held[queue].add(Held(body, self._numbers, now, visible_at))
        world.checkers.sent(queue, body)
        world.wake(queue, visible_at)

    def backlog(self, queue: QueueName) -> int:
        self._world.reach("backlog")
        return len(self.held[queue])

    # ---------------------------------------------------------------- for whoever consumes them

    def receive(self, queue: QueueName, visibility_seconds: float) -> dict[str, Held]:
        """Up to a batch of visible messages, in any order, hidden for a while; one may come twice."""
        world, shelf = self._world, self.held[queue]
        now = world.kernel.at
        taken: dict[str, Held] = {}
        for _ in range(BATCH_MESSAGES):
            visible = shelf.visible(now)
            if not visible:
                break
            held = world.kernel.pick(visible, "message")
            if held.receives == RECEIVES_MAX:
                shelf.remove(held)
                self.dead[queue].append(held)
                world.happened("dead letter", queue)
                world.wake_dead(queue)
                continue
            held.receives += 1
            if held.receives > 1:
                world.happened("message received again")
            if held.number < self._newest[queue]:
                world.happened("messages out of order")
            self._newest[queue] = max(self._newest[queue], held.number)
            is_double = world.chance(world.faults.duplicate, "message duplicated")
            if is_double:
                world.happened("message duplicated", queue)
            shelf.hide(held, now + timedelta(seconds=DOUBLED_SECONDS if is_double else visibility_seconds))
            self._handles += 1
            handle = str(self._handles)
            self._by_handle[handle] = (queue, held)
            taken[handle] = held
        return taken

    def delete(self, handle: str) -> None:
        queue, held = self._by_handle.pop(handle)
        if not held.is_gone:
            self.held[queue].remove(held)

    def purge(self) -> None:
        """Empty every queue: whatever was in them is lost."""
        self._world.happened("purge")
        for queue, shelf in self.held.items():
            for held in shelf:
                self._world.checkers.lost(queue, held.body)
            shelf.clear()

    # ---------------------------------------------------------------- ports.Inbox

    def extend_visibility(self, queue: QueueName, receipt_handle: str, seconds: int) -> None:
        self._world.reach(f"extend.{queue}")
        _, held = self._by_handle.get(receipt_handle, (queue, None))
        if held is not None and not held.is_gone:
            until = self._world.kernel.at + timedelta(seconds=seconds)
            self.held[queue].hide(held, until)
            self._world.wake(queue, until)

    def move_to_dead_letters(self, queue: QueueName, body: str, reason: str) -> None:
        self._world.reach(f"move.{queue}")
        self._world.kernel.tell(f"moves a message to the dead letters of {queue}: {reason}")
        now = self._world.kernel.at
        self._numbers += 1
        self.dead[queue].append(Held(body, self._numbers, now, now, receives=1))
        self._world.wake_dead(queue)

    def keep_dead(self, queue: QueueName, receipt_handle: str) -> None:
        raise AssertionError(f"{queue}, {receipt_handle}: the world keeps what nobody can read by itself")
