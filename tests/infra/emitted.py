"""The metrics that the product's code writes, found in its source: name, and the dimensions that it always has."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.architecture.repository import ROOT

FOLDERS = (ROOT / "layers/notify_core/python/notify_core", ROOT / "functions")
OF_THE_METHOD = {"value", "seconds"}


class Metric(NamedTuple):
    """A metric of CloudWatch, as far as the source tells it."""

    name: str
    dimensions: frozenset[str]


def emitted() -> set[Metric]:
    """Each metric that is counted or observed somewhere; `alarm` counts one too."""
    found = {Metric("alarms", frozenset({"event"}))}
    for call, _ in _told("count", "observe"):
        (name,) = _texts(call.args[0])
        found.add(Metric(name, frozenset(item.arg or "**" for item in call.keywords) - OF_THE_METHOD))
    return found


def events() -> set[str]:
    """Each event that is reported as an alarm; where a function is handed its name, what it is called with."""
    found: set[str] = set()
    for call, module in _told("alarm"):
        named = call.args[0]
        found |= _texts(named) if isinstance(named, ast.Constant) else _handed(named, call, module)
    return found


def read(properties: Mapping[str, Any]) -> Metric:
    """A metric of ours as a template names it."""
    return Metric(properties["MetricName"], frozenset(item["Name"] for item in properties.get("Dimensions", [])))


def _told(*methods: str) -> Iterator[tuple[ast.Call, ast.Module]]:
    for folder in FOLDERS:
        for path in folder.rglob("*.py"):
            module = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(module):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                    owner = ast.unparse(node.func.value)
                    if owner.rstrip("()").endswith("telemetry"):
                        yield node, module


def _handed(named: ast.expr, call: ast.Call, module: ast.Module) -> set[str]:
    """The texts that the function around a call is given for the parameter `named`."""
    assert isinstance(named, ast.Name), ast.unparse(call)
    (around,) = (
        node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and call in list(ast.walk(node))
    )
    place = [parameter.arg for parameter in around.args.args].index(named.id)
    calls = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == around.name
    ]
    return {text for node in calls for text in _texts(node.args[place])}


def _texts(node: ast.expr) -> set[str]:
    assert isinstance(node, ast.Constant), ast.unparse(node)
    assert isinstance(node.value, str)
    return {node.value}
