"""The two servers of the local stack: the emulator of AWS and the simulator of the providers."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.layers import ROOT
from infra.local import web
from infra.local.dummy_keys import DUMMY_KEYS, REGION
from infra.local.ports import HOST
from infra.local.processes import Background

READY_SECONDS: Final = 30
POLL_SECONDS: Final = 0.05
LOG_LINES: Final = 15
KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "USER", "LOGNAME")
SAVING: Final = {"PERSIST_STATE": "1", "S3_PERSIST": "1"}
"""What has the emulator save its state when it ends by itself."""


class ServiceFailed(RuntimeError):
    """A server ended, or didn't answer in time; the message holds the end of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the two servers listen."""

    port: int
    simulator_port: int

    @property
    def endpoint_url(self) -> str:
        """Where AWS answers."""
        return f"http://{HOST}:{self.port}"

    @property
    def simulator_url(self) -> str:
        """Where the providers and the OpenID issuer answer."""
        return f"http://{HOST}:{self.simulator_port}"


def plain_environment(address: Address) -> dict[str, str]:
    """An environment in which AWS is the emulator, and nothing that a developer has set leaks in."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        **DUMMY_KEYS,
        "AWS_ENDPOINT_URL": address.endpoint_url,
        "NO_PROXY": f"{HOST},localhost",
        "PYTHONUNBUFFERED": "1",
    }


class Services:
    """The servers whose state a folder holds."""

    def __init__(self, folder: Path) -> None:
        self.emulator = Background("emulator", folder)
        self.simulator = Background("simulator", folder)
        self._scratch = folder / "scratch"
        self._simulator_state = folder / "simulator"

    def start_emulator(self, address: Address, **settings: str) -> None:
        """Starts the emulator; it begins empty, or with what it has saved."""
        temporary, state = self._scratch / "tmp", self._scratch / "state"
        for path in (temporary, state):
            path.mkdir(parents=True, exist_ok=True)
        self.emulator.start(
            [sys.executable, "-m", "ministack"],
            plain_environment(address) | _emulator_settings(address, temporary, state) | settings,
            cwd=temporary,
        )

    def enforce_roles(self, address: Address) -> None:
        """Starts an emulator that saves again, from now on holding everybody to what their roles allow."""
        self.emulator.end_by_itself()
        self.start_emulator(address, **SAVING, AUTH="true")
        _await(self.emulator, lambda: is_emulator(address))

    def start_simulator(self, address: Address) -> None:
        """Starts the simulator; its key is the one it had."""
        self._simulator_state.mkdir(parents=True, exist_ok=True)
        self.simulator.start(
            [
                *(sys.executable, "-m", "infra.local.simulator"),
                *("--port", str(address.simulator_port), "--state-dir", str(self._simulator_state)),
                *("--endpoint-url", address.endpoint_url, "--region", REGION),
            ],
            plain_environment(address),
            cwd=ROOT,
        )

    def await_ready(self, address: Address) -> None:
        """Waits until both answer.

        Raises:
            ServiceFailed: one of them ended, or took too long.
        """
        _await(self.emulator, lambda: is_emulator(address))
        _await(self.simulator, lambda: is_simulator(address))

    def stop(self) -> bool:
        """Stops both and removes what they left; false when neither ran."""
        stopped = [self.emulator.stop(), self.simulator.stop()]
        shutil.rmtree(self._scratch, ignore_errors=True)
        return any(stopped)


def is_emulator(address: Address) -> bool:
    """Whether the emulator answers."""
    return web.answers(f"{address.endpoint_url}/_ministack/health")


def is_simulator(address: Address) -> bool:
    """Whether the simulator answers."""
    return web.answers(f"{address.simulator_url}/_simulator/health")


def _emulator_settings(address: Address, temporary: Path, state: Path) -> dict[str, str]:
    return {
        "BIND_HOST": HOST,
        "DOCKER_HOST": f"unix://{state}/none",
        "GATEWAY_PORT": str(address.port),
        "IOT_MTLS_ENABLED": "0",
        "MINISTACK_HOST": HOST,
        "S3_DATA_DIR": str(state / "s3"),
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(state),
        "TMPDIR": str(temporary),
        "TZ": "UTC",
    }


def _await(server: Background, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not is_ready():
        ended = server.pid is None
        if ended or time.monotonic() > deadline:
            what = "ended" if ended else f"did not answer within {READY_SECONDS} s"
            raise ServiceFailed(f"The {server.name} {what}. {server.log} ends:\n{server.last_lines(LOG_LINES)}")
        time.sleep(POLL_SECONDS)
