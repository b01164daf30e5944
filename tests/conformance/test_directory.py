from dataclasses import replace

import pytest

from notify_core.application.ports import Conflict
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import PersonId, WorkspaceId
from tests.conformance.backends import Stores
from tests.conformance.builders import a_person

ANA, BOB = PersonId("ana"), PersonId("bob")


def test_person_comes_back_as_it_was_written(stores: Stores, workspace: WorkspaceId) -> None:
    bare = a_person(workspace)
    stores.directory.put_person(bare, None)
    assert stores.directory.people(workspace, [ANA]) == {ANA: bare}

    full = replace(
        bare,
        name="Ana Ünïcode 漢字 🎈",
        active=False,
        locale="fr-CA",
        timezone="America/Montreal",
        slack_user_id="U012AB3CD",
        phone="+15145550100",
        teams=("billing", "a.b-c_d"),
        roles=("approver",),
        opt_outs={"billing": (Channel.TEXT, Channel.CHAT), "Ads & more": (), "é": (Channel.CONSOLE,)},
        version=2,
    )
    stores.directory.put_person(full, bare)
    assert stores.directory.people(workspace, [ANA]) == {ANA: full}


def test_only_known_people_of_the_workspace_are_found(stores: Stores, workspace: WorkspaceId) -> None:
    other = WorkspaceId(f"{workspace}x")
    ana = a_person(workspace)
    stores.directory.put_person(ana, None)
    stores.directory.put_person(a_person(other, "bob"), None)
    assert stores.directory.people(workspace, [ANA, BOB, ANA]) == {ANA: ana}
    assert stores.directory.people(workspace, []) == {}


def test_more_people_are_read_than_fit_into_one_batch(stores: Stores, workspace: WorkspaceId) -> None:
    people = [a_person(workspace, f"p{number:03d}", teams=("all",)) for number in range(103)]
    for person in people:
        stores.directory.put_person(person, None)
    ids = [person.person_id for person in people]
    assert stores.directory.people(workspace, ids) == {person.person_id: person for person in people}
    assert stores.directory.team(workspace, "all") == ids


def test_teams_and_roles_list_their_members_in_order(stores: Stores, workspace: WorkspaceId) -> None:
    other = WorkspaceId(f"{workspace}x")
    for person in ("zoe", "Bob", "ana", "ana-2", "ana.1"):
        stores.directory.put_person(a_person(workspace, person, teams=("ops",), roles=("lead",)), None)
    stores.directory.put_person(a_person(workspace, "kim", roles=("ops",)), None)
    stores.directory.put_person(a_person(other, "eve", teams=("ops",), roles=("ops",)), None)

    assert stores.directory.team(workspace, "ops") == ["Bob", "ana", "ana-2", "ana.1", "zoe"]
    assert stores.directory.role(workspace, "lead") == ["Bob", "ana", "ana-2", "ana.1", "zoe"]
    assert stores.directory.role(workspace, "ops") == ["kim"]
    assert stores.directory.team(other, "ops") == ["eve"]
    assert stores.directory.team(workspace, "nobody") == []


def test_memberships_follow_their_person(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_person(workspace, teams=("a", "b"), roles=("r",))
    second = replace(first, teams=("b", "c"), roles=(), version=2)
    stores.directory.put_person(first, None)
    stores.directory.put_person(second, first)
    assert stores.directory.team(workspace, "a") == []
    assert stores.directory.team(workspace, "b") == [ANA]
    assert stores.directory.team(workspace, "c") == [ANA]
    assert stores.directory.role(workspace, "r") == []


def test_forty_memberships_are_replaced_by_forty_others_in_one_write(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_person(workspace, teams=tuple(f"old{number}" for number in range(40)))
    second = replace(first, teams=(), roles=tuple(f"new{number}" for number in range(40)), version=2)
    stores.directory.put_person(first, None)
    stores.directory.put_person(second, first)
    assert stores.directory.people(workspace, [ANA]) == {ANA: second}
    assert [stores.directory.team(workspace, f"old{number}") for number in range(40)] == [[]] * 40
    assert [stores.directory.role(workspace, f"new{number}") for number in range(40)] == [[ANA]] * 40


def test_second_writer_of_a_person_loses_with_its_memberships(stores: Stores, workspace: WorkspaceId) -> None:
    first = a_person(workspace, teams=("a",))
    second = replace(first, teams=("b",), version=2)
    stores.directory.put_person(first, None)
    stores.directory.put_person(second, first)
    for was in (None, first):
        with pytest.raises(Conflict):
            stores.directory.put_person(replace(first, teams=("c",), version=2), was)
    assert stores.directory.people(workspace, [ANA]) == {ANA: second}
    assert stores.directory.team(workspace, "b") == [ANA]
    assert stores.directory.team(workspace, "c") == []
