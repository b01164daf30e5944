"""What DynamoDB's refusals and the network's failures become, over real connections to a server that misbehaves."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pynamodb.exceptions import PynamoDBException

from infra.local.ports import HOST, free_port
from notify_core.adapters.dynamodb import CLIENT_CONFIG
from notify_core.application.ports import Conflict, PutRequest, StoreUnavailable
from notify_core.domain.identifiers import Recipient, WorkspaceId
from notify_core.domain.limits import STORE_TIMEOUT_SECONDS, STORE_TRIES_MAX
from notify_core.domain.request import rescheduled
from tests.conformance.backends import Stores
from tests.conformance.builders import a_request, an_open_request, at, other_request_id
from tests.conformance.dynamo_server import (
    IMPATIENT,
    MANY_TRIES,
    ONE_TRY,
    Answer,
    Server,
    body,
    cancelled,
    cut_short,
    hang,
    hang_up,
    page_of_a_proxy,
    refusal,
    reset,
    serving,
    stores_at,
)

WORKSPACE = WorkspaceId("acme")
ANA = Recipient("ana")


@pytest.fixture
def server() -> Server:
    return Server(answers=[])


@pytest.fixture
def failing(server: Server) -> Iterator[Stores]:
    """Stores on the server that try once."""
    with serving(server) as endpoint_url:
        yield stores_at(endpoint_url, ONE_TRY)


@pytest.fixture
def insisting(server: Server) -> Iterator[Stores]:
    """Stores on the server that try as often as in a function."""
    with serving(server) as endpoint_url:
        yield stores_at(endpoint_url, MANY_TRIES)


def put(stores: Stores) -> None:
    stores.requests.put(a_request(WORKSPACE), None)


def get(stores: Stores) -> None:
    stores.requests.get(WORKSPACE, other_request_id(1))


def get_many(stores: Stores) -> None:
    stores.requests.get_many(WORKSPACE, [other_request_id(1)])


def query(stores: Stores) -> None:
    stores.requests.history(WORKSPACE, 0, before=None, limit=1)


def count(stores: Stores) -> None:
    stores.notices.unread_count(WORKSPACE, ANA, after=None, limit=1)


def iterate(stores: Stores) -> None:
    next(stores.notices.generations(WORKSPACE, ANA, "fold"), None)


def transact(stores: Stores) -> None:
    first = an_open_request(WORKSPACE)
    second = an_open_request(WORKSPACE, "other")
    stores.requests.commit([PutRequest(new=first, was=None), PutRequest(new=rescheduled(second, at(9)), was=second)])


EVERY_CALL = [put, get, get_many, query, count, iterate, transact]


@pytest.mark.parametrize("code", ["ConditionalCheckFailedException", "TransactionConflictException"])
def test_a_refused_condition_is_a_conflict(server: Server, failing: Stores, code: str) -> None:
    server.answers = [refusal(code)]
    with pytest.raises(Conflict):
        put(failing)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "codes",
    [
        ("ConditionalCheckFailed", "None"),
        ("None", "ConditionalCheckFailed"),
        ("TransactionConflict", "None"),
        ("ThrottlingError", "TransactionConflict"),
    ],
)
def test_a_transaction_cancelled_for_a_condition_is_a_conflict(
    server: Server, failing: Stores, codes: tuple[str, str]
) -> None:
    server.answers = [cancelled(*codes)]
    with pytest.raises(Conflict):
        transact(failing)


@pytest.mark.parametrize("codes", [("ThrottlingError", "None"), ("None", "ProvisionedThroughputExceeded")])
def test_a_transaction_cancelled_by_throttling_may_be_tried_again(
    server: Server, failing: Stores, codes: tuple[str, str]
) -> None:
    server.answers = [cancelled(*codes)]
    with pytest.raises(StoreUnavailable):
        transact(failing)


@pytest.mark.parametrize("call", EVERY_CALL)
def test_every_call_says_that_dynamodb_throttles(
    server: Server, failing: Stores, call: Callable[[Stores], None]
) -> None:
    server.answers = [refusal("ProvisionedThroughputExceededException")]
    with pytest.raises(StoreUnavailable):
        call(failing)


TRANSIENT = {
    "throttled": refusal("ThrottlingException"),
    "limited": refusal("RequestLimitExceeded"),
    "in progress": refusal("TransactionInProgressException"),
    "server error": refusal("InternalServerError", 500),
    "unheard of": refusal("SomethingNew", 503),
    "proxy": page_of_a_proxy,
    "reset": reset,
    "hang up": hang_up,
    "cut short": cut_short,
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_what_may_be_tried_again_is_said_to_be(server: Server, failing: Stores, fault: str) -> None:
    server.answers = [TRANSIENT[fault]]
    for call in (put, get):
        with pytest.raises(StoreUnavailable):
            call(failing)


def test_silence_may_be_tried_again(server: Server) -> None:
    server.answers = [hang]
    with serving(server) as endpoint_url, pytest.raises(StoreUnavailable):
        get(stores_at(endpoint_url, IMPATIENT))


def test_nobody_listening_may_be_tried_again() -> None:
    with pytest.raises(StoreUnavailable):
        get(stores_at(f"http://{HOST}:{free_port()}", ONE_TRY))


@pytest.mark.parametrize("fault", ["server error", "reset", "cut short"])
def test_a_read_is_tried_again_by_itself(server: Server, insisting: Stores, fault: str) -> None:
    server.answers = [TRANSIENT[fault], body(200, {})]
    assert insisting.requests.get(WORKSPACE, other_request_id(1)) is None
    assert len(server.asked) == 2


def test_tries_come_to_an_end(server: Server, insisting: Stores) -> None:
    server.answers = [TRANSIENT["throttled"]]
    with pytest.raises(StoreUnavailable):
        get(insisting)
    assert len(server.asked) == STORE_TRIES_MAX


def test_a_write_whose_answer_was_lost_is_tried_again_and_conflicts(server: Server, insisting: Stores) -> None:
    """Its writer reads again, and finds its own value."""
    server.answers = [reset, refusal("ConditionalCheckFailedException")]
    with pytest.raises(Conflict):
        put(insisting)
    assert len(server.asked) == 2


@pytest.mark.parametrize("code", ["ValidationException", "ResourceNotFoundException", "AccessDeniedException"])
def test_a_mistake_of_ours_passes_as_it_is(server: Server, failing: Stores, code: str) -> None:
    server.answers = [refusal(code)]
    for call in (put, get, transact):
        with pytest.raises(PynamoDBException) as raised:
            call(failing)
        assert isinstance(raised.value.cause, ClientError)


def test_a_transaction_repeated_has_the_same_token_and_another_has_another(server: Server, failing: Stores) -> None:
    server.answers = [body(200, {})]
    first = an_open_request(WORKSPACE)
    for new, was in [
        (first, None),
        (first, None),
        (rescheduled(first, at(9)), first),
        (rescheduled(first, at(9)), rescheduled(first, None)),
    ]:
        failing.requests.commit([PutRequest(new=new, was=was)])
    tokens = [asked["ClientRequestToken"] for asked in server.asked]
    assert tokens[0] == tokens[1]
    assert len(set(tokens)) == 3
    assert {len(token) for token in tokens} == {22}


# ---------------------------------------------------------------- batches that come back in parts


def answered(request_item: dict[str, Any], *left: str) -> Answer:
    """A batch read that leaves keys over."""
    unprocessed = {"requests": {"Keys": [{"pk": {"S": pk}} for pk in left]}} if left else {}
    found = [request_item] if request_item else []
    return body(200, {"Responses": {"requests": found}, "UnprocessedKeys": unprocessed})


def test_keys_that_a_batch_read_left_over_are_asked_for_again(server: Server, failing: Stores) -> None:
    request = an_open_request(WORKSPACE)
    server.answers = [body(200, {})]
    failing.requests.put(request, None)
    row = server.asked.pop()["Item"]

    server.answers = [answered({}, row["pk"]["S"], "R#acme#b"), answered(row, "R#acme#b"), answered({})]
    found = failing.requests.get_many(WORKSPACE, [request.request_id, other_request_id(1)])
    assert found == {request.request_id: request}
    assert [sorted(key["pk"]["S"] for key in asked["RequestItems"]["requests"]["Keys"]) for asked in server.asked] == [
        sorted([row["pk"]["S"], "R#acme#request-0001"]),
        sorted([row["pk"]["S"], "R#acme#b"]),
        ["R#acme#b"],
    ]
    assert [asked["RequestItems"]["requests"]["ConsistentRead"] for asked in server.asked] == [True] * 3


def test_a_batch_read_that_gets_no_further_gives_up(server: Server, failing: Stores) -> None:
    server.answers = [answered({}, "R#acme#request-0001")]
    with pytest.raises(StoreUnavailable, match="left 1 keys"):
        get_many(failing)
    assert len(server.asked) == 5


def test_the_client_gives_up_within_the_limits() -> None:
    config = CLIENT_CONFIG
    assert config.connect_timeout + config.read_timeout == STORE_TIMEOUT_SECONDS
    assert config.retries == {"total_max_attempts": STORE_TRIES_MAX, "mode": "standard"}
    assert config.max_pool_connections == 32
