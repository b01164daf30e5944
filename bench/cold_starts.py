"""(c) Cold starts: importing each function and using it once, against bare boto3 and pynamodb.

Each is a fresh interpreter that sees the layers and nothing else. What counts is CPU, once the interpreter is ready.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import scene, worker
from bench.functions import lay_delivered
from bench.report import Cell, Result
from bench.scene import WORKSPACE, Scene, dispatches, id_of, laid, person_id, publication, sqs_event
from bench.stub import Stub
from bench.worker import ROOT, Plan
from infra import layers
from infra.specs import FUNCTIONS
from notify_core.domain.channel import Channel

BUDGET: Final = 1.5
OPERATOR_WITH_BODY: Final = "serve_operators, a body"
"""The row without a budget: what `serve_operators` does not load for its first use, and does for a body."""
_ROUNDS: Final = 9
_BARE_PACKAGES: Final = ("boto3", "s3transfer")
"""What boto3 needs beyond the layer."""

OURS: Final = """
import json, sys, time
began = time.process_time()
from handler import handler
imported = time.process_time()
class Context:
    aws_request_id = "00000000-0000-0000-0000-000000000000"
    def get_remaining_time_in_millis(self): return 25_000
answer = handler(json.loads(sys.argv[1]), Context())
used = time.process_time()
assert not answer.get("batchItemFailures") and answer.get("statusCode", 200) == 200, answer
print(json.dumps([imported - began, used - imported]), file=sys.stderr)
"""
_BARE: Final = """
import json, sys, time
began = time.process_time()
import boto3
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model
services = json.loads(sys.argv[1])
if "slack" in services:
    from slack_sdk import WebClient
imported = time.process_time()
class Row(Model):
    class Meta:
        table_name = "requests"
        region = "us-east-1"
    pk = UnicodeAttribute(hash_key=True)
    version = NumberAttribute(null=True)
Row(pk="bare", version=1).save()
list(Row.batch_get(["bare"]))
for service in services:
    match service:
        case "sqs":
            queue = sys.argv[2] + "/000000000000/requests"
            boto3.client("sqs").send_message_batch(QueueUrl=queue, Entries=[{"Id": "0", "MessageBody": "{}"}])
        case "secretsmanager":
            boto3.client("secretsmanager").get_secret_value(SecretId="notify/slack/default")
        case "pinpoint-sms-voice-v2":
            boto3.client(service).send_text_message(DestinationPhoneNumber="+12065550100", MessageBody="Invoice")
        case "slack":
            client = WebClient(token="xoxb-stub-1", base_url=sys.argv[2] + "/slack/api/")
            client.chat_postMessage(channel="U1", text="Invoice")
