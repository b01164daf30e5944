"""What the tests of the functions start from: a deploy of its own each, and one provider simulator."""

from collections.abc import Iterator

import pytest

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.server import SimulatorServer
from infra.local.simulator.settings import Settings
from tests.functions.deployment import Deployment, deployed


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatorClient]:
    server = SimulatorServer(port=0, state_dir=tmp_path_factory.mktemp("simulator"), settings=Settings(), verbose=False)
    server.start()
    yield SimulatorClient(server.url)
    server.stop()


@pytest.fixture
def deployment(running: SimulatorClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    running.reset()
    with deployed(running, monkeypatch) as deployment:
        yield deployment
