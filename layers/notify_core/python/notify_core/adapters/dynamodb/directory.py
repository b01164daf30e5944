"""People and their memberships in DynamoDB."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from notify_core.adapters.dynamodb.client import bind
from notify_core.adapters.dynamodb.errors import translated
from notify_core.adapters.dynamodb.items import MembershipItem, PersonItem
from notify_core.adapters.dynamodb.reading import get_many
from notify_core.adapters.dynamodb.text import json_text, member
from notify_core.adapters.dynamodb.writing import Put, commit, unchanged
from notify_core.domain.channel import Channel
from notify_core.domain.directory import Person
from notify_core.domain.identifiers import PersonId, WorkspaceId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PERSON = "person"
_TEAM = "team"
_ROLE = "role"


class DynamoDirectoryStore:
    """ports.DirectoryStore over the directory table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._people = bind(PersonItem, table, client)
        self._memberships = bind(MembershipItem, table, client)

    def people(self, workspace: WorkspaceId, people: Sequence[PersonId]) -> Mapping[PersonId, Person]:
        """Those of the people who are known in the workspace, strongly consistent."""
        keys = [{"pk": _person_pk(workspace, person), "sk": _PERSON} for person in people]
        found = (_person(item) for item in get_many(self._people, keys))
        return {person.person_id: person for person in found}

    def team(self, workspace: WorkspaceId, team: str) -> Sequence[PersonId]:
        """A team's members, in the order of their ids; empty when it isn't known."""
        return self._members(_group_pk(workspace, _TEAM, team))

    def role(self, workspace: WorkspaceId, role: str) -> Sequence[PersonId]:
        """A role's holders, in the order of their ids; empty when it isn't known."""
        return self._members(_group_pk(workspace, _ROLE, role))

    def _members(self, pk: str) -> Sequence[PersonId]:
        with translated():
            return [PersonId(item.sk) for item in self._memberships.query(pk, consistent_read=True)]

    def put_person(self, new: Person, was: Person | None) -> None:
        """Write a person's next version, with the memberships begun and without those ended, in one transaction."""
        before, after = _groups(was), _groups(new)
        commit(
            [
                Put(self._person_item(new), unchanged(PersonItem, was)),
                *(Put(self._memberships(pk, new.person_id), None) for pk in sorted(after - before)),
            ],
            deletes=[self._memberships(pk, new.person_id) for pk in sorted(before - after)],
        )

    def _person_item(self, person: Person) -> PersonItem:
        return self._people(
            _person_pk(person.workspace_id, person.person_id),
            _PERSON,
            name=person.name,
            active=person.active,
            locale=person.locale,
            timezone=person.timezone,
            slack_user_id=person.slack_user_id,
            phone=person.phone,
            teams=json_text(person.teams) if person.teams else None,
            roles=json_text(person.roles) if person.roles else None,
            opt_outs=json_text(person.opt_outs) if person.opt_outs else None,
            version=person.version,
        )


def _person_pk(workspace: WorkspaceId, person: PersonId) -> str:
    return f"P#{workspace}#{person}"


def _group_pk(workspace: WorkspaceId, kind: str, name: str) -> str:
    return f"M#{workspace}#{kind}#{name}"


def _groups(person: Person | None) -> frozenset[str]:
    if person is None:
        return frozenset()
    return frozenset(
        _group_pk(person.workspace_id, kind, name)
        for kind, names in ((_TEAM, person.teams), (_ROLE, person.roles))
        for name in names
    )


def _person(item: PersonItem) -> Person:
    _, workspace, person = item.pk.split("#")
    opt_outs: dict[str, list[str]] = json.loads(item.opt_outs) if item.opt_outs else {}
    return Person(
        workspace_id=WorkspaceId(workspace),
        person_id=PersonId(person),
        name=item.name,
        active=item.active,
        locale=item.locale,
        timezone=item.timezone,
        slack_user_id=item.slack_user_id,
        phone=item.phone,
        teams=tuple(json.loads(item.teams)) if item.teams else (),
        roles=tuple(json.loads(item.roles)) if item.roles else (),
        opt_outs={
            category: tuple(member(Channel, word) for word in channels) for category, channels in opt_outs.items()
        },
        version=int(item.version),
    )
