"""What a function takes, counted: what it loads when it starts, what it asks for, and the steps it goes through."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar

import pytest
from botocore.session import Session

from infra.specs import FUNCTIONS
from notify_core.adapters.clock import SystemClock, new_claim_id
from notify_core.adapters.dynamodb import TableNames, connect
from notify_core.adapters.memory import MemoryTelemetry
from notify_core.adapters.sqs import SqsQueues
from notify_core.application.deliver_notices import deliver_notices
from notify_core.application.ports import Outgoing, Ports
from notify_core.application.tasks import DispatchTask
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId
from notify_core.domain.limits import DELIVER_TIMEOUT_SECONDS
from notify_core.domain.send_result import Delivered, SendResult
from tests.architecture.repository import ROOT
from tests.builders import a_definition, a_person
from tests.conformance.builders import an_entry, an_open_request
from tests.functions.deployment import Deployment
from tests.functions.told import TEN, id_of, publication, register

T = TypeVar("T")
ACME = WorkspaceId("acme")

# ---------------------------------------------------------------- starting

HEAVY = {"asyncio", "boto3", "jsonschema_rs", "minijinja", "pydantic", "pynamodb", "slack_sdk"}
RENDERS = {"minijinja"}
READS_PUBLICATIONS = {"jsonschema_rs", "minijinja", "pydantic"}
LOADS: Mapping[str, set[str]] = {
    "process_requests": READS_PUBLICATIONS,
    "deliver_chat": RENDERS,
    "deliver_text": RENDERS,
    "deliver_system": RENDERS,
    "record_receipts": set(),
    "record_dead_letters": {"pydantic"},
    "reconcile_requests": RENDERS,
    "sweep_due": set(),
    "sweep_nightly": set(),
    "serve_operators": RENDERS,
    "serve_inbox": set(),
}


def test_every_function_says_what_it_loads() -> None:
    assert set(LOADS) == {spec.folder for spec in FUNCTIONS}


@pytest.mark.parametrize("folder", LOADS)
def test_a_function_loads_nothing_heavy_that_it_does_not_use(folder: str) -> None:
    """What reaches AWS and Slack is loaded when it is first used."""
    code = f"import json, sys, handler; print(json.dumps(sorted({HEAVY!r} & sys.modules.keys())))"
    paths = [ROOT / "functions" / folder, ROOT / "layers/notify_core/python"]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(map(str, paths))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(ran.stdout)) == LOADS[folder]


# ---------------------------------------------------------------- asking


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What every client made meanwhile asks of AWS, by operation."""
    counts: Counter[str] = Counter()
    create = Session.create_client

    def count(model: Any, **_: object) -> None:
        counts[model.name] += 1

    def create_counted(*arguments: Any, **more: Any) -> Any:
        client: Any = create(*arguments, **more)
        client.meta.events.register("before-call", count)
        return client

    monkeypatch.setattr(Session, "create_client", create_counted)
    return counts


def test_a_batch_asks_once_for_what_its_messages_share_and_a_process_once_for_what_does_not_change(
    deployment: Deployment, asked: Counter[str]
) -> None:
    """The channel, the people, and the request before and after the claims; the definition and the tokens are kept."""
    register(deployment)
    deployment.invoke("process_requests", deployment.event("requests", publication("k1"), publication("k2")))
    tasks = deployment.take("chat")
    first, second = ([task for task in tasks if task["request_id"] == id_of(key)] for key in ("k1", "k2"))
    with deployment.process("deliver_chat") as call:
        asked.clear()
        call(deployment.event("chat", *first), "first")
        assert asked == {"GetItem": 2, "BatchGetItem": 3, "PutItem": 20, "GetSecretValue": 2}
        asked.clear()
        call(deployment.event("chat", *second), "second")
        assert asked == {"GetItem": 1, "BatchGetItem": 3, "PutItem": 20}


# ---------------------------------------------------------------- going through steps

STEPS_MAX = 700
"""Of Python, a delivery: functions called in the core and in pynamodb, a tenth more than it takes on Python 3.11."""


class Canned:
    """A client that answers reads from rows in hand, by their keys, and takes every write, which it may keep."""

    _request_signer = None

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.keeps = True

    def _make_api_call(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        match operation:
            case "PutItem" if self.keeps:
                self.rows[_place(asked["Item"])] = asked["Item"]
                return {}
            case "TransactWriteItems" if self.keeps:
                self.rows |= {_place(write["Put"]["Item"]): write["Put"]["Item"] for write in asked["TransactItems"]}
                return {}
            case "GetItem":
                row = self.rows.get(_place(asked["Key"]))
                return {"Item": row} if row else {}
            case "BatchGetItem":
                tables = asked["RequestItems"].items()
                places = {table: map(_place, keys["Keys"]) for table, keys in tables}
                return {
                    "Responses": {
                        table: [self.rows[place] for place in wanted if place in self.rows]
                        for table, wanted in places.items()
                    }
                }
            case _:
                return {}


def _place(key: Mapping[str, Any]) -> tuple[str, str]:
    return key["pk"]["S"], key.get("sk", {"S": ""})["S"]


class Posts:
    """A provider that takes everything."""

    def send(self, outgoing: Outgoing) -> SendResult:
        return Delivered(provider_id="1.2", provider_channel="D0")


def one_by_one(tasks: Sequence[Callable[[], T]]) -> list[T]:
    return [task() for task in tasks]


def steps_of(run: Callable[[], object]) -> int:
    """How many functions of the core and of pynamodb are called."""
    steps = 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal steps
        if event == "call" and ("notify_core" in frame.f_code.co_filename or "pynamodb" in frame.f_code.co_filename):
            steps += 1

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return steps


def test_a_delivery_goes_through_few_steps_beside_its_calls() -> None:
    """The rows' attributes that aren't there cost nothing, and a request's recipients are read once."""
    client: Any = Canned()
    names = {"registry": "registry", "directory": "directory", "requests": "requests", "notices": "notices"}
    stores = connect(TableNames(**names), client)
    people = [f"p{number}" for number in range(200)]
    for person in people[:10]:
        stores.directory.put_person(a_person(person), None)
    chat = a_definition().templates[Channel.CHAT]
    definition = a_definition(channels=(Channel.CHAT,), templates={Channel.CHAT: chat})
    stores.registry.put_definition(definition, None)
    now = SystemClock().now()
    entries = tuple(an_entry(person, Channel.CHAT) for person in people)
    request = an_open_request(
        ACME, manifest=entries, published_at=now, accepted_at=now, expires_at=now + timedelta(days=7)
    )
    stores.requests.put(request, None)
    client.keeps = False
    telemetry = MemoryTelemetry()
    ports = Ports(
        registry=stores.registry,
        directory=stores.directory,
        requests=stores.requests,
        notices=stores.notices,
        queues=SqsQueues(client, str, one_by_one),
        clock=SystemClock(),
        gather=one_by_one,
        telemetry=telemetry,
        new_claim_id=new_claim_id,
        senders={Channel.CHAT: Posts()},
    )
    tasks = [
        DispatchTask(
            workspace_id=ACME,
            recipient=Recipient(person),
            notice_id=NoticeId(request.request_id),
            request_id=request.request_id,
            channel=Channel.CHAT,
        )
        for person in TEN
    ]

    def deliver() -> None:
        assert deliver_notices(tasks, ports, until=now + timedelta(seconds=DELIVER_TIMEOUT_SECONDS)) == set()

    deliver()
    assert telemetry.counts
    steps = steps_of(deliver) / len(tasks)
    assert steps <= STEPS_MAX
    assert steps > STEPS_MAX / 2, "a bound that lies far above says nothing"
