"""`make setup` says what is missing, and what to do about it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT

NAMES = ("python3", "python3.11", "python3.12", "python3.13")


OLD_PYTHON = 'test "$1" = --version && echo Python 3.10.13'
NEW_PYTHON = f'exec {sys.executable} "$@"'
BARE_PYTHON = f"""case "$2" in
*_base_executable*) echo "$0" ;;
*ensurepip*) exit 1 ;;
*) {NEW_PYTHON} ;;
esac"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder at the head of the PATH in which every Python is too old."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in NAMES:
        put(folder / name, OLD_PYTHON)
    return folder


def put(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def complaint(programs: Path, **settings: str) -> list[str]:
    """What a setup that fails says, line by line."""
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "VENV": str(programs.parent / "venv"),
    } | settings
    made = subprocess.run([ROOT / "tools" / "setup"], env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 1
    return made.stderr.splitlines()


def test_an_old_python_alone_is_refused_with_the_remedy(programs: Path) -> None:
    assert complaint(programs) == [
        "setup: No Python 3.11 or later is on the PATH (python3 is Python 3.10.13).",
        "setup: Install one, or say where it is: make setup PYTHON=/path/to/python3.12",
    ]


def test_an_interpreter_that_does_not_fit_is_refused_by_name(programs: Path) -> None:
    assert complaint(programs, PYTHON="python3.12") == [
        "setup: PYTHON=python3.12 is not a working Python 3.11 or later.",
        "setup: Name one that is, or leave PYTHON out to take the one on the PATH.",
    ]


def test_a_later_python_is_found_beside_an_old_one(programs: Path) -> None:
    put(programs / "python3.12", BARE_PYTHON)
    assert complaint(programs) == [
        f"setup: {programs}/python3.12 comes without venv and pip.",
        f"setup: Install them (Debian, Ubuntu: apt-get install python3.{sys.version_info[1]}-venv).",
    ]


def test_a_full_disk_is_seen_before_it_is_filled(programs: Path) -> None:
    put(programs / "python3", NEW_PYTHON)
    put(programs / "df", "echo Filesystem; echo 'disk 4000 3900 100 98% /'")
    assert complaint(programs) == [
        "setup: Only 100 MiB are free here; the packages need 2000 MiB.",
        "setup: Free some and run it again.",
    ]
