"""A year on paper: what a million requests a day would cost and need, computed from what the meter found.

`python -m bench.year` prints it; `make bench` puts it into docs/performance.md.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bench import report
from bench.meter import prices
from bench.meter.capacity import READ_BYTES
from bench.report import shown
from infra.specs import FUNCTIONS
from notify_core.domain.limits import AUDIT_LATELY_SECONDS, AUDIT_TURN_DAYS, KEEP_CLOSED_SECONDS

REQUESTS_A_DAY: Final[Mapping[str, int]] = {
    "1 person, chat": 700_000,
    "1 person, text": 40_000,
    "10 people, console and chat": 250_000,
    "200 people, chat": 10_000,
}
"""The mix, by the kinds of the table of costs."""
WORKSPACES: Final = 500
LARGEST_SHARE: Final = 0.2
"""Of all requests, those of the largest workspace."""
PEAK: Final = 4
"""How many times the average the busiest minutes are."""
DAYS: Final = prices.MONTH_DAYS
OPEN_DAYS: Final = 7
KEPT_DAYS: Final = OPEN_DAYS + KEEP_CLOSED_SECONDS / 86_400
"""Until the deadline, and as long as a closed row is kept."""
_LATELY_DAYS: Final = AUDIT_LATELY_SECONDS / 86_400
LOOKS: Final = OPEN_DAYS + _LATELY_DAYS + (KEPT_DAYS - OPEN_DAYS - _LATELY_DAYS) / AUDIT_TURN_DAYS
"""How often the nightly audit looks at a request in full, in all its days."""

# What AWS, Slack and the text message carriers allow, by their public documentation.
PARTITION_WRITES: Final = 1_000
PARTITION_READS: Final = 3_000
TABLE_WRITES: Final = 40_000
"""The account's default for one table on demand; a new table begins with 4,000 and grows when it is used."""
LAMBDA_CONCURRENCY: Final = 1_000
"""An account's default; some new accounts begin with 10."""
SLACK_A_MINUTE: Final = 300
"""Slack: one message a second to a conversation, and "several hundred" a minute to a workspace."""
TEXTS_A_SECOND: Final = 1
"""Of a number of one's own in the United States; a short code sends 100."""
POLLS_A_MINUTE: Final = 15
"""Lambda keeps five long polls of 20 s open on a queue that is empty."""
QUEUES: Final = sum(len(spec.consumes) + len(spec.consumes_dead_letters) for spec in FUNCTIONS)
PAGE_ROWS: Final = 25
LOOK_SECONDS: Final = 0.3
"""The nightly audit of a page of requests in full: some rounds of reads of them, their notices and inboxes."""
GLANCE_SECONDS: Final = 0.01
"""A page of the history of which nothing has its turn: one query."""
METRICS: Final = 120
"""Custom metrics, each combination of dimensions counted as one."""
ALARMS: Final = 40


@dataclass(frozen=True)
class Kind:
    """What the meter found of one kind of request: each a request's."""

    recipients: int
    write_units: float
    read_units: float
    write_units_by_place: Mapping[str, float]
    sqs_requests: float
    gb_seconds: float
    busy_seconds: Mapping[str, float]
    """By function, its invocations together."""
    invocations: int
    log_bytes: float
    sent: int
    stored_bytes: float
    history_bytes: float
    """Of its entry in the index that the nightly audit goes through."""
    audit_read_units: float
    """Of a look of the nightly audit."""


