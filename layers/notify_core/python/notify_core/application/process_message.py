"""Processing a producer's message: what is done with each kind, and where a publication waits that isn't due."""

from dataclasses import dataclass

from notify_core.application.accept_request import Later, accept_request
from notify_core.application.ports import Inbox, Ports, QueueName
from notify_core.application.publish_again import publish_again
from notify_core.application.withdraw_request import withdraw_request
from notify_core.domain.limits import DELAY_SECONDS_MAX, RECEIVES_LEFT_FOR_A_COPY, RECEIVES_MAX
from notify_core.domain.publication import check_withdrawal
from notify_core.domain.request import InvalidPublication, Malformed, Publication, Withdrawal


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message as it was received: its raw body, and what the queue wants to hear of it."""

    body: str
    receipt_handle: str
    receives: int


def process_message(
    parsed: Publication | InvalidPublication | Withdrawal | Malformed,
    received: Received,
    ports: Ports,
    inbox: Inbox,
) -> bool:
    """Do what the message asks; False when it has to come again at its time."""
    match parsed:
        case Malformed(reason=reason):
            return _move_to_dead_letters(reason, received, ports, inbox)
        case Withdrawal():
            problems = check_withdrawal(parsed, ports.clock.now())
            if problems:
                facts = ", ".join(f"{problem.field} ({problem.code})" for problem in problems)
                return _move_to_dead_letters(f"withdraw: {facts}", received, ports, inbox)
            withdraw_request(parsed, ports)
            return True
        case Publication() | InvalidPublication():
            outcome = accept_request(parsed, ports)
            return not isinstance(outcome, Later) or _wait(outcome, received, ports, inbox)


def _move_to_dead_letters(reason: str, received: Received, ports: Ports, inbox: Inbox) -> bool:
    inbox.move_to_dead_letters(QueueName.REQUESTS, received.body, reason)
    ports.telemetry.count("messages_malformed")
    return True


def _wait(later: Later, received: Received, ports: Ports, inbox: Inbox) -> bool:
    """Hide a message that is due soon; let one go that the sweep publishes again, or that a fresh copy replaces."""
    now = ports.clock.now()
    wait_seconds = (later.due_at - now).total_seconds()
    if wait_seconds > DELAY_SECONDS_MAX:
        return True
    if received.receives > RECEIVES_MAX - RECEIVES_LEFT_FOR_A_COPY:
        publish_again(later.request, ports, now=now)
        return True
    inbox.extend_visibility(QueueName.REQUESTS, received.receipt_handle, max(1, -int(-wait_seconds // 1)))
    return False
