"""The gate refuses what the style forbids: each rule is tried on a line that breaks it."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT
from tools import check

CORE = "layers/notify_core/python/notify_core"

BROKEN = [
    (f"{CORE}/domain/request.py", "from datetime import UTC, datetime\nnow = datetime.now(tz=UTC)", "TID251"),
    (f"{CORE}/application/accept_request.py", "import time\nnow = time.time()", "TID251"),
    (f"{CORE}/application/accept_request.py", "from uuid import uuid4\nkey = uuid4()", "TID251"),
    (f"{CORE}/application/accept_request.py", "import random\nwait = random.random()", "TID251"),
    (f"{CORE}/adapters/sqs.py", "import os\nurl = os.environ['NOTIFY_CHAT_QUEUE_URL']", "TID251"),
    (f"{CORE}/wiring.py", "import os\nurl = os.getenv('NOTIFY_CHAT_QUEUE_URL')", "TID251"),
    ("functions/sweep_due/handler.py", "import os\nurl = os.environ['NOTIFY_CHAT_QUEUE_URL']", "TID251"),
    (f"{CORE}/domain/notice.py", "text = open('notice.txt')", "PTH123"),
    (f"{CORE}/domain/notice.py", "from datetime import datetime\nat = datetime(2026, 11, 30)", "DTZ001"),
    ("tests/domain/test_notice.py", "from datetime import datetime\nat = datetime(2026, 11, 30)", "DTZ001"),
    (f"{CORE}/domain/notice.py", "class Notice:\n    pass", "D101"),
    (f"{CORE}/domain/notice.py", "def is_open():\n    pass", "D103"),
]


def codes(path: str, text: str) -> set[str]:
    ruff = [
        Path(sysconfig.get_path("scripts"), "ruff"),
        "check",
        "--output-format=json",
        "--stdin-filename",
        path,
        "-",
    ]
    found = subprocess.run(ruff, input=text, capture_output=True, text=True, check=False, cwd=ROOT)
    return {violation["code"] for violation in json.loads(found.stdout)}


@pytest.mark.parametrize(("path", "text", "code"), BROKEN)
def test_ruff_refuses(path: str, text: str, code: str) -> None:
    """Scenario 32: a time without an offset is one of them."""
    assert code in codes(path, text)


def test_only_the_settings_read_the_environment() -> None:
    assert "TID251" not in codes(f"{CORE}/settings.py", "import os\nurl = os.environ['NOTIFY_CHAT_QUEUE_URL']")


def test_only_the_clock_reads_the_time() -> None:
    assert "TID251" not in codes(f"{CORE}/adapters/clock.py", BROKEN[0][1])


def test_every_check_runs_though_one_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fail = (sys.executable, "-c", "print('line 7 is wrong'); raise SystemExit(3)")
    monkeypatch.setattr(check, "COMMANDS", {"lint": fail, "spelling": (sys.executable, "-c", "print('all right')")})
    status = check.main([])
    output = capsys.readouterr().out
    assert status == 1
    assert "--- lint\nline 7 is wrong\n" in output
    assert "all right" not in output
    assert [line.split()[:2] for line in output.splitlines()[-2:]] == [
        ["lint", "FAILED"],
        ["spelling", "passed"],
    ]


def test_checks_that_all_pass_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "COMMANDS", {"spelling": (sys.executable, "-c", "")})
    assert check.main(["spelling"]) == 0


def test_a_check_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["lint", "spulling"]) == 2
    assert capsys.readouterr().out.startswith("No such check: spulling. There are: ")