@dataclass(frozen=True)
class Year:
    """The mix, and what it comes to."""

    kinds: Mapping[str, Kind]
    slack_sent_bytes: float
    inbox: Mapping[str, float]
    """Read units of a page of the inbox, and of the unread total."""

    def a_day(self, what: Callable[[Kind], float]) -> float:
        """The sum over a day's requests."""
        return sum(number * what(self.kinds[kind]) for kind, number in REQUESTS_A_DAY.items())

    @cached_property
    def requests(self) -> int:
        """A day's."""
        return sum(REQUESTS_A_DAY.values())

    @cached_property
    def sent(self) -> float:
        """A day's messages over Slack."""
        return sum(n * self.kinds[kind].sent for kind, n in REQUESTS_A_DAY.items() if "chat" in kind)

    @cached_property
    def texts(self) -> float:
        """A day's texts."""
        return sum(n * self.kinds[kind].sent for kind, n in REQUESTS_A_DAY.items() if "text" in kind)

    @cached_property
    def console(self) -> float:
        """A day's notices in the app."""
        return sum(n * self.kinds[kind].recipients for kind, n in REQUESTS_A_DAY.items() if "console" in kind)

    @cached_property
    def writes_by_place(self) -> Mapping[str, float]:
        """A day's write units, by table and index."""
        found: defaultdict[str, float] = defaultdict(float)
        for kind, number in REQUESTS_A_DAY.items():
            for place, units in self.kinds[kind].write_units_by_place.items():
                found[place] += number * units
        return found

    def busy_seconds(self, function: str) -> float:
        """How long a function runs in a day, its invocations together."""
        return self.a_day(lambda kind: kind.busy_seconds.get(function, 0))

    # ---------------------------------------------------------------- the bill

    @cached_property
    def bill(self) -> dict[str, float]:
        """Dollars a month, by what they are paid for."""
        minutes = DAYS * 24 * 60
        sweep_reads = minutes * (WORKSPACES / 25 + WORKSPACES * 0.5)
        inbox_calls = 2 * self.console * DAYS
        inbox_reads = self.console * DAYS * sum(self.inbox.values())
        glances = self.a_day(lambda kind: kind.history_bytes / READ_BYTES / 2) * KEPT_DAYS
        audited = (self.a_day(lambda kind: kind.audit_read_units) * LOOKS + glances) * DAYS
        stored_gb = self.a_day(lambda kind: kind.stored_bytes) * KEPT_DAYS / prices.GIGABYTE
        logged_gb = self.a_day(lambda kind: kind.log_bytes) * DAYS / prices.GIGABYTE
        gb_seconds = self.a_day(lambda kind: kind.gb_seconds) * DAYS + inbox_calls * 0.02 * 0.5
        invocations = self.a_day(lambda kind: kind.invocations) * DAYS + inbox_calls + minutes
        sent_gb = self.sent * DAYS * self.slack_sent_bytes / prices.GIGABYTE
        return {
            "DynamoDB writes": self.a_day(lambda kind: kind.write_units) * DAYS * prices.WRITE_UNIT,
            "DynamoDB reads of requests and deliveries": self.a_day(lambda kind: kind.read_units)
            * DAYS
            * prices.READ_UNIT,
            "DynamoDB reads of inboxes": inbox_reads * prices.READ_UNIT,
            "DynamoDB reads of the minute's sweep": sweep_reads * prices.READ_UNIT,
            "DynamoDB reads of the nightly audit": audited * prices.READ_UNIT,
            "DynamoDB storage": stored_gb * prices.STORED_GB_MONTH,
            "DynamoDB backups": stored_gb * prices.BACKED_UP_GB_MONTH,
            "SQS": self.a_day(lambda kind: kind.sqs_requests) * DAYS * prices.SQS_FAIR_REQUEST,
            "SQS polls of empty queues": QUEUES * POLLS_A_MINUTE * minutes * prices.SQS_REQUEST,
            "Lambda": gb_seconds * prices.LAMBDA_GB_SECOND + invocations * prices.LAMBDA_REQUEST,
            "API Gateway": inbox_calls * prices.HTTP_API_REQUEST,
            "CloudWatch logs": logged_gb * (prices.LOGGED_GB + prices.LOGS_STORED_GB_MONTH),
            "Secrets, a token a workspace": WORKSPACES * prices.SECRET_MONTH,
            "CloudWatch metrics, alarms, dashboard": METRICS * prices.METRIC_MONTH
            + ALARMS * prices.ALARM_MONTH
            + prices.DASHBOARD_MONTH,
            "EventBridge Scheduler": (minutes + DAYS) * prices.SCHEDULED,
            "Data transfer": sent_gb * prices.SENT_GB,
        }

    # ---------------------------------------------------------------- the limits

    def limits(self) -> list[tuple[str, str, float, float]]:
        """What is used at the peak of what is allowed: the name, the unit, the use, the limit."""
        second = PEAK / 86_400
        largest = second * LARGEST_SHARE
        writes = self.writes_by_place
        concurrency = {spec.folder: self.busy_seconds(spec.folder) * second for spec in FUNCTIONS}
        most = max(concurrency, key=lambda folder: concurrency[folder])
        allowed = next(spec.concurrency_max for spec in FUNCTIONS if spec.folder == most)
        pages = self.requests * LARGEST_SHARE / PAGE_ROWS
        audited_hours = pages * (KEPT_DAYS * GLANCE_SECONDS + LOOKS * LOOK_SECONDS) / 3600
        batches = (self.sent + self.texts) / 5
        return [
            ("the nightly audit of the largest workspace", "hours a night", audited_hours, 24),
            ("Slack, the largest workspace", "messages a minute", self.sent * largest * 60, SLACK_A_MINUTE),
            ("texts over one number", "a second", self.texts * second, TEXTS_A_SECOND),
            (f"{most} at once", "invocations", concurrency[most], allowed),
            ("all functions at once", "invocations", sum(concurrency.values()), LAMBDA_CONCURRENCY),
            ("table notices", "write units a second", writes["notices"] * second, TABLE_WRITES),
            (
                "index due, one shard of the largest workspace",
                "write units a second",
                writes["requests.due"] * largest,
                PARTITION_WRITES,
            ),
            ("index history, the same", "write units a second", writes["requests.history"] * largest, PARTITION_WRITES),
            (
                "registry, the largest workspace's rows",
                "read units a second",
                (4 * self.requests + 2 * batches) * largest,
                PARTITION_READS,
            ),
        ]

    def partitions(self) -> dict[str, int]:
        """Partitions that each table or index needs at the peak, for its writes or its size (10 GB each)."""
        second = PEAK / 86_400
        stored_gb = self.a_day(lambda kind: kind.stored_bytes) * KEPT_DAYS / prices.GIGABYTE
        found = {place: -int(-(units * second) // PARTITION_WRITES) for place, units in self.writes_by_place.items()}
        found["notices"] = max(found["notices"], -int(-stored_gb // 10))
        return {place: max(1, number) for place, number in found.items()}


def compute() -> Year:
    """The year by the last results."""
    growth = {row[0]: row for row in report.load("growth").rows}
    inbox = {
        what: float(str(growth[what][1]).rpartition(" / ")[2]) for what in ("a page of the inbox", "the unread total")
    }
    return Year(
        kinds={name: Kind(**found) for name, found in report.load("cost").details.items()},
        slack_sent_bytes=report.load("functions").figures["slack_sent_bytes"],
        inbox=inbox,
    )


def as_markdown(year: Year) -> str:
    """The page's section."""
    bill, total = year.bill, sum(year.bill.values())
    limits = sorted(year.limits(), key=lambda item: item[2] / item[3], reverse=True)
    first = limits[0]
    recipients = year.a_day(lambda kind: kind.recipients)
    lines = [
        f"The mix, {year.requests:,} requests a day to {recipients:,.0f} recipients: "
        + "; ".join(f"{number:,} to {kind}" for kind, number in REQUESTS_A_DAY.items())
        + f". {WORKSPACES} workspaces, the largest with {LARGEST_SHARE:.0%} of everything; the busiest minutes "
        f"{PEAK} times the average; every notice in the app is looked at with one page of the inbox and one unread "
        "total.",
        "",
        "| a month | $ | share |",
        "|---|---:|---:|",
        *(f"| {what} | {dollars:,.0f} | {dollars / total:.0%} |" for what, dollars in bill.items()),
        f"| **all** | **{total:,.0f}** | |",
        "",
        (
            f"That is ${total / DAYS / recipients * prices.MILLION:.2f} for a million recipients, and without the "
            "nightly audit "
            f"${(total - bill['DynamoDB reads of the nightly audit']) / DAYS / recipients * prices.MILLION:.2f}. A "
            f"year: ${12 * total:,.0f}. Slack's and the carriers' own fees are not in it."
        ),
        "",
        "| at the peak | unit | used | allowed | of it |",
        "|---|---|---:|---:|---:|",
        *(
            f"| {what} | {unit} | {shown(used)} | {shown(float(most))} | {used / most:.0%} |"
            for what, unit, used, most in limits
        ),
        "",
        f"The first limit reached: {first[0]}, {first[2] / first[3]:.1f} times what is allowed.",
        "",
        "Partitions needed at the peak: "
        + ", ".join(f"{place} {number}" for place, number in sorted(year.partitions().items()))
        + ". The hottest keys are the largest workspace's: its shard of `due` and `history` (a workspace's `shards` "
        "setting splits it), its rows in the registry, read for each batch, and a request for 200 people while its "
        "twenty batches read it.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print it."""
    print(as_markdown(compute()))


if __name__ == "__main__":
    main()
