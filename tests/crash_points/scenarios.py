"""What is done to the platform while one of its calls goes wrong: together they make every move there is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import combinations
from typing import Any

from notify_core.application.ports import NoticeKey, QueueName
from notify_core.application.publish_request import publish_request
from notify_core.application.reprocess_request import reprocess_request
from notify_core.application.retry_delivery import retry_delivery
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient
from notify_core.domain.notice import Notice
from notify_core.domain.send_result import Throttled
from tests.application.delivery import BUSY, DOWN, GONE, REVOKED
from tests.application.world import ACME, NOON
from tests.crash_points.aws import DEAD_LETTERS
from tests.crash_points.world import CrashWorld

Ends = Mapping[str, Sequence[str]]
"""What a request may come to, by its key; a notice, by its keys and recipient; a delivery, by these and its channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A script, and what it comes to where nothing goes wrong."""

    name: str
    script: Callable[[CrashWorld], None]
    ends: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to run a scenario, and what else it may come to where something goes wrong."""

    name: str
    scenario: Scenario
    otherwise: Ends
    is_backwards: bool = False
    """What is done at once is done last task first."""
    gives_up: bool = False
    """A caller of the API who hears no answer leaves it at that."""


SCENARIOS: dict[str, Scenario] = {}
VARIANTS: list[Variant] = []


def _read(text: str) -> Ends:
    """Ends as they are written below: `k1 settled, k1 ana chat delivered|cancelled`."""
    parts = (part.rpartition(" ") for part in text.split(", ") if part)
    return {name: end.split("|") for name, _, end in parts}


def scenario(
    ends: str,
    *,
    otherwise: str = "",
    given_up: str | None = None,
    in_both_orders: bool = False,
) -> Callable[[Callable[[CrashWorld], None]], Callable[[CrashWorld], None]]:
    """Note a script as a scenario, with its variants: backwards, and given up where that leads to other ends."""

    def note(script: Callable[[CrashWorld], None]) -> Callable[[CrashWorld], None]:
        name = script.__name__.replace("_", " ")
        new = Scenario(name=name, script=script, ends=_read(ends))
        others = _read(otherwise)
        SCENARIOS[name] = new
        VARIANTS.append(Variant(name=name, scenario=new, otherwise=others))
        if in_both_orders:
            VARIANTS.append(Variant(name=f"{name}, backwards", scenario=new, otherwise=others, is_backwards=True))
        if given_up is not None:
            more = _read(given_up)
            both = {key: [*others.get(key, ()), *more.get(key, ())] for key in {*others, *more}}
            VARIANTS.append(Variant(name=f"{name}, given up", scenario=new, otherwise=both, gives_up=True))
        return script

    return note


def by_name(name: str) -> Variant:
    """A variant."""
    return next(variant for variant in VARIANTS if variant.name == name)


def in_any_notice(status: str, chat: str) -> str:
    """The ends of three requests that fold, whichever of them come to share a notice."""
    keys = ("k1", "k2", "k3")
    names = ["+".join(some) for size in (1, 2, 3) for some in combinations(keys, size)]
    return ", ".join(f"{name} ana absent|{status}, {name} ana chat absent|{chat}" for name in names)


def later(**units: float) -> datetime:
    return NOON + timedelta(**units)


def state_is(state: str, channel: str = "chat") -> Callable[[Notice], bool]:
    def holds(notice: Notice) -> bool:
        return any(item.channel == channel and item.state == state for item in notice.deliveries)

    return holds


def setup(world: CrashWorld, *channels: str, people: tuple[str, ...] = ("ana",), **changes: Any) -> None:
    world.register_people(*people)
    world.register_definition(*(channels or ("chat",)), **{"expires_after": timedelta(hours=2), **changes})


def retry(world: CrashWorld, recipient: str, request_key: str) -> object:
    key = NoticeKey(workspace_id=ACME, recipient=Recipient(recipient), notice_id=NoticeId(world.name(request_key)))
    return retry_delivery(key, Channel.CHAT, world.ports)


def die_in_queue(world: CrashWorld, times: int = 5) -> None:
    """Have every chat message die in its queue, so many times; each is an attempt."""
    world.run_now(QueueName.REQUESTS)
    for _ in range(times):
        world.sqs.wear_out(QueueName.CHAT)
        world.run_now(QueueName.CHAT)
        world.run_now(QueueName.CHAT + DEAD_LETTERS)


