"""The simulator without its socket: a request goes in, a reply comes out."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from infra.local.simulator import control, slack_call, sms_api
from infra.local.simulator.control import Control
from infra.local.simulator.faults import FaultBook
from infra.local.simulator.ground_truth import GroundTruth
from infra.local.simulator.issuer import DISCOVERY_PATH, KEYS_PATH, Issuer
from infra.local.simulator.receipts import Receipts
from infra.local.simulator.settings import Settings, Switches
from infra.local.simulator.slack_api import SlackApi
from infra.local.simulator.sms_api import SmsApi
from infra.local.simulator.wire import Cut, Reply, Request, json_answer

_PROVIDERS: Final = (slack_call.PREFIX, sms_api.PREFIX)


class Simulator:
    """Slack, the SMS service, the OpenID issuer and the control interface, on one state."""

    def __init__(self, *, url: str, state_dir: Path, settings: Settings) -> None:
        self._switches = Switches(settings)
        self._faults = FaultBook()
        self._messages = GroundTruth()
        self._receipts = Receipts(self._switches)
        self._issuer = Issuer(url=url, state_dir=state_dir)
        self._slack = SlackApi(faults=self._faults, messages=self._messages)
        self._sms = SmsApi(faults=self._faults, messages=self._messages, on_sent=self._receipts.remember)
        self._control = Control(
            switches=self._switches,
            faults=self._faults,
            messages=self._messages,
            receipts=self._receipts,
            issuer=self._issuer,
            reset=self._reset,
        )
        self._resets = 0

    def respond(self, request: Request) -> Reply:
        """The reply to any request."""
        path = request.path
        if path.startswith(slack_call.PREFIX):
            return self._of_this_state(self._slack.respond(request, self._switches.now))
        if path.rstrip("/") == sms_api.PREFIX:
            return self._of_this_state(self._sms.respond(request))
        if path.startswith(control.PREFIX):
            return self._control.respond(request)
        if path == DISCOVERY_PATH:
            return json_answer(self._issuer.discovery())
        if path == KEYS_PATH:
            return json_answer(self._issuer.keys())
        return json_answer({"error": "not_found"}, status=404)

    def latency_seconds(self, request: Request) -> float:
        """How long the answer to this request is held back."""
        return self._switches.now.latency_ms / 1000 if request.path.startswith(_PROVIDERS) else 0

    def close(self) -> None:
        """Stops what runs in the background."""
        self._receipts.close()

    def _reset(self) -> None:
        self._resets += 1
        for part in (self._faults, self._messages, self._slack, self._receipts):
            part.clear()

    def _of_this_state(self, reply: Reply) -> Reply:
        """The reply, except that what it sends later is dropped when a reset comes in between."""
        match reply:
            case Cut(then=send) if send is not None:
                resets = self._resets
                return replace(reply, then=lambda: send() if resets == self._resets else None)
            case _:
                return reply
