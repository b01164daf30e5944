"""Audiences: from the names in a publication to the people who are told."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from notify_core.domain.directory import Person
from notify_core.domain.identifiers import PersonId
from notify_core.domain.limits import EXCLUSIONS_MAX, RECIPIENTS_MAX
from notify_core.domain.problem import Problem, ProblemCode, problem
from notify_core.domain.request import Audience, Exclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Who is told, each once, in the order of their ids; and who was meant and is not, in the order of naming."""

    people: tuple[Person, ...]
    exclusions: tuple[Exclusion, ...]


def resolve(
    audience: Audience,
    people: Mapping[PersonId, Person],
    teams: Mapping[str, Sequence[PersonId]],
    roles: Mapping[str, Sequence[PersonId]],
) -> Resolution:
    """Who of the audience is told: the people named, and the members of the teams and roles named.

    `people` holds those of all of them who are in the workspace; a team or role without members isn't known.
    """
    meant = dict.fromkeys(
        [*map(PersonId, audience.people), *_members(audience.teams, teams), *_members(audience.roles, roles)]
    )
    exclusions = [
        *_people_left_out(meant, people),
        *_unknown("team", audience.teams, teams),
        *_unknown("role", audience.roles, roles),
    ]
    told = [people[person] for person in sorted(meant) if person in people and people[person].active]
    return Resolution(people=tuple(told), exclusions=tuple(exclusions[:EXCLUSIONS_MAX]))


def check_size(resolution: Resolution) -> tuple[Problem, ...]:
    """Whether one request may tell so many people."""
    count = len(resolution.people)
    if count <= RECIPIENTS_MAX:
        return ()
    message = f"it reaches {count} people; publish one request for every {RECIPIENTS_MAX} of them"
    return (problem("audience", ProblemCode.TOO_MANY_RECIPIENTS, message),)


def _members(names: Iterable[str], groups: Mapping[str, Sequence[PersonId]]) -> Iterator[PersonId]:
    return (person for name in names for person in groups.get(name, ()))


def _people_left_out(meant: Iterable[PersonId], people: Mapping[PersonId, Person]) -> Iterator[Exclusion]:
    for name in meant:
        person = people.get(name)
        if person is None:
            yield Exclusion(kind="person", name=name, reason="not_in_workspace")
        elif not person.active:
            yield Exclusion(kind="person", name=name, reason="inactive")


def _unknown(kind: str, names: Iterable[str], groups: Mapping[str, Sequence[PersonId]]) -> Iterator[Exclusion]:
    for name in dict.fromkeys(names):
        if not groups.get(name):
            yield Exclusion(kind=kind, name=name, reason=f"unknown_{kind}")
