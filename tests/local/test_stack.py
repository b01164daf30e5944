"""The local stack itself: that it is the deployed app, and that it comes up, changes and goes down as told."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import web
from infra.local.ports import free_port, is_free
from infra.local.processes import Background
from tests.local.client import FunctionError, Stack
from tests.local.conftest import run_local

QUEUES = {"requests", "chat", "text", "system", "reconcile", "receipts"}
TABLES = {"registry", "directory", "requests", "notices"}
FUNCTIONS = {
    "process_requests",
    "deliver_chat",
    "deliver_text",
    "deliver_system",
    "record_receipts",
    "record_dead_letters",
    "reconcile_requests",
    "sweep_due",
    "sweep_nightly",
    "serve_operators",
    "serve_inbox",
}
HISTORY = "/v1/workspaces/nobody/requests"


def test_stack_json_says_where_everything_is(stack: Stack) -> None:
    assert set(stack.described) == {
        "endpoint_url",
        "region",
        "api_url",
        "simulator_url",
        "issuer_url",
        "operator_token",
        "queues",
        "tables",
        "functions",
    }
    assert set(stack.queues) == QUEUES
    assert set(stack.tables) == TABLES
    assert set(stack.functions) == FUNCTIONS


def test_every_queue_has_its_dead_letter_queue(stack: Stack) -> None:
    for queue in QUEUES:
        assert stack.depth(queue) == 0
        assert stack.dead_letters(queue) == 0


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_table_is_there(stack: Stack, table: str) -> None:
    described = stack.dynamodb.describe_table(TableName=stack.tables[table])["Table"]
    assert (described["TableStatus"], described["BillingModeSummary"]["BillingMode"]) == ("ACTIVE", "PAY_PER_REQUEST")


@pytest.mark.parametrize("folder", sorted(FUNCTIONS))
def test_every_function_has_its_code_and_both_layers(stack: Stack, folder: str) -> None:
    configuration = stack.lambda_.get_function_configuration(FunctionName=stack.functions[folder])
    assert configuration["Handler"] == "handler.handler"
    assert len(configuration["Layers"]) == 2
    assert configuration["LoggingConfig"]["LogGroup"] == f"/notify/{folder}"


def test_a_sweep_runs_when_it_is_invoked(stack: Stack) -> None:
    stack.invoke("sweep_due")
    assert list(stack.log("sweep_due")) != []


def test_a_call_without_a_token_is_refused(stack: Stack) -> None:
    assert stack.call("GET", HISTORY, authorized=False).status == 401


def test_a_token_that_has_expired_is_refused(stack: Stack) -> None:
    token = stack.simulator.token(sub="operator", scope="notify/operator", seconds=-60)
    assert stack.call("GET", HISTORY, token=token).status == 401


def test_a_token_opens_only_the_routes_of_its_scope(stack: Stack) -> None:
    recipient = stack.simulator.token(sub="ana", scope="notify/inbox", workspace_id="acme")
    assert stack.call("GET", HISTORY, token=recipient).status == 403
    assert stack.call("GET", "/v1/inbox").status == 403
    assert stack.call("GET", "/v1/inbox/unread", token=recipient).status == 200
    assert stack.call("GET", HISTORY).status not in {401, 403, 500, 502}


def test_the_simulator_knows_where_receipts_go(stack: Stack) -> None:
    settings = web.get(f"{stack.simulator.url}/_simulator/config")
    assert settings["receipts_queue_url"] == stack.queues["receipts"]


def test_a_function_that_fails_is_noticed(stack: Stack) -> None:
    function = stack.functions["sweep_nightly"]
    variables = stack.lambda_.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    without_table = {name: value for name, value in variables.items() if name != "NOTIFY_REGISTRY_TABLE"}
    try:
        stack.lambda_.update_function_configuration(FunctionName=function, Environment={"Variables": without_table})
        with pytest.raises(FunctionError):
            stack.invoke("sweep_nightly")
        assert [line for line in stack.trouble() if line.startswith("sweep_nightly: ")] != []
        stack.expect_trouble("sweep_nightly: ")
        assert stack.trouble() == []
    finally:
        stack.lambda_.update_function_configuration(FunctionName=function, Environment={"Variables": variables})
        stack.watch()


# ---------------------------------------------------------------- up, down and in between


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def second_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("second")
    yield folder
    run_local("down", folder)


@pytest.fixture
def folder(second_folder: Path, port: int) -> Path:
    """The folder of a second stack, which is up with these options whatever the last test did to it."""
    status, printed = up(second_folder, port)
    assert status == 0, printed
    return second_folder


def up(folder: Path, port: int, **options: str) -> tuple[int, str]:
    done = run_local("up", folder, **{"NOTIFY_PORT": str(port), "NOTIFY_SCHEDULES": "false", **options})
    return done.returncode, done.stdout


def concurrency(stack: Stack) -> set[int]:
    mappings = stack.lambda_.list_event_source_mappings()["EventSourceMappings"]
    return {mapping["ScalingConfig"]["MaximumConcurrency"] for mapping in mappings}


def test_a_stack_that_is_up_and_unchanged_is_left_alone_at_once(folder: Path, port: int) -> None:
    began = time.monotonic()
    status, printed = up(folder, port)
    assert (status, printed.splitlines()[0]) == (0, f"The stack is up and unchanged, on port {port}.")
    assert time.monotonic() - began < 10


def test_a_changed_option_is_deployed_without_losing_what_is_stored(folder: Path, port: int) -> None:
    stack = Stack(folder / "stack.json")
    key = {"pk": {"S": "kept"}, "sk": {"S": "kept"}}
    stack.dynamodb.put_item(TableName=stack.tables["registry"], Item=key)
    assert concurrency(stack) == {2, 4}
    status, printed = up(folder, port, NOTIFY_CONCURRENCY="3")
    assert (status, printed.splitlines()[0]) == (0, "Sources or options have changed: deploying them.")
    assert concurrency(stack) == {2, 3}
    assert stack.dynamodb.get_item(TableName=stack.tables["registry"], Key=key)["Item"] == key


def test_a_stack_that_is_up_does_not_move_to_another_port(folder: Path, port: int) -> None:
    status, printed = up(folder, free_port())
    assert (status, printed) == (
        1,
        f"The stack already runs, with NOTIFY_PORT={port}. `make down` first, or leave it so.\n",
    )


def test_a_port_in_use_is_refused_with_who_has_it_and_the_remedy(folder: Path, port: int, tmp_path: Path) -> None:
    emulator = Background("emulator", folder)
    status, printed = up(tmp_path / "third", port)
    assert status == 1
    assert printed.startswith(f"Port {port} is in use by process {emulator.pid} (")
    assert printed.endswith("Stop it, or choose another one: NOTIFY_PORT=PORT\n")


def test_an_option_that_cannot_be_used_is_named(folder: Path) -> None:
    done = run_local("up", folder, NOTIFY_PORT="http")
    assert (done.returncode, done.stdout) == (1, "NOTIFY_PORT=http: give a whole number from 1 to 65535\n")


def test_status_tells_whether_the_stack_is_up(folder: Path, tmp_path: Path) -> None:
    assert run_local("status", folder).returncode == 0
    nothing = run_local("status", tmp_path / "none")
    assert (nothing.returncode, nothing.stdout) == (1, "The stack is not up. Start it with `make up`.\n")


def test_a_stack_whose_emulator_died_starts_anew(folder: Path, port: int) -> None:
    emulator = Background("emulator", folder)
    pid = emulator.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    status, printed = up(folder, port)
    assert (status, printed.splitlines()[0]) == (0, "A server of the stack has ended, and what it stored with it.")
    assert emulator.pid not in {None, pid}
    assert Stack(folder / "stack.json").depth("requests") == 0


def test_down_ends_what_up_started_and_leaves_the_issuers_key(folder: Path, port: int) -> None:
    servers = [Background(name, folder) for name in ("emulator", "simulator")]
    key = (folder / "simulator" / "issuer_key.pem").read_bytes()
    done = run_local("down", folder)
    assert (done.returncode, done.stdout) == (0, "The stack is down.\n")
    assert [server.pid for server in servers] == [None, None]
    assert is_free(port)
    assert not (folder / "stack.json").exists()
    assert not (folder / "scratch").exists()
    assert (folder / "simulator" / "issuer_key.pem").read_bytes() == key
    again = run_local("down", folder)
    assert (again.returncode, again.stdout) == (0, "The stack is not up.\n")
