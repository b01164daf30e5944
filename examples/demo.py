"""`make demo`: tell 200 people something, live, and check the platform's account against what really reached them."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from os import environ
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from examples.platform import Platform, Refused

ROOT = Path(__file__).resolve().parent.parent
STACK_FILE = Path(environ.get("NOTIFY_LOCAL_DIR", ROOT / ".local")) / "stack.json"
PEOPLE = 200
SCHEDULED_SECONDS = 8
PATIENCE_SECONDS = 150
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 110)


@dataclass(frozen=True)
class Story:
    """One request of the demo: what is published, and the state that it has to end in."""

    key: str
    tells: str
    definition: str
    content: Mapping[str, Any]
    ends: str
    marker: str = ""
    """What only its chat messages contain."""
    chats: int = 0
    """How many chat messages have to reach somebody because of it."""
    after: Callable[[Platform], None] | None = field(default=None, compare=False)


def people(*numbers: int) -> dict[str, Any]:
    """An audience of people by number."""
    return {"people": [person(number) for number in numbers]}


def person(number: int) -> str:
    """A person's id."""
    return f"person-{number:03d}"


def stories(run: str) -> list[Story]:
    """What the demo publishes."""
    later = (datetime.now(tz=UTC) + timedelta(seconds=SCHEDULED_SECONDS)).isoformat()
    invoice = {"customer": "Blue & Sons <Ltd>", "days_overdue": 12, "amount": "€ 1,200"}
    comment = {"document": "the roadmap", "text": "I would ship this first."}
    everybody = {"teams": ["everybody"]}
    return [
        Story("one", "one person", "invoice.overdue", {"data": {**invoice, "number": "1001"}, "audience": people(1)},
              "open", "Invoice 1001", 1),
        Story("all", f"all {PEOPLE} people", "invoice.overdue",
              {"data": {**invoice, "number": "2002"}, "audience": everybody}, "open", "Invoice 2002", PEOPLE),
        Story("invalid", "data that isn't valid", "invoice.overdue",
              {"data": {"number": "not a number", "days_overdue": 0}, "audience": people(1)}, "invalid"),
        Story("nobody", "people we don't know", "invoice.overdue",
              {"data": {**invoice, "number": "3003"}, "audience": {"people": ["stranger"], "teams": ["ghosts"]}},
              "no_recipients", "Invoice 3003"),
        Story("scheduled", f"one person, in {SCHEDULED_SECONDS} seconds", "invoice.overdue",
              {"data": {**invoice, "number": "4004"}, "audience": people(2), "not_before": later},
              "open", "Invoice 4004", 1),
        Story("withdrawn", "one person, withdrawn before its time", "invoice.overdue",
              {"data": {**invoice, "number": "5005"}, "audience": people(3),
               "not_before": (datetime.now(tz=UTC) + timedelta(minutes=5)).isoformat()},
              "cancelled", "Invoice 5005", 0,
              lambda platform: platform.withdraw("invoice.overdue", f"{run}:withdrawn", "paid meanwhile")),
        Story("shift-1", "a shift", "shift.changed",
              {"data": {"shift": "N1", "starts": "22:00"}, "audience": people(4), "replacement_key": "n1"},
              "superseded", "starts at 22:00", 1),
        Story("shift-2", "the same shift again, replacing it", "shift.changed",
              {"data": {"shift": "N1", "starts": "23:00"}, "audience": people(4), "replacement_key": "n1"},
              "open", "starts at 23:00", 1),
        *(Story(f"comment-{author}", f"{author}'s comment, folded", "comment.added",
                {"data": {**comment, "author": author}, "audience": people(5), "fold_key": "roadmap"}, "open")
          for author in ("Ada", "Grace", "Edsger")),
    ]  # fmt: skip


def main() -> int:
    """0 when the platform's account and the simulator's truth agree."""
    if subprocess.run([sys.executable, "-m", "infra.local", "up"], cwd=ROOT, check=False).returncode:
        return 1
    run = datetime.now(tz=UTC).strftime("demo-%Y%m%d-%H%M%S")
    platform = Platform.read(STACK_FILE, workspace=run)
    try:
        register(platform)
        told = stories(run)
        with Live(console=out, refresh_per_second=8, transient=True) as live:
            publish_all(platform, run, told)
            settled = watch(platform, run, told, live)
    except Refused as refusal:
        out.print(f"[red]{refusal}")
        return 1
    return report(platform, run, told, settled)


def register(platform: Platform) -> None:
    """Register the workspace, its people and the definitions beside this file."""
    begun = time.monotonic()
    platform.put("", {"name": "Demo", "status": "operational", "channels": ["console", "chat"]})
    for file in sorted((ROOT / "examples" / "definitions").glob("*.json")):
        platform.put(f"/definitions/{file.stem}", json.loads(file.read_text()))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: register_person(platform, number), range(1, PEOPLE + 1)))
    out.print(f"Registered workspace {platform.workspace}: 3 definitions, {PEOPLE} people "
              f"({time.monotonic() - begun:.1f} s)")  # fmt: skip


def register_person(platform: Platform, number: int) -> None:
    """Register one person, with a Slack id of this run."""
    slack = f"U{platform.workspace.replace('-', '').upper()}{number:03d}"
    body = {"name": f"Person {number}", "slack_user_id": slack, "teams": ["everybody"]}
    platform.put(f"/people/{person(number)}", {**body, "locale": "fr" if number % 10 == 0 else "en"})


def publish_all(platform: Platform, run: str, told: list[Story]) -> None:
    """Publish every story over SQS; a replacement only once what it replaces has been sent."""
    for story in told:
        if story.key == "shift-2":
            wait_for_message(platform, "starts at 22:00")
        platform.publish(story.definition, f"{run}:{story.key}", **story.content)
        if story.after is not None:
            story.after(platform)