# ---------------------------------------------------------------- outcomes


@scenario(
    "k1 settled, k1 ana delivered, k1 ana chat delivered, k1 ana text delivered, k1 bob delivered, "
    "k1 bob chat delivered, k1 bob text delivered",
    otherwise="k1 ana partially_delivered, k1 ana text failed:outcome_unknown, k1 bob partially_delivered, "
    "k1 bob text failed:outcome_unknown",
    in_both_orders=True,
)
def told_over_every_channel(world: CrashWorld) -> None:
    setup(world, "console", "chat", "text", people=("ana", "bob"))
    world.publish("k1", "ana", "bob")


@scenario("k1 settled, k1 ana delivered, k1 bob delivered")
def shown_in_the_inbox_only(world: CrashWorld) -> None:
    setup(world, "console", people=("ana", "bob"))
    world.publish("k1", "ana", "bob")
    world.run(seconds=1)
    world.call("read", lambda: world.read(world.notice("bob")))


@scenario("nobody no_recipients, invalid invalid, old expired")
def rejected_and_nobody_and_too_old(world: CrashWorld) -> None:
    setup(world)
    world.publish("nobody", "stranger")
    world.publish("invalid", data={})
    world.publish("old", published_at=later(hours=-3))


@scenario(
    "soon settled, later settled, soon ana delivered, soon ana chat delivered, later ana delivered, "
    "later ana chat delivered"
)
def waits_for_its_time(world: CrashWorld) -> None:
    setup(world)
    world.publish("soon", not_before=later(seconds=50))
    world.publish("later", not_before=later(minutes=40))


@scenario("k1 cancelled")
def waits_and_is_withdrawn(world: CrashWorld) -> None:
    setup(world)
    world.publish("k1", not_before=later(minutes=5))
    world.run(seconds=1)
    world.withdraw(request_key="k1")


@scenario("k1 cancelled", otherwise="k1 superseded, k1 ana superseded, k1 ana chat delivered")
def withdrawn_before_it_comes(world: CrashWorld) -> None:
    setup(world)
    world.withdraw(request_key="k1")
    world.run(seconds=1)
    world.publish("k1")


@scenario("k1 expired")
def dead_lettered_until_its_deadline(world: CrashWorld) -> None:
    setup(world)
    world.publish("k1", deadline=later(hours=1))
    world.sqs.wear_out(QueueName.REQUESTS)


@scenario(
    "k1 settled, k1 ana delivered, k1 ana chat delivered", given_up="k1 expired, k1 ana absent, k1 ana chat absent"
)
def dead_lettered_and_reprocessed(world: CrashWorld) -> None:
    setup(world)
    identity = world.publish("k1")
    world.sqs.wear_out(QueueName.REQUESTS)
    world.run(minutes=10)
    world.call("reprocess", lambda: reprocess_request(ACME, identity, world.ports))


@scenario(
    "k1 settled, k1 ana delivered, k1 ana chat delivered", given_up="k1 absent, k1 ana absent, k1 ana chat absent"
)
def published_over_http(world: CrashWorld) -> None:
    setup(world)
    body = world.publication("k1")
    world.name("k1")
    world.call("publish", lambda: publish_request(ACME, body, world.ports))


# ---------------------------------------------------------------- ends of an open request


@scenario(
    "k1 superseded, k1 ana superseded, k1 ana chat cancelled, k1 ana text cancelled, k1 bob superseded, "
    "k1 bob chat cancelled, k1 bob text cancelled",
    otherwise="k1 cancelled, k1 ana absent, k1 bob absent, k1 ana chat absent|delivered, k1 ana text absent|delivered, "
    "k1 bob chat absent|delivered, k1 bob text absent|delivered",
    in_both_orders=True,
)
def withdrawn_before_it_is_sent(world: CrashWorld) -> None:
    setup(world, "console", "chat", "text", people=("ana", "bob"))
    world.chat.faults = [BUSY, BUSY]
    world.publish("k1", "ana", "bob")
    world.run_now(QueueName.REQUESTS)
    world.run_now(QueueName.CHAT)
    world.withdraw(request_key="k1")
    world.run_now(QueueName.REQUESTS)


@scenario(
    "k1 superseded, k1 ana superseded", otherwise="k1 cancelled, k1 ana absent", given_up="k1 settled, k1 ana delivered"
)
def withdrawn_over_http(world: CrashWorld) -> None:
    setup(world, "console")
    world.publish("k1")
    world.run_now(QueueName.REQUESTS)
    withdrawal = world.withdrawal("k1")
    world.call("withdraw", lambda: withdraw_request(withdrawal, world.ports))


