"""What an operator mends on the deployed stack: exhausted deliveries, a revoked token, a publication that failed."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from infra.layers import ROOT
from notify_core.application.ports import NoticeKey
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import NoticeId, Recipient, WorkspaceId
from notify_core.domain.policy import POLICIES
from tests.conformance.backends import deployed
from tests.local.client import Stack
from tests.local.producer import CHAT, SLACK_IDS, Producer

ANA, BEN = {"people": ["ana"]}, {"people": ["ben"]}
EXHAUSTED = {"reason": "attempts_exhausted", "limit": 100}
PROBED_SECONDS = 240
"""Until a circuit has closed: the probe comes after one minute, and what waited is spread behind it."""


@pytest.fixture
def producer(producer: Producer) -> Producer:
    producer.put("/definitions/chat", CHAT)
    return producer


def reached(stack: Stack) -> Counter[tuple[str, str]]:
    return Counter((message["to"], message["text"]) for message in stack.simulator.messages())


def deliveries(producer: Producer) -> dict[str, tuple[str, str | None]]:
    """The state and reason of each request's only delivery, by the request's key."""
    found: dict[str, tuple[str, str | None]] = {}
    for item in producer.history():
        for notice in producer.request(item["request_id"])["notices"]:
            (part,) = notice["deliveries"]
            found[item["request_key"]] = (part["state"], part["reason"])
    return found


# ---------------------------------------------------------------- retrying


def use_up_attempts(producer: Producer) -> None:
    """Puts all attempts but the last one down as made: making them takes three minutes."""
    notices = deployed(producer.stack.file).stores().notices
    for item in producer.history():
        (told,) = producer.request(item["request_id"])["notices"]
        key = NoticeKey(
            workspace_id=WorkspaceId(producer.workspace),
            recipient=Recipient(told["recipient"]),
            notice_id=NoticeId(told["notice_id"]),
        )
        notice = notices.get(key)
        assert notice is not None
        (part,) = notice.deliveries
        last = replace(part, attempts=POLICIES[Channel.CHAT].attempts_max - 1)
        notices.repair(replace(notice, deliveries=(last,), version=notice.version + 1), notice)


def retry_path(item: dict[str, Any]) -> str:
    return f"/notices/{item['recipient']}/{item['notice_id']}/deliveries/chat/retry"


def test_what_ran_out_of_attempts_is_retried_alone_and_in_bulk(stack: Stack, producer: Producer) -> None:
    """Scenario 42: pressed twice, and after a withdrawal."""
    for to in SLACK_IDS.values():
        stack.simulator.add_fault("chat", "unavailable", to=to, times=100)
    producer.publish_keys("chat", ANA, "alone", "withdrawn")
    producer.publish_keys("chat", BEN, "first", "second", "third")
    exhausted = dict.fromkeys(("alone", "withdrawn", "first", "second", "third"), ("failed", "attempts_exhausted"))
    stack.wait_until(
        lambda: {key: state for key, (state, _) in deliveries(producer).items()} == dict.fromkeys(exhausted, "deferred")
    )
    use_up_attempts(producer)
    stack.wait_until(lambda: deliveries(producer) == exhausted)
    keys = {item["request_id"]: item["request_key"] for item in producer.history()}
    listed = producer.call("GET", "/deliveries?state=failed&reason=attempts_exhausted").json()["items"]
    attention = {keys[item["request_id"]]: item for item in listed}
    assert set(attention) == set(exhausted)
    assert reached(stack) == {}

    stack.simulator.reset()
    answer = producer.call("POST", retry_path(attention["alone"]))
    assert answer.status == 202
    again = producer.call("POST", retry_path(attention["alone"]))
    assert (again.status, [item["code"] for item in again.json()["errors"]]) == (409, ["not_exhausted"])
    withdrawal = {"version": 1, "definition": "chat", "withdrawn_at": datetime.now(tz=UTC).isoformat()}
    producer.call("POST", "/withdrawals", {**withdrawal, "request_key": "withdrawn"})
    late = producer.call("POST", retry_path(attention["withdrawn"]))
    assert (late.status, [item["code"] for item in late.json()["errors"]]) == (409, ["withdrawn"])
    assert producer.call("POST", "/deliveries/retry", {**EXHAUSTED, "limit": 2}).json() == {"retried": 2, "refused": []}
    assert producer.call("POST", "/deliveries/retry", EXHAUSTED).json() == {"retried": 1, "refused": []}
    assert producer.call("POST", "/deliveries/retry", EXHAUSTED).json() == {"retried": 0, "refused": []}
    delivered = dict.fromkeys(("alone", "first", "second", "third"), ("delivered", None))
    stack.wait_until(
        lambda: deliveries(producer) == {**delivered, "withdrawn": ("failed", "attempts_exhausted")},
    )
    assert producer.call("GET", "/deliveries?state=failed").json()["items"] == []
    assert reached(stack) == {
        (SLACK_IDS["ana"], "alone"): 1,
        **{(SLACK_IDS["ben"], key): 1 for key in ("first", "second", "third")},
    }


# ---------------------------------------------------------------- a circuit


def test_a_circuit_opened_by_a_revoked_token_closes_once_the_token_is_good(stack: Stack, producer: Producer) -> None:
    stack.expect_trouble("circuit_opened")
    stack.simulator.add_fault("chat", "reject", code="token_revoked", to=SLACK_IDS["ana"])
    producer.publish_keys("chat", ANA, "refused")
    waits = ("deferred", "circuit_open")
    stack.wait_until(lambda: deliveries(producer) == {"refused": waits})
    producer.publish_keys("chat", BEN, "held")
    stack.wait_until(lambda: deliveries(producer) == {"refused": waits, "held": waits})
    assert reached(stack) == {}
    done = ("delivered", None)
    stack.wait_until(lambda: deliveries(producer) == {"refused": done, "held": done}, timeout_seconds=PROBED_SECONDS)
    assert reached(stack) == {(SLACK_IDS["ana"], "refused"): 1, (SLACK_IDS["ben"], "held"): 1}
    logged = [line for line in stack.log("deliver_chat") if "circuit_closed" in line]
    assert [producer.workspace in line for line in logged if producer.workspace in line] == [True]


# ---------------------------------------------------------------- a publication that failed


@contextmanager
def without_directory(stack: Stack) -> Iterator[None]:
    """Publications can't be processed meanwhile, and are tried again each second instead of every three minutes."""
    function, queue = stack.functions["process_requests"], stack.queues["requests"]
    variables = stack.lambda_.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    asked = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])["Attributes"]
    gone = {**variables, "NOTIFY_DIRECTORY_TABLE": "gone"}
    try:
        stack.lambda_.update_function_configuration(FunctionName=function, Environment={"Variables": gone})
        stack.sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "1"})
        yield
    finally:
        stack.sqs.set_queue_attributes(QueueUrl=queue, Attributes=asked)
        stack.lambda_.update_function_configuration(FunctionName=function, Environment={"Variables": variables})


