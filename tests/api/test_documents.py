"""The two documents and the models of the code say the same of every body, field by field: neither drifts away."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from notify_core.domain.identifiers import DefinitionKey, PersonId
from notify_core.domain.problem import Problem
from notify_core.domain.request import InvalidPublication
from notify_core.messages.calls import ReadAllBody, RetryBody
from notify_core.messages.definitions import parse_definition
from notify_core.messages.fields import Body, read_body
from notify_core.messages.publications import parse_publication, parse_withdrawal
from notify_core.messages.registry import parse_person, parse_workspace
from tests.api import contract
from tests.builders import ACME

Json = dict[str, Any]

QUEUES: Json = yaml.safe_load((Path(__file__).parents[2] / "docs" / "asyncapi.yaml").read_text(encoding="utf-8"))
DOCUMENTS = {"openapi": contract.DOCUMENT, "asyncapi": QUEUES}
SAID_BY_THE_PATH = {"type", "workspace_id"}
NAMED = {
    "_PublicationBody": ("asyncapi", "Publication"),
    "_WithdrawalBody": ("asyncapi", "Withdrawal"),
    "_AudienceBody": ("asyncapi", "Audience"),
    "_WorkspaceBody": ("openapi", "WorkspaceBody"),
    "_PersonBody": ("openapi", "PersonBody"),
    "_DefinitionBody": ("openapi", "DefinitionBody"),
    "_FoldBody": ("openapi", "Fold"),
    "ReadAllBody": ("openapi", "ReadAllBody"),
    "RetryBody": ("openapi", "RetryBody"),
}
"""Each model, and the schema that documents it; the queue's are held against those of the HTTP API below."""
MODELS = {model.__name__: model for model in Body.__subclasses__() if model.__module__.startswith("notify_core.")}
LIMITS = (
    *("type", "minLength", "maxLength", "maxItems", "maxProperties", "minimum", "maximum"),
    *("enum", "const", "default"),
)


def said(document: Json, node: Any) -> Any:
    """A node with its references followed, and without what is told to people only."""
    if isinstance(node, list):
        return [said(document, item) for item in node]
    if not isinstance(node, dict):
        return node
    fields = {name: said(document, item) for name, item in node.items() if name not in {"$ref", "description"}}
    if "$ref" not in node:
        return fields
    found: Any = document
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return {**said(document, found), **fields}


def schema(document: str, name: str) -> Json:
    found: Json = said(DOCUMENTS[document], DOCUMENTS[document]["components"]["schemas"][name])
    return found


def limits_of(node: Json) -> tuple[bool, Json]:
    """Whether a field may be null, and what is said of it otherwise."""
    choices = [item for item in node.get("oneOf", node.get("anyOf", [])) if item != {"type": "null"}]
    is_nullable = "null" in node.get("type", ()) if isinstance(node.get("type"), list) else False
    if "oneOf" in node or "anyOf" in node:
        assert len(choices) == 1
        return True, limits_of({**choices[0], **{name: node[name] for name in ("default",) if name in node}})[1]
    found = {name: node[name] for name in LIMITS if name in node and node[name] is not None}
    if is_nullable:
        (found["type"],) = (kind for kind in node["type"] if kind != "null")
    if "const" in found:
        found["enum"] = [found.pop("const")]
        found.pop("type", None)
    return is_nullable, found


# ---------------------------------------------------------------- the two documents


@pytest.mark.parametrize(("queue", "http"), [("Publication", "PublicationBody"), ("Withdrawal", "WithdrawalBody")])
def test_a_body_over_http_is_that_of_the_queue_but_for_what_the_path_says(queue: str, http: str) -> None:
    on_queue, over_http = schema("asyncapi", queue), schema("openapi", http)
    assert set(on_queue.pop("required")) - SAID_BY_THE_PATH == set(over_http.pop("required"))
    assert over_http == on_queue


# ---------------------------------------------------------------- documents and models