@scenario("k1 superseded, k1 ana superseded, k1 ana chat cancelled", otherwise="k1 ana chat delivered")
def withdrawn_while_it_is_claimed(world: CrashWorld) -> None:
    setup(world, "console", "chat")

    def withdraw() -> None:
        world.withdraw(request_key="k1")
        world.run_now(QueueName.REQUESTS)

    world.when(state_is("sending"), withdraw)
    world.publish("k1")


@scenario(
    "k1 superseded, k1 ana superseded, k1 ana chat cancelled",
    otherwise="k1 cancelled, k1 ana absent, k1 ana chat absent|delivered",
)
def withdrawn_while_its_send_is_unknown(world: CrashWorld) -> None:
    setup(world)
    world.chat.faults = ["lose_request"]
    world.publish("k1")
    world.run(seconds=10)
    world.withdraw(request_key="k1")


@scenario(
    "k1 superseded, k2 settled, k0 cancelled, k1 ana superseded, k1 ana chat cancelled, k2 ana delivered, "
    "k2 ana chat delivered",
    otherwise="k1 cancelled, k1 ana absent, k1 ana chat absent|delivered",
)
def replaced(world: CrashWorld) -> None:
    setup(world, "console", "chat", replace_previous=True)
    world.publish("k1", replacement_key="r")
    world.run_now(QueueName.REQUESTS)
    world.publish("k2", replacement_key="r", published_at=later(seconds=1))
    world.run_now(QueueName.REQUESTS)
    world.publish("k0", replacement_key="r", published_at=later(seconds=-1))


@scenario(
    "k1 superseded, k2 superseded, k2 ana superseded, k2 ana chat failed, k1 ana superseded, "
    "k1 ana chat failed, k1 bob superseded, k1 bob chat skipped",
    otherwise="k1 cancelled, k1 ana absent, k1 ana chat absent|cancelled, k1 bob absent, k1 bob chat absent, "
    "k2 cancelled, k2 ana absent, k2 ana chat absent|cancelled",
)
def withdrawn_after_nobody_could_be_told(world: CrashWorld) -> None:
    setup(world, people=("ana", "bob"))
    world.register_definition("console", "chat", key="shown", expires_after=timedelta(hours=2))
    world.register_people("bob", slack_user_id=None)
    world.chat.faults = [GONE] * 6
    world.publish("k1", "ana", "bob")
    world.publish("k2", "ana", definition="shown")
    world.run(seconds=1)
    world.withdraw(request_key="k1")
    world.withdraw(request_key="k2", definition="shown")


@scenario(
    "k1 superseded, k2 cancelled, k1 ana superseded, k1 ana chat cancelled",
    otherwise="k1 cancelled, k1 ana absent, k1 ana chat absent|delivered, k2 superseded, k2 ana superseded, "
    "k2 ana chat delivered|cancelled",
)
def withdrawn_by_replacement_key(world: CrashWorld) -> None:
    setup(world, "console", "chat", replace_previous=True)
    world.publish("k1", replacement_key="r")
    world.run_now(QueueName.REQUESTS)
    world.withdraw(replacement_key="r", withdrawn_at=later(seconds=2))
    world.run(seconds=3)
    world.publish("k2", replacement_key="r", published_at=later(seconds=1))


@scenario(
    "k1 cancelled, k2 invalid, k3 settled, k1 ana delivered, k1 ana chat delivered, k1 bob delivered, "
    "k1 bob chat delivered, k3 ana delivered, k3 ana chat delivered",
    otherwise="k1 settled, k2 settled, k2 ana delivered, k2 ana chat delivered",
    given_up="k1 settled, k2 settled, k2 ana delivered, k2 ana chat delivered, k3 invalid, k3 ana absent, "
    "k3 ana chat absent",
)
def retired(world: CrashWorld) -> None:
    setup(world, "console", "chat", people=("ana", "bob"))
    world.chat.faults = [DOWN]
    world.publish("k1", "ana", "bob")
    world.run(seconds=1)
    world.call("retire", world.retire)
    world.publish("k2", "ana")
    world.run(seconds=1)
    world.call("register", world.register_again)
    world.publish("k3", "ana")


