"""Recording a message from a dead-letter queue, whatever queue it ran out of receives on.

One function records them all; besides a publication's, its start loads no use case but the one it needs.
"""

from notify_core.application.ports import Ports, QueueName
from notify_core.application.record_dead_publication import record_dead_publication
from notify_core.domain.receipt import Receipt
from notify_core.domain.request import InvalidPublication, Malformed, Publication, Withdrawal


def record_dead_task_message(body: str, queue: QueueName, ports: Ports) -> bool:
    """Record a dead dispatch or reconcile message; False when it can't be read and stays where it is."""
    from notify_core.application.record_dead_task import record_dead_task
    from notify_core.application.tasks import NoTask, read_task

    try:
        task = read_task(body)
    except NoTask:
        return _stays(queue, ports)
    record_dead_task(task, ports)
    return True


def record_dead_request_message(
    parsed: Publication | InvalidPublication | Withdrawal | Malformed, ports: Ports
) -> bool:
    """Record a dead publication, and carry a dead withdrawal out; False for what names no request: it stays."""
    match parsed:
        case Publication() | InvalidPublication():
            record_dead_publication(parsed, ports)
            return True
        case Withdrawal():
            from notify_core.application.withdraw_request import withdraw_request

            withdraw_request(parsed, ports)
            return True
        case Malformed():
            return _stays(QueueName.REQUESTS, ports)


def record_dead_receipt(receipt: Receipt | None, ports: Ports) -> bool:
    """Record a dead receipt after all; False for what is none, which stays where it is.

    Raises Conflict after too many lost races and StoreUnavailable: it has to come again.
    """
    if receipt is None:
        return _stays(QueueName.RECEIPTS, ports)
    from notify_core.application.record_receipt import record_receipt

    record_receipt(receipt, ports)
    ports.telemetry.count("dead_letters_recorded", queue=QueueName.RECEIPTS.value)
    return True


def _stays(queue: QueueName, ports: Ports) -> bool:
    ports.telemetry.count("dead_letters_unreadable", queue=queue.value)
    return False
