"""`notify withdraw`: nobody more is told, and the answer says who was told already."""

from datetime import datetime
from typing import Any

import pytest

from notify_core.application.ports import QueueName
from notify_core.domain.request import Withdrawal
from notify_core.messages.publications import parse_message
from tests.cli.aws import Aws
from tests.cli.conftest import Notify
from tests.cli.platform import Platform

WITHDRAW = ("withdraw", "invoice.overdue")


def test_each_recipient_is_stopped_or_too_late(platform: Platform, notify: Notify) -> None:
    platform.world.publish("k1", "ana", "bob")
    platform.world.run_only(QueueName.REQUESTS)
    first = min(item for item in platform.world.queues.waiting if '"ana"' in item.body)
    platform.world.process(platform.world.queues.take(first))
    done = notify(*WITHDRAW, "--request-key", "k1", "--reason", "paid")
    since = f"{platform.world.clock.now():%Y-%m-%d %H:%M:%S}Z"
    assert (done.code, done.lines) == (
        0,
        [
            f"k1: stopped: what had not been sent is cancelled (request {platform.world.id_of('k1')}: superseded)",
            "recipient result told over since",
            f"ana too_late chat {since}",
            "bob stopped",
        ],
    )


def test_several_keys_are_withdrawn_one_by_one(platform: Platform, notify: Notify) -> None:
    platform.world.register_definition(replace_previous=True)
    platform.world.publish("k1", replacement_key="r1")
    platform.world.run()
    done = notify(*WITHDRAW, "--request-key", "k1", "--request-key", "k2", "--replacement-key", "r2", "--json")
    id_of = platform.world.id_of
    assert [{**told, "recipients": len(told["recipients"])} for told in done.documents] == [
        {"request_key": "k1", "result": "stopped", "request_id": id_of("k1"), "state": "superseded", "recipients": 1},
        {"request_key": "k2", "result": "on_arrival", "request_id": id_of("k2"), "state": "cancelled", "recipients": 0},
        {"replacement_key": "r2", "result": "on_arrival", "request_id": None, "state": None, "recipients": 0},
    ]


def test_what_had_ended_before_is_said_so(platform: Platform, notify: Notify) -> None:
    platform.world.publish("k1", data={})
    platform.world.run()
    done = notify(*WITHDRAW, "--request-key", "k1")
    request = f"(request {platform.world.id_of('k1')}: invalid)"
    assert (done.code, done.lines) == (0, [f"k1: nothing changed: it had ended before {request}"])


def test_over_the_queue_it_is_the_same_withdrawal(notify: Notify, with_queues: Aws) -> None:
    done = notify(*WITHDRAW, "--replacement-key", "r", "--reason", "paid", "--via", "sqs")
    ((group, text),) = with_queues.take("requests")
    withdrawal: Any = parse_message(text)
    assert isinstance(withdrawal, Withdrawal)
    assert isinstance(withdrawal.withdrawn_at, datetime)
    assert (group, withdrawal.definition, withdrawal.replacement_key, withdrawal.reason) == (
        "acme",
        "invoice.overdue",
        "r",
        "paid",
    )
    assert done.lines == ["r: the queue has the withdrawal; it is done when it is processed."]


@pytest.mark.parametrize("arguments", [(), ("--request-key", ""), ("--replacement-key", "k" * 257)])
def test_what_names_nothing_is_not_understood(platform: Platform, notify: Notify, arguments: tuple[str, ...]) -> None:
    assert (notify(*WITHDRAW, *arguments).code, platform.calls) == (2, [])
