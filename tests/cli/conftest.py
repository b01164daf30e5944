"""What the tests of the command line start from: a platform of their own, and the command in this process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from moto import mock_aws
from typer.testing import CliRunner

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.server import SimulatorServer
from infra.local.simulator.settings import Settings
from notify_cli.app import app
from tests.cli.aws import Aws
from tests.cli.platform import Done, Platform, serving

TERMINAL = {"COLUMNS": "240", **dict.fromkeys(("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"))}
Notify = Callable[..., Done]


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatorClient]:
    """Whoever signs the tokens."""
    server = SimulatorServer(port=0, state_dir=tmp_path_factory.mktemp("simulator"), settings=Settings(), verbose=False)
    server.start()
    yield SimulatorClient(server.url)
    server.stop()


@pytest.fixture
def platform(simulator: SimulatorClient) -> Iterator[Platform]:
    """A platform with ana and bob, told of overdue invoices in the app and on Slack."""
    with serving(simulator) as platform:
        platform.world.register_people("ana", "bob")
        platform.world.register_definition()
        yield platform
        assert platform.world.failures == []


@pytest.fixture
def stack(platform: Platform, tmp_path: Path) -> Path:
    """The file that describes the platform."""
    file = tmp_path / "stack.json"
    file.write_text(json.dumps(platform.stack))
    return file


@pytest.fixture
def bare() -> Notify:
    """The command, told of no platform."""

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> Done:
        done = CliRunner(env=TERMINAL).invoke(app, arguments, input=stdin, env=environment, prog_name="notify")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def notify(bare: Notify, stack: Path) -> Notify:
    """The command, on the platform's workspace acme."""

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> Done:
        given = {"NOTIFY_STACK": str(stack), "NOTIFY_WORKSPACE": "acme", **environment}
        return bare(*arguments, stdin=stdin, **given)

    return run


@pytest.fixture
def aws() -> Iterator[Aws]:
    """The platform's queues, in AWS."""
    with mock_aws():
        yield Aws.made()


@pytest.fixture
def with_queues(aws: Aws, platform: Platform, stack: Path) -> Aws:
    """The queues, named in the platform's file."""
    stack.write_text(json.dumps({**platform.stack, "queues": aws.queues, "region": "us-east-1"}))
    return aws