def test_every_model_is_documented() -> None:
    assert set(MODELS) == set(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_a_model_has_the_fields_limits_and_defaults_of_its_schema(name: str) -> None:
    documented = schema(*NAMED[name])
    told = MODELS[name].model_json_schema(by_alias=True)
    model: Json = said(told, {key: item for key, item in told.items() if key != "$defs"})
    assert documented["additionalProperties"] is model["additionalProperties"] is False
    assert set(documented.get("required", ())) == set(model.get("required", ()))
    assert set(documented["properties"]) == set(model["properties"])
    for field, coded in model["properties"].items():
        is_nullable, wanted = limits_of(coded)
        is_documented_nullable, found = limits_of(documented["properties"][field])
        if field == "fold":  # a model of its own, compared as such
            wanted, found = {}, {}
        assert is_documented_nullable == is_nullable, field
        assert {key: found.get(key) for key in wanted} == wanted, field


# ---------------------------------------------------------------- whatever is sent

TEXTS = st.sampled_from(["", " ", "acme", "inv-42:1", ".", "-a", "é", "📦", "x" * 64, "x" * 65, "k" * 256, "k" * 257])
LONG = st.sampled_from(["r" * 200, "r" * 201])
TIMES = st.sampled_from(
    ["2026-11-30T10:00:00Z", "2026-11-30t10:00:00.5+23:59", "2026-11-30 10:00:00Z", "2026-11-30T10:00Z", "1796032800"]
)
DURATIONS = st.sampled_from(["P7D", "PT1H30M", "P1W", "P", "PT", "P1Y", "P7DT", "7D", "PT61S", "P0D", "P100000D"])
CHANNELS = st.lists(st.sampled_from(["console", "chat", "text", "slack_system", "fax"]), max_size=3)
NAMES = st.lists(TEXTS, max_size=3) | st.sampled_from([["a"] * 40, ["a"] * 41, ["a"] * 1000, ["a"] * 1001])
FRACTIONS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 300) | FRACTIONS | TEXTS | TIMES | DURATIONS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TEMPLATE = st.sampled_from(["T", "{{ number }}", "", " ", "x" * 4000, "x" * 4001]) | ANYTHING
TRANSLATED = st.dictionaries(
    st.sampled_from(["fr", "fr-CA", "français"]),
    st.fixed_dictionaries({}, optional={"title": TEMPLATE, "body": TEMPLATE}),
)
TEMPLATES = st.fixed_dictionaries(
    {
        "console": st.fixed_dictionaries(
            {"title": TEMPLATE, "body": TEMPLATE}, optional={"locales": TRANSLATED | ANYTHING}
        )
    },
    optional={
        "chat": st.fixed_dictionaries(
            {"text": TEMPLATE},
            optional={"blocks": st.lists(st.just({"type": "divider"}), max_size=51) | ANYTHING},
        ),
        "fax": ANYTHING,
    },
)
PERSON: Json = {
    "name": "Ana",
    "active": True,
    "locale": "fr-CA",
    "timezone": "Europe/Paris",
    "slack_user_id": "U0ANA",
    "phone": "+41790000001",
    "teams": ["billing"],
    "roles": ["approver"],
    "opt_outs": {"billing": ["text"]},
}
DEFINITION: Json = {
    "title": "Invoice overdue",
    "category": "billing",
    "critical": False,
    "channels": ["console", "chat"],
    "schema": {"type": "object"},
    "templates": {"console": {"title": "T", "body": "B", "locales": None}, "chat": {"text": "C", "blocks": None}},
    "expires_after": "P7D",
    "replace_previous": False,
    "fold": {"within": "PT1H"},
}


def on_queue(message: str) -> Json:
    """The queue's own example; the workspace can be only the path's."""
    payload: Json = QUEUES["components"]["messages"][message]["examples"][0]["payload"]
    return {field: value for field, value in payload.items() if field != "workspace_id"}


