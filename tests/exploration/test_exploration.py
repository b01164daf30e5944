"""Small configurations explored whole, and rules that are missed at once; `make explore` has all of them."""

from datetime import timedelta
from functools import partial

import pytest

from tests.exploration.configurations import CONFIGURATIONS, Configuration
from tests.exploration.explorer import Explorer, Result
from tests.exploration.programs import Call, Program, Runner
from tests.exploration.rules import FOUND_IN, OWN, Rule, rules
from tests.exploration.stage import BEGIN
from tests.simulation.mutants import MUTATIONS

BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}
SMALL = (
    "2c-replace-settle", "2d-withdrawkey-chat", "3j-fold-skipped", "4b2-receipt-days", "5g-retire-fold-new",
    "6d-defer-far", "6e-loss-fold-chat", "7b-poison", "9d-people2-replace", "9n-read-all",
)  # fmt: skip
QUICK = (
    "no-second-look", "retry-without-transaction", "withdrawal-by-key-in-two-writes", "fold-adds-a-channel",
    "half-a-commit",
)  # fmt: skip


def explore(configuration: Configuration) -> Result:
    return Explorer(configuration).explore(states_max=20_000, seconds_max=60)


@pytest.mark.parametrize("name", SMALL)
def test_no_order_and_no_fault_of_a_small_configuration_is_objected_to(name: str) -> None:
    result = explore(BY_NAME[name])
    assert (result.violation, result.trace, result.is_complete) == (None, [], True)
    assert result.ends > 0


@pytest.mark.parametrize(
    "rule", [item for item in rules() if item.mutation.name in QUICK], ids=lambda item: item.mutation.name
)
def test_a_rule_switched_off_is_missed(rule: Rule) -> None:
    with rule.mutation.apply():
        result = explore(rule.configuration)
    assert result.violation
    assert result.trace


def test_every_rule_marked_as_needed_has_a_configuration() -> None:
    marked = {item.name for item in (*MUTATIONS, *OWN) if item.rule.startswith("†")}
    assert marked == FOUND_IN.keys()
    assert set(FOUND_IN.values()) <= BY_NAME.keys()
    assert len(BY_NAME) == len(CONFIGURATIONS)


def test_an_exploration_comes_to_the_same_again() -> None:
    first, second = explore(BY_NAME["2d-withdrawkey-chat"]), explore(BY_NAME["2d-withdrawkey-chat"])
    assert (first.states, first.edges, first.depth) == (second.states, second.edges, second.depth)


def test_a_cap_is_told() -> None:
    result = Explorer(BY_NAME["1b-lazy"]).explore(states_max=50, seconds_max=60)
    assert (result.is_complete, result.violation) == (False, None)
    assert 50 <= result.states < 80


def test_what_never_ends_is_told_with_what_goes_round() -> None:
    """A dispatch that always dies, and isn't counted as an attempt."""
    (rule,) = (item for item in rules() if item.mutation.name == "dead-letter-uncounted")
    with rule.mutation.apply():
        result = explore(rule.configuration)
    assert result.violation == "STUCK: no way leads to an end from here"
    assert [line for line in result.trace if "TO THE DEAD LETTERS" in line]


def test_what_is_done_at_once_is_answered_in_every_order_and_comes_to_one_point() -> None:
    runner = Runner(lambda answer: answer)

    def ask(name: str) -> str:
        return str(runner.ask(Call(name, "get", (), {})))

    def run() -> list[str]:
        return runner.gather([partial(ask, "a"), partial(ask, "b")])

    begun = runner.begin(Program("k", run, "", BEGIN))
    first, second = begun.calls
    one = runner.follow(runner.follow(begun, first, "x", BEGIN), second, "y", BEGIN)
    other = runner.follow(runner.follow(begun, second, "y", BEGIN), first, "x", BEGIN)
    assert one is other
    assert (one.is_over, one.outcome) == (True, ["x", "y"])
    assert runner.follow(runner.follow(begun, first, "y", BEGIN), second, "x", BEGIN) is not one


def test_code_that_looked_at_the_clock_is_told_apart_by_its_time() -> None:
    runner = Runner(lambda answer: answer)

    def run() -> object:
        runner.ask(Call("a", "get", (), {}))
        return runner.now()

    begun = runner.begin(Program("k", run, "", BEGIN))
    (task,) = begun.calls
    later = BEGIN + timedelta(seconds=1)
    assert [runner.follow(begun, task, 1, at).outcome for at in (BEGIN, later, BEGIN)] == [BEGIN, later, BEGIN]
