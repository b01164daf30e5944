"""One function in a process of its own, as Lambda would run it, against the stub: `python -m bench.worker`.

Reads a plan as JSON from its input: `folder`, `events` and how many times they are worked off after a warming up.
Prints, as JSON, the CPU and the time that each event took on average, and what memory the process came to.
"""

import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

from bench.stub import Stub
from infra.local.dummy_keys import DUMMY_KEYS
from infra.specs import FUNCTIONS, INDEXES

ROOT: Final = Path(__file__).resolve().parent.parent
PATHS: Final = (ROOT, ROOT / "layers" / "notify_core" / "python", ROOT / "cli")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker does."""

    folder: str
    events: Sequence[Mapping[str, Any]]
    warmups: int = 2
    rounds: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What an event took, on average of each round."""

    rounds_cpu_ms: Sequence[float]
    rounds_wall_ms: Sequence[float]
    rss_mb: Sequence[float]
    """After the warming up, and after each round."""


def run(plan: Plan, stub: Stub) -> Timing:
    """Have a process do it."""
    return Timing(**told_by("bench.worker", asdict(plan), environment(plan.folder, stub)))


def told_by(module: str, plan: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    """What a module says in a process of its own, given a plan: both as JSON.

    Raises:
        RuntimeError: it failed; the message holds what it said.
    """
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=False,
        env=dict(variables),
        cwd=ROOT,
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def environment(folder: str, stub: Stub) -> dict[str, str]:
    """A function's variables on the stub; its tables are called as they are in the design."""
    spec = next(spec for spec in FUNCTIONS if spec.folder == folder)
    tables = {*(table.value for table in spec.tables), *(INDEXES[index].value for index in spec.indexes)}
    queues = {queue.value for queue in (*spec.consumes, *spec.sends, *spec.measures)}
    dead = {queue.value for queue in (*spec.consumes_dead_letters, *spec.sends_dead_letters)}
    return {
        **client_environment(stub),
        **{f"NOTIFY_{table.upper()}_TABLE": table for table in tables},
        **{f"NOTIFY_{queue.upper()}_QUEUE_URL": f"{stub.url}/000000000000/{queue}" for queue in queues},
        **{f"NOTIFY_{queue.upper()}_DEAD_LETTER_QUEUE_URL": f"{stub.url}/000000000000/{queue}-dead" for queue in dead},
        "AWS_LAMBDA_FUNCTION_NAME": folder,
        "NOTIFY_SLACK_BASE_URL": f"{stub.url}/slack/api/",
        "NOTIFY_HQ_CHANNEL": "C0HQ",
    }


def client_environment(stub: Stub) -> dict[str, str]:
    """What makes any AWS client call the stub, and trust it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(map(str, PATHS)),
        "AWS_ENDPOINT_URL": stub.url,
        "AWS_CA_BUNDLE": str(stub.bundle),
        "SSL_CERT_FILE": str(stub.bundle),
        **DUMMY_KEYS,
        "NO_PROXY": "127.0.0.1,localhost",
    }


# ---------------------------------------------------------------- in the process of its own


class Context:
    """What Lambda tells a handler of its invocation."""

    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        """Always enough."""
        return 25_000


def load(folder: str) -> Any:  # noqa: ANN401  (a handler)
    """A function's handler."""
    path = ROOT / "functions" / folder / "handler.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_handler", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.handler


def rss_mb() -> float:
    """What memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def work(plan: Plan) -> Timing:
    """Work the plan off in this process."""
    log = sys.stdout = StringIO()
    handler, context = load(plan.folder), Context()

    def work_off() -> None:
        for event in plan.events:
            answer = handler(event, context)
            assert not answer.get("batchItemFailures"), f"{answer}\n{log.getvalue()}"

    for _ in range(plan.warmups):
        work_off()
    log.seek(0)
    log.truncate()
    cpu: list[float] = []
    wall: list[float] = []
    rss = [rss_mb()]
    for _ in range(plan.rounds):
        cpu_began, wall_began = time.process_time(), time.perf_counter()
        work_off()
        cpu.append((time.process_time() - cpu_began) * 1000 / len(plan.events))
        wall.append((time.perf_counter() - wall_began) * 1000 / len(plan.events))
        log.seek(0)
        log.truncate()
        rss.append(rss_mb())
    return Timing(
        rounds_cpu_ms=cpu,
        rounds_wall_ms=wall,
        rss_mb=rss,
    )


def _main() -> None:
    out = sys.stdout
    timing = work(Plan(**json.load(sys.stdin)))
    sys.stdout = out
    print(json.dumps(asdict(timing)))


if __name__ == "__main__":
    _main()
