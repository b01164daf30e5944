"""docs/openapi.yaml as the tests read it: every answer is held against it."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

DOCUMENT: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "docs" / "openapi.yaml").read_text(encoding="utf-8")
)
METHODS = ("get", "put", "post", "delete")


def operations() -> Iterator[tuple[str, Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Each route as the gateway names it, its operation, and its parameters."""
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                operation = item[method]
                parameters = [*item.get("parameters", []), *operation.get("parameters", [])]
                yield f"{method.upper()} {path}", operation, [resolved(entry) for entry in parameters]


def resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node of the document, a reference followed."""
    if "$ref" not in node:
        return node
    found: Any = DOCUMENT
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


@lru_cache
def _validator(schema: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({**json.loads(schema), "components": DOCUMENT["components"]})


def violations(schema: Mapping[str, Any], value: object) -> list[str]:
    """What a value breaks of a schema of the document."""
    errors = _validator(json.dumps(schema)).iter_errors(value)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in errors]


def check_answer(route: str, status: int, headers: Mapping[str, str], body: str | None) -> None:
    """Fail unless the document says that the route answers so."""
    responses = next(operation["responses"] for key, operation, _ in operations() if key == route)
    assert str(status) in responses, f"{route} answers {status}, which is not documented"
    response = resolved(responses[str(status)])
    if "content" not in response:
        assert body is None
        return
    media = headers["content-type"]
    assert media in response["content"], f"{route} answers {status} as {media}"
    assert body is not None
    assert violations(response["content"][media]["schema"], json.loads(body)) == []
    for name in response.get("headers", {}):
        assert name in headers
