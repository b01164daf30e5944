from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from mypy_boto3_pinpoint_sms_voice_v2.client import PinpointSMSVoiceV2Client
from slack_sdk import WebClient

from infra.local.simulator.client import SimulatorClient
from infra.local.simulator.server import SimulatorServer
from infra.local.simulator.settings import Settings

DEFAULTS = {
    "receipts_queue_url": None,
    "aws_endpoint_url": None,
    "region": "us-east-1",
    "auto_receipts": None,
    "slack_rate": None,
    "latency_ms": 0,
}


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("simulator")


@pytest.fixture(scope="session")
def start(state_dir: Path) -> Callable[..., SimulatorServer]:
    """Starts a simulator of one's own, to be stopped by who started it."""

    def started(port: int = 0, *, verbose: bool = False) -> SimulatorServer:
        server = SimulatorServer(port=port, state_dir=state_dir, settings=Settings(), verbose=verbose)
        server.start()
        return server

    return started


@pytest.fixture(scope="session")
def running(start: Callable[..., SimulatorServer]) -> Iterator[SimulatorClient]:
    server = start()
    yield SimulatorClient(server.url)
    server.stop()


@pytest.fixture
def simulator(running: SimulatorClient) -> Iterator[SimulatorClient]:
    """A running simulator that knows nothing yet."""
    running.reset()
    yield running
    running.configure(**DEFAULTS)


@pytest.fixture
def slack_of(simulator: SimulatorClient) -> Callable[..., WebClient]:
    """Slack's own client with the token of a workspace, and a timeout in seconds."""

    def client(token: str, timeout_seconds: int = 20) -> WebClient:
        return WebClient(token, base_url=simulator.slack_url, timeout=timeout_seconds, retry_handlers=[])

    return client


@pytest.fixture
def slack(slack_of: Callable[..., WebClient]) -> WebClient:
    return slack_of("xoxb-acme-1")


@pytest.fixture(scope="session")
def sms_with(running: SimulatorClient) -> Callable[[float], PinpointSMSVoiceV2Client]:
    """AWS's own client of the SMS service, with one attempt and a read timeout in seconds."""

    @cache
    def client(timeout_seconds: float) -> PinpointSMSVoiceV2Client:
        config = Config(retries={"total_max_attempts": 1}, read_timeout=timeout_seconds, connect_timeout=20)
        return boto3.client("pinpoint-sms-voice-v2", endpoint_url=running.sms_url, config=config)

    return client


@pytest.fixture
def sms(
    simulator: SimulatorClient,
    sms_with: Callable[[float], PinpointSMSVoiceV2Client],
) -> PinpointSMSVoiceV2Client:
    return sms_with(20)
