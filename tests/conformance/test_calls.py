"""What is asked of DynamoDB where the answers alone don't tell: consistency, page sizes, and no more than needed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notify_core.adapters.dynamodb.text import moment_text
from notify_core.application.ports import NoticeKey
from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import DefinitionKey, NoticeId, PersonId, Recipient, WorkspaceId
from tests.conformance.backends import Stores
from tests.conformance.builders import a_notice, at, other_request_id
from tests.conformance.dynamo_server import ONE_TRY, Server, body, serving, stores_at

ACME = WorkspaceId("acme")
ANA = Recipient("ana")
KEY = NoticeKey(workspace_id=ACME, recipient=ANA, notice_id=NoticeId("n"))
DEFINITION = DefinitionKey("d")


@pytest.fixture
def server() -> Server:
    return Server(answers=[body(200, {"Items": [], "Count": 0, "ScannedCount": 0, "Responses": {}})])


@pytest.fixture
def stores(server: Server) -> Iterator[Stores]:
    with serving(server) as endpoint_url:
        yield stores_at(endpoint_url, ONE_TRY)


STRONG: dict[str, Callable[[Stores], object]] = {
    "workspace": lambda stores: stores.registry.workspace(ACME),
    "definition": lambda stores: stores.registry.definition(ACME, DEFINITION, consistent=True),
    "definition version": lambda stores: stores.registry.definition_version(ACME, DEFINITION, 1),
    "channel state": lambda stores: stores.registry.channel_state(ACME, Channel.CHAT),
    "people": lambda stores: stores.directory.people(ACME, [PersonId("ana")]),
    "team": lambda stores: stores.directory.team(ACME, "t"),
    "role": lambda stores: stores.directory.role(ACME, "r"),
    "request": lambda stores: stores.requests.get(ACME, other_request_id(1)),
    "requests": lambda stores: stores.requests.get_many(ACME, [other_request_id(1)]),
    "head": lambda stores: stores.requests.head(ACME, DEFINITION, "k"),
    "notice": lambda stores: stores.notices.get(KEY),
    "notices": lambda stores: stores.notices.get_many([KEY]),
    "generations": lambda stores: list(stores.notices.generations(ACME, ANA, "f")),
    "read mark": lambda stores: stores.notices.read_mark(ACME, ANA),
    "unread total": lambda stores: stores.notices.unread_count(ACME, ANA, after=None, limit=9),
    "inbox": lambda stores: stores.notices.inbox(ACME, ANA, before=None, limit=9),
}
EVENTUAL: dict[str, Callable[[Stores], object]] = {
    "definition": lambda stores: stores.registry.definition(ACME, DEFINITION),
    "request": lambda stores: stores.requests.get(ACME, other_request_id(1), consistent=False),
    "requests": lambda stores: stores.requests.get_many(ACME, [other_request_id(1)], consistent=False),
    "notices": lambda stores: stores.notices.get_many([KEY], consistent=False),
    "due": lambda stores: stores.requests.due(ACME, 0, until=at(0), limit=9),
    "dead_lettered": lambda stores: stores.requests.dead_lettered(ACME, 0, before=None, limit=9),
    "history": lambda stores: stores.requests.history(ACME, 0, before=None, limit=9),
    "attention": lambda stores: stores.notices.attention(ACME, 0, before=None, limit=9),
}


def consistency(asked: dict[str, Any]) -> bool:
    tables: list[dict[str, Any]] = list(asked.get("RequestItems", {"": asked}).values())
    return all(table.get("ConsistentRead", False) for table in tables)


@pytest.mark.parametrize("read", STRONG)
def test_strong_reads_ask_for_it(server: Server, stores: Stores, read: str) -> None:
    STRONG[read](stores)
    assert [consistency(asked) for asked in server.asked] == [True] * len(server.asked)
    assert server.asked


@pytest.mark.parametrize("read", EVENTUAL)
def test_eventual_reads_do_not_pay_for_more(server: Server, stores: Stores, read: str) -> None:
    EVENTUAL[read](stores)
    assert [consistency(asked) for asked in server.asked] == [False]


def test_nothing_is_asked_for_nobody(server: Server, stores: Stores) -> None:
    assert stores.directory.people(ACME, []) == {}
    assert stores.notices.get_many([]) == {}
    assert server.asked == []


def test_an_empty_range_of_due_requests_is_not_asked_for(server: Server, stores: Stores) -> None:
    """DynamoDB refuses a range whose end comes before its beginning."""
    position = {"due_at": f"{moment_text(at(9))}#request-0001"}
    page = stores.requests.due(ACME, 0, until=at(8), position=position, limit=9)
    assert (page.items, page.position, server.asked) == ([], None, [])


def test_unread_total_reads_no_further_than_its_limit(server: Server, stores: Stores) -> None:
    there = {"pk": {"S": "acme#ana"}, "sk": {"S": "n"}, "inbox": {"S": "U#…"}}
    server.answers = [
        body(200, {"Count": 3, "ScannedCount": 3, "LastEvaluatedKey": there}),
        body(200, {"Count": 2, "ScannedCount": 2, "LastEvaluatedKey": there}),
    ]
    assert stores.notices.unread_count(ACME, ANA, after=None, limit=5) == 5
    assert [(asked["Select"], asked["Limit"], asked.get("ExclusiveStartKey")) for asked in server.asked] == [
        ("COUNT", 5, None),
        ("COUNT", 2, there),
    ]


def test_generations_are_read_as_far_as_they_are_asked_for(server: Server, stores: Stores) -> None:
    notice = a_notice(ACME)
    server.answers = [body(200, {})]
    stores.notices.put(notice, None)
    row = server.asked.pop()["Item"]
    keys = {"pk": row["pk"], "sk": row["sk"]}
    server.answers = [body(200, {"Items": [row], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": keys})]

    generations = stores.notices.generations(ACME, ANA, "f")
    assert server.asked == []
    assert next(generations) == notice
    assert [(asked["Limit"], asked["ScanIndexForward"]) for asked in server.asked] == [(4, False)]
    assert next(generations) == notice
    assert [asked.get("ExclusiveStartKey") for asked in server.asked] == [None, keys]


def test_a_write_is_one_call_of_its_own_row(server: Server, stores: Stores) -> None:
    server.answers = [body(200, {})]
    notice = a_notice(ACME, Channel.CONSOLE)
    stores.notices.put(notice, None)
    (asked,) = server.asked
    assert (asked["operation"], asked["TableName"]) == ("PutItem", "notices")
    assert (asked["ConditionExpression"], asked["ExpressionAttributeNames"]) == (
        "attribute_not_exists (#0)",
        {"#0": "pk"},
    )
