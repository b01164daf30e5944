"""What producers, recipients and operators do in a run, drawn from its seed and its profile."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from notify_core.application.ports import Conflict, NoticeKey, Outgoing, QueueName, ReadMark, StoreUnavailable
from notify_core.application.reprocess_request import reprocess_request
from notify_core.application.retire_definition import retire_definition
from notify_core.application.retry_delivery import retry_delivery
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition, DefinitionState
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import DefinitionKey, PersonId, Recipient, WorkspaceId
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS
from notify_core.domain.notice import Notice, read
from notify_core.domain.send_result import SendResult
from tests.simulation.profiles import PROFILES, Profile
from tests.simulation.world import NO_FAULTS, World

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
    """A cast of definitions and people, and a stream of what is done to them; the seed draws a profile."""

    def __init__(self, world: World, *, operations: int, seconds: float, profile: Profile | None = None) -> None:
        self.world = world
        self.random: Random = world.kernel.random
        self.profile = profile or self.random.choice(PROFILES)
        self.people = [f"p{number}" for number in range(self.random.choice(self.profile.people))]
        self.published: list[dict[str, Any]] = []
        self._acts: dict[str, Callable[[], None]] = {
            "publish": self._publish,
            "repeat": self._repeat,
            "withdraw": self._withdraw,
            "withdraw_key": self._withdraw_key,
            "read": self._read,
            "read_all": self._read_all,
            "retry": self._retry,
            "retry_all": self._retry_all,
            "regret": self._regret,
            "reprocess": self._reprocess,
            "retire": self._retire,
            "register_again": self._register_again,
            "redefine": self._redefine,
            "leave": self._leave,
            "move": self._move,
            "purge": self._purge,
        }
        """What a profile names."""
        seconds = max(seconds, self.profile.span)
        self._register()
        self._worsen()
        self._poison()
        self._hurry()
        self._tear()
        for _ in range(operations):
            world.kernel.after(self.random.random() * seconds, self._operate)
        for name in self.profile.later:
            world.kernel.after(self.random.random() * self.profile.later_hours * 3600, self._acts[name])
        for _ in range(self.random.choice(self.profile.purges)):
            world.kernel.after(self.random.random() * seconds, self._purge)
        for _ in range(self.random.choice(self.profile.refusals)):
            world.kernel.after(self.random.random() * seconds, self._refuse)

    def _worsen(self) -> None:
        """The faults that the profile wants, where the seed drew fewer of them."""
        faults = self.world.faults
        if faults is not NO_FAULTS:
            least = {name: max(getattr(faults, name), least) for name, least in self.profile.faults.items()}
            self.world.faults = replace(faults, **least)
        for provider in self.world.providers.values():
            provider.kinds = self.profile.answers or provider.kinds
            if self.profile.dawdling:
                provider.send = self._dawdling(provider.send)  # type: ignore[method-assign]

    def _dawdling(self, send: Callable[[Outgoing], SendResult]) -> Callable[[Outgoing], SendResult]:
        def late(outgoing: Outgoing) -> SendResult:
            if self.world.faults is not NO_FAULTS and self.random.random() < self.profile.dawdling:
                least = self.random.choice((0.0, 0.8, 0.8))
                self.world.kernel.sleep((least + self.random.random() * (1 - least)) * DELIVER_TIMEOUT_SECONDS)
            return send(outgoing)

        return late

    def _purge(self) -> None:
        """Every queue is emptied: what was under way has only its rows left."""
        self.world.queues.purge()

    def _refuse(self) -> None:
        """A provider refuses the whole workspace, for up to half an hour."""
        if self.world.faults is not NO_FAULTS:
            provider = self.world.providers[self.random.choice(list(self.world.providers))]
            provider.is_refusing = True

            def relent() -> None:
                provider.is_refusing = False

            self.world.kernel.after(self.random.random() * 1800, relent)

    def _poison(self) -> None:
        """Some people's dispatches can't be claimed and some publications not be written, by one kind of function."""
        kernel, profile = self.world.kernel, self.profile
        if not profile.poisoned:
            return
        people = {name for name in (*self.people, "-") if self.random.random() < profile.poisoned}
        keys = {f"-{number}" for number in range(200) if self.random.random() < profile.poisoned}
        until = kernel.at + timedelta(hours=self.random.choice((2, 3, 1000)))

        def runs(*names: str) -> bool:
            running = kernel.running
            return running is not None and running.root.name.split("#")[0] in names and kernel.at < until

        def put_notice(new: Any, was: Any, *, put: Any = self.world.ports.notices.put) -> None:
            if new.recipient in people and runs("chat", "text", "system"):
                raise StoreUnavailable("poison")
            put(new, was)

        def put_request(new: Any, was: Any, *, put: Any = self.world.ports.requests.put) -> None:
            if new.state == "open" and any(new.request_key.endswith(key) for key in keys) and runs("requests"):
                raise StoreUnavailable("poison")
            put(new, was)

        self.world.ports.notices.put = put_notice  # type: ignore[method-assign]
        self.world.ports.requests.put = put_request  # type: ignore[method-assign]

    def _hurry(self) -> None:
        """Operators try again, and messages are lost, between a sweep's reading and its writing."""
        kernel, get_many = self.world.kernel, self.world.ports.notices.get_many

        def looked(keys: Any, *, consistent: bool = True) -> Any:
            found = get_many(keys, consistent=consistent)
            sweeps = kernel.running is not None and kernel.running.root.name.startswith("reconcile")
            if sweeps and self.random.random() < self.profile.hurried:
                for notice in found.values():
                    for item in notice.deliveries:
                        if item.state == "failed" and item.reason == "attempts_exhausted":
                            self._press(notice, item.channel)
                            kernel.after(0.005 + self.random.random() * 0.05, self._purge)
            return found

        if self.profile.hurried:
            self.world.ports.notices.get_many = looked  # type: ignore[method-assign]

    def _tear(self) -> None:
        """What a withdrawal by key does after its mark comes late: meanwhile others find the mark."""
        kernel, put_head = self.world.kernel, self.world.ports.requests.put_head

        def marked(new: Any, was: Any) -> None:
            put_head(new, was)
            current = self.world.database.requests.get((ACME, new.current))
            if current is None or new.withdrawn_at is None or self.random.random() >= self.profile.torn:
                return
            older = self._body("replace", published_at=new.withdrawn_at - timedelta(seconds=1))
            self._put({**older, "replacement_key": new.replacement_key})
            withdrawal = self._withdrawal("replace", request_key=current.request_key)
            kernel.after(3, lambda: self._put(withdrawal))
            kernel.sleep(10)

        if self.profile.torn:
            self.world.ports.requests.put_head = marked  # type: ignore[method-assign]

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
        hours = self.random.choice(self.profile.hours)
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
        names, weights = zip(*self.profile.operations.items(), strict=True)
        self._acts[self.random.choices(names, weights)[0]]()

    def _publish(self) -> None:
        for _ in range(self.random.choice(self.profile.burst)):
            self._publish_one()

    def _publish_one(self) -> None:
        random, profile, now = self.random, self.profile, self.world.kernel.at
        definition = random.choice(profile.definitions)
        body = self._body(definition, published_at=self._time(random.choice(profile.published)))
        if definition == "replace":
            body["replacement_key"] = random.choice(profile.replacement_keys)
        if definition.startswith("fold") and random.random() < 0.9:
            body["fold_key"] = random.choice(profile.fold_keys)
        if random.random() < profile.wait:
            wait = random.choice((1, 20, 600, 1200, 7200))
            body["not_before"] = (now + timedelta(seconds=wait)).isoformat()
        if random.random() < profile.deadline:
            body["deadline"] = (now + timedelta(seconds=random.choice(profile.deadlines))).isoformat()
        self._put(body)
        self._follow(body)

    def _body(self, definition: str, *, published_at: datetime) -> dict[str, Any]:
        key = f"{definition}-{len(self.published)}"
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
        self.published.append(body)
        return body

    def _time(self, off_seconds: float) -> datetime:
        """A producer's time, by a clock that is off; to the full second where the profile wants equal ones."""
        at = self.world.kernel.at + timedelta(seconds=off_seconds)
        if self.profile.second:
            at = at.replace(second=at.second - at.second % self.profile.second, microsecond=0)
        return at

    def _follow(self, body: dict[str, Any]) -> None:
        """Contend for what was just published: withdraw it, or publish it again, at any point of its life."""
        random, kernel, profile = self.random, self.world.kernel, self.profile
        if random.random() < profile.withdrawn:
            withdrawal = self._withdrawal(body["definition"], request_key=body["request_key"])
            kernel.after(random.random() * random.choice(profile.withdrawn_after), lambda: self._put(withdrawal))
        if random.random() < profile.repeated:
            again = self._again(body)
            kernel.after(random.random(), lambda: self._put(again))
        if random.random() < profile.retired:
            key = DefinitionKey(body["definition"])
            kernel.after(random.random() * 0.3, lambda: self._retire_one(key))
            late_key = f"{body['request_key']}-late"
            latecomer = {**body, "request_key": late_key, "data": {"key": f"[{late_key}]"}}
            kernel.after(random.random() * 0.5, lambda: self._put(latecomer))
            kernel.after(1 + random.random() * 5, lambda: self._register_one(key))
        if "replacement_key" in body and random.random() < 0.3:
            kernel.after(random.random(), self._withdraw_key)

    def _again(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same publication, now and then with other content."""
        return {**body, "data": {"key": "[other]"}} if self.random.random() < 0.1 else body

    def _audience(self) -> list[str]:
        return self.random.sample(self.people, self.random.randint(1, len(self.people)))

    def _repeat(self) -> None:
        if self.published:
            self._put(self._again(self.random.choice(self.published)))

    def _withdraw(self) -> None:
        """Withdraw something published, or about to be."""
        random = self.random
        bodies = self.published[-5:]
        key = random.choice(bodies)["request_key"] if bodies and random.random() < 0.9 else None
        if key is None:
            key = f"{random.choice(('plain', 'fold', 'replace'))}-{len(self.published)}"
        self._put(self._withdrawal(key.split("-")[0], request_key=key))

    def _withdraw_key(self) -> None:
        withdrawn_at = self._time(self.random.choice((0, 0, -1, -30, -3600, 60)))
        self._put(
            self._withdrawal(
                "replace",
                replacement_key=self.random.choice(self.profile.replacement_keys),
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
        """Somebody reads all up to now, on another device all up to a while ago."""
        at = self.world.kernel.at
        recipient = Recipient(self.random.choice(self.people))
        for read_up_to in (at, at - timedelta(seconds=self.random.choice((1, 30, 600))))[: self.random.choice((1, 2))]:
            mark = ReadMark(read_up_to=read_up_to, marked_at=at)
            self._spawn("read_all", lambda mark=mark: self.world.ports.notices.mark_read(ACME, recipient, mark))

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
        for _ in range(self.random.choice((1, 2))):
            self._press(notice, channel)

    def _press(self, notice: Notice, channel: Channel) -> None:
        key = NoticeKey(workspace_id=ACME, recipient=notice.recipient, notice_id=notice.notice_id)
        self._spawn("retry", lambda: retry_delivery(key, channel, self.world.ports))

    def _exhausted(self) -> list[tuple[Notice, Channel]]:
        return [
            (notice, item.channel)
            for notice in self.world.database.notices
            for item in notice.deliveries
            if item.state == "failed" and item.reason == "attempts_exhausted"
        ]

    def _retry_all(self) -> None:
        """One delivery is tried again now, the others at the full minute, when the first has its request swept."""
        kernel = self.world.kernel
        first, *others = self._exhausted() or [None]
        if first is None:
            return
        self._press(*first)
        for other in others:
            seconds = 60 - kernel.at.second - kernel.at.microsecond / 1e6 + self.random.random() * 0.1
            kernel.after(seconds, lambda other=other: self._press(*other))
            kernel.after(seconds + self.random.random() * 0.2, self._purge)

    def _regret(self) -> None:
        """A delivery is tried again, its message lost, and the request that it is owed to withdrawn."""
        kernel, exhausted = self.world.kernel, self._exhausted()
        if not exhausted:
            return
        most = sorted(exhausted, key=lambda item: item[0].count)[-3:]
        notice, channel = self.random.choice(most)
        self._press(notice, channel)
        kernel.after(self.random.random() * 0.1, self._purge)
        staying = [item for item in notice.contributors if item.left_at is None]
        for item in staying[: self.random.choice((1, 2, 2))]:
            request = self.world.database.requests.get((ACME, item.request_id))
            assert request is not None
            withdrawal = self._withdrawal(request.definition, request_key=request.request_key)
            kernel.after(0.1 + self.random.random(), lambda withdrawal=withdrawal: self._put(withdrawal))

    def _reprocess(self) -> None:
        dead = [request for request in self.world.database.requests if request.state == "queued" and request.problems]
        if dead:
            request = self.random.choice(dead)
            self._spawn("reprocess", lambda: reprocess_request(ACME, request.request_id, self.world.ports))

    def _retire(self) -> None:
        self._retire_one(DefinitionKey(self.random.choice(("plain", "fold", "replace", "chat"))))

    def _retire_one(self, key: DefinitionKey) -> None:
        self._spawn("retire", lambda: retire_definition(ACME, key, self.world.ports))

    def _register_again(self) -> None:
        self._register_one(DefinitionKey(self.random.choice(("plain", "fold", "replace", "chat"))))

    def _register_one(self, key: DefinitionKey) -> None:
        """Register what was retired once more."""
        was = self.world.plain.registry.definition(ACME, key, consistent=True)
        if was is not None and not was.is_active:
            new = replace(was, version=was.version + 1, state=DefinitionState.ACTIVE, retired_at=None)
            self.world.plain.registry.put_definition(new, was)

    def _redefine(self) -> None:
        """A fold's next version goes over one channel more, or less."""
        key = DefinitionKey("fold")
        was = self.world.plain.registry.definition(ACME, key, consistent=True)
        if was is not None and was.is_active:
            channels = was.channels[:2] if Channel.TEXT in was.channels else (*was.channels, Channel.TEXT)
            templates = {channel: _TEMPLATES[channel] for channel in channels}
            new = replace(was, version=was.version + 1, channels=channels, templates=templates)
            self.world.plain.registry.put_definition(new, was)

    def _leave(self) -> None:
        """Somebody leaves, or comes back."""
        name = PersonId(self.random.choice(self.people))
        was = self.world.plain.directory.people(ACME, [name])[name]
        self.world.plain.directory.put_person(replace(was, version=was.version + 1, active=not was.active), was)

    def _move(self) -> None:
        """Somebody leaves Slack and the telephone, or comes back to both."""
        name = PersonId(self.random.choice(self.people))
        was = self.world.plain.directory.people(ACME, [name])[name]
        is_gone = was.slack_user_id is None
        there = replace(was, slack_user_id=f"U{name.upper()}", phone="+331234567")
        new = there if is_gone else replace(was, slack_user_id=None, phone=None)
        self.world.plain.directory.put_person(replace(new, version=was.version + 1), was)


def last_deadline(world: World) -> datetime:
    """When the last request expires."""
    times = [request.expires_at for request in world.database.requests if request.expires_at is not None]
    return max(times, default=world.kernel.at)
