"""Bodies that register workspaces, people and definitions: strict, and told what is wrong all at once."""

from datetime import timedelta
from typing import Any

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person, Workspace, WorkspaceStatus
from notify_core.domain.identifiers import PersonId
from notify_core.messages.definitions import parse_definition
from notify_core.messages.registry import parse_person, parse_workspace
from tests.builders import ACME, INVOICE

ANA = PersonId("ana")
PERSON: dict[str, Any] = {
    "name": "Ana Ünal",
    "active": False,
    "locale": "fr-CA",
    "timezone": "America/Toronto",
    "slack_user_id": "U0ANA",
    "phone": "+12065550142",
    "teams": ["billing", "ops", "billing"],
    "roles": ["approver"],
    "opt_outs": {"billing": ["text", "chat", "text"]},
}
DEFINITION: dict[str, Any] = {
    "title": "Invoice overdue",
    "category": "billing",
    "channels": ["console", "chat"],
    "schema": {"type": "object"},
    "templates": {"console": {"title": "T", "body": "B"}, "chat": {"text": "C", "blocks": None}},
    "expires_after": "P7D",
}


def codes(parsed: object) -> list[tuple[str, str]]:
    assert isinstance(parsed, tuple)
    return [(problem.field, problem.code) for problem in parsed]


def test_a_workspace_is_read() -> None:
    body = {"name": "Acme", "status": "suspended", "channels": ["chat", "console"], "shards": 4}
    assert parse_workspace(body, ACME) == Workspace(
        workspace_id=ACME,
        name="Acme",
        status=WorkspaceStatus.SUSPENDED,
        channels=frozenset({Channel.CHAT, Channel.CONSOLE}),
        shards=4,
    )


def test_a_person_is_read() -> None:
    assert parse_person(PERSON, ACME, ANA) == Person(
        workspace_id=ACME,
        person_id=ANA,
        name="Ana Ünal",
        active=False,
        locale="fr-CA",
        timezone="America/Toronto",
        slack_user_id="U0ANA",
        phone="+12065550142",
        teams=("billing", "ops"),
        roles=("approver",),
        opt_outs={"billing": (Channel.TEXT, Channel.CHAT)},
    )


