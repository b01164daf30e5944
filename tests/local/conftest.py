"""A stack of the tests' own, beside a developer's; NOTIFY_STACK=path/to/stack.json takes a running one instead."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.layers import ROOT
from infra.local.ports import free_port
from tests.local.client import Stack
from tests.local.producer import Producer

SECONDS_MAX = 300
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives these tests the time that a stack needs on a busy machine."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))


def run_local(command: str, folder: Path, **options: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m infra.local` on a folder, with NOTIFY_ options, and gives what it printed."""
    environment = {**os.environ, "NOTIFY_LOCAL_DIR": str(folder), **options}
    return subprocess.run(
        [sys.executable, "-m", "infra.local", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def bring_up(folder: Path, **options: str) -> Stack:
    """Brings a stack up whose sweeps run only when a test runs them."""
    choices: Mapping[str, str] = {"NOTIFY_PORT": str(free_port()), "NOTIFY_SCHEDULES": "false", **options}
    done = run_local("up", folder, **choices)
    if done.returncode:
        pytest.fail(f"the stack did not come up:\n{done.stdout}", pytrace=False)
    return Stack(folder / "stack.json")


@pytest.fixture(scope="session")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack that all the tests share."""
    if given := os.environ.get("NOTIFY_STACK"):
        yield Stack(Path(given))
        return
    folder = tmp_path_factory.mktemp("local")
    try:
        yield bring_up(folder)
    finally:
        run_local("down", folder)


@pytest.fixture
def stack(running_stack: Stack) -> Iterator[Stack]:
    """The stack, with providers that have forgotten earlier tests; what its functions fail at, fails the test."""
    running_stack.simulator.reset()
    running_stack.watch()
    yield running_stack
    if trouble := running_stack.trouble():
        pytest.fail("a function failed:\n" + "\n".join(trouble), pytrace=False)


@pytest.fixture
def workspace() -> str:
    """A workspace that no other test knows."""
    return f"ws-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def producer(stack: Stack, workspace: str) -> Producer:
    """A registered workspace of its own."""
    producer = Producer(stack, workspace)
    producer.register()
    return producer
