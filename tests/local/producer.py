"""A workspace on a running stack, with two people and a few definitions, to publish to."""

from datetime import UTC, datetime
from typing import Any

from tests.local.client import Stack

ORDER = {
    "title": "Order shipped",
    "category": "orders",
    "critical": False,
    "channels": ["console", "chat", "text"],
    "schema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "string"}}},
    "templates": {
        "console": {"title": "Order {{ number }}", "body": "On its way, {{ recipient.name }}."},
        "chat": {"text": "Order {{ number }} is on its way"},
        "text": {"body": "Order {{ number }} is on its way"},
    },
    "expires_after": "P1D",
}
ALERT = {
    "title": "Import failed",
    "category": "operations",
    "critical": True,
    "channels": ["slack_system"],
    "schema": {"type": "object"},
    "templates": {"slack_system": {"text": "The import failed"}},
    "expires_after": "P1D",
}
NAMES = {"ana": "Ana", "ben": "Ben"}
SLACK_IDS = {"ana": "U0ANA", "ben": "U0BEN"}
PHONES = {"ana": "+41790000001", "ben": "+41790000002"}


class Producer:
    """A workspace with two people and two definitions."""

    def __init__(self, stack: Stack, workspace: str) -> None:
        self.stack = stack
        self.workspace = workspace

    def put(self, path: str, body: object) -> None:
        answer = self.stack.call("PUT", f"/v1/workspaces/{self.workspace}{path}", body)
        assert answer.status == 200, answer.content

    def publication(self, definition: str, audience: object, **fields: object) -> dict[str, object]:
        return {
            "type": "publish",
            "version": 1,
            "workspace_id": self.workspace,
            "definition": definition,
            "request_key": "key-1",
            "published_at": datetime.now(tz=UTC).isoformat(),
            "data": {"number": "42"},
            "audience": audience,
            **fields,
        }

    def publish(self, *publications: object) -> None:
        self.stack.send_all("requests", publications, group=self.workspace)

    def requests(self) -> list[dict[str, Any]]:
        """The workspace's requests once nothing is under way any more."""
        self.stack.wait_until_quiet()
        found = self.stack.call("GET", f"/v1/workspaces/{self.workspace}/requests").json()["items"]
        return [self.request(item["request_id"]) for item in found]

    def request(self, request_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.stack.call("GET", f"/v1/workspaces/{self.workspace}/requests/{request_id}").json()
        return found

    def register(self) -> None:
        """Registers the workspace, its people and its definitions."""
        self.put("", {"name": "Acme", "status": "operational", "channels": ["console", "chat", "text"]})
        for person, name in NAMES.items():
            details = {"name": name, "slack_user_id": SLACK_IDS[person], "phone": PHONES[person], "teams": ["orders"]}
            self.put(f"/people/{person}", details)
        self.put("/definitions/order.shipped", ORDER)
        self.put("/definitions/import.failed", ALERT)
