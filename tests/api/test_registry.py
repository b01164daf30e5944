"""Registering workspaces, people and definitions: repeating is harmless, and what is wrong is named."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from notify_core.application.ports import Conflict, QueueName
from notify_core.domain.channel import Channel
from notify_core.domain.directory import WorkspaceStatus
from notify_core.domain.identifiers import PersonId, WorkspaceId
from tests.api.client import Answered, Client
from tests.api.conftest import World

ACME = WorkspaceId("acme")
WORKSPACE = {"name": "Acme", "status": "operational", "channels": ["console", "chat", "text"]}
PATH = "/v1/workspaces/acme"
DEFINITION: Mapping[str, Any] = {
    "title": "Invoice overdue",
    "category": "billing",
    "critical": False,
    "channels": ["console", "chat", "text"],
    "schema": {
        "type": "object",
        "required": ["number"],
        "properties": {"number": {"type": "string"}},
    },
    "templates": {
        "console": {
            "title": "Invoice {{ number }}",
            "body": "Dear {{ recipient.name }}",
            "locales": {"fr": {"title": "Facture {{ number }}", "body": "Cher {{ recipient.name }}"}},
        },
        "chat": {"text": "Invoice {{ number }}", "blocks": None},
        "text": {"body": "Invoice {{ number }}"},
    },
    "expires_after": "P7D",
    "replace_previous": False,
    "fold": {"within": "PT1H"},
}
INVOICE = f"{PATH}/definitions/invoice.overdue"


@pytest.fixture
def acme(operator: Client) -> Answered:
    """The workspace, registered."""
    return operator.put(PATH, WORKSPACE)


# ---------------------------------------------------------------- workspaces


def test_a_workspace_is_registered_with_what_was_left_out_filled_in(world: World, operator: Client) -> None:
    answer = operator.put(PATH, {"name": "Acme", "channels": ["text", "console", "text"]})
    assert (answer.status, answer.body) == (
        200,
        {
            "workspace_id": "acme",
            "name": "Acme",
            "status": "operational",
            "channels": ["console", "text"],
            "shards": 1,
        },
    )
    stored = world.ports.registry.workspace(ACME)
    assert stored is not None
    assert (stored.channels, stored.version) == (frozenset({Channel.CONSOLE, Channel.TEXT}), 1)


def test_registering_a_workspace_again_replaces_it(world: World, operator: Client, acme: Answered) -> None:
    suspended = {"name": "Acme & Co", "status": "suspended", "channels": []}
    assert operator.put(PATH, suspended).body == {
        "workspace_id": "acme",
        "name": "Acme & Co",
        "status": "suspended",
        "channels": [],
        "shards": 1,
    }
    stored = world.ports.registry.workspace(ACME)
    assert stored is not None
    assert (stored.status, stored.version) == (WorkspaceStatus.SUSPENDED, 2)


def test_the_same_workspace_twice_is_one_write(world: World, operator: Client, acme: Answered) -> None:
    assert operator.put(PATH, WORKSPACE).body == acme.body
    stored = world.ports.registry.workspace(ACME)
    assert stored is not None
    assert stored.version == 1


def test_shards_grow_and_stay_where_they_are_left_out(operator: Client, acme: Answered) -> None:
    shards = [
        operator.put(PATH, {**WORKSPACE, **more}).body["shards"]
        for more in ({"shards": 4}, {}, {"shards": None}, {"shards": 4}, {"shards": 64})
    ]
    assert shards == [4, 4, 4, 4, 64]


def test_shards_never_shrink(operator: Client, acme: Answered) -> None:
    operator.put(PATH, {**WORKSPACE, "shards": 4})
    answer = operator.put(PATH, {**WORKSPACE, "shards": 3})
    assert (answer.status, answer.problems) == (422, [("shards", "shrinking")])
    assert operator.put(PATH, WORKSPACE).body["shards"] == 4


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, [("name", "required"), ("channels", "required")]),
        ([], [("", "type")]),
        ("acme", [("", "type")]),
        ({**WORKSPACE, "name": ""}, [("name", "empty")]),
        ({**WORKSPACE, "name": "n" * 201}, [("name", "too_long")]),
        ({**WORKSPACE, "name": 7}, [("name", "type")]),
        ({**WORKSPACE, "status": "closed"}, [("status", "not_allowed")]),
        ({**WORKSPACE, "channels": ["chat", "slack_system"]}, [("channels.1", "not_allowed")]),
        ({**WORKSPACE, "channels": "chat"}, [("channels", "type")]),
        ({**WORKSPACE, "shards": 0}, [("shards", "out_of_range")]),
        ({**WORKSPACE, "shards": 65}, [("shards", "out_of_range")]),
        ({**WORKSPACE, "shards": 2.0}, [("shards", "type")]),
        ({**WORKSPACE, "shards": True}, [("shards", "type")]),
        ({**WORKSPACE, "owner": "ana"}, [("owner", "unknown_field")]),
    ],
)
def test_what_is_wrong_with_a_workspace_is_named(
    world: World, operator: Client, body: object, problems: list[tuple[str, str]]
) -> None:
    answer = operator.put(PATH, body)
    assert (answer.status, answer.problems) == (422, problems)
    assert world.ports.registry.workspace(ACME) is None


class ContestedRegistry:
    """A registry where somebody else writes first, a few times."""

    def __init__(self, world: World, conflicts: int) -> None:
        self._registry = world.ports.registry
        self.conflicts = conflicts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def _lose(self) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict

    def put_workspace(self, new: Any, was: Any) -> None:
        self._lose()
        self._registry.put_workspace(new, was)

    def put_definition(self, new: Any, was: Any) -> None:
        self._lose()
        self._registry.put_definition(new, was)


@pytest.mark.parametrize(("path", "body"), [(PATH, {**WORKSPACE, "name": "New"}), (INVOICE, DEFINITION)])
def test_a_lost_race_is_tried_again_and_given_up_with_a_reason(
    world: World, acme: Answered, path: str, body: object
) -> None:
    answer = Client(world.without(registry=ContestedRegistry(world, conflicts=99))).put(path, body)
    assert (answer.status, answer.problems) == (409, [("", "conflict")])
    assert Client(world.without(registry=ContestedRegistry(world, conflicts=3))).put(path, body).status == 200


def test_a_write_whose_answer_was_lost_is_recognised(world: World, acme: Answered) -> None:
    class Forgetful(ContestedRegistry):
        def put_definition(self, new: Any, was: Any) -> None:
            self._registry.put_definition(new, was)
            self._lose()

    operator = Client(world.without(registry=Forgetful(world, conflicts=1)))
    assert operator.put(INVOICE, DEFINITION).body == {"version": 1}


# ---------------------------------------------------------------- people


ANA = {
    "name": "Ana",
    "active": True,
    "locale": "fr",
    "timezone": "Europe/Paris",
    "slack_user_id": "U012AB3CD",
    "phone": "+33612345678",
    "teams": ["billing"],
    "roles": ["approver"],
    "opt_outs": {"marketing": ["text"]},
}


def test_a_person_is_registered_with_teams_and_roles(world: World, operator: Client, acme: Answered) -> None:
    answer = operator.put(f"{PATH}/people/ana", ANA)
    assert (answer.status, answer.body) == (200, {"workspace_id": "acme", "person_id": "ana", **ANA})
    assert world.ports.directory.team(ACME, "billing") == ["ana"]
    assert world.ports.directory.role(ACME, "approver") == ["ana"]


def test_only_the_name_of_a_person_is_required(operator: Client, acme: Answered) -> None:
    assert operator.put(f"{PATH}/people/ana", {"name": "Ana"}).body == {
        "workspace_id": "acme",
        "person_id": "ana",
        "name": "Ana",
        "active": True,
        "locale": None,
        "timezone": None,
        "slack_user_id": None,
        "phone": None,
        "teams": [],
        "roles": [],
        "opt_outs": {},
    }


def test_registering_a_person_again_replaces_the_memberships(world: World, operator: Client, acme: Answered) -> None:
    operator.put(f"{PATH}/people/ana", ANA)
    operator.put(f"{PATH}/people/ana", {**ANA, "teams": ["sales"], "roles": []})
    directory = world.ports.directory
    assert [directory.team(ACME, team) for team in ("billing", "sales")] == [[], ["ana"]]
    assert directory.role(ACME, "approver") == []


def test_the_same_person_twice_is_one_write(world: World, operator: Client, acme: Answered) -> None:
    operator.put(f"{PATH}/people/ana", ANA)
    operator.put(f"{PATH}/people/ana", ANA)
    assert world.ports.directory.people(ACME, [PersonId("ana")])[PersonId("ana")].version == 1


def test_a_contested_person_is_registered_or_given_up(world: World, acme: Answered) -> None:
    class Contested:
        def __init__(self, conflicts: int) -> None:
            self.conflicts = conflicts

        def __getattr__(self, name: str) -> Any:
            return getattr(world.ports.directory, name)

        def put_person(self, new: Any, was: Any) -> None:
            if self.conflicts:
                self.conflicts -= 1
                raise Conflict
            world.ports.directory.put_person(new, was)

    assert Client(world.without(directory=Contested(99))).put(f"{PATH}/people/ana", ANA).status == 409
    assert Client(world.without(directory=Contested(2))).put(f"{PATH}/people/ana", ANA).status == 200


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"name": " "}, [("name", "empty")]),
        ({"active": "yes"}, [("active", "type")]),
        ({"locale": "french"}, [("locale", "format")]),
        ({"timezone": "Mars/Base"}, [("timezone", "format")]),
        ({"slack_user_id": "ana"}, [("slack_user_id", "format")]),
        ({"phone": "0612345678"}, [("phone", "format")]),
        ({"teams": ["a/b"]}, [("teams.0", "invalid_identifier")]),
        ({"roles": ["x" * 65]}, [("roles.0", "invalid_identifier")]),
        ({"teams": [f"t{number}" for number in range(41)]}, [("teams", "too_many")]),
        ({"opt_outs": {"marketing": ["console"]}}, [("opt_outs.marketing.0", "not_allowed")]),
        ({"email": "ana@example.com"}, [("email", "unknown_field")]),
        ({"phone": "7", "timezone": "x"}, [("timezone", "format"), ("phone", "format")]),
    ],
)
def test_what_is_wrong_with_a_person_is_named(
    operator: Client, acme: Answered, changes: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    answer = operator.put(f"{PATH}/people/ana", {**ANA, **changes})
    assert (answer.status, answer.problems) == (422, problems)


@pytest.mark.parametrize(("path", "body"), [("people/ana", ANA), ("definitions/invoice.overdue", DEFINITION)])
def test_nothing_is_registered_in_a_workspace_that_is_not(operator: Client, path: str, body: object) -> None:
    answer = operator.put(f"/v1/workspaces/nobody/{path}", body)
    assert (answer.status, answer.problems) == (404, [("workspace_id", "workspace_not_found")])


# ---------------------------------------------------------------- definitions


def test_a_definition_is_read_as_it_was_registered(operator: Client, acme: Answered) -> None:
    assert operator.put(INVOICE, DEFINITION).body == {"version": 1}
    assert operator.get(INVOICE).body == {
        "key": "invoice.overdue",
        "version": 1,
        "state": "active",
        "retired_at": None,
        **DEFINITION,
    }


def test_an_alert_to_the_headquarters_is_read_as_it_was_registered(operator: Client, acme: Answered) -> None:
    alert = {
        "title": "Backup failed",
        "category": "operations",
        "channels": ["slack_system"],
        "schema": {"type": "object"},
        "templates": {
            "slack_system": {"text": "Backup failed", "blocks": [{"type": "divider"}]},
        },
        "expires_after": "PT12H",
    }
    operator.put(f"{PATH}/definitions/backup.failed", alert)
    assert operator.get(f"{PATH}/definitions/backup.failed").body == {
        "key": "backup.failed",
        "version": 1,
        "state": "active",
        "retired_at": None,
        "critical": False,
        "replace_previous": False,
        "fold": None,
        **alert,
    }


def test_the_same_content_is_the_same_version_and_other_content_the_next(operator: Client, acme: Answered) -> None:
    reordered = dict(reversed(DEFINITION.items()))
    versions = [
        operator.put(INVOICE, body).body["version"]
        for body in (
            DEFINITION,
            reordered,
            {**DEFINITION, "expires_after": "P1W"},
            {**DEFINITION, "title": "Overdue"},
            DEFINITION,
            {**DEFINITION, "schema": {**DEFINITION["schema"], "minProperties": 1}},
        )
    ]
    assert versions == [1, 1, 1, 2, 3, 4]


def test_one_and_true_are_two_things_in_a_schema(operator: Client, acme: Answered) -> None:
    schema = {"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}}
    versions = [
        operator.put(INVOICE, {**DEFINITION, "schema": {**schema, "default": value}}).body["version"]
        for value in ({"a": 1}, {"a": True}, {"a": 1})
    ]
    assert versions == [1, 2, 3]


def test_every_version_stays_readable(operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    operator.put(INVOICE, {**DEFINITION, "title": "Overdue"})
    titles = [operator.get(INVOICE, **query).body["title"] for query in ({}, {"version": "1"}, {"version": "2"})]
    assert titles == ["Overdue", "Invoice overdue", "Overdue"]


@pytest.mark.parametrize("version", ["0", "-1", "one", "1.0", "9999999999", "١"])
def test_a_version_is_a_number_from_one(operator: Client, acme: Answered, version: str) -> None:
    operator.put(INVOICE, DEFINITION)
    answer = operator.get(INVOICE, version=version)
    assert (answer.status, answer.problems) == (422, [("version", "out_of_range")])


def test_a_version_that_never_was_is_not_found(operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    answer = operator.get(INVOICE, version="2")
    assert (answer.status, answer.problems) == (404, [("version", "version_not_found")])


def test_a_definition_that_was_never_registered_is_not_found(operator: Client, acme: Answered) -> None:
    for answer in (operator.get(INVOICE), operator.delete(INVOICE)):
        assert (answer.status, answer.problems) == (404, [("definition", "definition_not_found")])


def test_a_retired_definition_comes_back_as_the_next_version(world: World, operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    world.clock.advance(timedelta(hours=1))
    assert operator.delete(INVOICE).status == 204
    body = operator.get(INVOICE).body
    assert (body["version"], body["state"], body["retired_at"]) == (1, "retired", "2026-11-30T11:00:00Z")
    assert operator.put(INVOICE, DEFINITION).body == {"version": 2}
    body = operator.get(INVOICE).body
    assert (body["version"], body["state"], body["retired_at"]) == (2, "active", None)


def test_retiring_sends_for_the_open_requests_each_time(world: World, operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    assert [operator.delete(INVOICE).status for _ in range(2)] == [204, 204]
    assert world.queues.backlog(QueueName.RECONCILE) == 2


def test_a_suspended_workspaces_definitions_are_not_retired(operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    operator.put(PATH, {**WORKSPACE, "status": "suspended"})
    answer = operator.delete(INVOICE)
    assert (answer.status, answer.problems) == (409, [("workspace_id", "workspace_suspended")])
    assert operator.get(INVOICE).body["state"] == "active"


def test_definitions_are_listed_in_the_order_of_their_keys(operator: Client, acme: Answered) -> None:
    for key in ("c", "a", "d", "b"):
        operator.put(f"{PATH}/definitions/{key}", DEFINITION)
    operator.delete(f"{PATH}/definitions/b")
    first = operator.get(f"{PATH}/definitions", limit="3").body
    assert [(item["key"], item["state"]) for item in first["items"]] == [
        ("a", "active"),
        ("b", "retired"),
        ("c", "active"),
    ]
    rest = operator.get(f"{PATH}/definitions", limit="3", cursor=first["cursor"]).body
    assert [item["key"] for item in rest["items"]] == ["d"]
    assert rest["cursor"] is None


def test_a_listed_definition_leaves_out_its_schema_and_templates(operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    fields = {name: value for name, value in DEFINITION.items() if name not in {"schema", "templates"}}
    assert operator.get(f"{PATH}/definitions").body == {
        "items": [
            {"key": "invoice.overdue", "version": 1, "state": "active", "retired_at": None, **fields},
        ],
        "cursor": None,
    }


def test_an_unknown_workspace_has_no_definitions(operator: Client) -> None:
    answer = operator.get("/v1/workspaces/nobody/definitions")
    assert (answer.status, answer.problems) == (404, [("workspace_id", "workspace_not_found")])


def test_another_workspaces_definition_is_not_found(operator: Client, acme: Answered) -> None:
    operator.put(INVOICE, DEFINITION)
    operator.put("/v1/workspaces/other", WORKSPACE)
    assert operator.get("/v1/workspaces/other/definitions/invoice.overdue").status == 404
    assert operator.get("/v1/workspaces/other/definitions").body["items"] == []


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"title": ""}, [("title", "empty")]),
        ({"expires_after": "P91D"}, [("expires_after", "out_of_range")]),
        ({"expires_after": "PT59S"}, [("expires_after", "out_of_range")]),
        ({"expires_after": "a week"}, [("expires_after", "invalid_duration")]),
        ({"channels": []}, [("channels", "too_few")]),
        ({"channels": ["fax"]}, [("channels.0", "not_allowed")]),
        ({"schema": {"type": "object", "required": "number"}}, [("schema.required", "invalid_schema")]),
        ({"fold": {}}, [("fold.within", "required")]),
        ({"colour": "red"}, [("colour", "unknown_field")]),
    ],
)
def test_what_is_wrong_with_a_definition_is_named(
    operator: Client, acme: Answered, changes: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    answer = operator.put(INVOICE, {**DEFINITION, **changes})
    assert answer.status == 422
    assert [problem for problem in answer.problems if problem in problems] == problems
    assert operator.get(INVOICE).status == 404
