"""JSON Schema: what is accepted as one, what it says of data, and that no schema can be used to do harm."""

from typing import Any

import pytest

from notify_core.domain.problem import Problem
from notify_core.domain.schema import check_data, check_schema
from tests.builders import a_definition

STRING = {"type": "string"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


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
        nested(20),
        chain(5),
    ],
)
def test_a_schema_of_data_is_accepted(schema: dict[str, Any]) -> None:
    assert check_schema(schema) == ()


@pytest.mark.parametrize(
    ("schema", "field", "code"),
    [
        ({"type": "nothing"}, "schema.type", "invalid_schema"),
        ({"type": 7}, "schema.type", "invalid_schema"),
        ({"required": "number"}, "schema.required", "invalid_schema"),
        ({"properties": {"a": {"minLength": -1}}}, "schema.properties.a.minLength", "invalid_schema"),
        ({"properties": []}, "schema.properties", "invalid_schema"),
        ({"properties": {"a": {"pattern": "("}}}, "schema.properties.a.pattern", "invalid_schema"),
        ({"properties": {"a": {"pattern": "(?=a)b"}}}, "schema.properties.a.pattern", "invalid_schema"),
        ({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}, "schema.properties.a.pattern", "invalid_schema"),
        ({"const": "\ud800"}, "schema", "invalid_schema"),
        ({"type": "array"}, "schema.type", "not_allowed"),
        ({"type": ["string", "null"]}, "schema.type", "not_allowed"),
        ({"$schema": "https://acme.example/own"}, "schema.$schema", "not_allowed"),
        ({"$schema": 7}, "schema.$schema", "not_allowed"),
        ({"properties": {"recipient": STRING}}, "schema.properties.recipient", "reserved_field"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "schema.$ref", "invalid_reference"),
        ({"$ref": "https://acme.example/order.json"}, "schema.$ref", "invalid_reference"),
        ({"$ref": "file:///etc/passwd"}, "schema.$ref", "invalid_reference"),
        ({"$ref": "#/$defs/nothing"}, "schema.$ref", "invalid_reference"),
        ({"$ref": "#named"}, "schema.$ref", "invalid_reference"),
        ({"$ref": "#"}, "schema.$ref", "invalid_reference"),
        ({"$ref": "#/"}, "schema.$ref", "invalid_reference"),
        ({"properties": {"a": {"$anchor": "named"}}}, "schema.properties.a.$anchor", "invalid_reference"),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, "schema.properties.a.$dynamicRef", "invalid_reference"),
        ({"properties": {"a": {"$id": "other"}}}, "schema.properties.a.$id", "invalid_reference"),
        ({"$recursiveRef": "#"}, "schema.$recursiveRef", "invalid_reference"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "schema.properties.a.$ref.$ref", "invalid_reference"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
            "schema.$defs.a.$ref.$ref.$ref",
            "invalid_reference",
        ),
        ({"properties": {"text": {"const": "x" * 33_000}}}, "schema", "too_large"),
        (chain(12), "schema", "too_large"),
        (chain(60), "schema", "too_deep"),
        (nested(33), "schema", "too_deep"),
    ],
)
def test_what_is_no_schema_of_data_is_refused_with_its_place(schema: dict[str, Any], field: str, code: str) -> None:
    assert [(problem.field, problem.code) for problem in check_schema(schema)] == [(field, code)]


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