@scenario("k1 cancelled, k1 ana delivered, k1 ana chat delivered")
def retired_while_it_is_accepted(world: CrashWorld) -> None:
    setup(world, "console", "chat")
    world.when(lambda _: True, lambda: world.call("retire", world.retire))
    world.publish("k1")


# ---------------------------------------------------------------- folding


@scenario(
    "k1 superseded, k2 superseded, k3 superseded, k1+k2+k3 ana superseded, k1+k2+k3 ana chat delivered",
    otherwise=f"k1 cancelled, k2 cancelled, k3 cancelled, {in_any_notice('superseded', 'delivered|cancelled')}",
)
def folded(world: CrashWorld) -> None:
    setup(world, "console", "chat", fold_within=timedelta(hours=1))
    for key in ("k1", "k2", "k3"):
        world.publish(key, fold_key="f")
    world.run_now(QueueName.REQUESTS)
    world.withdraw(request_key="k1")
    world.run(seconds=1)
    world.withdraw(request_key="k3")
    world.run(seconds=1)
    world.withdraw(request_key="k2")


@scenario(
    "k1 superseded, k2 settled, k1+k2 ana delivered, k1+k2 ana chat delivered",
    otherwise="k1 cancelled|settled, k1+k2 ana absent, k1+k2 ana chat absent, k2 ana delivered, k2 ana chat delivered, "
    "k1 ana superseded|expired, k1 ana chat cancelled|delivered|expired",
)
def folded_and_handed_over(world: CrashWorld) -> None:
    setup(world, "console", "chat", fold_within=timedelta(hours=1))
    world.chat.faults = [DOWN]
    world.publish("k1", fold_key="f", deadline=later(seconds=40))
    world.run_now(QueueName.REQUESTS)
    world.run_now(QueueName.CHAT)
    world.publish("k2", fold_key="f")
    world.run_now(QueueName.REQUESTS)
    world.withdraw(request_key="k1")
    world.run_now(QueueName.REQUESTS)


@scenario(
    "k1 settled, k2 settled, k3 settled, k1 ana delivered, k1 ana chat delivered, k2 ana delivered, "
    "k2 ana chat delivered, k3 ana delivered, k3 ana chat delivered",
    otherwise=in_any_notice("delivered", "delivered"),
)
def folded_into_the_next_generation(world: CrashWorld) -> None:
    setup(world, "console", "chat", fold_within=timedelta(hours=1))
    world.publish("k1", fold_key="f")
    world.run(seconds=1)
    world.call("read", lambda: world.read(world.folded()[-1]))
    world.run(seconds=1)
    world.publish("k2", fold_key="f")
    world.run(seconds=1)
    world.call("read all", world.read_all)
    world.publish("k3", fold_key="f")


# ---------------------------------------------------------------- sending


@scenario("k1 settled, k2 settled, k1 ana delivered, k1 ana chat delivered, k2 bob delivered, k2 bob chat delivered")
def throttled_and_held(world: CrashWorld) -> None:
    setup(world, people=("ana", "bob"))
    world.chat.faults = [Throttled(retry_after=timedelta(seconds=100)), Throttled(retry_after=timedelta(seconds=30))]
    world.publish("k1", "ana")
    world.run(seconds=1)
    world.publish("k2", "bob")


@scenario("k1 settled, k2 settled, k1 ana delivered, k1 ana chat delivered, k2 bob delivered, k2 bob chat delivered")
def refused_until_a_probe_gets_through(world: CrashWorld) -> None:
    setup(world, people=("ana", "bob"))
    world.chat.faults = [REVOKED, REVOKED]
    world.publish("k1", "ana")
    world.run(seconds=1)
    world.publish("k2", "bob")


@scenario(
    "k1 settled, k1 ana delivered, k1 ana chat delivered",
    otherwise="k1 ana failed, k1 ana chat failed:attempts_exhausted",
    given_up="",
)
def exhausted_and_retried(world: CrashWorld) -> None:
    setup(world)
    world.chat.faults = [DOWN]
    world.publish("k1")
    die_in_queue(world, 4)
    world.run(minutes=5)
    world.call("retry", partial(retry, world, "ana", "k1"))


@scenario(
    "k1 settled, k1 ana failed, k1 ana chat failed:attempts_exhausted",
    otherwise="k1 ana delivered, k1 ana chat delivered",
)
def lost_on_the_way_the_last_time(world: CrashWorld) -> None:
    setup(world)
    world.chat.faults = ["lose_request"]
    world.publish("k1")
    die_in_queue(world, 4)