def test_only_a_name_is_required_of_a_person_and_what_is_unknown_may_be_null() -> None:
    unknown = {"locale": None, "timezone": None, "slack_user_id": None, "phone": None}
    expected = Person(workspace_id=ACME, person_id=ANA, name="Ana")
    assert parse_person({"name": "Ana"}, ACME, ANA) == expected
    assert parse_person({"name": "Ana", **unknown}, ACME, ANA) == expected


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"name": " "}, [("name", "empty")]),
        ({"name": None}, [("name", "type")]),
        ({"active": "yes"}, [("active", "type")]),
        ({"active": 1}, [("active", "type")]),
        ({"active": None}, [("active", "type")]),
        ({"locale": "french"}, [("locale", "format")]),
        ({"locale": "fr_CA"}, [("locale", "format")]),
        ({"timezone": "Mars/Base"}, [("timezone", "format")]),
        ({"timezone": "/etc/passwd"}, [("timezone", "format")]),
        ({"timezone": "../../etc/passwd"}, [("timezone", "format")]),
        ({"timezone": ""}, [("timezone", "format")]),
        ({"timezone": "Europe"}, [("timezone", "format")]),
        ({"timezone": "\x00"}, [("timezone", "format")]),
        ({"slack_user_id": "@ana"}, [("slack_user_id", "format")]),
        ({"slack_user_id": "C012"}, [("slack_user_id", "format")]),
        ({"phone": "0612345678"}, [("phone", "format")]),
        ({"phone": "+0123456789"}, [("phone", "format")]),
        ({"phone": "+1206555014212345"}, [("phone", "format")]),
        ({"phone": "+1 206 555 0142"}, [("phone", "format")]),
        ({"phone": "+١٢٣٤٥٦٧٨"}, [("phone", "format")]),
        ({"teams": ["a#b"]}, [("teams.0", "invalid_identifier")]),
        ({"teams": "billing"}, [("teams", "type")]),
        ({"teams": [f"t{n}" for n in range(41)]}, [("teams", "too_many")]),
        ({"teams": [f"t{n}" for n in range(30)], "roles": [f"r{n}" for n in range(11)]}, [("teams", "too_many")]),
        ({"opt_outs": {"billing": ["console"]}}, [("opt_outs.billing.0", "not_allowed")]),
        ({"opt_outs": {"a b": ["text"]}}, [("opt_outs.a b", "invalid_identifier")]),
        ({"opt_outs": {"billing": "text"}}, [("opt_outs.billing", "type")]),
        ({"opt_outs": ["billing"]}, [("opt_outs", "type")]),
        ({"email": "ana@acme.example"}, [("email", "unknown_field")]),
        ({"name": "\ud800"}, [("name", "invalid_text")]),
    ],
)
def test_what_is_wrong_with_a_person_is_named(changes: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert codes(parse_person({**PERSON, **changes}, ACME, ANA)) == problems


@pytest.mark.parametrize("body", [None, [], "ana", 7])
def test_a_body_is_an_object(body: object) -> None:
    parsed = (parse_workspace(body, ACME), parse_person(body, ACME, ANA), parse_definition(body, ACME, INVOICE))
    assert [codes(each) for each in parsed] == [[("", "type")]] * 3


def test_a_definition_is_read_and_what_is_left_out_is_off() -> None:
    assert parse_definition(DEFINITION, ACME, INVOICE) == Definition(
        workspace_id=ACME,
        key=INVOICE,
        version=0,
        title="Invoice overdue",
        category="billing",
        critical=False,
        channels=(Channel.CONSOLE, Channel.CHAT),
        schema={"type": "object"},
        templates={
            Channel.CONSOLE: {"title": "T", "body": "B"},
            Channel.CHAT: {"text": "C", "blocks": None},
        },
        expires_after=timedelta(days=7),
    )


@pytest.mark.parametrize(
    ("duration", "length"),
    [
        ("PT1M", timedelta(minutes=1)),
        ("PT90S", timedelta(seconds=90)),
        ("P1DT12H30M", timedelta(days=1, hours=12, minutes=30)),
        ("P2W", timedelta(days=14)),
        ("PT2160H", timedelta(days=90)),
    ],
)
def test_durations_are_weeks_days_hours_minutes_and_seconds(duration: str, length: timedelta) -> None:
    definition = parse_definition({**DEFINITION, "expires_after": duration}, ACME, INVOICE)
    assert isinstance(definition, Definition)
    assert definition.expires_after == length


@pytest.mark.parametrize(
    "duration",
    [
        "",
        "P",
        "PT",
        "P1DT",
        "P1M",
        "P1Y",
        "-P1D",
        "P-1D",
        "P1.5D",
        "7d",
        "P7D ",
        "p7d",
        "P9999999D",
        604_800,
        None,
        "P١D",
    ],
)
def test_other_durations_are_not_understood(duration: object) -> None:
    parsed = parse_definition({**DEFINITION, "expires_after": duration}, ACME, INVOICE)
    assert codes(parsed) == [("expires_after", "invalid_duration")]


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"title": 7}, [("title", "type")]),
        ({"critical": "no"}, [("critical", "type")]),
        ({"channels": ["console", "fax"]}, [("channels.1", "not_allowed")]),
        ({"channels": [["chat"]]}, [("channels.0", "not_allowed")]),
        ({"schema": []}, [("schema", "type")]),
        ({"schema": None}, [("schema", "type")]),
        ({"templates": {"fax": {}}}, [("templates.fax", "not_allowed")]),
        ({"templates": {"chat": "C"}}, [("templates.chat", "type")]),
        ({"fold": True}, [("fold", "type")]),
        ({"fold": {}}, [("fold.within", "required")]),
        ({"fold": {"within": "P1D", "by": "ana"}}, [("fold.by", "unknown_field")]),
        ({"colour": "red"}, [("colour", "unknown_field")]),
        # Types first; then what check_definition finds.
        ({"title": "", "channels": ["console", "chat", "text"]}, [("title", "empty"), ("templates.text", "required")]),
    ],
)
def test_what_is_wrong_with_a_definition_is_named(changes: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert codes(parse_definition({**DEFINITION, **changes}, ACME, INVOICE)) == problems


def test_a_definition_that_nests_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"not": schema}
    parsed = parse_definition({**DEFINITION, "schema": schema}, ACME, INVOICE)
    assert codes(parsed) == [("schema" + ".not" * 31, "too_deep")]
