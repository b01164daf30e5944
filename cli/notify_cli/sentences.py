"""What `notify explain` says: a sentence for every state and reason of the platform, as data.

Requests and deliveries are keyed by state and reason. Braces name what is filled in: times, the channel's provider and
address, and a `reason` that is a code and not one of the platform's own words.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

Key = tuple[str, str | None]
"""A state, and the reason that goes with it."""


class Told(StrEnum):
    """The short answer: whether somebody was told."""

    YES = "yes"
    MAYBE = "maybe"
    NOT_YET = "not_yet"
    NO = "no"


VERDICTS: Final[Mapping[Told, str]] = {
    Told.YES: "{who} was told.",
    Told.MAYBE: "{who} may have been told.",
    Told.NOT_YET: "{who} has not been told yet.",
    Told.NO: "{who} was not told.",
}

DEAD_LETTERED: Final = "dead_lettered"
"""The code of the problem that a queued request has when it could not be processed."""
SCHEDULED: Final = "scheduled"
"""A queued request that waits for its own time."""

REQUESTS: Final[Mapping[Key, str]] = {
    ("queued", None): "It was received and is about to be processed; nobody is told yet.",
    ("queued", SCHEDULED): "It waits until {not_before}; nobody is told before.",
    ("queued", DEAD_LETTERED): (
        "It could not be processed and was dead-lettered: nobody is told until an operator has found the cause and "
        "runs `notify reprocess {request_id}`, and nobody ever if {expires_at} comes first."
    ),
    ("open", None): "It was accepted, and is good until {expires_at}.",
    ("settled", None): "It was accepted, nothing of it was left to be done, and its time ended at {expires_at}.",
    ("no_recipients", None): "Nobody whom it named could be told, so it told nobody.",
    ("invalid", None): "It was refused as invalid, so it told nobody; its correction needs another request key.",
    ("expired", "deadline"): "Its deadline had passed before it could be accepted, so it told nobody.",
    ("expired", "age"): "It was older than its definition allows before it could be accepted, so it told nobody.",
    ("cancelled", "withdrawn"): "It was withdrawn before it was accepted, so it told nobody.",
    ("cancelled", "replaced_before_acceptance"): (
        "A later publication with its replacement key had been accepted before it, so it told nobody."
    ),
    ("cancelled", "definition_retired"): (
        "It was accepted, and its definition was retired afterwards: it can't be withdrawn or replaced any more, and "
        "what it owed is still delivered until {expires_at}."
    ),
    ("superseded", "withdrawn"): "It was accepted, then withdrawn at {closed_at}: what had not been sent was stopped.",
    ("superseded", "replaced"): (
        "It was accepted, then replaced at {closed_at} by a later publication with its replacement key: what had not "
        "been sent was stopped."
    ),
}

NOT_PROCESSED: Final = (
    "There is no such request: it was never published, is not processed yet, or was forgotten 90 days after its end."
)
NOT_MEANT: Final = (
    "{who} was not meant: the request named neither them nor a team or role that they had when it was accepted."
)
NOT_FOLDED_YET: Final = "The notice is about to be made: the request is being folded into one."

EXCLUSIONS: Final[Mapping[str, str]] = {
    "not_in_workspace": "{name} was meant, and is not registered in this workspace.",
    "inactive": "{name} was meant, and was marked as inactive in the directory.",
    "unknown_team": "The team {name} was meant, and had no member: whoever should have been in it was not.",
    "unknown_role": "The role {name} was meant, and nobody held it: whoever should have held it did not.",
}

NOTICES: Final[Mapping[str, str]] = {
    "pending": "It has no deliveries yet.",
    "routed": "No provider has taken anything of it yet.",
    "delivering": "A provider has taken some of it, and some is still under way.",
    "delivered": "It reached them, and failed on no channel.",
    "partially_delivered": "It reached them on one channel, and failed on another.",
    "failed": "It reached them on no channel.",
    "no_channel": "There was no channel to reach them on.",
    "superseded": "It ended because every request behind it was withdrawn or replaced; it no longer counts as unread.",
    "expired": "It ended because its deadline passed with nothing sent.",
    "cancelled": "It was cancelled.",
}

DELIVERIES: Final[Mapping[Key, str]] = {
    ("queued", None): "It waits in its queue to be sent.",
    ("deferred", None): "It was put back unsent, and is tried at {next_at}.",
    ("deferred", "throttled"): "{provider} wants us to go slower: it is tried at {next_at}. This counts as no attempt.",
    ("deferred", "circuit_open"): (
        "{provider} refuses whatever this workspace sends, its token or account has to be mended by an operator: until "
        "then everything on this channel waits. It is tried at {next_at}."
    ),
    ("sending", None): "It is being sent, or its result is not known and is being settled by evidence.",
    ("sent", None): "{provider} took it, at {updated_at}; whether it arrived is told by a receipt, which is to come.",
    ("delivered", None): "It arrived: {place}, at {updated_at}.",
    ("failed", "attempts_exhausted"): (
        "It could not be sent: {attempts} attempts, and nothing went out on any. An operator may try again: "
        "`notify retry {notice_id} {recipient} {channel}`."
    ),
    ("failed", "outcome_unknown"): (
        "It may have arrived: the send was cut off, no evidence told what became of it, and nothing is sent twice by "
        "guess."
    ),
    ("failed", "receipt_timeout"): "{provider} took it, and no receipt ever came: it may have arrived.",
    ("cancelled", "withdrawn"): "It was not sent: it was withdrawn first, at {updated_at}.",
    ("cancelled", "replaced"): "It was not sent: it was replaced first, at {updated_at}.",
    ("expired", "deadline"): "It was not sent: its deadline came first, at {updated_at}.",
    ("expired", "age"): "It was not sent: it became older than its definition allows, at {updated_at}.",
    ("skipped", "no_address"): "It was not sent: the directory had no {address} of theirs.",
    ("skipped", "opted_out"): "It was not sent: they have declined this category on this channel.",
    ("skipped", "person_inactive"): "It was not sent: they were marked as inactive meanwhile.",
    ("skipped", "person_gone"): "It was not sent: they had left the workspace.",
    ("unavailable", "channel_off"): "It was not sent: the channel is not switched on in this workspace.",
}

BY_PROVIDERS_CODE: Final[Mapping[str, str]] = {
    "deferred": "{provider} could not take it, in its own code `{reason}`: it is tried again at {next_at}.",
    "failed": "{provider} refused it for good, in its own code `{reason}`.",
    "bounced": "{provider} took it and reports that it did not arrive, in its own code `{reason}`.",
}
"""What is said of a reason that only the channel's provider can explain."""

