"""docs/openapi.yaml says what the code does: routes, parameters, scopes, words, bodies and examples."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import jsonschema_rs
import pytest

from notify_core.api import inbox, operators
from notify_core.api.bodies import BODY_BYTES_MAX
from notify_core.api.routing import Routes
from notify_core.application.withdraw_request import WithdrawalResult
from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.directory import WorkspaceStatus
from notify_core.domain.identifiers import IDENTIFIER, KEY_LENGTH_MAX
from notify_core.domain.lifecycle import Actor
from notify_core.domain.limits import (
    NAME_CHARACTERS_MAX,
    PAGE_ITEMS,
    PAGE_ITEMS_MAX,
    TEMPLATE_CHARACTERS_MAX,
    TEMPLATES_BYTES_MAX,
    TIMELINE_MAX,
    TITLE_CHARACTERS_MAX,
    UNREAD_COUNT_MAX,
)
from notify_core.domain.notice_lifecycle import NoticeStatus
from notify_core.domain.rendering.block_kit import BLOCKS_MAX
from notify_core.domain.request_lifecycle import RequestReason, RequestState
from tests.api import contract

SCHEMAS = contract.DOCUMENT["components"]["schemas"]
FUNCTIONS: tuple[Routes, ...] = (operators.ROUTES, inbox.ROUTES)
ALWAYS = {"401", "403", "500", "503"}


def test_every_route_is_documented_and_nothing_else() -> None:
    assert sorted(key for key, _, _ in contract.operations()) == sorted(
        key for routes in FUNCTIONS for key in routes.by_key
    )


def test_every_route_asks_for_the_scope_of_its_function() -> None:
    documented = {key: operation["security"] for key, operation, _ in contract.operations()}
    assert documented == {key: [{"token": [routes.scope]}] for routes in FUNCTIONS for key in routes.by_key}


def test_every_query_parameter_is_documented_and_nothing_else() -> None:
    documented = {
        key: sorted(entry["name"] for entry in parameters if entry["in"] == "query")
        for key, _, parameters in contract.operations()
    }
    assert documented == {route.key: sorted(route.query) for routes in FUNCTIONS for route in routes.by_key.values()}


def test_every_path_parameter_is_documented() -> None:
    for key, _, parameters in contract.operations():
        assert re.findall(r"{(\w+)}", key) == [entry["name"] for entry in parameters if entry["in"] == "path"]


def test_statuses_follow_from_what_a_route_takes() -> None:
    for key, operation, parameters in contract.operations():
        statuses = set(operation["responses"])
        assert statuses >= ALWAYS | {"422"}, key
        has_body, has_cursor = "requestBody" in operation, "cursor" in {entry["name"] for entry in parameters}
        assert ("413" in statuses) == has_body, key
        assert ("400" in statuses) == (has_body or has_cursor), key


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("Channel", Channel),
        ("WorkspaceStatus", WorkspaceStatus),
        ("DefinitionState", DefinitionState),
        ("RequestState", RequestState),
        ("NoticeStatus", NoticeStatus),
        ("DeliveryState", DeliveryState),
        ("Actor", Actor),
    ],
)
def test_closed_lists_of_words_are_those_of_the_code(schema: str, words: type[StrEnum]) -> None:
    assert set(SCHEMAS[schema]["enum"]) == set(words)


def test_reasons_and_results_are_those_of_the_code() -> None:
    assert set(SCHEMAS["RequestReason"]["enum"]) == {*RequestReason, None}
    assert set(SCHEMAS["Withdrawn"]["properties"]["result"]["enum"]) == set(WithdrawalResult)


def test_limits_are_those_of_the_code() -> None:
    limit = contract.DOCUMENT["components"]["parameters"]["limit"]["schema"]
    assert (limit["default"], limit["maximum"]) == (PAGE_ITEMS, PAGE_ITEMS_MAX)
    bulk = SCHEMAS["RetryBody"]["properties"]["limit"]
    assert (bulk["default"], bulk["maximum"]) == (PAGE_ITEMS, PAGE_ITEMS_MAX)
    assert SCHEMAS["Identifier"]["pattern"] == f"^{IDENTIFIER.pattern}$"
    assert SCHEMAS["Key"]["maxLength"] == KEY_LENGTH_MAX
    assert SCHEMAS["Name"]["maxLength"] == NAME_CHARACTERS_MAX == TITLE_CHARACTERS_MAX
    assert SCHEMAS["Template"]["maxLength"] == TEMPLATE_CHARACTERS_MAX
    assert SCHEMAS["Blocks"]["maxItems"] == BLOCKS_MAX
    assert f"{TEMPLATES_BYTES_MAX // 1024} KB in all" in SCHEMAS["Templates"]["description"]
    assert SCHEMAS["Unread"]["properties"]["unread"]["maximum"] == UNREAD_COUNT_MAX
    assert SCHEMAS["Notice"]["properties"]["timeline"]["maxItems"] == TIMELINE_MAX
    too_large = contract.DOCUMENT["components"]["responses"]["TooLarge"]["description"]
    assert too_large == f"The body has more than {BODY_BYTES_MAX // 1024} KiB."


def test_every_schema_is_a_schema_and_is_used() -> None:
    used = set(re.findall(r"#/components/schemas/(\w+)", str(contract.DOCUMENT)))
    assert used == set(SCHEMAS)
    for schema in SCHEMAS.values():
        assert jsonschema_rs.meta.is_valid(schema)


def _media() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, operation, _ in contract.operations():
        for place, node in [("body", operation.get("requestBody", {})), *operation["responses"].items()]:
            for name, media in contract.resolved(node).get("content", {}).items():
                yield f"{key} {place} {name}", media


@pytest.mark.parametrize("media", [pytest.param(media, id=name) for name, media in _media() if "example" in media])
def test_examples_follow_their_schemas(media: Mapping[str, Any]) -> None:
    assert contract.violations(media["schema"], media["example"]) == []


def test_every_body_and_every_success_has_an_example() -> None:
    assert [name for name, media in _media() if "example" not in media and name.endswith(" application/json")] == []
