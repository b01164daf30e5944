"""Planning: how each channel of a recipient's notice begins, and what speaks against sending it later."""

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import HQ, Recipient
from notify_core.domain.request import ManifestEntry, Planned


def plan(definition: Definition, workspace: Workspace, person: Person) -> ManifestEntry:
    """How a person's notice begins on each of the definition's channels, in their order."""
    planned = tuple(_plan_channel(definition, workspace, person, channel) for channel in definition.channels)
    return ManifestEntry(recipient=Recipient(person.person_id), plan=planned)


def plan_hq(definition: Definition) -> ManifestEntry:
    """How an alert to the headquarters begins: it has no recipient, and no workspace switches it on or off."""
    planned = tuple(Planned(channel=channel, state=DeliveryState.QUEUED) for channel in definition.channels)
    return ManifestEntry(recipient=HQ, plan=planned)


def _plan_channel(definition: Definition, workspace: Workspace, person: Person, channel: Channel) -> Planned:
    if channel not in workspace.channels:
        return Planned(channel=channel, state=DeliveryState.UNAVAILABLE, reason=DeliveryReason.CHANNEL_OFF)
    if not channel.is_sent:
        return Planned(channel=channel, state=DeliveryState.DELIVERED)
    reason = skip_reason(definition, person, channel)
    if reason is not None:
        return Planned(channel=channel, state=DeliveryState.SKIPPED, reason=reason)
    return Planned(channel=channel, state=DeliveryState.QUEUED)


def skip_reason(definition: Definition, person: Person | None, channel: Channel) -> DeliveryReason | None:
    """Why a person isn't sent the notice over the channel; None when nothing speaks against it.

    A critical definition also reaches those who declined its category.
    """
    if person is None:
        return DeliveryReason.PERSON_GONE
    if not person.active:
        return DeliveryReason.PERSON_INACTIVE
    if person.address(channel) is None:
        return DeliveryReason.NO_ADDRESS
    if not definition.critical and channel in person.opt_outs.get(definition.category, ()):
        return DeliveryReason.OPTED_OUT
    return None
