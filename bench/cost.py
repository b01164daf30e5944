"""What a delivery costs, all in: the meter's counts of whole lives, in dollars."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from bench import functions, report
from bench.growth import on
from bench.lives import Life, metered_platform
from bench.meter import prices
from bench.meter.meter import Usage
from bench.meter.sizes import STORED_OVERHEAD_BYTES
from bench.meter.tables import metered_stores
from bench.report import Result
from infra.specs import FUNCTIONS
from notify_core.domain.channel import Channel
from notify_core.domain.limits import KEEP_CLOSED_SECONDS

KEPT_MONTHS: Final = (KEEP_CLOSED_SECONDS / 86_400 + 7) / prices.MONTH_DAYS
"""How long a row is paid for: until its deadline, and as long as a closed one is kept."""
LIVES: Final[Mapping[str, tuple[int, tuple[Channel, ...]]]] = {
    "200 people, chat": (200, (Channel.CHAT,)),
    "100 people, chat": (100, (Channel.CHAT,)),
    "10 people, chat": (10, (Channel.CHAT,)),
    "1 person, chat": (1, (Channel.CHAT,)),
    "200 people, console": (200, (Channel.CONSOLE,)),
    "10 people, console and chat": (10, (Channel.CONSOLE, Channel.CHAT)),
    "1 person, text": (1, (Channel.TEXT,)),
}
MEMORY_MB: Final = {spec.folder: spec.memory_mb for spec in FUNCTIONS}
COLUMNS: Final = (
    "write units",
    "read units",
    "SQS requests",
    "log bytes",
    "$ writes",
    "$ reads",
    "$ SQS",
    "$ Lambda",
    "$ logs",
    "$ transfer",
    "dollars a million",
    "$ storage",
)
BUDGETS: Final[Mapping[str, Mapping[str, float]]] = {
    "200 people, chat": {"write units": 2.5, "SQS requests": 0.35, "dollars a million": 2.30},
    "10 people, chat": {"write units": 3.5},
    "1 person, chat": {"write units": 11},
    "200 people, console": {"write units": 2.2},
}
"""The most of each, a delivery."""


def run() -> Result:
    """Let every kind of request live, and price it."""
    with metered_platform() as platform:
        lives = {name: platform.live(people, *channels) for name, (people, channels) in LIVES.items()}
    durations = report.load("functions")
    rows: list[list[report.Cell]] = []
    figures: dict[str, float] = {}
    for name, life in lives.items():
        found = each(life, durations)
        figures |= {f"{name}: {what}": value for what, value in found.items()}
        rows.append([name, *(found[what] for what in COLUMNS)])
    return Result(
        name="cost",
        details={name: _request(life, durations) | audit(*LIVES[name]) for name, life in lives.items()},
        title="Cost: what a delivery asks of AWS, from the publication to the settling at the deadline",
        columns=["request", *COLUMNS],
        rows=rows,
        figures=figures,
        budgets={f"{name}: {what}": most for name, budgets in BUDGETS.items() for what, most in budgets.items()},
        notes=[
            (
                "Units and requests are a delivery's; dollars are a million deliveries'. Full batches of ten; the "
                "polling of empty queues and the minute's own look are counted in the year below. Lambda's seconds "
                f"come from the table of functions. Prices of {prices.DATED}, us-east-1, without any free tier."
            ),
            f"Storage is apart: rows are kept for {KEPT_MONTHS:.1f} months, backed up, whatever was done with them.",
        ],
    )


def _request(life: Life, durations: Result) -> dict[str, Any]:
    """What a whole request comes to, for the year."""
    by_place: defaultdict[str, float] = defaultdict(float)
    for item in (item for call in life.calls for item in call.consumed if item.write_units):
        by_place[item.place] += item.write_units
    return {
        "recipients": life.recipients,
        "write_units": life.usage.write_units,
        "read_units": life.usage.read_units,
        "write_units_by_place": dict(by_place),
        "sqs_requests": life.usage.sqs_requests,
        "gb_seconds": gb_seconds(life, durations),
        "busy_seconds": dict(busy_seconds(life, durations)),
        "invocations": len(life.invocations),
        "log_bytes": life.log_bytes,
        "sent": life.sent,
        "stored_bytes": sum(life.row_bytes.values()),
        "history_bytes": life.row_bytes["requests.history"] - STORED_OVERHEAD_BYTES,
    }


def audit(people: int, channels: tuple[Channel, ...]) -> dict[str, float]:
    """What one more settled request for the same people asks of the tables in a night's audit.

    Their inboxes, which are looked at once for many requests, are left out.
    """
    stores, meter, _ = metered_stores()
    world = on(stores)
    names = [f"person-{number:03d}" for number in range(people)]
    world.register_people(*names)
    world.register_definition(*(channel.value for channel in channels))
    units: list[float] = []
    for key in ("k1", "k2"):
        world.publish(key, *names)
        world.advance(minutes=5)
        world.skip(days=7)
        world.sweep()
        meter.take()
        assert world.audit().differences == []
        units.append(Usage.of(meter.take()).read_units)
    return {"audit_read_units": units[1] - units[0]}


def each(life: Life, durations: Result) -> dict[str, float]:
    """What one delivery of a life comes to; dollars for a million."""
    usage = life.usage
    spent = dollars(life, durations)
    return {
        "write units": usage.write_units / life.recipients,
        "read units": usage.read_units / life.recipients,
        "SQS requests": usage.sqs_requests / life.recipients,
        "log bytes": life.log_bytes / life.recipients,
        **{f"$ {service}": value / life.recipients * prices.MILLION for service, value in spent.items()},
        "dollars a million": (sum(spent.values()) - spent["storage"]) / life.recipients * prices.MILLION,
    }


def dollars(life: Life, durations: Result) -> dict[str, float]:
    """What a life is charged, by service, Slack's own fees aside; `storage` is what it leaves, while that is kept."""
    usage = life.usage
    stored_gb = sum(life.row_bytes.values()) / prices.GIGABYTE
    sent_gb = life.sent * durations.figures["slack_sent_bytes"] / prices.GIGABYTE
    return {
        "writes": usage.write_units * prices.WRITE_UNIT,
        "reads": usage.read_units * prices.READ_UNIT,
        "SQS": usage.sqs_requests * prices.SQS_FAIR_REQUEST,
        "Lambda": gb_seconds(life, durations) * prices.LAMBDA_GB_SECOND + len(life.invocations) * prices.LAMBDA_REQUEST,
        "logs": life.log_bytes / prices.GIGABYTE * (prices.LOGGED_GB + prices.LOGS_STORED_GB_MONTH),
        "transfer": sent_gb * prices.SENT_GB,
        "storage": stored_gb * (prices.STORED_GB_MONTH + prices.BACKED_UP_GB_MONTH) * KEPT_MONTHS,
    }


def gb_seconds(life: Life, durations: Result) -> float:
    """What the functions of a life are billed for."""
    return sum(seconds * MEMORY_MB[function] / 1024 for function, seconds in busy_seconds(life, durations).items())


def busy_seconds(life: Life, durations: Result) -> Mapping[str, float]:
    """How long each function runs for a life, its invocations together."""
    found: defaultdict[str, float] = defaultdict(float)
    for item in life.invocations:
        billed_ms = functions.billed_ms(durations, item.function, item.records, life.recipients)
        found[item.function] += billed_ms / 1000
    return found
