"""docs/asyncapi.yaml says what the code accepts: fields, limits and examples, and nothing else by chance."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from notify_core.adapters.sms import CONTEXT_KEYS, parse_receipt
from notify_core.domain import limits
from notify_core.domain.identifiers import IDENTIFIER, KEY_LENGTH_MAX
from notify_core.domain.publication import publication_body
from notify_core.domain.receipt import Receipt
from notify_core.domain.request import InvalidPublication, Malformed, Publication, Withdrawal
from notify_core.messages.publications import parse_message

Json = dict[str, Any]

DOCUMENT: Json = yaml.safe_load((Path(__file__).parents[1] / "docs" / "asyncapi.yaml").read_text(encoding="utf-8"))
MESSAGES: Json = DOCUMENT["components"]["messages"]
SCHEMAS: Json = DOCUMENT["components"]["schemas"]
UNSAYABLE = {"too_large", "too_deep", "out_of_range", "repeated_field", "invalid_text", "invalid_time", "too_many"}
"""The codes of what the document says in words only; `too_many` is the audience's sum."""


def validator(schema: str) -> jsonschema_rs.Draft7Validator:
    return jsonschema_rs.Draft7Validator(
        {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    )


SCHEMA_OF = {
    "publish": "Publication",
    "withdraw": "Withdrawal",
    "receipt": "Receipt",
    "receiptBySns": "SnsNotification",
    "receiptByEventBridge": "EventBridgeEvent",
}
VALIDATORS = {name: validator(schema) for name, schema in SCHEMA_OF.items()}


def examples(*names: str) -> list[Any]:
    return [
        pytest.param(name, example["payload"], id=f"{name}-{example['name']}")
        for name in names
        for example in MESSAGES[name]["examples"]
    ]


def resolved(reference: str) -> Any:
    found: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def _nodes(node: Any) -> Iterator[Json]:
    if isinstance(node, dict):
        yield node
    children: list[Any] = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    for child in children:
        yield from _nodes(child)


# ---------------------------------------------------------------- the document


def test_every_reference_leads_somewhere_and_everything_is_used() -> None:
    references = set(re.findall(r"'\$ref': '(#[^']+)'", str(DOCUMENT)))
    for reference in references:
        assert resolved(reference) is not None
    for kind in ("messages", "schemas"):
        used = {name.rpartition("/")[2] for name in references if name.startswith(f"#/components/{kind}/")}
        assert used == set(DOCUMENT["components"][kind])


def test_nothing_stands_beside_a_reference_where_it_would_be_ignored() -> None:
    found = [node for node in _nodes(DOCUMENT) if "$ref" in node and len(node) > 1]
    assert found == []


def test_every_schema_is_a_schema() -> None:
    for schema in SCHEMAS.values():
        assert jsonschema_rs.meta.is_valid({"$schema": "http://json-schema.org/draft-07/schema#", **schema})


def test_the_operations_receive_every_message_of_their_channel() -> None:
    assert {
        name: (operation["action"], operation["channel"]["$ref"], [item["$ref"] for item in operation["messages"]])
        for name, operation in DOCUMENT["operations"].items()
    } == {
        "processRequests": (
            "receive",
            "#/channels/requests",
            ["#/channels/requests/messages/publish", "#/channels/requests/messages/withdraw"],
        ),
        "recordReceipts": (
            "receive",
            "#/channels/receipts",
            [
                "#/channels/receipts/messages/receipt",
                "#/channels/receipts/messages/receiptBySns",
                "#/channels/receipts/messages/receiptByEventBridge",
            ],
        ),
    }


def test_limits_are_those_of_the_code() -> None:
    assert SCHEMAS["Identifier"]["pattern"] == f"^{IDENTIFIER.pattern}$"
    assert SCHEMAS["Key"]["maxLength"] == SCHEMAS["OptionalKey"]["maxLength"] == KEY_LENGTH_MAX
    assert SCHEMAS["Names"]["maxItems"] == limits.AUDIENCE_ENTRIES_MAX
    assert SCHEMAS["Withdrawal"]["properties"]["reason"]["maxLength"] == limits.REASON_CHARACTERS_MAX
    words = " ".join(DOCUMENT["info"]["description"].split())
    assert f"at most {limits.DATA_BYTES_MAX // 1024} KB" in words
    assert f"at most {limits.AUDIENCE_ENTRIES_MAX:,} people, teams and roles in all" in words
    assert f"at most {limits.JSON_DEPTH_MAX} levels" in words
    assert f"at most {limits.NUMBER_DIGITS_MAX} digits" in words
    assert f"at most {limits.CLOCK_SKEW_SECONDS // 60} minutes ahead" in words
    assert f"at most {limits.DEFER_SECONDS_MAX // 86_400} days after" in words


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize(("name", "payload"), examples("publish", "withdraw"))
def test_examples_are_what_they_say_to_the_code_too(name: str, payload: Json) -> None:
    assert VALIDATORS[name].is_valid(payload)
    assert isinstance(parse_message(json.dumps(payload)), {"publish": Publication, "withdraw": Withdrawal}[name])


def test_a_publication_that_the_platform_writes_itself_has_exactly_these_fields() -> None:
    (payload, *_) = (example["payload"] for example in MESSAGES["publish"]["examples"])
    publication = parse_message(json.dumps(payload))
    assert isinstance(publication, Publication)
    body = publication_body(publication)
    assert VALIDATORS["publish"].is_valid(body)
    assert set(body) == set(SCHEMAS["Publication"]["properties"])


def shapes(name: str) -> Json:
    """A message with every field that there is."""
    full: Json = dict.fromkeys(SCHEMAS[SCHEMA_OF[name]]["properties"])
    payload: Json = MESSAGES[name]["examples"][0]["payload"]
    return full | payload


def codes(text: str) -> set[str] | None:
    """What the code finds wrong with a message; None where it accepts it."""
    match parse_message(text):
        case Publication() | Withdrawal():
            return None
        case InvalidPublication(problems=problems):
            return {problem.code for problem in problems}
        case Malformed(reason=reason):
            return set(re.findall(r"\((\w+)\)", reason)) or {reason}


@pytest.mark.parametrize("name", ["publish", "withdraw"])
def test_a_field_is_required_by_both_or_by_neither(name: str) -> None:
    for field in shapes(name):
        body = {key: value for key, value in shapes(name).items() if key != field}
        assert VALIDATORS[name].is_valid(body) == (codes(json.dumps(body)) is None), field


@pytest.mark.parametrize("name", ["publish", "withdraw"])
def test_a_field_that_is_unknown_is_refused_by_both(name: str) -> None:
    body = shapes(name) | {"priority": "high"}
    assert not VALIDATORS[name].is_valid(body)
    assert codes(json.dumps(body)) == {"unknown_field"}
    nested = shapes("publish") | {"audience": {"everybody": True}}
    assert not VALIDATORS["publish"].is_valid(nested)
    assert codes(json.dumps(nested)) == {"unknown_field"}


TEXTS = st.sampled_from(["", "acme", "inv-42:1", ".", "-a", "é", "📦", "a b", "x" * 64, "x" * 65, "k" * 256, "k" * 257])
TIMES = st.sampled_from(
    [
        "2026-11-30T10:00:00Z",
        "2026-11-30t10:00:00.123456789+23:59",
        "2026-11-30T10:00:00",
        "2026-11-30 10:00:00Z",
        "2026-11-30T10:00Z",
        "2026-02-30T10:00:00Z",
        "2026-11-30T24:00:01Z",
        "2026-11-30T10:00:00.1234567890Z",
        "2026-11-30T10:00:00+0100",
        "9999-12-31T23:59:59Z",
        "1796032800",
        "٢٠٢٦-11-30T10:00:00Z",
    ]
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | TIMES
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.lists(TEXTS, max_size=3) | st.sampled_from([["a"] * 1000, ["a"] * 1001])
AUDIENCES = st.fixed_dictionaries(
    {}, optional={"people": NAMES, "teams": NAMES, "roles": NAMES, "hq": st.booleans(), "everyone": st.just(value=True)}
)
DATA = st.dictionaries(st.sampled_from(["number", "recipient", "data"]), ANYTHING, max_size=3)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["publish", "withdraw", "Publish", None]),
    "version": st.sampled_from([1, 2, "1", True, None]),
    "workspace_id": TEXTS,
    "definition": TEXTS,
    "request_key": TEXTS | st.none(),
    "replacement_key": TEXTS | st.none(),
    "fold_key": TEXTS | st.none(),
    "published_at": TIMES,
    "withdrawn_at": TIMES,
    "not_before": TIMES | st.none(),
    "deadline": TIMES | st.none(),
    "data": DATA,
    "audience": AUDIENCES,
    "reason": TEXTS | st.none() | st.sampled_from(["r" * 200, "r" * 201]),
}


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, Json]:
    """A message that is right but for a few fields, which have likely values or any, or are gone."""
    name = draw(st.sampled_from(["publish", "withdraw"]))
    body = shapes(name)
    for field in draw(st.lists(st.sampled_from(sorted(body)), max_size=2, unique=True)):
        is_likely = field == "version" or draw(st.integers(0, 3)) > 0
        body[field] = draw(FIELDS[field] if is_likely else ANYTHING)
    if draw(st.integers(0, 3)) == 0:
        del body[draw(st.sampled_from(sorted(body)))]
    return name, body


