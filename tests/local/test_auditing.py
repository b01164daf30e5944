"""The nightly audit over damaged tables of the deployed stack: every damage is found, listed and repaired, once."""

import json
import time
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

import pytest

from notify_core.application.ports import NoticeKey
from notify_core.application.tasks import AuditTask, message_of
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.identifiers import NoticeId, Recipient, RequestId, WorkspaceId
from notify_core.domain.notice import Notice
from notify_core.domain.request import Request
from notify_core.domain.request_lifecycle import RequestState
from tests.conformance.backends import Dynamo, Stores, deployed
from tests.local.client import Stack
from tests.local.producer import BOTH, CHAT, SLACK_IDS, Producer

T = TypeVar("T")
ANA = {"people": ["ana"]}
AGE = timedelta(hours=3)
"""How old the rows are made: an audit leaves alone what somebody may still be at work on."""


@pytest.fixture
def producer(producer: Producer) -> Producer:
    producer.put("/definitions/both", BOTH)
    producer.put("/definitions/chat", CHAT)
    return producer


@pytest.fixture
def tables(stack: Stack) -> Dynamo:
    return deployed(stack.file)


@pytest.fixture
def stores(tables: Dynamo) -> Stores:
    return tables.stores()


# ---------------------------------------------------------------- rows


def aged(value: T) -> T:
    """The same row, written a few hours ago."""
    if isinstance(value, datetime):
        return cast("T", value - AGE)
    if isinstance(value, tuple):
        return cast("T", tuple(aged(item) for item in value))  # type: ignore[redundant-cast]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: aged(getattr(value, field.name)) for field in fields(value)})
    return value


def row(producer: Producer, stores: Stores, key: str) -> Request:
    found = {item["request_key"]: item["request_id"] for item in producer.history()}
    request = stores.requests.get(WorkspaceId(producer.workspace), RequestId(found[key]))
    assert request is not None
    return request


def notice_key(request: Request) -> NoticeKey:
    return NoticeKey(
        workspace_id=request.workspace_id, recipient=Recipient("ana"), notice_id=NoticeId(request.request_id)
    )


def notice(request: Request, stores: Stores) -> Notice:
    found = stores.notices.get(notice_key(request))
    assert found is not None
    return found


def age(producer: Producer, stores: Stores, key: str) -> None:
    """Makes a request and its notice old; what was swept since is due at its deadline."""
    request = row(producer, stores, key)
    old = aged(request)
    stores.requests.repair(replace(old, due_at=old.expires_at, version=request.version + 1), request)
    stored = notice(request, stores)
    stores.notices.repair(replace(aged(stored), version=stored.version + 1), stored)


# ---------------------------------------------------------------- damage


def remove_request(request: Request, tables: Dynamo) -> None:
    key = {"pk": {"S": f"R#{request.workspace_id}#{request.request_id}"}}
    tables.client.delete_item(TableName=tables.tables.requests, Key=key, ConditionExpression="attribute_exists(pk)")


def remove_notice(request: Request, tables: Dynamo) -> None:
    key = {"pk": {"S": f"{request.workspace_id}#ana"}, "sk": {"S": request.request_id}}
    tables.client.delete_item(TableName=tables.tables.notices, Key=key, ConditionExpression="attribute_exists(pk)")


def alter_state(request: Request, stores: Stores) -> None:
    stores.requests.repair(replace(request, state=RequestState.SUPERSEDED, version=request.version + 1), request)


def alter_delivery(request: Request, stores: Stores) -> None:
    stored = notice(request, stores)
    console, chat = stored.deliveries
    altered = (console, replace(chat, state=DeliveryState.QUEUED))
    stores.notices.repair(replace(stored, deliveries=altered, version=stored.version + 1), stored)


def lose_messages(producer: Producer, stores: Stores, key: str) -> None:
    """A request whose dispatch is lost, and each of its sweeps for hours."""
    with producer.stack.paused("deliver_chat"):
        producer.publish_keys("chat", ANA, key)
        producer.stack.wait_until(lambda: producer.stack.depth("chat") == 1)
        producer.stack.purge()
    request = row(producer, stores, key)
    assert request.due_at is not None
    stores.requests.repair(replace(request, due_at=request.due_at - AGE, version=request.version + 1), request)


# ---------------------------------------------------------------- the audit


Listed = tuple[str, str | None, str | None]


def audit_alone(producer: Producer) -> None:
    """What a night does for this workspace: the others of the stack take their time."""
    producer.stack.send("reconcile", message_of(AuditTask(workspace_id=WorkspaceId(producer.workspace))).body)


def audit_all(producer: Producer) -> None:
    producer.stack.invoke("sweep_nightly")


def audited(producer: Producer, audit: Callable[[Producer], None]) -> tuple[int, set[Listed]]:
    """What an audit counts, and what it lists of the workspace: kind, request and recipient."""
    stack, since_ms = producer.stack, time.time_ns() // 1_000_000
    audit(producer)
    stack.wait_until_quiet(timeout_seconds=120)
    logged = stack.log("reconcile_requests", since_ms=since_ms)
    lines: list[dict[str, Any]] = [json.loads(line) for line in logged if line.startswith("{")]
    counted = sum(line.get("audit_differences", 0) for line in lines)
    listed = [
        (line["kind"], line.get("request_id"), line.get("recipient"))
        for line in lines
        if line.get("message") == "audit_difference" and line["workspace_id"] == producer.workspace
    ]
    assert len(listed) == len(set(listed))
    return counted, set(listed)


def test_every_damage_is_found_listed_and_repaired_once(
    stack: Stack, producer: Producer, tables: Dynamo, stores: Stores
) -> None:
    stack.expect_trouble(producer.workspace)
    keys = ("row removed", "notice removed", "state altered", "delivery altered", "whole")
    producer.publish_keys("both", ANA, *keys)
    stack.wait_until(lambda: len(stack.simulator.messages(channel="chat")) == len(keys))
    stack.wait_until_quiet()
    for key in keys:
        age(producer, stores, key)
    assert audited(producer, audit_alone) == (0, set())

    rows = {key: row(producer, stores, key) for key in keys}
    remove_request(rows["row removed"], tables)
    remove_notice(rows["notice removed"], tables)
    alter_state(rows["state altered"], stores)
    alter_delivery(rows["delivery altered"], stores)
    lose_messages(producer, stores, "message lost")
    rows["message lost"] = row(producer, stores, "message lost")
    found = {
        ("request_missing", rows["row removed"].request_id, "ana"),
        ("notice_missing", rows["notice removed"].request_id, "ana"),
        ("request_state_altered", rows["state altered"].request_id, None),
        ("notice_state_altered", rows["delivery altered"].request_id, "ana"),
        ("due_long_ago", rows["message lost"].request_id, None),
    }
    assert audited(producer, audit_all) == (len(found), found)

    assert producer.outcomes() == dict.fromkeys((*keys[1:], "message lost"), ("open", None))
    assert producer.unread() == {"ana": len(keys), "ben": 0}
    delivered = ["console delivered", "chat delivered"]
    assert {key: [f"{part.channel} {part.state}" for part in notice(rows[key], stores).deliveries] for key in rows} == {
        **dict.fromkeys(("row removed", "state altered", "delivery altered", "whole"), delivered),
        "notice removed": ["console delivered", "chat failed"],
        "message lost": ["chat delivered"],
    }
    reached = [(message["to"], message["text"]) for message in stack.simulator.messages()]
    assert sorted(reached) == sorted((SLACK_IDS["ana"], key) for key in rows)
    assert audited(producer, audit_alone) == (0, set())
