"""The CDK app's templates, and how the tests read them."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from aws_cdk import App

from infra.app import make_app
from infra.layers import ROOT

Properties = Mapping[str, Any]

CONSUMING = {
    "sqs:ReceiveMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueUrl",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
}


class Template:
    """A synthesized template, its resources named as in the code."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        self.resources: Mapping[str, Mapping[str, Any]] = template["Resources"]
        self.outputs: Mapping[str, Any] = template["Outputs"]

    def of_type(self, kind: str) -> dict[str, Properties]:
        """The properties of every resource of a type."""
        return {
            plain(name): resource.get("Properties", {})
            for name, resource in self.resources.items()
            if resource["Type"] == kind
        }

    def reach(self, role: str) -> dict[str, str]:
        """What a role allows: its actions, in order, for each resource."""
        found: dict[str, set[str]] = {}
        for policy in self.of_type("AWS::IAM::Policy").values():
            if [plain(name["Ref"]) for name in policy["Roles"]] == [role]:
                for statement in policy["PolicyDocument"]["Statement"]:
                    assert statement["Effect"] == "Allow"
                    for resource in many(statement["Resource"]):
                        found.setdefault(spelled(resource), set()).update(many(statement["Action"]))
        return {resource: in_short(actions) for resource, actions in found.items()}


def synthesize(**context: str) -> Template:
    """Makes the whole app with what cdk.json says and `context`; cdk-nag's findings are errors."""
    settings = json.loads((ROOT / "cdk.json").read_text())["context"]
    with tempfile.TemporaryDirectory() as folder:
        app = App(outdir=folder, context={**settings, "issuer_url": "https://issuer.example.com", **context})
        make_app(app)
        return Template(app.synth().get_stack_by_name("notify").template)


def plain(name: str) -> str:
    """A logical name without the eight characters that the CDK adds."""
    return name[:-8]


def referred(value: Mapping[str, Any]) -> str:
    """The resource that a property refers to."""
    return plain(value["Ref"] if "Ref" in value else value["Fn::GetAtt"][0])


def spelled(resource: str | Mapping[str, Any]) -> str:
    """A policy's resource as a reader would write it: without partition, region and account."""
    if isinstance(resource, str):
        return resource
    if "Fn::Join" not in resource:
        return referred(resource)
    arn = "".join(part if isinstance(part, str) else _reference(part) for part in resource["Fn::Join"][1])
    return arn.removeprefix("arn::").replace(":::", ":")


def _reference(part: Mapping[str, Any]) -> str:
    return "" if str(part.get("Ref", "")).startswith("AWS::") else referred(part)


def many(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def in_short(actions: set[str]) -> str:
    words: Iterator[str] = iter(actions)
    if actions >= CONSUMING:
        words = iter({"consume", *(actions - CONSUMING)})
    return " ".join(sorted(word.rpartition(":")[2] for word in words))
