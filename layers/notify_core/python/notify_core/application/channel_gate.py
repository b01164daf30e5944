"""The gate in front of a workspace's channel, for the time of one batch."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from notify_core.application.ports import Conflict, Ports, StoreUnavailable
from notify_core.domain.channel import Channel
from notify_core.domain.circuit import Wait, after_result, is_probe_due, probing, wait_for
from notify_core.domain.directory import ChannelState
from notify_core.domain.identifiers import HQ, DeliveryId, WorkspaceId
from notify_core.domain.limits import CONFLICTS_MAX
from notify_core.domain.send_result import SendResult

_Key = tuple[WorkspaceId, Channel]

_ALL_WORKSPACES = WorkspaceId(HQ)
"""No workspace is called so: the headquarters' channel is one for all, with one token."""


def _key(workspace: WorkspaceId, channel: Channel) -> _Key:
    return (_ALL_WORKSPACES if channel is Channel.SLACK_SYSTEM else workspace), channel


@dataclass(slots=True, kw_only=True)
class ChannelGate:
    """Reads each channel's state once, lets one delivery probe an open circuit, and learns from answers."""

    ports: Ports
    _states: dict[_Key, ChannelState | None] = field(default_factory=dict[_Key, ChannelState | None])

    def load(self, keys: set[_Key]) -> None:
        """Read the states of several channels at once."""
        wanted = sorted({_key(*key) for key in keys} - self._states.keys())
        found = self.ports.gather([partial(self.ports.registry.channel_state, *key) for key in wanted])
        self._states |= dict(zip(wanted, found, strict=True))

    def wait(self, workspace: WorkspaceId, channel: Channel, delivery: DeliveryId, *, now: datetime) -> Wait | None:
        """Whether a delivery has to wait; None lets it through, as the probe where the circuit is open."""
        key = _key(workspace, channel)
        state = self._states.get(key)
        if state is not None and is_probe_due(state, now=now) and self._take_probe(state, now=now):
            return None
        return wait_for(self._states.get(key), delivery, now=now)

    def _take_probe(self, state: ChannelState, *, now: datetime) -> bool:
        """Whether this delivery is the one that may try: only the writer of the next state is."""
        key = (state.workspace_id, state.channel)
        taken = probing(state, now=now)
        self._states[key] = taken
        try:
            self.ports.registry.put_channel_state(taken, state)
        except Conflict:
            self._states[key] = self.ports.registry.channel_state(*key)
            return False
        return True

    def learn(
        self,
        workspace: WorkspaceId,
        channel: Channel,
        delivery: DeliveryId,
        result: SendResult,
        *,
        now: datetime,
    ) -> Wait | None:
        """Record what an answer says of the channel; until when this delivery waits, if the answer makes it wait.

        Where that can't be recorded this batch heeds it alone: the delivery's own result is worth more.
        """
        key = _key(workspace, channel)
        state = self._states.get(key)
        for _ in range(CONFLICTS_MAX):
            was = state or ChannelState(workspace_id=key[0], channel=channel)
            new = after_result(was, result, now=now)
            if new is None:
                break
            try:
                self.ports.registry.put_channel_state(new, state)
            except Conflict:
                state = self._read(key, otherwise=state)
                continue
            except StoreUnavailable:
                self.ports.telemetry.info("channel_state_not_written", channel=channel)
            self._tell(was, new)
            state = new
            break
        self._states[key] = state
        return wait_for(state, delivery, now=now)

    def _read(self, key: _Key, *, otherwise: ChannelState | None) -> ChannelState | None:
        try:
            return self.ports.registry.channel_state(*key)
        except StoreUnavailable:
            return otherwise

    def _tell(self, was: ChannelState, new: ChannelState) -> None:
        if was.open_since is None and new.open_since is not None:
            self.ports.telemetry.alarm(
                "circuit_opened", workspace_id=new.workspace_id, channel=new.channel, reason=new.open_reason
            )
        if was.open_since is not None and new.open_since is None:
            self.ports.telemetry.info("circuit_closed", workspace_id=new.workspace_id, channel=new.channel)
