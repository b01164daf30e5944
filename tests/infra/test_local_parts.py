"""The parts of the local stack that need no emulator."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.layers import ROOT
from infra.local import fingerprints, ports
from infra.local.options import OptionInvalid, Options, read_options
from infra.local.processes import Background

FOREVER = [sys.executable, "-c", "import time; print('started', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('started', flush=True); time.sleep(600)",
]
WITH_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Background]:
    server = Background("server", tmp_path)
    yield server
    server.stop()


def started(server: Background, command: list[str]) -> str:
    """Starts it and gives its first line."""
    server.start(command, os.environ, cwd=server.log.parent)
    deadline = time.monotonic() + 20
    while not server.last_lines(1) and time.monotonic() < deadline:
        time.sleep(0.02)
    return server.last_lines(1)


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_a_started_process_is_found_by_its_folder_and_stopped(server: Background) -> None:
    assert started(server, FOREVER) == "started"
    pid = Background("server", server.log.parent).pid
    assert pid is not None
    assert is_running(pid)
    assert server.stop()
    assert not is_running(pid)
    assert server.pid is None
    assert not server.stop()


def test_a_process_that_ignores_the_request_is_killed(server: Background) -> None:
    started(server, STUBBORN)
    pid = server.pid
    assert pid is not None
    assert server.stop()
    assert not is_running(pid)


def test_what_a_process_started_ends_with_it(server: Background) -> None:
    child = int(started(server, [sys.executable, "-c", WITH_CHILD]))
    assert is_running(child)
    server.stop()
    assert not is_running(child)


def test_another_process_with_the_same_id_is_left_alone(server: Background, tmp_path: Path) -> None:
    started(server, FOREVER)
    pid = server.pid
    assert pid is not None
    kept = (tmp_path / "server.pid").read_text()
    (tmp_path / "server.pid").write_text(f"{pid} before")
    assert server.pid is None
    assert not server.stop()
    assert is_running(pid)
    (tmp_path / "server.pid").write_text(kept)


def test_a_process_that_has_ended_is_not_running(server: Background) -> None:
    started(server, [sys.executable, "-c", "print('done')"])
    deadline = time.monotonic() + 20
    while server.pid is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.pid is None
    assert server.last_lines(3) == "done"


@pytest.mark.parametrize("content", ["", "12", "-1 0", "server 1"])
def test_a_pid_file_that_was_cut_short_names_no_process(tmp_path: Path, content: str) -> None:
    (tmp_path / "server.pid").write_text(content)
    assert Background("server", tmp_path).pid is None


def test_a_port_in_use_is_refused_with_the_process_that_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not ports.is_free(port)
        with pytest.raises(ports.PortTaken) as refusal:
            ports.check_free(port, "NOTIFY_PORT")
    assert str(refusal.value).startswith(f"Port {port} is in use by ")
    assert str(refusal.value).endswith("Stop it, or choose another one: NOTIFY_PORT=PORT")
    if sys.platform == "linux":
        assert f"process {os.getpid()} (" in str(refusal.value)


def test_a_port_that_was_just_left_is_free() -> None:
    port = ports.free_port()
    with socket.create_server(("127.0.0.1", port)):
        pass
    assert ports.is_free(port)


def test_options_have_defaults() -> None:
    assert read_options({}) == Options(
        folder=ROOT / ".local",
        port=4566,
        simulator_port=None,
        schedules=True,
        enforce_iam=False,
        concurrency_max=4,
        function_environment={},
    )


def test_options_come_from_the_environment(tmp_path: Path) -> None:
    environment = {
        "NOTIFY_LOCAL_DIR": str(tmp_path),
        "NOTIFY_PORT": "4570",
        "NOTIFY_SIMULATOR_PORT": "4571",
        "NOTIFY_SCHEDULES": "false",
        "NOTIFY_ENFORCE_IAM": "true",
        "NOTIFY_CONCURRENCY": "2",
        "NOTIFY_FUNCTION_ENVIRONMENT": '{"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:4572"}',
    }
    assert read_options(environment) == Options(
        folder=tmp_path,
        port=4570,
        simulator_port=4571,
        schedules=False,
        enforce_iam=True,
        concurrency_max=2,
        function_environment={"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:4572"},
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("NOTIFY_PORT", "0", "NOTIFY_PORT=0: give a whole number from 1 to 65535"),
        ("NOTIFY_PORT", "65536", "NOTIFY_PORT=65536: give a whole number from 1 to 65535"),
        ("NOTIFY_PORT", "-1", "NOTIFY_PORT=-1: give a whole number from 1 to 65535"),
        ("NOTIFY_CONCURRENCY", "1", "NOTIFY_CONCURRENCY=1: give a whole number from 2 to 1000"),
        ("NOTIFY_SCHEDULES", "no", "NOTIFY_SCHEDULES=no: give true or false"),
        ("NOTIFY_FUNCTION_ENVIRONMENT", "A=b", "NOTIFY_FUNCTION_ENVIRONMENT=A=b: give a JSON object of texts"),
        ("NOTIFY_FUNCTION_ENVIRONMENT", "[]", "NOTIFY_FUNCTION_ENVIRONMENT=[]: give a JSON object of texts"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_with_what_it_takes(name: str, value: str, message: str) -> None:
    with pytest.raises(OptionInvalid) as refusal:
        read_options({name: value})
    assert str(refusal.value) == message


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project of which a deploy would be made."""
    for name in ("functions/sweep_due/handler.py", "infra/app.py", "infra/local/stack.py", "cdk.json"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one")
    monkeypatch.setattr(fingerprints, "ROOT", tmp_path)
    return tmp_path


def fingerprint() -> str:
    return fingerprints.deployed_fingerprint("choices")


@pytest.mark.parametrize("name", ["functions/sweep_due/handler.py", "infra/app.py", "cdk.json", "functions/new.py"])
def test_a_changed_source_changes_the_fingerprint(project: Path, name: str) -> None:
    before = fingerprint()
    (project / name).write_text("two")
    assert fingerprint() != before


@pytest.mark.parametrize("name", ["infra/local/stack.py", "README.md", "functions/__pycache__/handler.pyc"])
def test_what_is_not_deployed_does_not_change_the_fingerprint(project: Path, name: str) -> None:
    before = fingerprint()
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("two")
    assert fingerprint() == before


@pytest.mark.usefixtures("project")
def test_other_choices_change_the_fingerprint() -> None:
    assert fingerprints.deployed_fingerprint("others") != fingerprint()
