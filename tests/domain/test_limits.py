import re
from pathlib import Path

import pytest

from notify_core.domain import limits

SOURCE = Path(limits.__file__).read_text(encoding="utf-8")


def test_the_numbers_are_those_that_the_contract_promises() -> None:
    promised = {
        "DATA_BYTES_MAX": 32 * 1024,
        "AUDIENCE_ENTRIES_MAX": 1_000,
        "RECIPIENTS_MAX": 200,
        "PROBLEMS_MAX": 100,
        "CLOCK_SKEW_SECONDS": 300,
        "DEFER_SECONDS_MAX": 60 * 86_400,
        "EXPIRES_AFTER_SECONDS_MIN": 60,
        "EXPIRES_AFTER_SECONDS_MAX": 90 * 86_400,
        "MEMBERSHIPS_MAX": 40,
        "DELAY_SECONDS_MAX": 900,
        "MESSAGE_DAYS_MAX": 14,
        "RECONCILE_BACKLOG_MAX": 10_000,
        "TEXT_EVIDENCE_SECONDS": 86_400,
        "REPUBLISH_AHEAD_SECONDS": 120,
        "KEEP_CLOSED_SECONDS": 90 * 86_400,
        "CONTRIBUTORS_MAX": 50,
        "TIMELINE_MAX": 30,
        "UNREAD_COUNT_MAX": 1_000,
        "PAGE_ITEMS": 50,
        "PAGE_ITEMS_MAX": 200,
    }
    assert {name: getattr(limits, name) for name in promised} == promised


def load(**numbers: int) -> None:
    """Run the table of limits with other numbers in it."""
    source = SOURCE
    for name, number in numbers.items():
        source, found = re.subn(rf"^{name}: Final = .*$", f"{name}: Final = {number}", source, flags=re.MULTILINE)
        assert found == 1
    exec(compile(source, "limits", "exec"), {})


def test_the_numbers_keep_every_relation() -> None:
    load()


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("LEASE_SECONDS", 25),
        ("DELIVER_TIMEOUT_SECONDS", 13),
        ("PROVIDER_TIMEOUT_SECONDS", 20),
        ("EVIDENCE_PAUSE_SECONDS", 5),
        ("TEXT_EVIDENCE_SECONDS", 30),
        ("PROCESS_TIMEOUT_SECONDS", 61),
        ("CLOSING_GRACE_SECONDS", 29),
        ("FIRST_CHECK_SECONDS", 59),
        ("KEEP_CLOSED_SECONDS", 74 * 86_400),
        ("MESSAGE_DAYS_MAX", 30),
        ("REPUBLISH_AHEAD_SECONDS", 900),
        ("RECEIVES_MAX", 4),
        ("API_TIMEOUT_SECONDS", 30),
        ("STORE_TRIES_MAX", 8),
    ],
)
def test_a_number_that_breaks_a_protocol_never_reaches_a_deploy(name: str, number: int) -> None:
    with pytest.raises(AssertionError):
        load(**{name: number})
