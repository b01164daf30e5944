"""A producer's and an operator's side of the platform, in a few lines: what any language can do with SQS and HTTP."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import boto3
from botocore.config import Config


class Refused(Exception):
    """The API answered with an error; the message is its body."""


@dataclass(frozen=True)
class Platform:
    """A running stack, as `stack.json` describes it."""

    stack: Mapping[str, Any]
    workspace: str

    @classmethod
    def read(cls, path: Path, workspace: str) -> Self:
        """The stack described in a file."""
        return cls(json.loads(path.read_text()), workspace)

    @cached_property
    def _sqs(self) -> Any:
        return boto3.client(
            "sqs",
            endpoint_url=self.stack["endpoint_url"],
            region_name=self.stack["region"],
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(max_pool_connections=16),
        )

    # ---------------------------------------------------------------- a producer

    def publish(self, definition: str, request_key: str, **content: Any) -> None:
        """Put a publication onto the requests queue."""
        self._send("publish", definition, request_key=request_key, published_at=now(), **content)

    def withdraw(self, definition: str, request_key: str, reason: str) -> None:
        """Put a withdrawal onto the requests queue."""
        self._send("withdraw", definition, request_key=request_key, withdrawn_at=now(), reason=reason)

    def _send(self, kind: str, definition: str, **fields: Any) -> None:
        body = {"type": kind, "version": 1, "workspace_id": self.workspace, "definition": definition, **fields}
        self._sqs.send_message(
            QueueUrl=self.stack["queues"]["requests"], MessageBody=json.dumps(body), MessageGroupId=self.workspace
        )

    # ---------------------------------------------------------------- an operator

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """PUT below the workspace."""
        return self._call("PUT", f"/v1/workspaces/{self.workspace}{path}", self.stack["operator_token"], body)

    def get(self, path: str) -> Any:
        """GET below the workspace."""
        return self._call("GET", f"/v1/workspaces/{self.workspace}{path}", self.stack["operator_token"])

    def requests(self) -> dict[str, Any]:
        """Every request in the workspace's history, by its key."""
        found: dict[str, Any] = {}
        cursor = None
        while True:
            page = self.get("/requests?limit=200" + (f"&cursor={cursor}" if cursor else ""))
            found |= {item["request_key"]: item for item in page["items"]}
            cursor = page["cursor"]
            if cursor is None:
                return found

    # ---------------------------------------------------------------- a recipient

    def unread(self, person: str) -> int:
        """A person's unread total, by a token of their own."""
        body = {"workspace_id": self.workspace, "sub": person, "scope": "notify/inbox"}
        token = self.simulator("POST", "/_simulator/tokens", body)["token"]
        return int(self._call("GET", "/v1/inbox/unread", token)["unread"])

    # ---------------------------------------------------------------- the provider simulator

    def simulator(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask the simulator of Slack, SMS and the OpenID issuer."""
        return _request(method, self.stack["simulator_url"] + path, {}, body)

    def _call(self, method: str, path: str, token: str, body: Mapping[str, Any] | None = None) -> Any:
        return _request(method, self.stack["api_url"] + path, {"Authorization": f"Bearer {token}"}, body)


def now() -> str:
    """The time as RFC 3339."""
    return datetime.now(tz=UTC).isoformat()


def _request(method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any] | None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data=data, method=method, headers={"Content-Type": "application/json", **headers}
    )
    for tries_left in (2, 1, 0):  # every call here may be repeated
        try:
            with urllib.request.urlopen(request, timeout=35) as answer:
                content = answer.read()
                return json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR or not tries_left:
                raise Refused(f"{method} {url}: {error.code} {error.read().decode()}") from error
        except OSError as error:
            if not tries_left:
                raise Refused(f"{method} {url}: {error}") from error
        time.sleep(1)
    return None
