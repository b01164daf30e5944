"""Runs every static check, two at a time, and sums up what each one found."""

import os
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sysconfig.get_path("scripts"))

# The slowest first, so that the others run beside them.
COMMANDS = {
    "pyright": ("pyright", "--pythonpath", sys.executable),
    "mypy": ("mypy",),
    "imports": ("lint-imports", "--no-logo"),
    "deptry": ("deptry", "layers", "functions", "cli"),
    "vulture": ("vulture",),
    "spelling": ("codespell",),
    "lint": ("ruff", "check", "--output-format=concise"),
    "format": ("ruff", "format", "--check", "--output-format=concise"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one check ended."""

    name: str
    passed: bool
    output: str
    duration_seconds: float


def run(name: str) -> Result:
    """Runs one check to its end and keeps what it printed."""
    program, *arguments = COMMANDS[name]
    started = time.monotonic()
    process = subprocess.run(
        [BIN / program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Result(
        name=name,
        passed=process.returncode == 0,
        output=process.stdout,
        duration_seconds=time.monotonic() - started,
    )


def main(names: list[str]) -> int:
    """Runs the named checks, or all; gives 0 when all passed, 1 when one failed, 2 when a name is unknown."""
    if unknown := [name for name in names if name not in COMMANDS]:
        print(f"No such check: {', '.join(unknown)}. There are: {', '.join(COMMANDS)}.")
        return 2
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = list(pool.map(run, names or COMMANDS))
    for result in results:
        if not result.passed:
            print(f"--- {result.name}\n{result.output.strip()}\n")
    for result in results:
        print(f"{result.name:9} {'passed' if result.passed else 'FAILED'} {result.duration_seconds:5.1f} s")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
