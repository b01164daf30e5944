"""The queues, each with its dead-letter queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.settings import Settings
from infra.specs import FUNCTIONS, Queue, pascal
from notify_core.domain import limits

VISIBILITY_TIMEOUTS: Final = 6
"""Function timeouts that a message stays hidden for: what AWS asks of a queue that Lambda reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePair:
    """A queue and where its messages go when nobody could handle them."""

    queue: sqs.Queue
    dead_letters: sqs.Queue


def add_queues(scope: Construct, settings: Settings) -> Mapping[Queue, QueuePair]:
    """Adds the six queues with their dead-letter queues."""
    return {name: _pair(scope, name, settings) for name in Queue}


def visibility_seconds(name: Queue, *, dead_letters: bool = False) -> int:
    """How long a received message stays hidden: the slowest consumer decides."""
    return VISIBILITY_TIMEOUTS * max(
        spec.timeout_seconds
        for spec in FUNCTIONS
        if name in (spec.consumes_dead_letters if dead_letters else spec.consumes)
    )


def _pair(scope: Construct, name: Queue, settings: Settings) -> QueuePair:
    dead_letters = _queue(
        scope,
        f"{pascal(name)}DeadLetters",
        settings,
        visible_again_seconds=visibility_seconds(name, dead_letters=True),
    )
    queue = _queue(
        scope,
        f"{pascal(name)}Queue",
        settings,
        visible_again_seconds=visibility_seconds(name),
        dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=limits.RECEIVES_MAX),
    )
    return QueuePair(queue=queue, dead_letters=dead_letters)


def _queue(
    scope: Construct,
    name: str,
    settings: Settings,
    *,
    visible_again_seconds: int,
    dead_letter_queue: sqs.DeadLetterQueue | None = None,
) -> sqs.Queue:
    return sqs.Queue(
        scope,
        name,
        visibility_timeout=Duration.seconds(visible_again_seconds),
        retention_period=Duration.days(limits.MESSAGE_DAYS_MAX),
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=not settings.local,  # the emulator speaks plain HTTP
        dead_letter_queue=dead_letter_queue,
    )
