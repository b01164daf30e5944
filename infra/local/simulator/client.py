"""What asks a running simulator: for tests, the demo and benchmarks."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

# Loopback only, so a developer's proxy is out of the question.
_OPENER = build_opener(ProxyHandler({}))


class SimulatorRefused(Exception):
    """The simulator can't do what was asked; `problem` says why."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status}: {problem}")
        self.status = status
        self.problem = problem


@dataclass(frozen=True, slots=True)
class SimulatorClient:
    """The control interface of the simulator at `url`."""

    url: str
    timeout_seconds: float = 30

    @property
    def slack_url(self) -> str:
        """The base URL for Slack's SDK."""
        return f"{self.url}/slack/api/"

    @property
    def sms_url(self) -> str:
        """The endpoint for the SMS service's SDK."""
        return f"{self.url}/sms/"

    def messages(self, **wanted: str | int) -> list[dict[str, Any]]:
        """What really reached somebody: channel, to, text, blocks, delivery_id, at."""
        found: list[dict[str, Any]] = self.ask("GET", f"messages?{urlencode(wanted)}" if wanted else "messages")
        return found

    def fault(self, channel: str, fault: str, **details: object) -> None:
        """Makes the next send on the channel fail so."""
        self.ask("POST", "faults", {"channel": channel, "fault": fault, **details})

    def faults(self) -> list[dict[str, Any]]:
        """The faults still to come."""
        left: list[dict[str, Any]] = self.ask("GET", "faults")
        return left

    def remove_faults(self) -> None:
        """Ends all faults and keeps the rest."""
        self.ask("DELETE", "faults")

    def receipt(self, delivery_id: str, event: str, **details: object) -> dict[str, Any]:
        """Sends an event of a text that went out, and gives it."""
        body = {"delivery_id": delivery_id, "event": event, **details}
        sent: dict[str, Any] = self.ask("POST", "receipts", body)
        return sent

    def token(self, *, sub: str, scope: str, **details: object) -> str:
        """A signed token."""
        signed: dict[str, str] = self.ask("POST", "tokens", {"sub": sub, "scope": scope, **details})
        return signed["token"]

    def configure(self, **changes: object) -> dict[str, Any]:
        """Changes the settings and gives them all."""
        settings: dict[str, Any] = self.ask("POST", "config", changes)
        return settings

    def reset(self) -> None:
        """Forgets messages, faults and conversations."""
        self.ask("POST", "reset", {})

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - any JSON
        """The JSON answer of a path under `/_simulator/`; raises `SimulatorRefused`."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}/_simulator/{path}", data=data, method=method)
        try:
            with _OPENER.open(request, timeout=self.timeout_seconds) as answer:
                return json.load(answer)
        except HTTPError as refusal:
            with refusal:
                raise SimulatorRefused(refusal.status or 0, json.load(refusal)) from None
