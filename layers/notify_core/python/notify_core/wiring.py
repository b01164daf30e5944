"""The composition root: what the use cases get, made once a process.

A function has the variables of what it works on and no others: an adapter whose variables are missing says so when it
is asked for something, not before. What only some functions need is imported when it is made.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from notify_core.adapters import batch
from notify_core.adapters.batch import BatchResponse, Context, Record, deadline
from notify_core.adapters.clock import SystemClock, new_claim_id
from notify_core.adapters.counting import counting_notices, counting_requests
from notify_core.adapters.telemetry import PowertoolsTelemetry
from notify_core.adapters.threads import ThreadGather, keep_to_one_cpu
from notify_core.application.ports import EvidenceSource, Inbox, Ports, QueueName, Queues, Sender
from notify_core.domain.channel import Channel
from notify_core.settings import Settings, SettingUnusable

if TYPE_CHECKING:
    from botocore.config import Config

    from notify_core.adapters.dynamodb import DynamoNoticeStore
    from notify_core.adapters.secrets import Secrets
    from notify_core.adapters.slack import Connect, SlackTokens
    from notify_core.application.ports import DirectoryStore, RegistryStore, RequestStore
    from notify_core.domain.receipt import Receipt

__all__ = [
    "BatchResponse",
    "Context",
    "Record",
    "clock",
    "cursor_key",
    "deadline",
    "entry",
    "gather",
    "inbox",
    "keep_dead",
    "parse_receipt",
    "ports",
    "process_batch",
    "process_each",
    "queue_read_from",
    "read_receipt",
    "settings",
    "telemetry",
]

T = TypeVar("T")
_MAKING: Final = RLock()


# ---------------------------------------------------------------- what a function uses


@lru_cache
def ports(*sends: Channel) -> Ports:
    """What the use cases get; the senders of the channels named are made at once, others when they first send."""
    return Ports(
        registry=_if_set(_registry),
        directory=_if_set(_directory),
        requests=counting_requests(_if_set(_requests), telemetry()),
        notices=counting_notices(_if_set(_notices), telemetry()),
        queues=_later(_queues),
        clock=clock(),
        gather=gather(),
        telemetry=telemetry(),
        new_claim_id=new_claim_id,
        senders={channel: make() if channel in sends else _later(make) for channel, make in _SENDERS.items()},
        evidence={channel: _later(_slack_evidence) for channel in (Channel.CHAT, Channel.SLACK_SYSTEM)},
        hq_channel=settings().hq_channel,
    )


@lru_cache
def settings() -> Settings:
    """The process's settings."""
    return Settings.from_environment()


@lru_cache
def clock() -> SystemClock:
    """The machine's clock."""
    return SystemClock()


@lru_cache
def gather() -> ThreadGather:
    """The process's threads."""
    keep_to_one_cpu()
    return ThreadGather()


@lru_cache
def telemetry() -> PowertoolsTelemetry:
    """The process's logs and metrics."""
    return PowertoolsTelemetry(service=settings().function_name)


@lru_cache
def inbox() -> Inbox:
    """What a consumer asks of its own queue."""
    from notify_core.adapters.sqs import SqsInbox  # noqa: PLC0415  (loads botocore)

    return SqsInbox(_sqs(), settings().queue_url, settings().dead_letter_queue_url)


def cursor_key() -> bytes:
    """The key that signs cursors.

    Raises:
        SettingUnusable: the secret doesn't exist or is empty.
        StoreUnavailable: it can't be read for now.
    """
    name = settings().cursor_secret
    key = _secrets().read(name)
    if key is None:
        raise SettingUnusable(f"NOTIFY_CURSOR_SECRET names {name}: create this secret, and put a random text into it")
    return key.encode()


Handler = Callable[[Mapping[str, Any], Context], T]
"""What Lambda calls."""


def entry(handle: Handler[T]) -> Handler[T]:
    """A function's handler: its metrics are written at its end, and its failure is told without what it was about.

    Lambda logs the message of whatever is raised, and a message may quote content: only its kind and place are raised.
    """

    @wraps(handle)
    def handler(event: Mapping[str, Any], context: Context) -> T:
        with telemetry().invocation(context.aws_request_id):
            try:
                return handle(event, context)
            except Exception as error:  # noqa: BLE001  (raised again, without its message)
                kind, place = type(error).__name__, batch.where(error)
                telemetry().alarm("function_failed", error=kind, where=place, setting=batch.setting(error))
        raise FunctionFailed(f"{kind} at {place}")

    return handler


class FunctionFailed(Exception):
    """An invocation ended by an exception; the message says of what kind, and where."""


def process_batch(event: Mapping[str, Any], handle_all: Callable[[Sequence[Record]], Collection[str]]) -> BatchResponse:
    """Hand over an event's records together; `handle_all` gives the message ids that failed."""
    return batch.process_batch(event, handle_all, telemetry())


def process_each(event: Mapping[str, Any], handle: Callable[[Record], bool]) -> BatchResponse:
    """Hand over an event's records one by one, at the same time; one that raises, or isn't done, comes again alone."""
    return batch.process_each(event, handle, telemetry(), gather())


def parse_receipt(body: Mapping[str, Any]) -> "Receipt | None":
    """The receipt in a message of the `receipts` queue; None when it is no event of a text of ours."""
    from notify_core.adapters import sms  # noqa: PLC0415  (only one function reads receipts)

    return sms.parse_receipt(body)