def wait_for_message(platform: Platform, marker: str) -> None:
    """Wait until a message with this text has reached somebody."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and not received(platform, marker):
        time.sleep(0.25)


def received(platform: Platform, marker: str) -> list[Any]:
    """What really reached people of this workspace, with this text."""
    ours = f"U{platform.workspace.replace('-', '').upper()}"
    return [
        message
        for message in platform.simulator("GET", "/_simulator/messages?channel=chat")
        if message["to"].startswith(ours) and marker and marker in message["text"]
    ]


def watch(platform: Platform, run: str, told: list[Story], live: Live) -> dict[str, Any]:
    """Show the requests as they move, until each has its state and nothing is left to send, or patience ends."""
    begun = time.monotonic()
    while True:
        found = {key: item for key, item in platform.requests().items() if key.startswith(run)}
        details = {
            story.key: platform.get(f"/requests/{found[f'{run}:{story.key}']['request_id']}")
            for story in told
            if f"{run}:{story.key}" in found
        }
        live.update(table(told, details, f"{time.monotonic() - begun:.0f} s"))
        finished = all(is_finished(story, details.get(story.key)) for story in told)
        if finished or time.monotonic() - begun > PATIENCE_SECONDS:
            return details
        time.sleep(0.5)


def is_finished(story: Story, detail: Mapping[str, Any] | None) -> bool:
    """Whether a request has the state it ends in, with no delivery under way."""
    return detail is not None and detail["state"] == story.ends and not (set(counts(detail)) & UNDER_WAY)


UNDER_WAY = {"queued", "deferred", "sending", "sent"}


def counts(detail: Mapping[str, Any], channel: str = "chat") -> dict[str, int]:
    """How many deliveries of a channel are in each state."""
    states: dict[str, int] = {}
    for notice in detail["notices"]:
        for delivery in notice["deliveries"]:
            if delivery["channel"] == channel:
                states[delivery["state"]] = states.get(delivery["state"], 0) + 1
    return states


def table(told: list[Story], details: Mapping[str, Any], caption: str) -> Table:
    """The requests as they stand."""
    shown = Table(title="Requests", caption=caption)
    for column in ("request", "tells", "state", "notices", "chat deliveries"):
        shown.add_column(column, no_wrap=True)
    for story in told:
        detail = details.get(story.key)
        if detail is None:
            shown.add_row(story.key, story.tells, "on its way", "", "")
            continue
        chats = ", ".join(f"{number} {state}" for state, number in sorted(counts(detail).items()))
        state = detail["state"] + (f" ({detail['reason']})" if detail["reason"] else "")
        colour = "green" if detail["state"] == story.ends else "yellow"
        shown.add_row(story.key, story.tells, f"[{colour}]{state}", str(len(detail["notices"])), chats)
    return shown


def report(platform: Platform, run: str, told: list[Story], details: Mapping[str, Any]) -> int:
    """Print the account beside the truth; 0 when they agree."""
    out.print(table(told, details, run))
    for story in told:
        for problem in details.get(story.key, {}).get("problems", []):
            out.print(f"  {story.key}: [yellow]{problem['field']}[/] {problem['code']}: {problem['message']}")
        for exclusion in details.get(story.key, {}).get("exclusions", []):
            out.print(f"  {story.key}: excluded {json.dumps(exclusion)}")
    checks = [check for story in told for check in checks_of(platform, story, details.get(story.key))]
    checks += inbox_checks(platform)
    failed = [tells for tells, is_right in checks if not is_right]
    for tells, is_right in checks:
        out.print(f"  {'[green]agrees[/]' if is_right else '[red]DIFFERS[/]'}  {tells}")
    if failed:
        out.print(f"[red]{len(failed)} of {len(checks)} checks failed.")
        return 1
    out.print(f"[green]All {len(checks)} checks agree.[/] Look next at:")
    out.print(f"  what reached whom      curl -s {platform.stack['simulator_url']}/_simulator/messages")
    out.print(f"  the stack's addresses  {STACK_FILE}")
    out.print("  publishing yourself    README.md, “Publish from any language”; examples/platform.py")
    out.print("  stop the stack         make down")
    return 0


def checks_of(platform: Platform, story: Story, detail: Mapping[str, Any] | None) -> list[tuple[str, bool]]:
    """A request's state, and its chat deliveries as recorded, against what is expected and what really arrived."""
    if detail is None:
        return [(f"{story.key}: was recorded", False)]
    checks = [(f"{story.key}: state {detail['state']}, expected {story.ends}", detail["state"] == story.ends)]
    if story.marker:
        recorded, truth = counts(detail).get("delivered", 0), received(platform, story.marker)
        told_once = len({message["to"] for message in truth}) == len(truth)
        agrees = recorded == len(truth) == story.chats and told_once
        checks.append((f"{story.key}: {recorded} chat deliveries recorded, {len(truth)} people really got one", agrees))
    return checks


def inbox_checks(platform: Platform) -> list[tuple[str, bool]]:
    """Unread totals: everybody got invoice 2002; some got more, and what was replaced doesn't count."""
    expected = {person(number): 1 for number in range(1, PEOPLE + 1)}
    expected |= {person(1): 2, person(2): 2, person(4): 2, person(5): 2}
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(expected, pool.map(platform.unread, expected), strict=True))
    right = sum(found[who] == expected[who] for who in expected)
    total = sum(found.values())
    return [(f"inboxes: {right} of {PEOPLE} unread totals are as expected, {total} unread in all", found == expected)]


if __name__ == "__main__":
    sys.exit(main())
