"""The wiring as a function's process finds it: each test has an interpreter and variables of its own."""

import json
import subprocess
import sys

from tests.architecture.repository import ROOT

QUEUES = {
    f"NOTIFY_{name}_{kind}": f"http://127.0.0.1:9/000000000000/n-{name.lower()}{kind[0].lower()}"
    for name in ("REQUESTS", "CHAT", "TEXT", "SYSTEM", "RECONCILE", "RECEIPTS")
    for kind in ("QUEUE_URL", "DEAD_LETTER_QUEUE_URL")
}


TABLES = {f"NOTIFY_{name}_TABLE": "t" for name in ("REGISTRY", "DIRECTORY", "REQUESTS", "NOTICES")}


def run(code: str, environment: dict[str, str] | None = None) -> object:
    """What the code leaves in `result`, run in a fresh process."""
    outcome = subprocess.run(
        [sys.executable, "-c", f"import json, sys\nfrom notify_core import wiring\n{code}\nprint(json.dumps(result))"],
        env={
            "PYTHONPATH": str(ROOT / "layers/notify_core/python"),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout.splitlines()[-1])


LOADED = "result = sorted({'slack_sdk', 'pydantic', 'pynamodb', 'boto3'} & sys.modules.keys())"


def test_nothing_is_loaded_that_was_not_asked_for() -> None:
    assert run(f"wiring.ports()\n{LOADED}") == []
    assert run(f"wiring.ports()\n{LOADED}", TABLES) == ["pynamodb"]


def test_the_sender_of_a_channel_named_is_made_at_once_and_only_that() -> None:
    channel = "from notify_core.domain.channel import Channel"
    assert run(f"{channel}\nwiring.ports(Channel.CHAT)\n{LOADED}") == ["slack_sdk"]
    assert run(f"{channel}\nwiring.ports(Channel.TEXT)\n{LOADED}") == []


def test_a_store_without_its_variable_says_so_when_it_is_used() -> None:
    code = """
ports = wiring.ports()
try:
    ports.notices.get
except Exception as error:
    result = [type(error).__name__, str(error)]
"""
    assert run(code, {"NOTIFY_REGISTRY_TABLE": "t"}) == [
        "SettingUnusable",
        "NOTIFY_NOTICES_TABLE is not set: give the function the name of the notices table",
    ]


def test_all_is_made_once_a_process_and_over_one_client_a_service() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from notify_core.domain.channel import Channel
made = []
wiring._session().create_client = lambda service, config, make=wiring._session().create_client: (
    made.append(service), make(service, config=config))[1]
ports = wiring.ports()
with ThreadPoolExecutor(16) as pool:
    sends = list(pool.map(lambda _: ports.queues.send, range(64)))
ports.senders[Channel.TEXT].send
ports.senders[Channel.CHAT].send
ports.evidence[Channel.CHAT].look_up
wiring.inbox()
result = [sorted(made), len(set(sends)), wiring.ports() is ports]
"""
    expected = [["dynamodb", "pinpoint-sms-voice-v2", "secretsmanager", "sqs"], 1, True]
    assert run(code, TABLES | QUEUES) == expected


def test_a_record_s_queue_is_known_by_its_name() -> None:
    code = """
def record(name):
    return wiring.Record(
        message_id="m", receipt_handle="h", body="b", receives=1, queue_name=name
    )
result = [wiring.queue_read_from(record(name)) for name in ("n-chatq", "n-chatd", "n-receiptsd")]
"""
    assert run(code, QUEUES) == ["chat", "chat", "receipts"]


def test_the_failure_of_a_function_is_told_without_what_it_was_about() -> None:
    code = """
class Context:
    aws_request_id = "i-1"
@wiring.entry
def handler(event, context):
    raise ValueError("content of the message")
try:
    handler({}, Context())
except Exception as error:
    result = [type(error).__name__, str(error), str(error.__cause__), str(error.__context__)]
"""
    assert run(code) == ["FunctionFailed", "ValueError at <string>:8", "None", "None"]


def test_a_function_gives_back_what_its_handler_does() -> None:
    code = """
class Context:
    aws_request_id = "i-1"
result = wiring.entry(lambda event, context: {"seen": event})({"a": 1}, Context())
"""
    assert run(code) == {"seen": {"a": 1}}


def test_a_cursor_key_that_cannot_be_read_for_now_is_a_store_out_of_reach() -> None:
    code = """
from notify_core.application.ports import StoreUnavailable
try:
    wiring.cursor_key()
except StoreUnavailable as error:
    result = str(error)
"""
    nobody = {"AWS_ENDPOINT_URL_SECRETSMANAGER": "http://127.0.0.1:1"}
    assert run(code, nobody) == "secret notify/cursor can't be read: EndpointConnectionError"


def test_a_cursor_key_that_is_not_there_is_named() -> None:
    code = """
import moto
with moto.mock_aws():
    try:
        wiring.cursor_key()
    except wiring.SettingUnusable as error:
        first = str(error)
    wiring._secrets.cache_clear()
    wiring._secrets()._client.create_secret(Name="notify/cursor", SecretString="abc")
    result = [first, wiring.cursor_key().decode()]
"""
    assert run(code) == [
        "NOTIFY_CURSOR_SECRET names notify/cursor: create this secret, and put a random text into it",
        "abc",
    ]
