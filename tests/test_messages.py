"""Messages from producers: which name a request, what is wrong with the rest, and that nothing in them does harm."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.domain.identifiers import DefinitionKey, WorkspaceId, request_id
from notify_core.domain.problem import Problem
from notify_core.domain.publication import publication_body
from notify_core.domain.request import (
    Audience,
    InvalidPublication,
    Malformed,
    Publication,
    Withdrawal,
)
from notify_core.messages.json_text import read_json
from notify_core.messages.publications import content_hash, parse_message, parse_publication, parse_withdrawal
from tests.builders import ACME, INVOICE

PUBLISH: dict[str, Any] = {
    "type": "publish",
    "version": 1,
    "workspace_id": "acme",
    "definition": "invoice.overdue",
    "request_key": "inv-42:1",
    "published_at": "2026-11-30T10:00:00Z",
    "data": {"number": "42"},
    "audience": {"people": ["ana"], "teams": ["billing"], "roles": ["approver"]},
    "not_before": None,
    "deadline": None,
    "replacement_key": None,
    "fold_key": None,
}
WITHDRAW: dict[str, Any] = {
    "type": "withdraw",
    "version": 1,
    "workspace_id": "acme",
    "definition": "invoice.overdue",
    "request_key": "inv-42:1",
    "replacement_key": None,
    "withdrawn_at": "2026-11-30T10:05:00Z",
    "reason": "paid",
}
TEN = datetime(2026, 11, 30, 10, tzinfo=UTC)
LONE = "\ud83d"
LONG = "x" * 257


def text_of(body: dict[str, Any], **changes: Any) -> str:
    return json.dumps({**body, **changes})


def without(body: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in fields}


def published(**changes: Any) -> Publication:
    publication = parse_message(text_of(PUBLISH, **changes))
    assert isinstance(publication, Publication)
    return publication


def wrong_with(text: str) -> list[tuple[str, str]]:
    publication = parse_message(text)
    assert isinstance(publication, InvalidPublication)
    assert publication.request_id == request_id(ACME, INVOICE, "inv-42:1")
    return [(problem.field, problem.code) for problem in publication.problems]


def malformed(text: str) -> str:
    message = parse_message(text)
    assert isinstance(message, Malformed)
    return message.reason


# ---------------------------------------------------------------- publications


def test_a_publication_is_read_field_by_field() -> None:
    full = {
        "not_before": "2026-12-01T09:00:00+01:00",
        "deadline": "2026-12-02T10:00:00.5z",
        "replacement_key": "inv-42",
        "fold_key": "ana’s 📦",
    }
    publication = published(**full)
    assert publication == Publication(
        workspace_id=ACME,
        definition=INVOICE,
        request_key="inv-42:1",
        request_id=request_id(ACME, INVOICE, "inv-42:1"),
        published_at=TEN,
        data={"number": "42"},
        audience=Audience(people=("ana",), teams=("billing",), roles=("approver",)),
        not_before=datetime(2026, 12, 1, 8, tzinfo=UTC),
        deadline=datetime(2026, 12, 2, 10, 0, 0, 500_000, tzinfo=UTC),
        replacement_key="inv-42",
        fold_key="ana’s 📦",
        content_hash=publication.content_hash,
    )
    assert publication.published_at.tzinfo is UTC


def test_the_four_optional_fields_may_be_left_out() -> None:
    short = without(PUBLISH, "not_before", "deadline", "replacement_key", "fold_key")
    assert parse_message(json.dumps(short)) == published()


@pytest.mark.parametrize(
    ("given_audience", "audience"),
    [
        ({"hq": True}, Audience(hq=True)),
        ({"hq": True, "people": []}, Audience(hq=True)),
        ({"people": ["ana"], "hq": False}, Audience(people=("ana",))),
        ({}, Audience()),
        ({"people": [], "teams": [], "roles": []}, Audience()),
        ({"people": ["bo", "ana", "bo"]}, Audience(people=("bo", "ana", "bo"))),
    ],
)
def test_an_audience_names_people_or_the_headquarters(given_audience: dict[str, Any], audience: Audience) -> None:
    assert published(audience=given_audience).audience == audience


@pytest.mark.parametrize("key", ["k", "x" * 256, "é" * 256, "📦" * 256, "a#b/c%2F d", "\n", " ", "\x00"])
def test_a_key_is_any_text_of_up_to_256_characters(key: str) -> None:
    publication = published(request_key=key, replacement_key=key, fold_key=key)
    assert (publication.request_key, publication.replacement_key, publication.fold_key) == (key, key, key)
    assert publication.request_id == request_id(ACME, INVOICE, key)


def test_a_publication_written_again_is_the_same() -> None:
    changes = {
        "not_before": "2026-12-01T09:00:00.123456+01:00",
        "deadline": "9999-12-31T23:59:59Z",
        "replacement_key": "ключ",
        "fold_key": "k",
        "data": {"n": 10**37, "f": 1.5, "l": [None, True, {"é": "😀"}]},
    }
    for publication in (published(), published(**changes), published(audience={"hq": True})):
        assert parse_message(json.dumps(publication_body(publication))) == publication


# ---------------------------------------------------------------- what is wrong with a publication


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"colour": "red"}, [("colour", "unknown_field")]),
        ({"published_at": None}, [("published_at", "invalid_time")]),
        ({"published_at": 1_764_496_800}, [("published_at", "invalid_time")]),
        ({"published_at": "2026-11-30T10:00:00"}, [("published_at", "invalid_time")]),
        ({"published_at": "2026-11-30 10:00:00Z"}, [("published_at", "invalid_time")]),
        ({"published_at": "2026-11-30T10:00Z"}, [("published_at", "invalid_time")]),
        ({"published_at": "2026-11-31T10:00:00Z"}, [("published_at", "invalid_time")]),
        ({"published_at": "2026-11-30T10:00:60Z"}, [("published_at", "invalid_time")]),
        ({"published_at": "2026-W48-1T10:00:00Z"}, [("published_at", "invalid_time")]),
        ({"published_at": "٢٠٢٦-11-30T10:00:00Z"}, [("published_at", "invalid_time")]),
        ({"published_at": "0001-01-01T00:00:00+14:00"}, [("published_at", "invalid_time")]),
        ({"published_at": "9999-12-31T00:00:00Z"}, [("published_at", "invalid_time")]),
        ({"not_before": "soon"}, [("not_before", "invalid_time")]),
        ({"deadline": 5}, [("deadline", "invalid_time")]),
        ({"replacement_key": ""}, [("replacement_key", "invalid_key")]),
        ({"replacement_key": LONG}, [("replacement_key", "invalid_key")]),
        ({"fold_key": 7}, [("fold_key", "type")]),
        ({"fold_key": LONE}, [("fold_key", "invalid_text"), ("fold_key", "invalid_key")]),
        ({"data": None}, [("data", "type")]),
        ({"data": []}, [("data", "type")]),
        ({"data": "{}"}, [("data", "type")]),
        ({"data": {"recipient": {"name": "Eve"}}}, [("data.recipient", "reserved_field")]),
        ({"data": {"n": 10**38}}, [("data.n", "out_of_range")]),
        ({"data": {"n": [-(10**38)]}}, [("data.n.0", "out_of_range")]),
        ({"data": {"s": LONE}}, [("data.s", "invalid_text")]),
        ({"data": {LONE: 1}}, [("data.?", "invalid_text")]),
        ({"audience": None}, [("audience", "type")]),
        ({"audience": []}, [("audience", "type")]),
        ({"audience": {"people": "ana"}}, [("audience.people", "type")]),
        ({"audience": {"people": None}}, [("audience.people", "type")]),
        ({"audience": {"people": ["ana", 7, {}]}}, [("audience.people.1", "type"), ("audience.people.2", "type")]),
        ({"audience": {"everybody": True}}, [("audience.everybody", "unknown_field")]),
        ({"audience": {"hq": 1}}, [("audience.hq", "type")]),
        ({"audience": {"hq": "true"}}, [("audience.hq", "type")]),
        ({"audience": {"hq": True, "people": ["ana"]}}, [("audience", "not_allowed")]),
        ({"audience": {"hq": True, "roles": ["ops"]}}, [("audience", "not_allowed")]),
        ({"audience": {"people": ["p"] * 1_001}}, [("audience.people", "too_many")]),
        ({"audience": {"people": ["p"] * 600, "teams": ["t"] * 401}}, [("audience", "too_many")]),
        (
            {"published_at": "x", "data": 7, "audience": {"people": ["#"]}, "colour": "red"},
            [
                ("published_at", "invalid_time"),
                ("data", "type"),
                ("audience.people.0", "invalid_identifier"),
                ("colour", "unknown_field"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_publication_is_named(changes: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert wrong_with(text_of(PUBLISH, **changes)) == problems


@pytest.mark.parametrize("field", ["published_at", "data", "audience"])
def test_a_field_that_is_missing_is_named(field: str) -> None:
    assert wrong_with(json.dumps(without(PUBLISH, field))) == [(field, "required")]


@pytest.mark.parametrize("kind", ["people", "teams", "roles"])
@pytest.mark.parametrize("name", ["", "a#b", "a/b", "a%2Fb", "x" * 300, "😀", "-a", ".a", "a b", "é", "a\n", LONE])
def test_a_name_that_is_no_identifier_is_pointed_at(kind: str, name: str) -> None:
    found = wrong_with(text_of(PUBLISH, audience={kind: ["a", "b", "c", name]}))
    assert (f"audience.{kind}.3", "invalid_text" if name == LONE else "invalid_identifier") in found
    assert {field for field, _ in found} == {f"audience.{kind}.3"}


def test_data_may_have_32_kilobytes_as_utf_8() -> None:
    room = 32 * 1024 - len('{"x":""}')
    assert published(data={"x": "é" * (room // 2)}).data == {"x": "é" * (room // 2)}
    assert wrong_with(text_of(PUBLISH, data={"x": "é" * (room // 2 + 1)})) == [("data", "too_large")]


def test_a_thousand_audience_entries_are_the_most() -> None:
    people, teams = [f"p{number}" for number in range(600)], [f"t{number}" for number in range(400)]
    audience = published(audience={"people": people, "teams": teams}).audience
    assert audience == Audience(people=tuple(people), teams=tuple(teams))


@pytest.mark.parametrize(
    ("was", "is_now", "problem"),
    [
        ('"number": "42"', '"number": 1e999', ("data.number", "out_of_range")),
        ('"number": "42"', '"number": -1e999', ("data.number", "out_of_range")),
        ('"number": "42"', f'"number": {"9" * 5_000}', ("data.number", "out_of_range")),
        ('"number": "42"', '"number": 1, "number": 2', ("data.number", "repeated_field")),
        ('"people": ["ana"]', '"people": ["ana"], "people": []', ("audience.people", "repeated_field")),
        ('"data": {', '"data": {}, "data": {', ("data", "repeated_field")),
        ('"version": 1', '"version": 1, "version": 1', ("version", "repeated_field")),
    ],
)
def test_what_json_allows_and_nobody_can_mean_is_a_problem(was: str, is_now: str, problem: tuple[str, str]) -> None:
    assert wrong_with(json.dumps(PUBLISH).replace(was, is_now)) == [problem]


def test_deep_nesting_is_a_problem_of_its_place() -> None:
    def nest(levels: int) -> Any:
        return {"x": nest(levels - 1)} if levels else 1

    assert published(data=nest(31)).data == nest(31)
    deepest = "data" + ".x" * 31
    assert wrong_with(text_of(PUBLISH, data=nest(32))) == [(deepest, "too_deep")]
    assert wrong_with(text_of(PUBLISH, data=nest(300))) == [(deepest, "too_deep")]


@pytest.mark.parametrize("levels", [100, 900, 950, 960, 970, 980, 990, 2_000, 9_000, 50_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"x":', "}")])
def test_no_depth_of_nesting_ends_the_process(levels: int, opening: str, closing: str) -> None:
    text = json.dumps(PUBLISH).replace('"42"', opening * levels + "1" + closing * levels)
    assert isinstance(parse_message(text), InvalidPublication | Malformed)


def test_messages_name_the_remedy_and_never_quote_a_value() -> None:
    secret = "s3cret !"
    every = {name: secret for name in PUBLISH if name not in {"type", "version", "workspace_id", "definition"}}
    publication = parse_message(text_of(PUBLISH, **every, colour=secret))
    assert isinstance(publication, InvalidPublication)
    assert publication.problems == (
        Problem(
            field="published_at",
            code="invalid_time",
            message="write a time with an offset, as in 2026-11-30T10:00:00Z",
        ),
        Problem(field="data", code="type", message="this has to be an object"),
        Problem(field="audience", code="type", message="this has to be an object"),
        *(
            Problem(
                field=field,
                code="invalid_time",
                message="write a time with an offset, as in 2026-11-30T10:00:00Z",
            )
            for field in ("not_before", "deadline")
        ),
        Problem(field="colour", code="unknown_field", message="remove this field, or correct its name"),
    )


def test_a_hundred_problems_are_recorded_at_most() -> None:
    assert len(wrong_with(text_of(PUBLISH, **{f"field{number}": 1 for number in range(300)}))) == 100


def test_an_unknown_field_of_any_name_can_be_recorded() -> None:
    found = wrong_with(text_of(PUBLISH, **{"n" * 9_000: 1}))
    assert found == [("n" * 200, "unknown_field")]
    assert wrong_with(text_of(PUBLISH, **{LONE: 1}))[0] == ("?", "invalid_text")


# ---------------------------------------------------------------- what names no request


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the body is empty"),
        (" \n", "the body is empty"),
        ("not json", "the body isn't JSON"),
        ("{'a': 1}", "the body isn't JSON"),
        (json.dumps(PUBLISH)[:-1], "the body isn't JSON"),
        (json.dumps(PUBLISH).replace('"42"', "NaN"), "the body isn't JSON"),
        (json.dumps(PUBLISH).replace('"42"', "-Infinity"), "the body isn't JSON"),
        ("\ufeff" + json.dumps(PUBLISH), "the body isn't JSON"),
        ("[" * 100_000, "the body is nested too deeply"),
        ('{"a":' * 100_000, "the body is nested too deeply"),
        ("[]", "the body isn't a JSON object"),
        ("null", "the body isn't a JSON object"),
        ('"publish"', "the body isn't a JSON object"),
        ("7", "the body isn't a JSON object"),
        ("{}", "type is neither publish nor withdraw"),
        (text_of(PUBLISH, type="Publish"), "type is neither publish nor withdraw"),
        (text_of(PUBLISH, type=["publish"]), "type is neither publish nor withdraw"),
        (text_of(PUBLISH, version=2), "version isn't 1"),
        (text_of(PUBLISH, version="1"), "version isn't 1"),
        (text_of(PUBLISH, version=1.0), "version isn't 1"),
        (text_of(PUBLISH, version=True), "version isn't 1"),
        (json.dumps(without(PUBLISH, "version")), "version isn't 1"),
        (text_of(PUBLISH, workspace_id="a/b"), "publish: workspace_id (invalid_identifier)"),
        (text_of(PUBLISH, workspace_id=7), "publish: workspace_id (type)"),
        (text_of(PUBLISH, definition="x" * 65), "publish: definition (invalid_identifier)"),
        (text_of(PUBLISH, request_key=""), "publish: request_key (invalid_key)"),
        (text_of(PUBLISH, request_key=LONG), "publish: request_key (invalid_key)"),
        (text_of(PUBLISH, request_key=LONE), "publish: request_key (invalid_key)"),
        (text_of(PUBLISH, request_key=None), "publish: request_key (type)"),
        (json.dumps(without(PUBLISH, "request_key")), "publish: request_key (required)"),
        (
            json.dumps(PUBLISH).replace('"version": 1', '"version": 1, "workspace_id": "evil"'),
            "publish: workspace_id (repeated_field)",
        ),
        (
            text_of(PUBLISH, workspace_id="#", definition="#", request_key=7),
            "publish: workspace_id (invalid_identifier), definition (invalid_identifier), request_key (type)",
        ),
    ],
)
def test_a_message_that_names_no_request_is_malformed(text: str, reason: str) -> None:
    assert malformed(text) == reason


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        text_of(PUBLISH, data={"x": "x" * 1_000_000}),
        text_of(PUBLISH, data={f"k{number}": 1 for number in range(80_000)}),
        text_of(PUBLISH, **{f"k{number}": 1 for number in range(80_000)}),
        text_of(PUBLISH, audience={"people": ["!"] * 200_000}),
        json.dumps(PUBLISH)[:-1] + ',"a":1' * 160_000 + "}",
        json.dumps(PUBLISH)[:-1] + "".join(f',"k{n}":1,"k{n}":1' for n in range(40_000)) + "}",
        json.dumps(PUBLISH).replace('"42"', "9" * 1_000_000),
    ],
    ids=["text", "data", "fields", "audience", "repeats", "pairs", "digits"],
)
def test_a_megabyte_of_anything_is_read_in_seconds(text: str) -> None:
    assert isinstance(parse_message(text), InvalidPublication)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_whatever_a_field_holds_there_is_an_outcome(value: Any) -> None:
    for field in PUBLISH:
        assert not isinstance(parse_message(text_of(PUBLISH, **{field: value})), Withdrawal)
    for field in WITHDRAW:
        assert isinstance(
            parse_message(text_of(WITHDRAW, **{field: value})), Withdrawal | Malformed | InvalidPublication
        )


@given(st.text())
def test_whatever_text_arrives_there_is_an_outcome(text: str) -> None:
    assert isinstance(parse_message(text), Malformed)


# ---------------------------------------------------------------- the same content


@pytest.mark.parametrize(
    "same",
    [
        {"published_at": "2027-01-01T00:00:00Z"},
        {"audience": {"roles": ["approver"], "teams": ["billing"], "people": ["ana", "ana"], "hq": False}},
    ],
)
def test_what_asks_for_the_same_has_the_same_hash(same: dict[str, Any]) -> None:
    assert content_hash({**PUBLISH, **same}) == content_hash(PUBLISH)


def test_a_time_is_the_same_in_any_zone() -> None:
    zones = [{**PUBLISH, "deadline": at} for at in ("2026-12-01T10:00:00Z", "2026-12-01t11:00:00.000+01:00")]
    assert content_hash(zones[0]) == content_hash(zones[1])


@pytest.mark.parametrize(
    "other",
    [
        {"data": {"number": 42}},
        {"data": {"number": "42", "x": None}},
        {"audience": {"people": ["bo"]}},
        {"audience": {"hq": True}},
        {"not_before": "2026-12-01T10:00:00Z"},
        {"deadline": "2026-12-01T10:00:00Z"},
        {"replacement_key": "k"},
        {"fold_key": "k"},
    ],
)
def test_what_asks_for_something_else_has_another_hash(other: dict[str, Any]) -> None:
    assert published(**other).content_hash != published().content_hash


def test_an_invalid_publication_is_told_from_its_correction() -> None:
    wrong = [parse_message(text_of(PUBLISH, data=data)) for data in (7, 7, {"number": "42"})]
    hashes = [publication.content_hash for publication in wrong if not isinstance(publication, Withdrawal | Malformed)]
    assert (hashes[0] == hashes[1], hashes[0] == hashes[2]) == (True, False)


# ---------------------------------------------------------------- withdrawals


def test_a_withdrawal_names_one_of_two_keys() -> None:
    by_request = Withdrawal(
        workspace_id=ACME,
        definition=INVOICE,
        withdrawn_at=TEN + timedelta(minutes=5),
        request_key="inv-42:1",
        reason="paid",
    )
    by_replacement = Withdrawal(
        workspace_id=ACME, definition=INVOICE, withdrawn_at=TEN, replacement_key="inv-42", reason=None
    )
    assert parse_message(json.dumps(WITHDRAW)) == by_request
    short = without(WITHDRAW, "request_key", "reason") | {"replacement_key": "inv-42"}
    assert parse_message(text_of(short, withdrawn_at="2026-11-30T10:00:00Z")) == by_replacement


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"request_key": None}, "withdraw: request_key (required)"),
        ({"replacement_key": "inv-42"}, "withdraw: replacement_key (not_allowed)"),
        ({"request_key": ""}, "withdraw: request_key (invalid_key)"),
        ({"withdrawn_at": "2026-11-30T10:05:00"}, "withdraw: withdrawn_at (invalid_time)"),
        ({"withdrawn_at": None}, "withdraw: withdrawn_at (invalid_time)"),
        ({"workspace_id": "a b"}, "withdraw: workspace_id (invalid_identifier)"),
        ({"reason": "r" * 201}, "withdraw: reason (too_long)"),
        ({"reason": 7}, "withdraw: reason (type)"),
        ({"s3cret": 1}, "withdraw: a field (unknown_field)"),
    ],
)
def test_a_malformed_withdrawal_says_why_without_its_content(changes: dict[str, Any], reason: str) -> None:
    assert malformed(text_of(WITHDRAW, **changes)) == reason


# ---------------------------------------------------------------- over HTTP


def problems_over_http(body: object) -> list[tuple[str, str]]:
    problems = parse_publication(body, ACME)
    assert isinstance(problems, tuple)
    return [(problem.field, problem.code) for problem in problems]


def test_the_path_says_type_and_workspace() -> None:
    short = without(PUBLISH, "type", "workspace_id")
    assert parse_publication(short, ACME) == parse_publication(PUBLISH, ACME) == published()
    short = without(WITHDRAW, "type", "workspace_id")
    assert parse_withdrawal(short, ACME) == parse_message(json.dumps(WITHDRAW))


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ([], [("", "type")]),
        (None, [("", "type")]),
        (PUBLISH | {"workspace_id": "other"}, [("workspace_id", "not_allowed")]),
        (PUBLISH | {"type": "withdraw"}, [("type", "not_allowed")]),
        (PUBLISH | {"version": 2}, [("version", "not_allowed")]),
        (without(PUBLISH, "version"), [("version", "required")]),
        (without(PUBLISH, "definition", "request_key"), [("definition", "required"), ("request_key", "required")]),
        (PUBLISH | {"request_key": ""}, [("request_key", "invalid_key")]),
    ],
)
def test_a_publication_that_names_no_request_is_refused_at_once(body: object, problems: list[tuple[str, str]]) -> None:
    assert problems_over_http(body) == problems


def test_a_publication_that_names_its_request_is_recorded_whatever_else_is_wrong() -> None:
    assert isinstance(parse_publication(PUBLISH | {"data": 7}, ACME), InvalidPublication)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ("paid", [("", "type")]),
        (WITHDRAW | {"workspace_id": "other"}, [("workspace_id", "not_allowed")]),
        (WITHDRAW | {"request_key": None}, [("request_key", "required")]),
        (WITHDRAW | {"replacement_key": "k"}, [("replacement_key", "not_allowed")]),
        (WITHDRAW | {"withdrawn_at": "now", "x": 1}, [("withdrawn_at", "invalid_time"), ("x", "unknown_field")]),
        (without(WITHDRAW, "withdrawn_at"), [("withdrawn_at", "required")]),
    ],
)
def test_everything_wrong_with_a_withdrawal_is_answered(body: object, problems: list[tuple[str, str]]) -> None:
    found = parse_withdrawal(body, ACME)
    assert isinstance(found, tuple)
    assert [(problem.field, problem.code) for problem in found] == problems


def test_another_workspace_has_other_requests() -> None:
    one, two = (parse_publication(without(PUBLISH, "workspace_id"), WorkspaceId(name)) for name in ("acme", "beta"))
    assert isinstance(one, Publication)
    assert isinstance(two, Publication)
    assert (one.request_id, two.request_id) == (
        request_id(WorkspaceId("acme"), DefinitionKey("invoice.overdue"), "inv-42:1"),
        request_id(WorkspaceId("beta"), DefinitionKey("invoice.overdue"), "inv-42:1"),
    )


def test_json_is_read_as_it_is_written() -> None:
    value = {"a": [1, 2.5, "é", None, True, {}], "b": -0.0}
    assert read_json(json.dumps(value)) == value