def read_receipt(text: str) -> "Receipt | None":
    """The receipt in a message's text; None when it can't be read, or is no event of a text of ours."""
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parse_receipt(cast("Mapping[str, Any]", body)) if isinstance(body, Mapping) else None


def keep_dead(record: Record, queue: QueueName) -> bool:
    """Leave a dead letter that can't be read where it is, hidden for as long as a queue can; never done."""
    inbox().keep_dead(queue, record.receipt_handle)
    return False


def queue_read_from(record: Record) -> QueueName:
    """Which queue, or the dead-letter queue of which, a record was read from."""
    return _queues_by_name()[record.queue_name]


@lru_cache
def _queues_by_name() -> Mapping[str, QueueName]:
    return {
        url.rpartition("/")[2]: queue
        for url_of in (settings().queue_url, settings().dead_letter_queue_url)
        for queue in QueueName
        if (url := _if_any(url_of, queue))
    }


def _if_any(url_of: Callable[[QueueName], str], queue: QueueName) -> str | None:
    try:
        return url_of(queue)
    except SettingUnusable:
        return None


# ---------------------------------------------------------------- the adapters


@lru_cache
def _session() -> Any:  # noqa: ANN401  (botocore's, imported when it is made)
    from botocore.session import Session  # noqa: PLC0415  (a tenth of a second)

    return Session()


def _client(service: str, config: "Config") -> Any:  # noqa: ANN401  (made from the service's model)
    from notify_core.adapters.aws import create_client  # noqa: PLC0415  (loads botocore)

    with _MAKING:  # a session makes one client at a time
        return create_client(_session(), service, config)


@lru_cache
def _dynamodb() -> Any:  # noqa: ANN401  (botocore's client)
    from notify_core.adapters.dynamodb import CLIENT_CONFIG  # noqa: PLC0415  (loads pynamodb)

    return _client("dynamodb", CLIENT_CONFIG)


@lru_cache
def _sqs() -> Any:  # noqa: ANN401  (botocore's client)
    from notify_core.adapters.sqs import CLIENT_CONFIG  # noqa: PLC0415  (loads botocore)

    return _client("sqs", CLIENT_CONFIG)


@lru_cache
def _registry() -> "RegistryStore":
    table = settings().registry_table
    from notify_core.adapters.dynamodb import DynamoRegistryStore  # noqa: PLC0415  (loads pynamodb)

    return DynamoRegistryStore(table, _dynamodb())


@lru_cache
def _directory() -> "DirectoryStore":
    table = settings().directory_table
    from notify_core.adapters.dynamodb import DynamoDirectoryStore  # noqa: PLC0415  (loads pynamodb)

    return DynamoDirectoryStore(table, _dynamodb())


@lru_cache
def _requests() -> "RequestStore":
    table = settings().requests_table
    from notify_core.adapters.dynamodb import DynamoRequestStore  # noqa: PLC0415  (loads pynamodb)

    return DynamoRequestStore(table, _dynamodb(), _if_set(_notices))


@lru_cache
def _notices() -> "DynamoNoticeStore":
    table = settings().notices_table
    from notify_core.adapters.dynamodb import DynamoNoticeStore  # noqa: PLC0415  (loads pynamodb)

    return DynamoNoticeStore(table, _dynamodb())


@lru_cache
def _queues() -> Queues:
    from notify_core.adapters.sqs import SqsQueues  # noqa: PLC0415  (loads botocore)

    return SqsQueues(_sqs(), settings().queue_url, gather())


@lru_cache
def _secrets() -> "Secrets":
    from notify_core.adapters.secrets import CLIENT_CONFIG, Secrets  # noqa: PLC0415  (loads botocore)

    return Secrets(_client("secretsmanager", CLIENT_CONFIG))


@lru_cache
def _slack() -> "tuple[SlackTokens, Connect]":
    from notify_core.adapters.slack import SlackTokens, connector  # noqa: PLC0415  (loads slack_sdk)

    return (
        SlackTokens(_secrets(), prefix=settings().slack_secret_prefix),
        connector(settings().slack_base_url),
    )


@lru_cache
def _slack_sender() -> Sender:
    from notify_core.adapters.slack import SlackSender  # noqa: PLC0415  (loads slack_sdk)

    return SlackSender(*_slack())


@lru_cache
def _slack_evidence() -> EvidenceSource:
    from notify_core.adapters.slack import SlackEvidence  # noqa: PLC0415  (loads slack_sdk)

    return SlackEvidence(*_slack())


@lru_cache
def _sms_sender() -> Sender:
    from notify_core.adapters.sms import CLIENT_CONFIG, SERVICE, SmsSender  # noqa: PLC0415  (loads botocore)

    return SmsSender(
        _client(SERVICE, CLIENT_CONFIG),
        origination_identity=settings().sms_origination_identity,
        configuration_set=settings().sms_configuration_set,
    )


_SENDERS: Final[Mapping[Channel, Callable[[], Sender]]] = {
    Channel.CHAT: _slack_sender,
    Channel.SLACK_SYSTEM: _slack_sender,
    Channel.TEXT: _sms_sender,
}


# ---------------------------------------------------------------- later


class _Later(Generic[T]):
    """Stands for an adapter until something is asked of it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever the adapter has)
        with _MAKING:
            value = getattr(self._make(), name)
        setattr(self, name, value)
        return value


def _later(make: Callable[[], T]) -> T:
    return cast("T", _Later(make))


def _if_set(make: Callable[[], T]) -> T:
    """The adapter; where one of its variables is missing, what says so once it is asked for anything."""
    try:
        return make()
    except SettingUnusable:
        return _later(make)
