"""Audiences: everybody named once, and everybody left out with the reason."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.domain.audience import check_size, resolve
from notify_core.domain.directory import Person
from notify_core.domain.identifiers import PersonId
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Exclusion
from tests.builders import a_person

ANA, BO, CY = a_person("ana"), a_person("bo"), a_person("cy", active=False)


def by_id(*people: Person) -> dict[PersonId, Person]:
    return {person.person_id: person for person in people}


def ids(*names: str) -> tuple[PersonId, ...]:
    return tuple(map(PersonId, names))


def left_out(kind: str, name: str, reason: str) -> Exclusion:
    return Exclusion(kind=kind, name=name, reason=reason)


def test_people_teams_and_roles_are_told_each_person_once_in_the_order_of_ids() -> None:
    audience = Audience(people=("bo", "ana", "bo"), teams=("billing",), roles=("approver",))
    resolution = resolve(audience, by_id(ANA, BO), {"billing": ids("ana", "bo")}, {"approver": ids("bo")})
    assert (resolution.people, resolution.exclusions) == ((ANA, BO), ())


def test_who_is_left_out_is_named_once_with_the_reason() -> None:
    audience = Audience(
        people=("eve", "cy", "eve"), teams=("billing", "ghosts", "ghosts"), roles=("approver", "nobody")
    )
    resolution = resolve(audience, by_id(ANA, CY), {"billing": ids("ana", "cy"), "ghosts": ()}, {"approver": ids("cy")})
    assert resolution.people == (ANA,)
    assert resolution.exclusions == (
        left_out("person", "eve", "not_in_workspace"),
        left_out("person", "cy", "inactive"),
        left_out("team", "ghosts", "unknown_team"),
        left_out("role", "nobody", "unknown_role"),
    )


def test_a_team_and_a_role_of_one_name_are_two_things() -> None:
    audience = Audience(teams=("ops",), roles=("ops",))
    resolution = resolve(audience, by_id(ANA), {"ops": ids("ana")}, {})
    assert (resolution.people, resolution.exclusions) == ((ANA,), (left_out("role", "ops", "unknown_role"),))


def test_empty_lists_reach_nobody() -> None:
    resolution = resolve(Audience(), {}, {}, {})
    assert (resolution.people, resolution.exclusions, check_size(resolution)) == ((), (), ())


def test_exclusions_are_bounded_as_a_row_is() -> None:
    crowd = ids(*(f"p{number}" for number in range(3_000)))
    assert len(resolve(Audience(teams=("all",)), {}, {"all": crowd}, {}).exclusions) == 1_000


@pytest.mark.parametrize(("eligible", "inactive", "fits"), [(200, 0, True), (200, 9, True), (201, 0, False)])
def test_up_to_two_hundred_eligible_people_fit_one_request(eligible: int, inactive: int, *, fits: bool) -> None:
    people = [a_person(f"p{number}") for number in range(eligible)]
    people += [a_person(f"q{number}", active=False) for number in range(inactive)]
    audience = Audience(people=tuple(person.person_id for person in people))
    problem = Problem(
        field="audience",
        code="too_many_recipients",
        message="it reaches 201 people; publish one request for every 200 of them",
    )
    assert check_size(resolve(audience, by_id(*people), {}, {})) == (() if fits else (problem,))


_names = st.sampled_from([f"p{number}" for number in range(6)])


@given(
    named=st.lists(_names),
    team=st.lists(_names),
    known=st.dictionaries(_names, st.booleans()),
)
def test_everybody_meant_is_either_told_or_left_out(named: list[str], team: list[str], known: dict[str, bool]) -> None:
    people = by_id(*(a_person(name, active=active) for name, active in known.items()))
    resolution = resolve(Audience(people=tuple(named), teams=("t",)), people, {"t": ids(*team)}, {})
    told = [person.person_id for person in resolution.people]
    out = [exclusion.name for exclusion in resolution.exclusions if exclusion.kind == "person"]
    assert sorted([*told, *out]) == unique([*named, *team])
    assert told == sorted(told)
    assert all(known[name] for name in told)


def unique(names: Iterable[str]) -> list[str]:
    return sorted(set(names))
