"""(e) End to end on the local stack: how many notices a second, and how long from a publication to the provider."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

from bench.report import Result
from bench.worker import ROOT
from infra.local.ports import free_port
from tests.local.client import Stack

PEOPLE: Final = 200
BURST: Final = 5
SINGLES: Final = 60
_PAUSE_SECONDS: Final = 0.25
_PATIENCE_SECONDS: Final = 180
_DEFINITION: Final = {
    "title": "Order shipped",
    "category": "orders",
    "critical": False,
    "channels": ["chat"],
    "schema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}},
    "templates": {"chat": {"text": "Order {{ number }}"}},
    "expires_after": "P1D",
}


def run() -> Result:
    """Publish a burst to many, then one request after the other to one person each, and look at what Slack was sent."""
    with _stack() as stack:
        call = _caller(stack)
        _register(call)
        _publish(stack, [_publication("warm", range(10))])
        _wait(stack, 10)
        stack.simulator.reset()
        began = datetime.now(tz=UTC)
        _publish(stack, [_publication(f"burst-{number}", range(PEOPLE)) for number in range(BURST)])
        sent = _wait(stack, PEOPLE * BURST)
        burst_seconds = (max(sent.values()) - began).total_seconds()
        stack.simulator.reset()
        published: dict[str, datetime] = {}
        for number in range(SINGLES):
            published[f"single-{number}"] = datetime.now(tz=UTC)
            _publish(stack, [_publication(f"single-{number}", [number])])
            time.sleep(_PAUSE_SECONDS)
        arrived = _wait(stack, SINGLES)
    delays_ms = sorted((arrived[key] - at).total_seconds() * 1000 for key, at in published.items())
    cuts = quantiles(delays_ms, n=100, method="inclusive")
    figures = {
        "notices_per_second": PEOPLE * BURST / burst_seconds,
        "publication_to_provider_p50_ms": cuts[49],
        "publication_to_provider_p99_ms": cuts[98],
    }
    return Result(
        name="end_to_end",
        title="(e) End to end on the local stack",
        columns=["what", "found"],
        rows=[
            [f"notices a second, {BURST} requests to {PEOPLE} people at once", figures["notices_per_second"]],
            [f"publication to provider, ms, p50 of {SINGLES} requests one by one", cuts[49]],
            ["publication to provider, ms, p99", cuts[98]],
        ],
        figures=figures,
        notes=[
            (
                "The whole stack shares this machine's processors: the emulator of AWS, a process for each "
                "function that runs, and the provider simulator. They are the limit here, not the design: the "
                "functions run two at a time."
            )
        ],
    )


@contextmanager
def _stack() -> Generator[Stack]:
    """A stack of its own, whose sweeps don't run."""
    with tempfile.TemporaryDirectory() as folder:
        options = {
            **os.environ,
            "NOTIFY_LOCAL_DIR": folder,
            "NOTIFY_PORT": str(free_port()),
            "NOTIFY_SIMULATOR_PORT": str(free_port()),
            "NOTIFY_SCHEDULES": "false",
        }

        def local(command: str) -> None:
            done = subprocess.run(
                [sys.executable, "-m", "infra.local", command],
                cwd=ROOT,
                env=options,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"infra.local {command} failed:\n{done.stdout}{done.stderr}")

        try:
            local("up")
            yield Stack(Path(folder) / "stack.json")
        finally:
            local("down")


def _caller(stack: Stack) -> Callable[[str, Mapping[str, Any]], None]:
    def put(path: str, body: Mapping[str, Any]) -> None:
        answer = stack.call("PUT", f"/v1/workspaces/bench{path}", body)
        if answer.status != 200:  # noqa: PLR2004  (HTTP's)
            raise RuntimeError(f"{path}: {answer.content.decode()}")

    return put


def _register(put: Callable[[str, Mapping[str, Any]], None]) -> None:
    put("", {"name": "Bench", "status": "operational", "channels": ["chat"]})
    put("/definitions/order.shipped", _DEFINITION)

    def put_person(number: int) -> None:
        put(f"/people/person-{number:03d}", {"name": f"Person {number}", "slack_user_id": f"U0BENCH{number:03d}"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put_person, range(PEOPLE)))


def _publication(key: str, people: Sequence[int]) -> Mapping[str, Any]:
    return {
        "type": "publish",
        "version": 1,
        "workspace_id": "bench",
        "definition": "order.shipped",
        "request_key": key,
        "published_at": datetime.now(tz=UTC).isoformat(),
        "data": {"number": key},
        "audience": {"people": [f"person-{number:03d}" for number in people]},
    }


def _publish(stack: Stack, publications: Sequence[Mapping[str, Any]]) -> None:
    entries: Any = [
        {"Id": str(number), "MessageBody": json.dumps(body), "MessageGroupId": "bench"}
        for number, body in enumerate(publications)
    ]
    stack.sqs.send_message_batch(QueueUrl=stack.queues["requests"], Entries=entries)


def _wait(stack: Stack, number: int) -> dict[str, datetime]:
    """When the last message about each publication reached Slack, once so many have."""
    until = time.monotonic() + _PATIENCE_SECONDS
    messages: Sequence[Mapping[str, Any]] = ()
    while time.monotonic() < until:
        messages = stack.simulator.messages(channel="chat")
        if len(messages) >= number:
            ordered = sorted(messages, key=lambda message: str(message["at"]))
            return {
                str(message["text"]).removeprefix("Order "): datetime.fromisoformat(str(message["at"]))
                for message in ordered
            }
        time.sleep(0.2)
    raise RuntimeError(f"only {len(messages)} of {number} messages arrived in {_PATIENCE_SECONDS} s")