@given(messages())
def test_what_the_schema_takes_is_accepted_or_refused_for_what_no_schema_can_say(message: tuple[str, Json]) -> None:
    name, body = message
    found = codes(json.dumps(body))
    if VALIDATORS[name].is_valid(body):
        assert found is None or found <= UNSAYABLE
    else:
        assert found is not None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"data": {"text": "x" * 33_000}}, "too_large"),
        ({"data": {"n": 10**38}}, "out_of_range"),
        ({"audience": {"people": ["a"] * 600, "teams": ["b"] * 600}}, "too_many"),
        ({"request_key": "k", "fold_key": "\ud83d"}, "invalid_key"),
        ({"published_at": "2026-02-30T10:00:00Z"}, "invalid_time"),
    ],
)
def test_what_no_schema_can_say_gets_a_row_with_the_problem(changes: Json, code: str) -> None:
    body = json.dumps(shapes("publish") | changes)
    publication = parse_message(body)
    assert isinstance(publication, InvalidPublication)
    assert code in {problem.code for problem in publication.problems}


# ---------------------------------------------------------------- receipts


@pytest.mark.parametrize(("name", "payload"), examples("receipt", "receiptBySns", "receiptByEventBridge"))
def test_examples_of_receipts_are_read(name: str, payload: Json) -> None:
    assert VALIDATORS[name].is_valid(payload)
    receipt = parse_receipt(payload)
    assert isinstance(receipt, Receipt)
    assert (receipt.workspace_id, receipt.recipient, receipt.at) == (
        "acme",
        "ana",
        datetime.fromtimestamp(1796032800, tz=UTC),
    )


def test_a_receipt_brings_back_the_context_that_we_send() -> None:
    assert SCHEMAS["Receipt"]["properties"]["context"]["required"] == list(CONTEXT_KEYS)


@pytest.mark.parametrize("field", ["eventType", "messageId", "eventTimestamp", "context"])
def test_a_receipt_without_a_required_field_is_none(field: str) -> None:
    payload = {key: value for key, value in MESSAGES["receipt"]["examples"][0]["payload"].items() if key != field}
    assert not VALIDATORS["receipt"].is_valid(payload)
    assert parse_receipt(payload) is None
