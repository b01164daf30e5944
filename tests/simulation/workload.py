"""What producers, recipients and operators do in a run, drawn from its seed."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from notify_core.application.ports import Conflict, NoticeKey, QueueName, ReadMark, StoreUnavailable
from notify_core.application.reprocess_request import reprocess_request
from notify_core.application.retire_definition import retire_definition
from notify_core.application.retry_delivery import retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition, DefinitionState
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import DefinitionKey, PersonId, Recipient, WorkspaceId
from notify_core.domain.notice import read
from tests.simulation.world import World

if TYPE_CHECKING:
    from random import Random

ACME = WorkspaceId("acme")
_TEMPLATES: dict[Channel, dict[str, Any]] = {
    Channel.CONSOLE: {"title": "{{ key }}", "body": "for {{ recipient.name }}"},
    Channel.CHAT: {"text": "{{ key }}", "blocks": None},
    Channel.TEXT: {"body": "{{ key }}"},
    Channel.SLACK_SYSTEM: {"text": "{{ key }}", "blocks": None},
}


class Workload:
    """A cast of definitions and people, and a stream of what is done to them."""

    def __init__(self, world: World, *, operations: int, seconds: float) -> None:
        self.world = world
        self.random: Random = world.kernel.random
        self.people = [f"p{number}" for number in range(self.random.choice((1, 1, 2, 3, 8)))]
        self.published: list[dict[str, Any]] = []
        self._register()
        for _ in range(operations):
            world.kernel.after(self.random.random() * seconds, self._operate)

    # ---------------------------------------------------------------- setting up

    def _register(self) -> None:
        plain = self.world.plain
        channels = frozenset({Channel.CONSOLE, Channel.CHAT, Channel.TEXT})
        plain.registry.put_workspace(Workspace(workspace_id=ACME, name="Acme", channels=channels, version=1), None)
        for name in self.people:
            person = Person(
                workspace_id=ACME,
                person_id=PersonId(name),
                name=name,
                slack_user_id=f"U{name.upper()}",
                phone="+331234567" if self.random.random() < 0.8 else None,
                version=1,
            )
            plain.directory.put_person(person, None)
        hours = self.random.choice((1, 6, 48))
        self._define("plain", ("console", "chat", "text"), hours)
        self._define("chat", ("chat",), hours)
        self._define("replace", ("console", "chat"), hours, replace_previous=True)
        self._define(
            "fold", ("console", "chat"), hours, fold_within=timedelta(minutes=self.random.choice((1, 30, 600)))
        )
        self._define("foldtext", ("text",), hours, fold_within=timedelta(minutes=30))
        self._define("alert", ("slack_system",), hours)

    def _define(self, key: str, channels: tuple[str, ...], hours: float, **fields: Any) -> None:
        used = tuple(map(Channel, channels))
        definition = Definition(
            workspace_id=ACME,
            key=DefinitionKey(key),
            version=1,
            title=key,
            category="c",
            critical=False,
            channels=used,
            schema={"type": "object"},
            templates={channel: _TEMPLATES[channel] for channel in used},
            expires_after=timedelta(hours=hours),
            **fields,
        )
        self.world.plain.registry.put_definition(definition, None)

    # ---------------------------------------------------------------- operations

    def _operate(self) -> None:
        operation = self.random.choices(
            (self._publish, self._repeat, self._withdraw, self._withdraw_key, self._read, self._read_all,
             self._retry, self._reprocess, self._retire, self._register_again, self._leave),
            (50, 8, 12, 8, 8, 3, 6, 2, 1, 1, 1),
        )[0]  # fmt: skip
        operation()

    def _publish(self) -> None:
        random, now = self.random, self.world.kernel.at
        definition = random.choice(
            ("plain", "plain", "chat", "replace", "replace", "fold", "fold", "foldtext", "alert")
        )
        key = f"{definition}-{len(self.published)}"
        published_at = now + timedelta(seconds=random.choice((0, 0, 0, -1, -30, 60, -3600)))
        body: dict[str, Any] = {
            "type": "publish",
            "version": 1,
            "workspace_id": ACME,
            "definition": definition,
            "request_key": key,
            "published_at": published_at.isoformat(),
            "data": {"key": f"[{key}]"},
            "audience": {"hq": True} if definition == "alert" else {"people": self._audience()},
        }
        if definition == "replace":
            body["replacement_key"] = random.choice(("a", "b"))
        if definition.startswith("fold") and random.random() < 0.9:
            body["fold_key"] = random.choice(("x", "y"))
        if random.random() < 0.2:
            wait = random.choice((1, 20, 600, 1200, 7200))
            body["not_before"] = (now + timedelta(seconds=wait)).isoformat()
        if random.random() < 0.3:
            body["deadline"] = (now + timedelta(seconds=random.choice((5, 60, 700, 3600, 10_000)))).isoformat()
        self.published.append(body)
        self._put(body)
        self._follow(body)

    def _follow(self, body: dict[str, Any]) -> None:
        """Contend for what was just published: withdraw it, or publish it again, at any point of its acceptance."""
        random, kernel = self.random, self.world.kernel
        if random.random() < 0.3:
            withdrawal = self._withdrawal(body["definition"], request_key=body["request_key"])
            kernel.after(random.random() * random.choice((0.03, 0.1, 0.1, 0.3, 5)), lambda: self._put(withdrawal))
        if random.random() < 0.1:
            kernel.after(random.random(), lambda: self._put(body))
        if "replacement_key" in body and random.random() < 0.3:
            kernel.after(random.random(), self._withdraw_key)

    def _audience(self) -> list[str]:
        return self.random.sample(self.people, self.random.randint(1, len(self.people)))

    def _repeat(self) -> None:
        if self.published:
            body = dict(self.random.choice(self.published))
            if self.random.random() < 0.1:
                body["data"] = {"key": "[other]"}
            self._put(body)

    def _withdraw(self) -> None:
        """Withdraw something published, or about to be."""
        random = self.random
        bodies = self.published[-5:]
        key = random.choice(bodies)["request_key"] if bodies and random.random() < 0.9 else None
        if key is None:
            key = f"{random.choice(('plain', 'fold', 'replace'))}-{len(self.published)}"
        self._put(self._withdrawal(key.split("-")[0], request_key=key))

    def _withdraw_key(self) -> None:
        withdrawn_at = self.world.kernel.at + timedelta(seconds=self.random.choice((0, -30, -3600, 60)))
        self._put(
            self._withdrawal(
                "replace",
                replacement_key=self.random.choice(("a", "b")),
                withdrawn_at=withdrawn_at.isoformat(),
            )
        )

    def _withdrawal(self, definition: str, **fields: Any) -> dict[str, Any]:
        return {
            "type": "withdraw",
            "version": 1,
            "workspace_id": ACME,
            "definition": definition,
            "withdrawn_at": self.world.kernel.at.isoformat(),
            **fields,
        }

    def _put(self, body: dict[str, Any]) -> None:
        self.world.kernel.tell(f"PUT {json.dumps(body)}")
        self.world.queues.put(QueueName.REQUESTS, json.dumps(body))
        self.world.counts[body["type"]] += 1
        if self.world.chance(self.world.faults.duplicate):
            self.world.queues.put(QueueName.REQUESTS, json.dumps(body))

    # ---------------------------------------------------------------- recipients and operators

    def _some_notice(self) -> Any:
        notices = list(self.world.database.notices)
        return self.random.choice(notices[-20:]) if notices else None

    def _spawn(self, name: str, run: Any) -> None:
        def ended(outcome: object) -> None:
            if isinstance(outcome, Exception) and not isinstance(outcome, (Conflict, StoreUnavailable)):
                raise outcome

        self.world.kernel.spawn(name, run, seconds=28, on_end=ended)

    def _read(self) -> None:
        notice = self._some_notice()
        if notice is None:
            return
        key = NoticeKey(workspace_id=ACME, recipient=notice.recipient, notice_id=notice.notice_id)

        def run() -> None:
            found = self.world.ports.notices.get(key)
            if found is not None and found.read_at is None:
                self.world.ports.notices.put(read(found, now=self.world.kernel.at), found)

        self._spawn("read", run)

    def _read_all(self) -> None:
        at = self.world.kernel.at
        recipient = Recipient(self.random.choice(self.people))
        mark = ReadMark(read_up_to=at, marked_at=at)
        self._spawn("read_all", lambda: self.world.ports.notices.mark_read(ACME, recipient, mark))

    def _retry(self) -> None:
        failed = [
            (notice, item.channel)
            for notice in self.world.database.notices
            for item in notice.deliveries
            if item.state == "failed"
        ]
        if not failed:
            return
        notice, channel = self.random.choice(failed[-5:])
        key = NoticeKey(workspace_id=ACME, recipient=notice.recipient, notice_id=notice.notice_id)
        for _ in range(self.random.choice((1, 2))):
            self._spawn("retry", lambda: retry_delivery(key, channel, self.world.ports))

    def _reprocess(self) -> None:
        dead = [request for request in self.world.database.requests if request.state == "queued" and request.problems]
        if dead:
            request = self.random.choice(dead)
            self._spawn("reprocess", lambda: reprocess_request(ACME, request.request_id, self.world.ports))

    def _retire(self) -> None:
        key = DefinitionKey(self.random.choice(("plain", "fold", "replace", "chat")))
        self._spawn("retire", lambda: retire_definition(ACME, key, self.world.ports))

    def _register_again(self) -> None:
        key = DefinitionKey(self.random.choice(("plain", "fold", "replace", "chat")))
        was = self.world.plain.registry.definition(ACME, key, consistent=True)
        if was is not None and not was.is_active:
            new = replace(was, version=was.version + 1, state=DefinitionState.ACTIVE, retired_at=None)
            self.world.plain.registry.put_definition(new, was)

    def _leave(self) -> None:
        """Somebody leaves, or comes back."""
        name = PersonId(self.random.choice(self.people))
        was = self.world.plain.directory.people(ACME, [name])[name]
        self.world.plain.directory.put_person(replace(was, version=was.version + 1, active=not was.active), was)


def last_deadline(world: World) -> datetime:
    """When the last request expires."""
    times = [request.expires_at for request in world.database.requests if request.expires_at is not None]
    return max(times, default=world.kernel.at)
