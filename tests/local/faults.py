"""The deployed stack with faults everywhere: between its functions and DynamoDB and SQS, at the provider, and deaths.

`make faults` runs it, and no other command: what fails there is tried again only after its message's three minutes.
"""

import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from infra.layers import ROOT
from infra.local import web
from infra.local.ports import free_port
from infra.local.processes import Background
from tests.conformance.backends import deployed
from tests.local.client import Stack
from tests.local.conftest import bring_up, run_local
from tests.local.crowd import PEOPLE, Case, mixed, prepare, publication, states_at_the_end

DELIVERIES: Final = int(os.environ.get("DELIVERIES") or 10_000)
KILL_EVERY_SECONDS: Final = 10
BACKLOG_MAX: Final = 1_000
"""Deliveries waiting at most before the next request is published; those of a killed function wait for minutes."""
FEW: Final = 50
"""Deliveries still waiting when the last function has been killed."""
KINDS: Final = 10
"""Kinds of injected faults that must have happened."""
LATE_MS: Final = 4_000
"""Longer than a store call waits: the write happens after its caller has given up."""


def error(code: str, status: int = 400, **fields: object) -> dict[str, Any]:
    """An answer that certainly changed nothing."""
    return {"error": {"code": code, "status": status, "message": "injected", "fields": fields}}


CONFLICT: Final = error("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}] * 2)
ANSWER_LOST: Final = {"response": {"abort_bytes": 0}}
RULES: Final[Sequence[Mapping[str, Any]]] = (
    # Writes and reads that are refused, and transactions that meet another one.
    *(
        {"service": "dynamodb", "operation": operation, "probability": chance, **fault}
        for operation, chance, fault in (
            ("PutItem", 0.02, error("ThrottlingException")),
            ("PutItem", 0.01, error("ProvisionedThroughputExceededException")),
            ("PutItem", 0.01, error("TransactionConflictException")),
            ("PutItem", 0.01, error("InternalServerError", 500)),
            ("PutItem", 0.01, {"reset": True}),
            ("PutItem", 0.02, ANSWER_LOST),
            ("PutItem", 0.002, {"latency": LATE_MS}),
            ("TransactWriteItems", 0.1, CONFLICT),
            ("TransactWriteItems", 0.1, ANSWER_LOST),
            ("TransactWriteItems", 0.02, {"latency": LATE_MS}),
            ("GetItem", 0.02, error("ThrottlingException")),
            ("GetItem", 0.01, {"reset": True}),
            ("BatchGetItem", 0.02, error("ThrottlingException")),
            ("Query", 0.02, error("ThrottlingException")),
            ("Query", 0.01, ANSWER_LOST),
        )
    ),
    # Sends that are refused, and sends that happened and are made again: duplicates.
    *(
        {"service": "sqs", "operation": operation, "probability": chance, **fault}
        for operation, chance, fault in (
            ("SendMessageBatch", 0.05, error("ServiceUnavailable", 503)),
            ("SendMessageBatch", 0.1, ANSWER_LOST),
            ("SendMessage", 0.05, error("ServiceUnavailable", 503)),
            ("SendMessage", 0.1, ANSWER_LOST),
            ("ChangeMessageVisibility", 0.1, error("ServiceUnavailable", 503)),
        )
    ),
)


class FaultProxy:
    """What stands between the functions and the emulator: passes everything on, until rules say otherwise."""

    def __init__(self, folder: Path, emulator_port: int) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process = Background("faults", folder)
        command = [sys.executable, "-m", "microburst", "--upstream", f"http://127.0.0.1:{emulator_port}"]
        self._process.start([*command, "--port", str(self.port)], os.environ, cwd=ROOT)
        deadline = time.monotonic() + 30
        while not web.answers(f"{self.url}/_microburst/health"):
            assert time.monotonic() < deadline, self._process.last_lines(20)
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.stop()

    @contextmanager
    def injecting(self, rules: Sequence[Mapping[str, Any]]) -> Iterator[None]:
        """Injects the faults while the block runs."""
        web.post(f"{self.url}/_microburst/rules", rules)
        try:
            yield
        finally:
            web.post(f"{self.url}/_microburst/rules", [])

    def fired(self) -> Mapping[str, int]:
        """How often each kind of fault was injected."""
        lines = web.request("GET", f"{self.url}/_microburst/metrics").content.decode().splitlines()
        counts = (line.rpartition(" ") for line in lines if line.startswith("microburst_faults_total{"))
        return {name.partition("{")[2].rstrip("}"): int(float(count)) for name, _, count in counts}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, FaultProxy]]:
    """A stack of its own whose functions reach DynamoDB and SQS through the proxy; its sweeps run as the test says."""
    folder = tmp_path_factory.mktemp("faults")
    port = free_port()
    proxy = FaultProxy(folder, port)
    endpoints = dict.fromkeys(("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"), proxy.url)
    try:
        yield bring_up(folder, NOTIFY_PORT=str(port), NOTIFY_FUNCTION_ENVIRONMENT=json.dumps(endpoints)), proxy
    finally:
        run_local("down", folder)
        proxy.stop()