def notify(producer: Producer, *words: str) -> str:
    """What the command line prints."""
    done = subprocess.run(
        [sys.executable, "-m", "notify_cli", *words, "--workspace", producer.workspace, "--json"],
        cwd=ROOT,
        env={**os.environ, "NOTIFY_STACK": str(producer.stack.file)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_dead_lettered_publication_is_found_and_processed_again(stack: Stack, producer: Producer) -> None:
    stack.expect_trouble("process_requests: ")
    stack.expect_trouble("ProcessRequestsFunction")
    producer.publish_keys("chat", ANA, "processed")
    stack.wait_until_quiet()
    with without_directory(stack):
        producer.publish_keys("chat", ANA, "dead")
        stack.wait_until(lambda: producer.outcomes().get("dead") == ("queued", None), timeout_seconds=60)
    stack.wait_until(lambda: stack.dead_letters("requests") == 0)
    (listed,) = producer.call("GET", "/requests?dead_lettered=true").json()["items"]
    request = producer.request(listed["request_id"])
    assert (request["request_key"], [item["code"] for item in request["problems"]]) == ("dead", ["dead_lettered"])
    shown = [json.loads(line) for line in notify(producer, "dead-letters", "--queue", "requests").splitlines()]
    assert [item["request_id"] for item in shown if "request_id" in item] == [listed["request_id"]]
    assert reached(stack) == {(SLACK_IDS["ana"], "processed"): 1}

    notify(producer, "reprocess", "chat/dead")
    stack.wait_until(lambda: deliveries(producer).get("dead") == ("delivered", None))
    assert reached(stack) == {(SLACK_IDS["ana"], "processed"): 1, (SLACK_IDS["ana"], "dead"): 1}
    assert producer.call("GET", "/requests?dead_lettered=true").json()["items"] == []
    refused = producer.call("POST", f"/requests/{listed['request_id']}/reprocess")
    assert (refused.status, [item["code"] for item in refused.json()["errors"]]) == (409, ["not_dead_lettered"])
