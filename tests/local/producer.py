"""A workspace on a running stack, with two people and a few definitions, to publish to."""

from datetime import UTC, datetime
from typing import Any

from infra.local.web import Answer
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
CHAT = {**ORDER, "channels": ["chat"], "templates": {"chat": {"text": "{{ number }}"}}}
CONSOLE = {**ORDER, "channels": ["console"], "templates": {"console": {"title": "{{ number }}", "body": "…"}}}
BOTH = {
    **ORDER,
    "channels": ["console", "chat"],
    "templates": {"console": {"title": "{{ number }}", "body": "…"}, "chat": {"text": "{{ number }}"}},
}
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

    def publish_keys(self, definition: str, audience: object, *keys: str, **fields: object) -> None:
        """Publishes under each of the keys, with the key as the number shown."""
        self.publish(
            *(
                self.publication(definition, audience, **{**fields, "request_key": key, "data": {"number": key}})
                for key in keys
            )
        )

    def requests(self) -> list[dict[str, Any]]:
        """The workspace's requests once nothing is under way any more."""
        self.stack.wait_until_quiet()
        return [self.request(item["request_id"]) for item in self.history()]

    def history(self) -> list[dict[str, Any]]:
        """All that the workspace's History lists now."""
        items: list[dict[str, Any]] = []
        page: dict[str, Any] = {"cursor": ""}
        while page["cursor"] is not None:
            path = f"/v1/workspaces/{self.workspace}/requests?limit=200&cursor={page['cursor']}"
            page = self.stack.call("GET", path).json()
            items += page["items"]
        return items

    def outcomes(self) -> dict[str, tuple[str, str | None]]:
        """Each request's state and reason by its key, as History shows them now."""
        return {item["request_key"]: (item["state"], item["reason"]) for item in self.history()}

    def call(self, method: str, path: str, body: object = None) -> Answer:
        """Calls the workspace's API as the operator."""
        return self.stack.call(method, f"/v1/workspaces/{self.workspace}{path}", body)

    def unread(self) -> dict[str, int]:
        """Everybody's unread total."""
        tokens = {
            person: self.stack.simulator.token(sub=person, scope="notify/inbox", workspace_id=self.workspace)
            for person in NAMES
        }
        return {
            person: self.stack.call("GET", "/v1/inbox/unread", token=token).json()["unread"]
            for person, token in tokens.items()
        }

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
