"""The catalogue of seeded bugs is whole and true, and a handful of them are found at once."""

import re
import sys
from importlib import import_module

import pytest

from notify_core.domain.limits import LEASE_SECONDS
from notify_core.domain.notice import is_retryable
from tests.builders import a_delivery
from tests.simulation.hunt import PRESSED, FalseAlarm, hunt
from tests.simulation.mutants import EQUIVALENT, MUTATIONS, NEEDED
from tests.simulation.mutation import Mutation, Stale, constant, edit, mutation
from tests.simulation.profiles import PROFILES

BY_NAME = {item.name: item for item in MUTATIONS}
QUICK_SEEDS = range(15)
QUICK = (
    "told-before-written", "recipient-forgotten", "accepted-before-its-time", "notice-version-unguarded",
    "sent-before-the-claim-is-written", "unknown-sent-again", "evidence-is-no-attempt", "closing-not-armed",
    "receipt-not-awaited", "clocks-believed",
)  # fmt: skip
"""Found at one of the first seeds; `make mutants` hunts all of them."""


@pytest.mark.parametrize("item", MUTATIONS, ids=lambda item: item.name)
def test_a_mutation_changes_the_product_for_as_long_as_it_applies(item: Mutation) -> None:
    before = _everything()
    with item.apply():
        assert _everything() != before
    assert _everything() == before


def test_every_mutation_has_a_name_of_its_own_and_a_rule() -> None:
    assert len(BY_NAME) == len(MUTATIONS) >= 60
    assert all(re.fullmatch(r"[a-z-]+", name) and item.rule for name, item in BY_NAME.items())
    assert all(EQUIVALENT.values())


def test_every_rule_that_was_shown_to_be_needed_is_broken_by_a_mutation() -> None:
    assert {name for names in NEEDED.values() for name in names} <= BY_NAME.keys()
    assert len(NEEDED) == 27


def test_what_is_pressed_is_a_mutation_and_where_is_a_profile() -> None:
    assert PRESSED.keys() <= BY_NAME.keys()
    assert set(PRESSED.values()) <= {profile.name for profile in PROFILES}


@pytest.mark.parametrize("name", QUICK)
def test_a_seeded_bug_is_found(name: str) -> None:
    catch = hunt(BY_NAME[name], QUICK_SEEDS)
    assert catch.violation


def test_what_the_honest_product_shows_too_is_no_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.hunt.verdict", lambda seed: "a broken product")
    with pytest.raises(FalseAlarm):
        hunt(MUTATIONS[0], range(1))


@pytest.mark.parametrize(
    "patch",
    [
        edit("domain.notice:is_retryable", ("no such text", "")),
        edit("domain.notice:is_retryable", ("item", "other")),
        edit("domain.notice:no_such_function", ("", "")),
        edit("domain.notice:Notice.no_such_method", ("", "")),
        edit("domain.notice:Notice", ("", "")),
        edit("domain.notice:is_retryable", ("item.reason in", "no_such_name in")),
        constant("NO_SUCH_NUMBER", 1),
    ],
    ids=["text", "text_twice", "function", "method", "no_function", "unknown_name", "constant"],
)
def test_a_mutation_of_what_is_gone_fails_aloud(patch: object) -> None:
    stale = mutation("stale", "a catalogue can't go stale in silence", patch)  # type: ignore[arg-type]
    with pytest.raises(Stale), stale.apply():
        pass


def test_an_edit_reaches_every_reference_to_its_function() -> None:
    delivery = a_delivery()
    assert not is_retryable(delivery)
    with edit("domain.notice:is_retryable", ("return item.state is DeliveryState.FAILED and", "return True or"))():
        assert is_retryable(delivery)
    assert not is_retryable(delivery)


def test_a_constant_changes_wherever_it_was_imported_to() -> None:
    notice = import_module("notify_core.domain.notice")
    with constant("LEASE_SECONDS", 1)():
        assert vars(notice)["LEASE_SECONDS"] == 1
    assert vars(notice)["LEASE_SECONDS"] == LEASE_SECONDS


def _everything() -> dict[str, object]:
    """Every function's code, and every number, of the core as it stands."""
    found: dict[str, object] = {}
    for name, module in _core_modules():
        for attribute, value in list(vars(module).items()):
            found[f"{name}.{attribute}"] = value if isinstance(value, int) else getattr(value, "__code__", None)
            if isinstance(value, type) and value.__module__ == name:
                for method, function in list(vars(value).items()):
                    inner = getattr(function, "fget", None) or function
                    found[f"{name}.{attribute}.{method}"] = getattr(inner, "__code__", None)
    return {name: value for name, value in found.items() if value is not None}


def _core_modules() -> list[tuple[str, object]]:
    return [(name, module) for name, module in list(sys.modules.items()) if name.startswith("notify_core.")]
