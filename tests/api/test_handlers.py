"""The functions behind the API: the routes that the stack gives them, and a cold start without what they don't need."""

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.specs import FUNCTIONS
from notify_core.adapters.secrets import Secrets
from notify_core.api import inbox, operators
from tests.api.builders import id_of, told
from tests.api.client import OPERATOR, inbox_of
from tests.api.conftest import NOW, World

ROOT = Path(__file__).parents[2]
CONTEXT = SimpleNamespace(aws_request_id="invocation-1")


def load(folder: str, world: World, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A function's handler over the ports in memory."""
    spec = spec_from_file_location(f"{folder}_handler", ROOT / "functions" / folder / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ports", lambda: world.ports)
    monkeypatch.setattr(module, "cursor_key", lambda: b"a secret of the tests")
    return module


def event(route: str, claims: dict[str, str], body: object = None, **path: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": route,
        "requestContext": {"requestId": "x", "authorizer": {"jwt": {"claims": claims, "scopes": None}}},
        "pathParameters": path,
        "isBase64Encoded": False,
        **({} if body is None else {"body": json.dumps(body)}),
    }


def test_operators_are_served(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = load("serve_operators", world, monkeypatch).handler
    body = {"name": "Acme", "channels": ["console"]}
    answer = handler(event("PUT /v1/workspaces/{ws}", OPERATOR, body, ws="acme"), CONTEXT)
    assert (answer["statusCode"], json.loads(answer["body"])["channels"]) == (200, ["console"])


def test_an_inbox_is_served_over_its_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = load("serve_inbox", world, monkeypatch).handler
    for key in ("inv-1", "inv-2"):
        told(world.ports, NOW, key)
    shown, cursor = [], ""
    while cursor is not None:
        call = event("GET /v1/inbox", inbox_of("ana"))
        call["queryStringParameters"] = {"limit": "1", "cursor": cursor}
        page = json.loads(handler(call, CONTEXT)["body"])
        shown += [item["notice_id"] for item in page["items"]]
        cursor = page["cursor"]
    assert sorted(shown) == sorted([id_of("inv-1"), id_of("inv-2")])


@pytest.mark.parametrize(
    ("folder", "route", "claims", "path"),
    [
        ("serve_operators", "GET /v1/workspaces/{ws}/requests", OPERATOR, {"ws": "acme"}),
        ("serve_inbox", "GET /v1/inbox", inbox_of("ana"), {}),
    ],
)
def test_a_page_that_goes_on_while_secrets_are_out_of_reach_is_asked_for_again(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    route: str,
    claims: dict[str, str],
    path: dict[str, str],
) -> None:
    module = load(folder, world, monkeypatch)
    monkeypatch.setattr(module, "cursor_key", lambda: Secrets(out_of_reach()).read("notify/cursor"))
    for key in ("inv-1", "inv-2"):
        told(world.ports, NOW, key)
    call = event(route, claims, **path)
    call["queryStringParameters"] = {"limit": "1"}
    answer = module.handler(call, CONTEXT)
    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "2")
    assert [alarm for alarm, _ in world.telemetry.alarms] == ["call_unavailable"]


def out_of_reach() -> Any:
    """A client of Secrets Manager that gets no connection."""
    config = Config(retries={"total_max_attempts": 1})
    return boto3.client("secretsmanager", region_name="us-east-1", endpoint_url="http://127.0.0.1:1", config=config)


def test_no_function_serves_the_others_routes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    operate = load("serve_operators", world, monkeypatch).handler
    both = {**inbox_of("ana"), "scope": "notify/operator notify/inbox"}
    assert operate(event("GET /v1/inbox", both), CONTEXT)["statusCode"] == 404
    read = load("serve_inbox", world, monkeypatch).handler
    assert read(event("GET /v1/workspaces/{ws}/requests", both, ws="acme"), CONTEXT)["statusCode"] == 404


@pytest.mark.parametrize(("folder", "table"), [("serve_operators", operators.ROUTES), ("serve_inbox", inbox.ROUTES)])
def test_the_stack_gives_a_function_exactly_its_routes_and_its_scope(folder: str, table: Any) -> None:
    spec = next(spec for spec in FUNCTIONS if spec.folder == folder)
    assert sorted(spec.routes) == sorted(table.by_key)
    assert spec.scope is not None
    assert spec.scope.value == table.scope


def test_an_inbox_starts_without_what_only_operators_need() -> None:
    code = "import sys, notify_core.api.inbox; print(*sorted(sys.modules))"
    source = ROOT / "layers" / "notify_core" / "python"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"pydantic", "jinja2", "jsonschema_rs", "boto3", "botocore", "aws_lambda_powertools"}
    assert heavy & set(loaded) == set()