@contextmanager
def killing(stack: Stack, random: Random) -> Iterator[Counter[str]]:
    """Ends some function's process every now and then, at whatever it is doing; gives the count by function."""
    emulator = Background("emulator", stack.file.parent).pid
    assert emulator is not None
    killed: Counter[str] = Counter()
    over = threading.Event()

    def kill() -> None:
        while not over.wait(KILL_EVERY_SECONDS):
            workers = list(_workers(emulator))
            if workers:
                pid, function = random.choice(workers)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed[function] += 1

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def _workers(emulator: int) -> Iterator[tuple[int, str]]:
    """The emulator's processes, each with the function that it runs."""
    for children in Path(f"/proc/{emulator}/task").glob("*/children"):
        for pid in map(int, children.read_text().split()):
            with suppress(FileNotFoundError):
                command = Path(f"/proc/{pid}/cmdline").read_text()
                if found := re.search(r"notify-(\w+?)Function", command):
                    yield pid, found[1]


# ---------------------------------------------------------------- the run


def tell(text: str) -> None:
    """How far the run is, as it goes on: it takes most of an hour."""
    sys.stdout.write(f"{datetime.now(tz=UTC):%H:%M:%S} {text}\n")
    sys.stdout.flush()


@pytest.mark.timeout(3600)
def test_every_delivery_ends_and_the_record_is_the_truth_whatever_fails(
    faulty: tuple[Stack, FaultProxy], workspace: str
) -> None:
    """Scenarios 3, 6, 8, 21, 37 and 40 together, on every path at once."""
    stack, proxy = faulty
    random = Random(6)
    seconds_max = 600 + DELIVERIES / 5
    stores = deployed(stack.file).stores()
    cases = [
        Case(name=f"{number}", workspace=f"{workspace}-{number}", faults=mixed(random))
        for number in range(DELIVERIES // PEOPLE)
    ]
    everyone = {"people": [f"p{number}" for number in range(PEOPLE)]}
    with proxy.injecting(RULES):
        with killing(stack, random) as killed:
            for number, case in enumerate(cases, start=1):
                prepare(stack, stores, case)
                stack.send_all("requests", [publication(case.workspace, everyone)] * random.choice((1, 1, 2)))
                stack.wait_until(lambda: stack.depth("chat") < BACKLOG_MAX, timeout_seconds=seconds_max)
                tell(f"{number} of {len(cases)} requests published, {stack.depth('chat')} messages waiting")
            stack.wait_until(lambda: stack.depth("chat") < FEW, timeout_seconds=seconds_max)
        tell("no more faults nor deaths")
        stack.wait_until_quiet(timeout_seconds=seconds_max)
    ended = states_at_the_end(stack, {case.workspace: PEOPLE for case in cases}, seconds_max=seconds_max)

    reached = Counter(message["delivery_id"] for message in stack.simulator.messages())
    states = {identity: state for of_case in ended.values() for identity, state in of_case.items()}
    ends, injected = Counter(states.values()), proxy.fired()
    report = {"deliveries": len(states), "ends": ends, "killed": killed, "injected": injected}
    sys.stdout.write(f"{json.dumps(report, indent=2)}\n")
    assert len(states) == PEOPLE * len(cases)
    assert set(reached.values()) == {1}
    assert {identity for identity, state in states.items() if state == "delivered"} == set(reached)
    assert set(ends) <= {"delivered", "failed(user_not_found)", "failed(attempts_exhausted)"}
    assert ends["failed(attempts_exhausted)"] <= len(states) / 100
    assert {queue: stack.dead_letters(queue) for queue in stack.queues} == dict.fromkeys(stack.queues, 0)
    assert len(injected) >= KINDS
    assert killed["DeliverChat"]
