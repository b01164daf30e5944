"""JSON Schema: what is accepted as one, what it says of data, and that no schema can be used to do harm."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import ValidationError

from notify_core.domain.problem import Problem
from notify_core.domain.schema import check_data, check_schema
from tests.builders import a_definition

STRING = {"type": "string"}


def nested(times: int, innermost: dict[str, Any] | None = None) -> dict[str, Any]:
    """A schema with one field, whose schema has one field …: each takes two levels."""
    schema = innermost or {}
    for _ in range(times):
        schema = {"properties": {"a": schema}}
    return schema


def referred_to(schema: dict[str, Any], other: dict[str, Any] | None = None) -> dict[str, Any]:
    """The schema as that of a field, which refers to it."""
    return {"properties": {"a": {"$ref": "#/$defs/a"}, "b": other or {}}, "$defs": {"a": schema}}


def chain(links: int, step: str = "allOf") -> dict[str, Any]:
    """Definitions that each refer twice to the next: written out, they double with every link."""
    links_to_next = {
        f"d{link}": {step: [{"$ref": f"#/$defs/d{link + 1}"}, {"$ref": f"#/$defs/d{link + 1}"}]}
        for link in range(links)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**links_to_next, f"d{links}": STRING}}


# ---------------------------------------------------------------- schemas


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": ["object", "null"]},
        {"type": "object", "required": ["number"], "properties": {"number": STRING}},
        {"$ref": "#/$defs/order", "$defs": {"order": {"type": "object"}}},
        {"properties": {"a": {"$ref": "#/$defs/a~1b~0c"}}, "$defs": {"a/b~c": STRING}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": STRING},
            "properties": {"a": {"$ref": "#/definitions/a"}},
        },
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://acme.example/order"},
        {"$schema": "https://json-schema.org/draft/2019-09/schema"},
        {"properties": {"$ref": STRING, "$id": STRING, "type": STRING}},
        {"properties": {"name": {"pattern": "^[A-Za-z]{1,80}$"}, "free": True, "none": False}},
        {"properties": {"name": {"pattern": "(a{100}){300}"}}},
        nested(20),
        chain(5),
    ],
)
def test_a_schema_of_data_is_accepted(schema: dict[str, Any]) -> None:
    assert check_schema(schema) == ()


@pytest.mark.parametrize(
    ("schema", "field", "keyword"),
    [
        ({"type": "nothing"}, "schema.type", "anyOf"),
        ({"type": 7}, "schema.type", "anyOf"),
        ({"required": "number"}, "schema.required", "type"),
        ({"properties": {"a": {"minLength": -1}}}, "schema.properties.a.minLength", "minimum"),
        ({"properties": []}, "schema.properties", "type"),
        ({"properties": {"a": {"pattern": 7}}}, "schema.properties.a.pattern", "type"),
        ({"properties": {"pattern": 7}}, "schema.properties.pattern", "type"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "%%%"}, "schema.$id", "format"),
        ({"$id": 7}, "schema.$id", "type"),
    ],
)
def test_what_json_schema_does_not_allow_is_refused_with_its_place(
    schema: dict[str, Any], field: str, keyword: str
) -> None:
    message = f"JSON Schema doesn't allow this value here ({keyword})"
    assert check_schema(schema) == (Problem(field=field, code="invalid_schema", message=message),)


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"properties": {"a": {"pattern": "("}}}, "schema.properties.a.pattern"),
        ({"properties": {"a": {"pattern": "(?=a)b"}}}, "schema.properties.a.pattern"),
        ({"properties": {"a": {"pattern": "(a{100}){500}"}}}, "schema.properties.a.pattern"),
        ({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}, "schema.properties.a.pattern"),
        ({"patternProperties": {"(?=a)b": STRING}}, "schema.patternProperties.(?=a)b"),
    ],
)
def test_a_pattern_that_takes_more_than_linear_time_or_much_memory_is_refused(
    schema: dict[str, Any], field: str
) -> None:
    message = "write a regular expression without look-around, back references and very large repetitions"
    assert check_schema(schema) == (Problem(field=field, code="invalid_schema", message=message),)


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "schema.$ref"),
        ({"$ref": "https://acme.example/order.json"}, "schema.$ref"),
        ({"$ref": "file:///etc/passwd"}, "schema.$ref"),
        ({"$ref": "#/$defs/nothing"}, "schema.$ref"),
        ({"$ref": "order/$defs/a", "$defs": {"a": STRING}}, "schema.$ref"),
        ({"$ref": "#/allOf/0", "allOf": [STRING]}, "schema.$ref"),
        ({"$ref": "#named"}, "schema.$ref"),
        ({"$ref": "#/"}, "schema.$ref"),
        ({"properties": {"a": {"items": [{}, {"$ref": "#a"}]}}}, "schema.properties.a.items.1.$ref"),
        # Validators read %61 as a, and what was measured would be another part.
        ({"$ref": "#/$defs/%61", "$defs": {"%61": STRING, "a": {"$ref": "#/$defs/%61"}}}, "schema.$defs.a.$ref"),
    ],
)
def test_a_reference_to_anything_but_a_named_part_is_refused(schema: dict[str, Any], field: str) -> None:
    message = "refer to a part of this schema, as #/$defs/name; nothing else is read"
    assert check_schema(schema) == (Problem(field=field, code="invalid_reference", message=message),)


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"properties": {"a": {"$anchor": "named"}}}, "schema.properties.a.$anchor"),
        ({"properties": {"a": {"$dynamicAnchor": "named"}}}, "schema.properties.a.$dynamicAnchor"),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, "schema.properties.a.$dynamicRef"),
        ({"properties": {"a": {"$id": "other"}}}, "schema.properties.a.$id"),
        ({"$recursiveRef": "#"}, "schema.$recursiveRef"),
        ({"$recursiveAnchor": True}, "schema.$recursiveAnchor"),
    ],
)
def test_what_leads_a_reference_elsewhere_is_refused(schema: dict[str, Any], field: str) -> None:
    message = "name what is referred to under $defs, and refer to it as #/$defs/name"
    assert check_schema(schema) == (Problem(field=field, code="invalid_reference", message=message),)


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"$ref": "#"}, "schema.$ref"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "schema.properties.a.$ref.$ref"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "schema.$defs.a.$ref.$ref.$ref"),
    ],
)
def test_a_reference_that_leads_back_to_itself_is_refused(schema: dict[str, Any], field: str) -> None:
    message = "write the schema without recursion: this leads back to itself"
    assert check_schema(schema) == (Problem(field=field, code="invalid_reference", message=message),)


DIALECTS = (
    "leave it out, or use one of: https://json-schema.org/draft/2020-12/schema, "
    "https://json-schema.org/draft/2019-09/schema, http://json-schema.org/draft-07/schema"
)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$schema": "https://acme.example/own"}, ("schema.$schema", "not_allowed", DIALECTS)),
        ({"$schema": 7}, ("schema.$schema", "not_allowed", DIALECTS)),
        ({"type": "array"}, ("schema.type", "not_allowed", 'the data is an object: use "object"')),
        ({"type": ["string", "null"]}, ("schema.type", "not_allowed", 'the data is an object: use "object"')),
        (
            {"properties": {"recipient": STRING}},
            (
                "schema.properties.recipient",
                "reserved_field",
                "templates call the person who is told so; choose another name",
            ),
        ),
        (
            {"const": "\ud800"},
            ("schema", "invalid_schema", "this is no JSON Schema; check it with any validator"),
        ),
    ],
)
def test_a_schema_of_something_else_is_refused(schema: dict[str, Any], problem: tuple[str, str, str]) -> None:
    field, code, message = problem
    assert check_schema(schema) == (Problem(field=field, code=code, message=message),)


def test_everything_in_the_way_of_a_purpose_is_told_at_once() -> None:
    schema = {"type": "string", "properties": {"recipient": STRING}}
    assert [problem.field for problem in check_schema(schema)] == ["schema.type", "schema.properties.recipient"]


# ---------------------------------------------------------------- limits of schemas


def test_a_schema_has_32_kilobytes_at_most() -> None:
    longest = {"title": "x" * (32_768 - len('{"title": ""}'))}
    assert check_schema(longest) == ()
    message = "it may have 32768 bytes at most"
    assert check_schema({"title": longest["title"] + "x"}) == (
        Problem(field="schema", code="too_large", message=message),
    )


def test_a_schema_has_a_thousand_parts_at_most_with_its_references_written_out() -> None:
    """The parts that the reference leads to count where it stands, and where they do."""
    largest = {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"allOf": [{}] * 497}}}
    assert check_schema(largest) == ()
    message = "with its references written out it has 1001 parts; use 1000 at most"
    assert check_schema({**largest, "not": {}}) == (Problem(field="schema", code="too_large", message=message),)
    assert [problem.code for problem in check_schema(chain(12))] == ["too_large"]


@pytest.mark.parametrize(
    ("deepest", "too_deep"),
    [
        (nested(31, {"const": []}), nested(31, {"const": [[]]})),
        (referred_to(nested(30)), referred_to(nested(30, {"const": []}))),
        (referred_to(nested(30)), referred_to(nested(30), {"items": {"$ref": "#/$defs/a"}})),
        (chain(5), chain(60)),
    ],
)
def test_a_schema_nests_64_levels_at_most_with_its_references_written_out(
    deepest: dict[str, Any], too_deep: dict[str, Any]
) -> None:
    assert check_schema(deepest) == ()
    message = "with its references written out it nests deeper than 64 levels; simplify it"
    assert check_schema(too_deep) == (Problem(field="schema", code="too_deep", message=message),)


def test_a_long_chain_is_refused_in_whatever_order_it_is_written() -> None:
    schema = chain(300)
    backwards = {"$defs": dict(reversed(schema["$defs"].items())), "$ref": "#/$defs/d0"}
    assert [problem.code for problem in (*check_schema(schema), *check_schema(backwards))] == [
        "too_deep",
        "too_deep",
    ]


# ---------------------------------------------------------------- data

EVERYTHING = {
    "type": "object",
    "required": ["number", "due"],
    "additionalProperties": False,
    "properties": {
        "number": {"type": "string", "pattern": "^[0-9]+$"},
        "due": {"type": "string", "format": "date-time"},
        "customer": {"type": "string", "minLength": 3, "maxLength": 5},
        "email": {"format": "email"},
        "link": {"format": "uri"},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "amount": {"multipleOf": 5},
        "kind": {"enum": ["late", "very late"]},
        "version": {"const": 2},
        "tags": {"type": "array", "minItems": 2, "maxItems": 3, "uniqueItems": True},
        "extra": {"type": "object", "minProperties": 1, "maxProperties": 1},
        "lines": {
            "type": "array",
            "items": {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}},
        },
        "either": {"anyOf": [STRING, {"type": "number"}]},
        "never": False,
        "optional": {"type": ["string", "null"]},
    },
}
VALID: dict[str, Any] = {"number": "42", "due": "2026-11-30T10:00:00Z"}


def problems_of(changes: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = check_data(a_definition(schema=EVERYTHING), {**VALID, **changes})
    return [(problem.field, problem.code, problem.message) for problem in found]


def test_valid_data_has_no_problems() -> None:
    assert problems_of({"customer": "Acme", "lines": [{"amount": 1.5}], "tags": ["a", "b"], "optional": None}) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"number": 42}, ("data.number", "type", "its type has to be string")),
        ({"number": "4x"}, ("data.number", "pattern", 'match the pattern "^[0-9]+$"')),
        ({"due": "2026-11-30T10:00:00"}, ("data.due", "format", "write it in the format date-time")),
        ({"email": "ana"}, ("data.email", "format", "write it in the format email")),
        ({"link": "no link"}, ("data.link", "format", "write it in the format uri")),
        ({"customer": "ab"}, ("data.customer", "too_short", "use at least 3 characters")),
        ({"customer": "abcdef"}, ("data.customer", "too_long", "use at most 5 characters")),
        ({"days": 0}, ("data.days", "too_small", "use at least 1")),
        ({"days": 10}, ("data.days", "too_large", "use at most 9")),
        ({"days": "3"}, ("data.days", "type", "its type has to be integer")),
        ({"days": True}, ("data.days", "type", "its type has to be integer")),
        ({"share": 0}, ("data.share", "too_small", "use more than 0")),
        ({"share": 1}, ("data.share", "too_large", "use less than 1")),
        ({"amount": 7}, ("data.amount", "out_of_range", "use a multiple of 5")),
        ({"kind": "on time"}, ("data.kind", "not_allowed", 'use one of ["late", "very late"]')),
        ({"version": 3}, ("data.version", "not_allowed", "use 2")),
        ({"tags": ["a"]}, ("data.tags", "too_few", "list at least 2 items")),
        ({"tags": ["a", "b", "c", "d"]}, ("data.tags", "too_many", "list at most 3 items")),
        ({"tags": ["a", "a"]}, ("data.tags", "not_unique", "list every item only once")),
        ({"extra": {}}, ("data.extra", "too_few", "use at least 1 fields")),
        ({"extra": {"a": 1, "b": 2}}, ("data.extra", "too_many", "use at most 1 fields")),
        ({"lines": [{"amount": 1}, {}]}, ("data.lines.1.amount", "required", "add this field")),
        ({"lines": [{"amount": "1"}]}, ("data.lines.0.amount", "type", "its type has to be number")),
        ({"either": []}, ("data.either", "not_allowed", "correct it as the definition's schema asks")),
        ({"never": 1}, ("data.never", "not_allowed", "remove it: the definition's schema allows nothing here")),
        ({"optional": 1}, ("data.optional", "type", "its type has to be null or string")),
        ({"colour": "red"}, ("data.colour", "unknown_field", "remove this field")),
    ],
)
def test_what_is_wrong_with_data_is_named_with_the_remedy(
    changes: dict[str, Any], problem: tuple[str, str, str]
) -> None:
    assert problems_of(changes) == [problem]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"enum": ["früh", "spät"]}, "bald", 'use one of ["früh", "spät"]'),
        ({"const": "é" * 198}, "", f'use "{"é" * 198}"'),
        ({"const": "é" * 199}, "", f'use "{"é" * 199}'),
        ({"pattern": "x" * 300}, "", f'match the pattern "{"x" * 199}'),
        ({"multipleOf": 0.5}, 0.3, "use a multiple of 0.5"),
        ({"minimum": 10**37}, 0, f"use at least {10**37}"),
    ],
)
def test_what_the_schema_asks_is_quoted_as_it_was_written_200_characters_at_most(
    schema: dict[str, Any], value: object, message: str
) -> None:
    definition = a_definition(schema={"properties": {"x": schema}})
    assert [problem.message for problem in check_data(definition, {"x": value})] == [message]


def test_everything_wrong_with_data_is_told_at_once() -> None:
    found = check_data(a_definition(schema=EVERYTHING), {"days": 0, "colour": "red", "kind": "x"})
    assert sorted((problem.field, problem.code) for problem in found) == [
        ("data.colour", "unknown_field"),
        ("data.days", "too_small"),
        ("data.due", "required"),
        ("data.kind", "not_allowed"),
        ("data.number", "required"),
    ]


def test_messages_never_quote_the_data() -> None:
    secret = "s3cret"
    for name in EVERYTHING["properties"]:  # type: ignore[attr-defined]
        for value in (secret, [secret], {"x": secret}):
            assert all(secret not in message for _, _, message in problems_of({name: value}))


def test_a_hundred_problems_are_told_at_most() -> None:
    definition = a_definition(schema={"properties": {"l": {"items": STRING}}})
    assert len(check_data(definition, {"l": [1] * 300})) == 100


def test_a_very_long_field_name_is_cut_in_a_problem() -> None:
    definition = a_definition(schema={"properties": {}, "additionalProperties": False})
    assert check_data(definition, {"n" * 9_000: 1}) == (
        Problem(field="data." + "n" * 195, code="unknown_field", message="remove this field"),
    )


def test_nothing_is_read_from_elsewhere_even_for_a_schema_that_was_never_checked(tmp_path: Path) -> None:
    elsewhere = tmp_path / "order.json"
    elsewhere.write_text("{}", encoding="utf-8")
    with pytest.raises(ValidationError, match="retrieving it failed"):
        check_data(a_definition(schema={"$ref": elsewhere.as_uri()}), {})


@pytest.mark.parametrize("values", [[1] * 12_498, [[1]] * 6_249, [{"a": 1}] * 6_249])
def test_beyond_fifty_thousand_steps_only_the_first_problem_is_told(values: list[object]) -> None:
    """Four schemas, and 12,500 values with the data itself and its list; then one more."""
    definition = a_definition(schema={"properties": {"x": {"items": STRING}}})
    assert len(check_data(definition, {"x": values})) == 100
    assert check_data(definition, {"x": [*values, 1]}) == (
        Problem(field="data.x.0", code="type", message="its type has to be string"),
    )


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("schema", "data", "count"),
    [
        # Listing every error would copy 16,000 values for each of 300 alternatives: only the first is told.
        ({"items": {"anyOf": [{"type": "string", "minLength": n} for n in range(300)]}}, [1] * 16_000, 1),
        ({"items": STRING}, [1] * 16_000, 1),
        ({"items": {"pattern": "^(a+)+$"}}, ["a" * 30_000 + "!"], 1),
        ({"uniqueItems": True}, [[n] for n in range(6_000)], 0),
        ({"pattern": "^(x{0,200}){0,5}y"}, "x" * 30_000, 1),
        ({"format": "email"}, "a" * 30_000, 1),
    ],
)
def test_no_data_makes_its_check_slow(schema: dict[str, Any], data: object, count: int) -> None:
    assert len(check_data(a_definition(schema={"properties": {"x": schema}}), {"x": data})) == count


def test_numbers_of_thirty_eight_digits_are_compared_exactly() -> None:
    definition = a_definition(schema={"properties": {"n": {"maximum": 10**37}}})
    assert check_data(definition, {"n": 10**37}) == ()
    assert [problem.code for problem in check_data(definition, {"n": 10**37 + 1})] == ["too_large"]
