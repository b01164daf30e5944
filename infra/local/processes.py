"""Background processes that outlive the command that starts them, and are found again by their pid files.

A pid alone could be another program's by then, so each file also holds when the process was born.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

STOP_SECONDS: Final = 2
SAVE_SECONDS: Final = 20
POLL_SECONDS: Final = 0.05


class Background:
    """One named background process of a folder: `name.pid` says which, `name.log` what it printed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._file = folder / f"{name}.pid"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None when it doesn't run."""
        try:
            pid, _, born = self._file.read_text().partition(" ")
        except FileNotFoundError:
            return None
        return int(pid) if pid.isdecimal() and _born(int(pid)) == born else None

    def start(self, command: list[str], environment: Mapping[str, str], *, cwd: Path) -> None:
        """Starts it in a process group of its own, its output going to its log."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._file.write_text(f"{self._process.pid} {_born(self._process.pid)}")

    def stop(self) -> bool:
        """Ends it and all that it started; false when it didn't run."""
        pid = self.pid
        if pid is not None:
            _end_group(pid)
        if self._process is not None:
            self._process.poll()
        self._file.unlink(missing_ok=True)
        return pid is not None

    def end_by_itself(self) -> None:
        """Asks it alone to end, so that it can end what it started and save what it holds; then ends what is left."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            _await_end(pid, SAVE_SECONDS)
        self.stop()

    def last_lines(self, count: int) -> str:
        """The end of its log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])
        except FileNotFoundError:
            return ""


def _end_group(leader: int) -> None:
    """Asks the group to end, waits for its leader, and kills whatever is left."""
    _signal(leader, signal.SIGTERM)
    _await_end(leader)
    _signal(leader, signal.SIGKILL)
    _await_end(leader)


def _signal(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, number)


def _await_end(pid: int, seconds: float = STOP_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while _born(pid) is not None and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _born(pid: int) -> str | None:
    """When a process was born, in the system's own words; None when it has ended, reaped or not."""
    if Path("/proc/self/stat").exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] == "Z" else fields[19]
    told = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip() or None
