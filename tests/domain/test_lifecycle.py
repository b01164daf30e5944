from enum import StrEnum

import pytest

from notify_core.domain.lifecycle import Actor, ForbiddenMove, Lifecycle, Move
from tools.lifecycles import PAGE, render


class Door(StrEnum):
    SHUT = "shut"
    AJAR = "ajar"
    OPEN = "open"
    BRICKED_UP = "bricked_up"
    STOLEN = "stolen"


class Use(StrEnum):
    PUSH = "push"
    BRICK_UP = "brick_up"


PUSH_AJAR = Move(Use.PUSH, Door.SHUT, Door.AJAR, by=(Actor.OPERATOR, Actor.RECIPIENT))
PUSH_OPEN = Move(Use.PUSH, Door.AJAR, Door.OPEN, by=(Actor.RECIPIENT,))
BRICK_UP = Move(Use.BRICK_UP, Door.OPEN, Door.BRICKED_UP, by=(Actor.SWEEP,))
DOORS = Lifecycle(
    "door",
    (PUSH_AJAR, PUSH_OPEN, BRICK_UP),
    initial=frozenset({Door.SHUT}),
    reserved=frozenset({Door.STOLEN}),
)


def test_a_table_knows_its_moves_as_soon_as_it_is_made() -> None:
    made = Lifecycle("gate", (PUSH_AJAR,), initial=frozenset({Door.SHUT}))
    made.check(Use.PUSH, Door.SHUT, Door.AJAR, by=Actor.OPERATOR)
    with pytest.raises(ForbiddenMove):
        made.check(Use.PUSH, Door.AJAR, Door.OPEN, by=Actor.RECIPIENT)


def test_a_move_of_the_table_is_allowed_to_each_of_its_actors() -> None:
    DOORS.check(Use.PUSH, Door.SHUT, Door.AJAR, by=Actor.OPERATOR)
    DOORS.check(Use.PUSH, Door.SHUT, Door.AJAR, by=Actor.RECIPIENT)


@pytest.mark.parametrize(
    ("event", "source", "target", "by"),
    [
        (Use.BRICK_UP, Door.SHUT, Door.AJAR, Actor.OPERATOR),
        (Use.PUSH, Door.OPEN, Door.AJAR, Actor.OPERATOR),
        (Use.PUSH, Door.SHUT, Door.OPEN, Actor.OPERATOR),
        (Use.PUSH, Door.SHUT, Door.AJAR, Actor.SWEEP),
    ],
    ids=["event", "source", "target", "actor"],
)
def test_a_move_is_refused_when_any_part_of_it_is_not_in_the_table(
    event: Use, source: Door, target: Door, by: Actor
) -> None:
    with pytest.raises(ForbiddenMove):
        DOORS.check(event, source, target, by=by)


def test_a_refusal_tells_which_move_by_whom() -> None:
    with pytest.raises(ForbiddenMove, match="door: push by sweep may not move open to shut"):
        DOORS.check(Use.PUSH, Door.OPEN, Door.SHUT, by=Actor.SWEEP)


def test_a_write_may_find_whatever_leads_to_its_target() -> None:
    found = {state: DOORS.leading_to(state) for state in Door}
    assert found == {
        Door.SHUT: frozenset(),
        Door.AJAR: {Door.SHUT},
        Door.OPEN: {Door.AJAR},
        Door.BRICKED_UP: {Door.OPEN},
        Door.STOLEN: frozenset(),
    }


def test_reserved_states_belong_to_the_vocabulary() -> None:
    assert DOORS.states() == set(Door)


def test_final_states_are_those_that_nothing_leaves() -> None:
    assert DOORS.final() == {Door.BRICKED_UP, Door.STOLEN}


def test_moves_come_in_the_order_of_the_table() -> None:
    assert list(DOORS) == [PUSH_AJAR, PUSH_OPEN, BRICK_UP]


def test_the_page_about_the_lifecycles_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run python -m tools.lifecycles"