@scenario(
    "k1 settled, k1 ana delivered, k1 ana chat delivered, k1 bob delivered, k1 bob chat delivered", in_both_orders=True
)
def sent_and_its_answer_lost(world: CrashWorld) -> None:
    setup(world, "console", "chat", people=("ana", "bob"))
    world.chat.faults = ["drop_response", "lose_request"]
    world.publish("k1", "ana", "bob")


@scenario("k1 settled, k1 ana failed, k1 ana chat failed:outcome_unknown, k1 ana text failed:outcome_unknown")
def never_settled(world: CrashWorld) -> None:
    setup(world, "chat", "text", expires_after=timedelta(days=2))
    world.chat.faults, world.text.faults = ["lose_request"], ["lose_request"]
    world.chat.silent = True
    world.publish("k1")
    world.run(minutes=3)
    world.schedules_on = False  # a day's worth of sweeps that read the same
    world.run(days=1)


@scenario("k1 settled, k1 ana partially_delivered, k1 ana chat failed")
def refused_for_good(world: CrashWorld) -> None:
    setup(world, "console", "chat")
    world.chat.faults = [GONE] * 3
    world.publish("k1")


@scenario(
    "k1 settled, k1 ana no_channel, k1 ana chat skipped, k1 ana text skipped",
    otherwise="k1 no_recipients, k1 ana absent|failed, k1 ana chat absent, k1 ana text absent|failed:outcome_unknown",
)
def who_leaves_is_skipped(world: CrashWorld) -> None:
    setup(world, "chat", "text")
    world.publish("k1")
    world.run_now(QueueName.REQUESTS)
    world.register_people("ana", active=False)


@scenario("k1 settled, k2 settled, k2 bob delivered, k2 bob chat expired, k1 ana expired, k1 ana chat expired")
def expired_unsent(world: CrashWorld) -> None:
    setup(world, people=("ana", "bob"))
    world.chat.faults = [Throttled(retry_after=timedelta(hours=1))] * 6
    world.register_definition("console", "chat", key="shown", expires_after=timedelta(hours=2))
    world.publish("k1", "ana", deadline=later(minutes=10))
    world.publish("k2", "bob", deadline=later(minutes=10), definition="shown")


@scenario("k1 settled, k1 ana expired, k1 ana chat expired", otherwise="k1 expired, k1 ana absent, k1 ana chat absent")
def expired_in_its_queue(world: CrashWorld) -> None:
    setup(world)
    world.schedules_on = False
    world.publish("k1", deadline=later(seconds=30))
    world.run_now(QueueName.REQUESTS)
    world.skip(seconds=31)


@scenario(
    "k1 settled, k1 ana expired, k1 ana chat expired, k1 ana text expired",
    otherwise="k1 expired, k1 ana absent|failed|delivered, k1 ana chat absent, "
    "k1 ana text absent|failed:outcome_unknown|delivered",
)
def expired_while_it_is_claimed(world: CrashWorld) -> None:
    setup(world, "chat", "text")
    world.when(state_is("sending"), lambda: world.skip(seconds=5))
    world.publish("k1", deadline=later(seconds=5))


@scenario(
    "k1 settled, k1 ana failed, k1 ana chat failed:attempts_exhausted",
    otherwise="k1 ana delivered, k1 ana chat delivered",
)
def no_worker_takes_it(world: CrashWorld) -> None:
    setup(world)
    world.publish("k1")
    die_in_queue(world)


@scenario(
    "k1 settled, k2 settled, k2 ana delivered, k2 ana chat delivered, k1 ana delivered, "
    "k1 ana chat delivered, k1 ana text delivered, k1 bob partially_delivered, k1 bob chat delivered, "
    "k1 bob text bounced",
    otherwise="k1 ana partially_delivered|failed, k1 ana chat failed:attempts_exhausted, "
    "k1 ana text bounced|failed:outcome_unknown, k1 bob delivered|failed, "
    "k1 bob chat failed:attempts_exhausted, k1 bob text delivered|failed:outcome_unknown, "
    "k2 ana partially_delivered, k2 ana chat failed:attempts_exhausted",
)
def retried_beside_other_channels(world: CrashWorld) -> None:
    setup(world, "chat", "text", people=("ana", "bob"))
    world.register_definition("console", "chat", key="shown", expires_after=timedelta(hours=2))
    world.receipts = ["TEXT_DELIVERED", "TEXT_BLOCKED"]
    world.publish("k1", "ana", "bob")
    world.publish("k2", "ana", definition="shown")
    die_in_queue(world)
    world.run(seconds=10)
    for name, key in (("ana", "k1"), ("bob", "k1"), ("ana", "k2")):
        world.call("retry", partial(retry, world, name, key))