EXAMPLES: dict[str, Json] = {
    "PublicationBody": on_queue("publish"),
    "WithdrawalBody": on_queue("withdraw"),
    "WorkspaceBody": {"name": "Acme", "status": "operational", "channels": ["chat"], "shards": 4},
    "PersonBody": PERSON,
    "DefinitionBody": DEFINITION,
    "ReadAllBody": {"up_to": "2026-11-30T10:00:00Z"},
    "RetryBody": {"reason": "attempts_exhausted", "limit": 50},
}
PARSERS: Mapping[str, Callable[[object], object]] = {
    "PublicationBody": partial(parse_publication, workspace_id=ACME),
    "WithdrawalBody": partial(parse_withdrawal, workspace_id=ACME),
    "WorkspaceBody": partial(parse_workspace, workspace_id=ACME),
    "PersonBody": partial(parse_person, workspace_id=ACME, person_id=PersonId("ana")),
    "DefinitionBody": partial(parse_definition, workspace_id=ACME, key=DefinitionKey("d")),
    "ReadAllBody": partial(read_body, ReadAllBody),
    "RetryBody": partial(read_body, RetryBody),
}
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["publish", "withdraw", None]),
    "version": st.sampled_from([1, 2, "1", True, None]),
    "published_at": TIMES,
    "withdrawn_at": TIMES,
    "up_to": TIMES,
    "not_before": TIMES | st.none(),
    "deadline": TIMES | st.none(),
    "data": st.dictionaries(st.sampled_from(["number", "recipient"]), ANYTHING, max_size=2),
    "audience": st.fixed_dictionaries({}, optional={"people": NAMES, "teams": NAMES, "hq": st.booleans()}),
    "reason": TEXTS | LONG | st.none() | st.just("attempts_exhausted"),
    "name": TEXTS | LONG,
    "title": TEXTS | LONG,
    "status": st.sampled_from(["operational", "suspended", "closed"]),
    "channels": CHANNELS,
    "shards": st.sampled_from([None, 0, 1, 64, 65]),
    "limit": st.sampled_from([None, 0, 1, 200, 201]),
    "locale": st.sampled_from([None, "fr", "fr-CA", "french!", "f"]),
    "slack_user_id": st.sampled_from([None, "U0ANA", "ana", "U"]),
    "phone": st.sampled_from([None, "+41790000001", "0790000001", "+4179"]),
    "teams": NAMES,
    "roles": NAMES,
    "opt_outs": st.dictionaries(TEXTS, st.lists(st.sampled_from(["chat", "text", "console"]), max_size=2), max_size=2)
    | st.sampled_from([{f"c{number}": ["chat"] for number in range(count)} for count in (100, 101)]),
    "schema": st.sampled_from([{}, {"type": "object"}, [], None]),
    "templates": TEMPLATES,
    "expires_after": DURATIONS,
    "fold": st.fixed_dictionaries({}, optional={"within": DURATIONS, "until": DURATIONS}) | st.none(),
}
UNSAYABLE = {
    "PublicationBody": {"too_large", "too_many", "invalid_time"},
    "WithdrawalBody": {"invalid_time"},
    "WorkspaceBody": set[str](),
    "PersonBody": {"format", "too_many"},
    "DefinitionBody": {
        "required",  # templates of a channel
        "unknown_field",  # templates of no channel
        "not_allowed",  # slack_system beside others, or folding
        "out_of_range",  # durations; the blocks of what folds
        "invalid_template",
    },
    "ReadAllBody": {"invalid_time"},
    "RetryBody": set[str](),
}
"""The codes of what a schema says in words only."""


def change(name: str, data: st.DataObject) -> Json:
    """A body that is right but for a few fields, which have likely values or any, or are gone."""
    draw, body = data.draw, dict(EXAMPLES[name])
    for field in draw(st.lists(st.sampled_from(sorted(body)), max_size=2, unique=True)):
        is_likely = field == "version" or draw(st.integers(0, 3)) > 0
        body[field] = draw(LIKELY.get(field, TEXTS) if is_likely else ANYTHING)
    if draw(st.integers(0, 3)) == 0:
        del body[draw(st.sampled_from(sorted(body)))]
    if draw(st.integers(0, 7)) == 0:
        body["priority"] = "high"
    return body


def codes(name: str, body: Json) -> set[str]:
    """What the code finds wrong with a body."""
    parsed = PARSERS[name](body)
    problems = parsed.problems if isinstance(parsed, InvalidPublication) else parsed
    if not isinstance(problems, tuple):
        return set()
    return {item.code for item in problems if isinstance(item, Problem)}


@pytest.mark.parametrize("name", EXAMPLES)
@settings(max_examples=120)
@given(data=st.data())
def test_what_a_schema_takes_is_taken_or_refused_for_what_no_schema_can_say(name: str, data: st.DataObject) -> None:
    body = change(name, data)
    broken = contract.violations({"$ref": f"#/components/schemas/{name}"}, body)
    found = codes(name, body)
    if broken:
        assert found, broken
    else:
        assert found <= UNSAYABLE[name], body
