"""Judging a publication's content: data, audience and rendering, with all their problems at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from notify_core.application.ports import Ports
from notify_core.application.render_for import render_for
from notify_core.domain.acceptance import bounded
from notify_core.domain.audience import Resolution, check_size, resolve
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import PersonId, Recipient
from notify_core.domain.planning import plan, plan_hq
from notify_core.domain.problem import Problem
from notify_core.domain.rendering import CannotRender, Content
from notify_core.domain.request import Audience, Exclusion, ManifestEntry, Publication
from notify_core.domain.schema import check_data


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a publication's content amounts to; without problems and with a manifest it can be accepted.

    `contents` holds each recipient's rendered text by channel, `people` the eligible people.
    """

    problems: tuple[Problem, ...]
    exclusions: tuple[Exclusion, ...]
    manifest: tuple[ManifestEntry, ...]
    people: Mapping[Recipient, Person]
    contents: Mapping[tuple[Recipient, Channel], Content]


def judge_content(publication: Publication, definition: Definition, workspace: Workspace, ports: Ports) -> Judgement:
    """Resolve the audience, check the data and render every recipient's text, before anything is written."""
    problems = check_data(definition, publication.data)
    audience = publication.audience
    if audience is None:
        missing = Problem(field="audience", code="required", message='name people, teams or roles, or {"hq": true}')
        return _judgement((*problems, missing))
    if audience.hq:
        return _judge_texts(publication, definition, (plan_hq(definition),), {}, (), problems)
    resolution = resolve_audience(publication, audience, ports)
    people = {Recipient(person.person_id): person for person in resolution.people}
    manifest = tuple(plan(definition, workspace, person) for person in resolution.people)
    problems = (*problems, *check_size(resolution))
    return _judge_texts(publication, definition, manifest, people, resolution.exclusions, problems)


def _judge_texts(
    publication: Publication,
    definition: Definition,
    manifest: tuple[ManifestEntry, ...],
    people: Mapping[Recipient, Person],
    exclusions: tuple[Exclusion, ...],
    problems: tuple[Problem, ...],
) -> Judgement:
    """Render what the data and the audience allow: a template can't be judged on data that is wrong already."""
    if problems or not manifest:
        return _judgement(problems, exclusions)
    contents, unrendered = _render_all(publication, definition, manifest, people)
    return Judgement(
        problems=bounded(unrendered), exclusions=exclusions, manifest=manifest, people=people, contents=contents
    )


def resolve_audience(publication: Publication, audience: Audience, ports: Ports) -> Resolution:
    """Who is meant: the people named and the members of the teams and roles named, within the workspace."""
    workspace = publication.workspace_id
    named = [
        *((ports.directory.team, name) for name in dict.fromkeys(audience.teams)),
        *((ports.directory.role, name) for name in dict.fromkeys(audience.roles)),
    ]
    members = ports.gather([partial(read, workspace, name) for read, name in named])
    teams = dict(zip(dict.fromkeys(audience.teams), members, strict=False))
    roles = dict(zip(dict.fromkeys(audience.roles), members[len(teams) :], strict=True))
    everybody = dict.fromkeys([*map(PersonId, audience.people), *(person for group in members for person in group)])
    return resolve(audience, ports.directory.people(workspace, list(everybody)), teams, roles)


def _render_all(
    publication: Publication,
    definition: Definition,
    manifest: tuple[ManifestEntry, ...],
    people: Mapping[Recipient, Person],
) -> tuple[dict[tuple[Recipient, Channel], Content], tuple[Problem, ...]]:
    contents: dict[tuple[Recipient, Channel], Content] = {}
    problems: dict[Problem, None] = {}
    for entry in manifest:
        person = people.get(entry.recipient)
        for planned in entry.plan:
            if planned.state not in _RENDERED:
                continue
            try:
                contents[entry.recipient, planned.channel] = render_for(
                    definition, planned.channel, publication.data, person
                )
            except CannotRender as error:
                problems |= dict.fromkeys(error.problems)
    return contents, tuple(problems)


_RENDERED = frozenset({DeliveryState.QUEUED, DeliveryState.DELIVERED})


def _judgement(problems: tuple[Problem, ...], exclusions: tuple[Exclusion, ...] = ()) -> Judgement:
    return Judgement(problems=bounded(problems), exclusions=exclusions, manifest=(), people={}, contents={})
