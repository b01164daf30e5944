"""One exploration: a configuration as it is, or without one of its rules."""

from tests.exploration.configurations import CONFIGURATIONS
from tests.exploration.explorer import Explorer, Result
from tests.exploration.rules import rules


def explore(place: int, states: int, seconds: float) -> Result:
    """Explore one configuration."""
    return Explorer(CONFIGURATIONS[place]).explore(states_max=states, seconds_max=seconds)


def explore_rule(place: int, states: int, seconds: float) -> Result:
    """Explore one configuration without its rule."""
    rule = rules()[place]
    with rule.mutation.apply():
        return Explorer(rule.configuration).explore(states_max=states, seconds_max=seconds)
