"""(a) CPU of a delivery against a bare loop that makes the same calls: paired in one process, by turns.

The bare loop repeats, one after the other, the very calls that were recorded of ours, with boto3 as it comes. Run as
`python -m bench.bare_calls` it is the process that is measured, and reads its plan from its input.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from statistics import median
from typing import Any, Final

import boto3
from slack_sdk import WebClient

from bench.report import Cell, Result
from bench.scene import laid
from bench.worker import environment, told_by
from notify_core import wiring
from notify_core.application.deliver_messages import deliver_messages
from notify_core.application.ports import Outgoing, Ports, Sender
from notify_core.domain.channel import Channel
from notify_core.domain.send_result import Delivered, SendResult

BUDGET: Final = 1.5
_BATCHES: Final = 20
_ROUNDS: Final = 9


def run() -> Result:
    """Measure both, with and without the provider's call."""
    with laid() as scene:
        plan = {"events": scene.dispatches(10 * _BATCHES), "rounds": _ROUNDS}
        told = told_by("bench.bare_calls", plan, environment("deliver_chat", scene.stub))
    figures: dict[str, float] = {}
    rows: list[list[Cell]] = []
    for what in ("AWS calls alone", "with the message to Slack"):
        ours, bare = (told[f"{whose}, {what}"] for whose in ("ours", "bare"))
        ratios = [one / other for one, other in zip(ours, bare, strict=True)]
        deliveries = 10 * _BATCHES
        rows.append(
            [what, median(ours) / deliveries, median(bare) / deliveries, median(ratios), min(ratios), max(ratios)]
        )
        figures[f"ratio_{what.replace(' ', '_')}"] = median(ratios)
    return Result(
        name="bare_calls",
        title="(a) CPU of a delivery against a bare boto3 loop that makes the same calls",
        columns=["deliveries in batches of ten", "ours ms", "bare ms", "ratio", "least", "most"],
        rows=rows,
        figures=figures,
        budgets={"ratio_AWS_calls_alone": BUDGET},
        notes=[
            (
                f"{told['calls']} calls to AWS a batch, the same ones on both sides; over TLS on loopback. Ratios "
                f"are of {_ROUNDS} rounds by turns, the median counts. Bare: boto3 and slack_sdk as they come, "
                "nothing decided, rendered or logged."
            ),
        ],
    )


# ---------------------------------------------------------------- in the process of its own


class Silent:
    """A provider that costs nothing."""

    def send(self, _outgoing: Outgoing) -> SendResult:
        """It is delivered."""
        return Delivered(provider_id="1796040001.000001", provider_channel="D0123456789")


@dataclass(frozen=True, slots=True)
class Listening:
    """Keeps what is sent, and has it sent."""

    sender: Sender
    heard: list[Outgoing]

    def send(self, outgoing: Outgoing) -> SendResult:
        """What the sender says."""
        self.heard.append(outgoing)
        return self.sender.send(outgoing)


@dataclass(slots=True)
class Recorder:
    """Keeps what a client is asked."""

    calls: list[tuple[str, Mapping[str, Any]]]

    def __call__(self, params: Mapping[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401  (botocore's)
        """Keep a call."""
        self.calls.append((model.name, dict(params)))


def _work_off(events: Sequence[Mapping[str, Any]], ports: Ports) -> None:
    until = datetime.now(tz=UTC) + timedelta(seconds=25)
    with wiring.telemetry().invocation("bench"):
        for event in events:
            bodies = {record["messageId"]: record["body"] for record in event["Records"]}
            assert not deliver_messages(bodies, ports, until=until)


def _record(events: Sequence[Mapping[str, Any]], ports: Ports) -> tuple[Recorder, list[Outgoing]]:
    """What working off the events calls AWS for, and what it sends."""
    recorder, heard = Recorder([]), list[Outgoing]()
    hooks: Any = vars(wiring)["_dynamodb"]().meta.events  # to hear what is called
    hooks.register("provide-client-params.dynamodb", recorder)
    _work_off(events, replace(ports, senders={Channel.CHAT: Listening(ports.senders[Channel.CHAT], heard)}))
    hooks.unregister("provide-client-params.dynamodb", recorder)
    return recorder, heard


def _contenders(
    events: Sequence[Mapping[str, Any]],
) -> tuple[Mapping[str, Callable[[], None]], int]:
    """What is measured, by name, and how many calls to AWS it makes."""
    ports = wiring.ports(Channel.CHAT)
    _work_off(events, ports)  # warm: connections, threads, definition versions
    recorder, heard = _record(events, ports)
    boto: Any = boto3  # whose stubs know half of its services
    client = boto.client("dynamodb")
    calls = [(getattr(client, _METHODS[name]), params) for name, params in recorder.calls]

    def bare_calls() -> None:
        for call, params in calls:
            call(**params)

    def bare_with_slack() -> None:
        bare_calls()
        for outgoing in heard:
            slack: Any = WebClient(token="xoxb-stub-1", base_url=wiring.settings().slack_base_url)
            slack.chat_postMessage(channel=outgoing.address, text=outgoing.text, metadata=_metadata(outgoing))

    alone = replace(ports, senders={Channel.CHAT: Silent()})
    return {
        "ours, AWS calls alone": partial(_work_off, events, alone),
        "bare, AWS calls alone": bare_calls,
        "ours, with the message to Slack": partial(_work_off, events, ports),
        "bare, with the message to Slack": bare_with_slack,
    }, len(calls)


def _measure(events: Sequence[Mapping[str, Any]], rounds: int) -> dict[str, Any]:
    contenders, calls = _contenders(events)
    for contender in contenders.values():
        contender()
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            began = time.process_time()
            contender()
            found[name].append((time.process_time() - began) * 1000)
    return {**found, "calls": calls / len(events)}


_METHODS: Final = {"GetItem": "get_item", "BatchGetItem": "batch_get_item", "PutItem": "put_item", "Query": "query"}


def _metadata(outgoing: Outgoing) -> dict[str, Any]:
    payload = {"delivery_id": outgoing.delivery_id, "claim_id": outgoing.claim_id}
    return {"event_type": "notify_delivery", "event_payload": payload}


def _main() -> None:
    plan = json.load(sys.stdin)
    with redirect_stdout(StringIO()):
        told = _measure(**plan)
    print(json.dumps(told))


if __name__ == "__main__":
    _main()
