"""What an invocation of each function takes: CPU, and waiting for others. The bill's Lambda seconds rest on it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from bench import worker
from bench.report import Cell, Result
from bench.scene import WORKSPACE, Scene, id_of, laid
from bench.worker import Plan
from infra.specs import FUNCTIONS
from notify_core.domain.request import rescheduled

LATENCIES_MS: Final[Mapping[str, float]] = {"dynamodb": 4, "sqs": 8, "slack": 200}
"""What the answers are taken to need in the cloud."""
AUDIENCES: Final = (1, 10, 200)
VCPU_MB: Final = 1769
"""Lambda: the memory at which a function has one whole processor; below, it has that share of one."""
_ROUNDS: Final = 5
_SLOWER: Final = 10
"""The waiting is measured with answers so many times slower, so that what else the machine does counts for less."""


def run() -> Result:
    """Time each function that a delivery passes, without and with the latencies; the difference is the waiting."""
    with laid() as scene:
        plans = _plans(scene)
        at_once = {name: worker.run(plan, scene.stub) for name, plan in plans.items()}
        scene.stub.set(**{service: _SLOWER * latency_ms for service, latency_ms in LATENCIES_MS.items()})
        waited = {
            name: worker.run(replace(plan, events=plan.events[:2], warmups=1, rounds=2), scene.stub)
            for name, plan in plans.items()
        }
        told = scene.stub.set(**dict.fromkeys(LATENCIES_MS, 0))
    rows: list[list[Cell]] = []
    figures = {"slack_sent_bytes": told.slack_bytes / told.slack_messages}
    for name, plan in plans.items():
        cpu_ms = min(at_once[name].rounds_cpu_ms)  # the least disturbed by what else the machine does
        wait_ms = (min(waited[name].rounds_wall_ms) - min(at_once[name].rounds_wall_ms)) / _SLOWER
        memory_mb = next(spec.memory_mb for spec in FUNCTIONS if spec.folder == plan.folder)
        billed_ms = wait_ms + cpu_ms * VCPU_MB / memory_mb
        figures |= {f"{name}_cpu_ms": cpu_ms, f"{name}_wait_ms": wait_ms, f"{name}_billed_ms": billed_ms}
        rows.append(
            [name.replace("_", " "), memory_mb, cpu_ms, wait_ms, billed_ms, billed_ms * memory_mb / 1024 / 1000]
        )
    return Result(
        name="functions",
        title="Functions: what one invocation takes",
        columns=["invocation", "memory MB", "CPU ms", "waiting ms", "billed ms", "GB-seconds"],
        rows=rows,
        figures=figures,
        notes=[
            (
                f"Waiting is what answers of {LATENCIES_MS['dynamodb']:.0f} ms (DynamoDB), "
                f"{LATENCIES_MS['sqs']:.0f} ms (SQS) and {LATENCIES_MS['slack']:.0f} ms (Slack) add. Billed is "
                "waiting, and the CPU at the share of a processor that Lambda gives for the memory, on a processor "
                f"like this one. Slack is sent {figures['slack_sent_bytes']:.0f} bytes a message, TLS and TCP "
                "included."
            ),
        ],
    )


def billed_ms(result: Result, function: str, records: int, recipients: int) -> float:
    """What an invocation is billed for: of `records` records of requests to so many recipients."""
    match function:
        case "process_requests":
            return result.figures[f"accept_{_audience(recipients)}_billed_ms"]
        case "reconcile_requests":
            return result.figures[f"look_{_audience(recipients)}_billed_ms"]
        case "record_receipts":  # a read and a write of a notice: less than a look at a request
            return result.figures["look_1_billed_ms"]
        case "deliver_chat" | "deliver_text":  # taken to be as long over the other provider
            one, ten = (result.figures[f"deliver_{number}_billed_ms"] for number in (1, 10))
            return one + (ten - one) * (records - 1) / 9
        case _:
            raise KeyError(function)


def _audience(recipients: int) -> int:
    """The measured audience that is no smaller."""
    return next(number for number in AUDIENCES if recipients <= number)


def _plans(scene: Scene) -> dict[str, Plan]:
    """By name; every look finds the request due, and its notices delivered."""
    plans = {
        "deliver_10": Plan(folder="deliver_chat", events=scene.dispatches(100), rounds=_ROUNDS),
        "deliver_1": Plan(folder="deliver_chat", events=scene.dispatches(1) * 10, rounds=_ROUNDS),
    }
    for audience in AUDIENCES:
        events = [scene.acceptance(audience, 1000 + audience)] * (3 if audience == AUDIENCES[-1] else 10)
        plans[f"accept_{audience}"] = Plan(folder="process_requests", events=events, rounds=_ROUNDS)
    for audience in AUDIENCES:
        lay_delivered(scene, audience)
        plans[f"look_{audience}"] = Plan(folder="reconcile_requests", events=[scene.look(audience)] * 3, rounds=_ROUNDS)
    return plans


def lay_delivered(scene: Scene, number: int) -> None:
    """Have request `number` accepted for as many people, delivered to them, and due."""
    scene.stub.set(remembers=True)
    worker.run(
        Plan(folder="process_requests", events=[scene.acceptance(number, number)], warmups=0, rounds=1), scene.stub
    )
    worker.run(Plan(folder="deliver_chat", events=scene.dispatches(number, number), warmups=0, rounds=1), scene.stub)
    identity = id_of(scene.definition, number)
    request = scene.stores.requests.get(WORKSPACE, identity)
    assert request is not None
    scene.stores.requests.put(rescheduled(request, datetime.now(tz=UTC) - timedelta(seconds=1)), request)
    scene.stub.set(remembers=False)