UNREACHED: Final = "{provider} could not be reached (`{reason}`, our own word for it): it is tried again at {next_at}."
UNREACHED_REASONS: Final = frozenset(
    {
        "certificate_refused",
        "connect_timeout",
        "connection_refused",
        "name_not_resolved",
        "no_credentials",
        "no_route",
        "proxy_refused",
    }
)
"""Our own words for what went wrong on the way to a provider."""

BOUNCES: Final[Mapping[str, str]] = {
    "invalid": "It did not arrive: the number is not valid.",
    "invalid_message": "It did not arrive: the message is not valid on its carrier's network.",
    "unreachable": "It did not arrive: the phone could not be reached.",
    "carrier_unreachable": "It did not arrive: the phone's carrier could not be reached.",
    "blocked": "It did not arrive: the phone blocks messages.",
    "carrier_blocked": "It did not arrive: the carrier blocks messages to this number.",
    "spam": "It did not arrive: the carrier took it for spam.",
    "unknown": "It did not arrive: the carrier does not say why.",
    "ttl_expired": "It did not arrive: its time passed on the way.",
    "protect_blocked": "It did not arrive: our own account's protect configuration blocks this number or country.",
}
"""A receipt's reasons, for a text that bounced."""

MOMENTS: Final[Mapping[str, str]] = {
    "created": "It was made by {by}, at {at}.",
    "folded": "Another request was folded into it, at {at}.",
    "handed_over": "A request behind it ended by {by} ({reason}), at {at}, and the notice was handed over to another.",
    "superseded": "It was ended by {by} ({reason}), at {at}.",
    "expired": "It was ended by {by} ({reason}), at {at}.",
    "read": "It was read, at {at}.",
}
"""The moves of the notice itself."""

ACTORS: Final[Mapping[str, str]] = {
    "producer": "the producer",
    "processor": "the processor of requests",
    "replacement": "a later publication",
    "retirement": "the retirement of its definition",
    "worker": "the worker of its channel",
    "receipt": "a receipt",
    "sweep": "the sweep",
    "operator": "an operator",
    "recipient": "the recipient",
}

CHANNELS: Final[Mapping[str, Mapping[str, str]]] = {
    "console": {"provider": "The inbox", "address": "inbox", "place": "it stands in their inbox"},
    "chat": {"provider": "Slack", "address": "Slack user id", "place": "in their Slack messages"},
    "text": {"provider": "The SMS service", "address": "phone number", "place": "as a text message"},
    "slack_system": {"provider": "Slack", "address": "Slack channel", "place": "in the headquarters' Slack channel"},
}