used = time.process_time()
print(json.dumps([imported - began, used - imported]), file=sys.stderr)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolated:
    """The layers unpacked, and boto3 beside them for the bare program."""

    dependencies: Path
    core: Path
    bare: Path

    def run(self, stub: Stub, folder: str, program: str, *arguments: str, options: Sequence[str] = ()) -> str:
        """What a program says on its error output."""
        of_ours = [ROOT / "functions" / folder, self.core] if program is OURS else [self.bare]
        paths = os.pathsep.join(map(str, [*of_ours, self.dependencies]))
        done = subprocess.run(
            [sys.executable, "-S", "-s", *options, "-c", program, *arguments],
            env={**worker.environment(folder, stub), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{folder} failed:\n{done.stderr}")
        return done.stderr


def run() -> Result:
    """Start each function, and the bare program, by turns."""
    rows: list[list[Cell]] = []
    figures: dict[str, float] = {}
    with laid() as stage, tempfile.TemporaryDirectory() as folder:
        isolated, size_mb = unpacked(Path(folder))
        for name, event in first_events(stage).items():
            function = name.partition(",")[0]
            services = _services(isolated, stage.stub, function, event)
            ours: list[list[float]] = []
            bare: list[list[float]] = []
            for _ in range(_ROUNDS):
                ours.append(json.loads(isolated.run(stage.stub, function, OURS, json.dumps(event)).splitlines()[-1]))
                told = isolated.run(stage.stub, function, _BARE, json.dumps(services), stage.stub.url)
                bare.append(json.loads(told.splitlines()[-1]))
            ratio = median(sum(one) / sum(other) for one, other in zip(ours, bare, strict=True))
            parts = [[1000 * median(run[part] for run in runs) for part in (0, 1)] for runs in (ours, bare)]
            rows.append([name, *parts[0], *parts[1], ratio, " ".join(services)])
            figures[name] = ratio
    figures |= {f"{name}_layer_mb": value for name, value in size_mb.items()}
    return Result(
        name="cold_starts",
        title="(c) Cold starts: CPU of the import and the first use",
        columns=[
            "function",
            "import ms",
            "first use ms",
            "bare import ms",
            "bare first use ms",
            "ratio",
            "calls, beside DynamoDB",
        ],
        rows=rows,
        figures=figures,
        budgets={spec.folder: BUDGET for spec in FUNCTIONS},
        notes=[
            (
                f"The median of {_ROUNDS} fresh interpreters of each, by turns. Bare: boto3 and pynamodb with one "
                "model, one write and one read, and one call to each other service that the function's first use "
                "calls. What reads a body loads pydantic for the first one: a row besides, without a budget. The layer "
                f"of dependencies is {size_mb['dependencies']:.1f} MB zipped and {size_mb['unpacked']:.1f} MB "
                f"unpacked, the core's {size_mb['core']:.2f} MB."
            ),
        ],
    )


def unpacked(folder: Path) -> tuple[Isolated, dict[str, float]]:
    """The layers as they are built for this interpreter, and their sizes in MB."""
    zips = {
        "dependencies": layers.build_dependencies(layers.LOCAL).path,
        "core": layers.build_core(layers.LOCAL).path,
    }
    for name, path in zips.items():
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder / name)
    for package in _BARE_PACKAGES:
        shutil.copytree(Path(sysconfig.get_path("purelib")) / package, folder / "bare" / package)
    files = (path for path in (folder / "dependencies").rglob("*") if path.is_file())
    sizes = {name: path.stat().st_size for name, path in zips.items()} | {
        "unpacked": sum(f.stat().st_size for f in files)
    }
    isolated = Isolated(
        dependencies=folder / "dependencies" / "python", core=folder / "core" / "python", bare=folder / "bare"
    )
    return isolated, {name: size / 1e6 for name, size in sizes.items()}


def _services(isolated: Isolated, stub: Stub, name: str, event: Mapping[str, Any]) -> list[str]:
    """What a function's first use calls besides DynamoDB."""
    stub.set()
    isolated.run(stub, name, OURS, json.dumps(event))
    return sorted({call.split()[0] for call in stub.set().calls} - {"dynamodb"})


# ---------------------------------------------------------------- the first events


def first_events(stage: Scene) -> dict[str, Mapping[str, Any]]:
    """What each function is first used for."""
    lay_delivered(stage, 1)
    stage.stub.set(remembers=True)
    text, system = (scene.define(stage.stores, channel) for channel in (Channel.TEXT, Channel.SLACK_SYSTEM))
    alert = {"audience": {"hq": True}}
    for definition, fields in ((text, {}), (system, alert)):
        body = publication(definition, 1, 1, **fields)
        worker.run(
            Plan(folder="process_requests", events=[sqs_event("requests", [body])], warmups=0, rounds=1), stage.stub
        )
    deliver_text = dispatches(text, 1, Channel.TEXT, [person_id(0)])[0]
    worker.run(Plan(folder="deliver_text", events=[deliver_text], warmups=0, rounds=1), stage.stub)
    stage.stub.set(remembers=False)
    inbox = {"workspace_id": WORKSPACE, "sub": person_id(0), "scope": "notify/inbox"}
    operator = {"scope": "notify/operator"}
    person = "/v1/workspaces/{ws}/people/{person}"
    return {
        "process_requests": stage.acceptance(1, 9001),
        "deliver_chat": stage.dispatches(1)[0],
        "deliver_text": dispatches(text, 1, Channel.TEXT, [person_id(0)])[0],
        "deliver_system": dispatches(system, 1, Channel.SLACK_SYSTEM, ["-"])[0],
        "record_receipts": sqs_event("receipts", [scene.receipt(person_id(0), id_of(text, 1), "claim-1")]),
        "record_dead_letters": sqs_event("requests-dead", [publication(stage.definition, 1, 9002)]),
        "reconcile_requests": stage.look(1),
        "sweep_due": {},
        "sweep_nightly": {},
        "serve_operators": _call("GET /v1/workspaces/{ws}/requests", {"ws": WORKSPACE}, operator),
        OPERATOR_WITH_BODY: _call(f"PUT {person}", {"ws": WORKSPACE, "person": "ada"}, operator, '{"name": "Ada"}'),
        "serve_inbox": _call("GET /v1/inbox/unread", {}, inbox),
    }


def _call(route: str, parameters: Mapping[str, str], claims: Mapping[str, str], body: str = "") -> Mapping[str, Any]:
    return {
        "routeKey": route,
        "pathParameters": parameters,
        "queryStringParameters": {},
        "body": body,
        "requestContext": {"authorizer": {"jwt": {"claims": claims}}},
    }