@scenario("k1 settled, k1 - delivered, k1 - slack_system delivered")
def alert_that_fails(world: CrashWorld) -> None:
    world.register_definition("slack_system", expires_after=timedelta(hours=2))
    world.system.faults = [REVOKED, DOWN, "drop_response"]
    world.publish("k1", audience={"hq": True})


# ---------------------------------------------------------------- receipts


@scenario("k1 settled, k1 ana partially_delivered, k1 ana text bounced", otherwise="k1 ana text failed:outcome_unknown")
def bounced(world: CrashWorld) -> None:
    setup(world, "console", "text")
    world.receipts = ["TEXT_BLOCKED"]
    world.publish("k1")


@scenario(
    "k1 settled, k1 ana delivered, k1 ana text delivered, k1 bob failed, k1 bob text bounced",
    otherwise="k1 ana failed, k1 ana text bounced|failed:outcome_unknown, k1 bob delivered, "
    "k1 bob text delivered|failed:outcome_unknown",
)
def receipt_before_its_record(world: CrashWorld) -> None:
    setup(world, "text", people=("ana", "bob"))
    world.receipts, world.receipt_seconds = ["TEXT_DELIVERED", "TEXT_BLOCKED"], 0
    world.text.faults = ["drop_response", "drop_response"]
    world.publish("k1", "ana", "bob")


@scenario(
    "k1 settled, k1 ana failed, k1 ana text failed:receipt_timeout", otherwise="k1 ana text failed:outcome_unknown"
)
def receipt_that_never_comes(world: CrashWorld) -> None:
    setup(world, "text")
    world.receipts = [None]
    world.publish("k1")


@scenario(
    "k1 settled, k2 settled, k3 settled, k1 ana delivered, k1 ana text delivered, "
    "k1 bob partially_delivered, k1 bob text bounced, k3 ana partially_delivered, k3 ana chat failed, "
    "k3 ana text delivered, k2 ana delivered, k2 ana text delivered",
    otherwise="k1 ana partially_delivered, k1 ana text bounced|failed:outcome_unknown, k1 bob delivered, "
    "k1 bob text delivered|failed:outcome_unknown, k2 ana failed, "
    "k2 ana text bounced|failed:outcome_unknown, k3 ana failed, k3 ana text bounced|failed:outcome_unknown",
)
def receipt_too_late(world: CrashWorld) -> None:
    setup(world, "console", "text", people=("ana", "bob"))
    world.register_definition("text", key="text", expires_after=timedelta(hours=2))
    world.register_definition("chat", "text", key="both", expires_after=timedelta(hours=2))
    world.receipts = ["TEXT_DELIVERED", "TEXT_BLOCKED", "TEXT_DELIVERED", "TEXT_DELIVERED"]
    world.receipt_seconds = 3 * 86_400 + 7200
    world.chat.faults = [GONE] * 3
    world.publish("k1", "ana", "bob")
    world.publish("k2", "ana", definition="text")
    world.publish("k3", "ana", definition="both")


# ---------------------------------------------------------------- sweeps and audits


@scenario(
    "k1 settled, k1 ana delivered, k1 ana chat delivered", otherwise="k1 absent, k1 ana absent, k1 ana chat absent"
)
def every_message_is_lost(world: CrashWorld) -> None:
    setup(world, "console", "chat")
    world.publish("k1")
    world.run_now(QueueName.REQUESTS)
    world.purge()


@scenario("k1 settled, k1 ana delivered, k1 bob delivered", otherwise="k1 absent, k1 ana absent, k1 bob absent")
def every_message_of_the_inbox_is_lost(world: CrashWorld) -> None:
    setup(world, "console", people=("ana", "bob"))
    world.publish("k1", "ana", "bob")
    world.run_now(QueueName.REQUESTS)
    world.purge()


@scenario("k1 settled, k1 ana delivered, k1 ana chat delivered")
def audited(world: CrashWorld) -> None:
    setup(world, "console", "chat")
    world.publish("k1")
    world.run(seconds=1)
    world.sweep_nightly()
