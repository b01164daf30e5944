"""Every move of a request, through SQS, on the deployed stack."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.local.client import Stack
from tests.local.producer import Producer

CONSOLE = {
    "category": "planning",
    "critical": False,
    "channels": ["console"],
    "schema": {"type": "object"},
    "templates": {"console": {"title": "Number {{ number }}", "body": "For {{ recipient.name }}"}},
    "expires_after": "P1D",
}
ANA = {"people": ["ana"]}
QUIET = {"title": "Quiet", **CONSOLE}
SHIFT = {"title": "Shift changed", **CONSOLE, "replace_previous": True}
COMMENT = {"title": "New comments", **CONSOLE, "fold": {"within": "PT1H"}}


@pytest.fixture
def producer(producer: Producer) -> Producer:
    producer.put("/definitions/quiet", QUIET)
    producer.put("/definitions/shift", SHIFT)
    producer.put("/definitions/comment", COMMENT)
    return producer


def later(**duration: float) -> str:
    return (datetime.now(tz=UTC) + timedelta(**duration)).isoformat()


def publish(producer: Producer, key: str, *, definition: str = "quiet", **fields: object) -> None:
    publication = producer.publication(definition, ANA, request_key=key, data={"number": key})
    producer.publish({**publication, **fields})


def withdraw(producer: Producer, *, definition: str = "quiet", **fields: object) -> None:
    body = {"type": "withdraw", "version": 1, "workspace_id": producer.workspace, "definition": definition}
    producer.publish({**body, "withdrawn_at": later(), "reason": "a test", **fields})


def outcomes(producer: Producer) -> dict[str, tuple[str, str | None]]:
    """Each request's state and reason by its key, once nothing is under way."""
    producer.stack.wait_until_quiet()
    return producer.outcomes()


def wait_for(producer: Producer, key: str, state: str) -> None:
    producer.stack.wait_until(lambda: producer.outcomes().get(key, ("", None))[0] == state)


def test_each_outcome_of_a_queued_request(producer: Producer) -> None:
    withdraw(producer, request_key="withdrawn first")
    producer.stack.wait_until_quiet()
    publish(producer, "accepted")
    publish(producer, "nobody", audience={"people": ["stranger"]})
    publish(producer, "rejected", audience={"people": "ana"})
    publish(producer, "too old", published_at=later(days=-2))
    publish(producer, "too late", published_at=later(minutes=-2), deadline=later(minutes=-1))
    publish(producer, "withdrawn first")
    publish(producer, "deferred", not_before=later(seconds=6))
    publish(producer, "withdrawn while deferred", not_before=later(minutes=20))
    wait_for(producer, "deferred", "queued")
    wait_for(producer, "withdrawn while deferred", "queued")
    withdraw(producer, request_key="withdrawn while deferred")
    assert outcomes(producer) == {
        "accepted": ("open", None),
        "nobody": ("no_recipients", None),
        "rejected": ("invalid", None),
        "too old": ("expired", "age"),
        "too late": ("expired", "deadline"),
        "withdrawn first": ("cancelled", "withdrawn"),
        "deferred": ("open", None),
        "withdrawn while deferred": ("cancelled", "withdrawn"),
    }


def test_each_end_of_an_open_request(stack: Stack, producer: Producer) -> None:
    publish(producer, "withdrawn")
    publish(producer, "settled", deadline=later(seconds=8))
    publish(producer, "retired", definition="order.shipped")
    publish(producer, "replaced", definition="shift", replacement_key="n1")
    for key in ("withdrawn", "settled", "retired", "replaced"):
        wait_for(producer, key, "open")
    withdraw(producer, request_key="withdrawn")
    publish(producer, "replacing", definition="shift", replacement_key="n1")
    wait_for(producer, "replacing", "open")
    publish(producer, "older", definition="shift", replacement_key="n1", published_at=later(minutes=-5))
    answer = stack.call("DELETE", f"/v1/workspaces/{producer.workspace}/definitions/order.shipped")
    assert answer.status == 204
    publish(producer, "after retirement", definition="order.shipped")
    time.sleep(8)
    stack.invoke("sweep_due")
    assert outcomes(producer) == {
        "withdrawn": ("superseded", "withdrawn"),
        "settled": ("settled", None),
        "retired": ("cancelled", "definition_retired"),
        "replaced": ("superseded", "replaced"),
        "replacing": ("open", None),
        "older": ("cancelled", "replaced_before_acceptance"),
        "after retirement": ("invalid", None),
    }
    assert producer.unread() == {"ana": 3, "ben": 0}  # settled, retired and replacing
    withdraw(producer, definition="shift", replacement_key="n1")
    wait_for(producer, "replacing", "superseded")
    producer.stack.wait_until_quiet()
    assert producer.unread() == {"ana": 2, "ben": 0}


def test_what_folds_is_one_notice_that_lives_as_long_as_one_of_it(stack: Stack, producer: Producer) -> None:
    for key in ("one", "two", "three"):
        publish(producer, key, definition="comment", fold_key="roadmap")
    producer.stack.wait_until_quiet()
    token = stack.simulator.token(sub="ana", scope="notify/inbox", workspace_id=producer.workspace)

    def shown() -> list[tuple[str, int, str]]:
        producer.stack.wait_until_quiet()
        items = stack.call("GET", "/v1/inbox", token=token).json()["items"]
        return [(item["title"], item["count"], item["status"]) for item in items]

    assert shown() == [("Number three", 3, "delivered")]
    withdraw(producer, definition="comment", request_key="three")
    assert shown() == [("Number two", 2, "delivered")]
    withdraw(producer, definition="comment", request_key="one")
    assert shown() == [("Number two", 1, "delivered")]
    withdraw(producer, definition="comment", request_key="two")
    ((_, _, status),) = shown()
    assert (status, producer.unread()["ana"]) == ("superseded", 0)
