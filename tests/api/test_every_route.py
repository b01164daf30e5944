"""What holds for every route: its statuses, its token, its path, its body, and how it fails."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from notify_core.api import inbox, operators
from notify_core.api.bodies import BODY_BYTES_MAX
from notify_core.api.routing import serve
from notify_core.application.ports import Conflict, StoreUnavailable
from notify_core.domain.delivery_lifecycle import DeliveryState
from notify_core.domain.directory import WorkspaceStatus
from notify_core.domain.identifiers import NoticeId
from notify_core.domain.problem import Problem
from tests.api import contract
from tests.api.builders import CHAT, accepted, id_of, told
from tests.api.client import OPERATOR, Answered, Client, base64, inbox_of
from tests.api.conftest import NOW, World
from tests.builders import (
    a_contributor,
    a_definition,
    a_delivery,
    a_notice,
    a_queued_request,
    a_workspace,
    an_entry,
)

ROUTES = [*operators.ROUTES.by_key, *inbox.ROUTES.by_key]
NAMES = {
    "ws": "acme",
    "person": "ana",
    "key": "invoice.overdue",
    "recipient": "ana",
    "channel": "chat",
    "request_id": id_of("inv-42"),
    "notice_id": id_of("inv-42"),
}
BODIES: Mapping[str, object] = {
    key: operation["requestBody"]["content"]["application/json"]["example"]
    for key, operation, _ in contract.operations()
    if "requestBody" in operation
}
WITH_A_BODY = sorted(BODIES)
WITH_A_CURSOR = [
    key for key, _, parameters in contract.operations() if "cursor" in {item["name"] for item in parameters}
]


def make(caller: Client, route: str, body: object = None, **changes: Any) -> Answered:
    """A call that is right as far as the document tells, but for the changes."""
    method, template = route.split()
    path = template.format(**{**NAMES, **changes.pop("names", {})})
    if "raw" not in changes and body is None:
        body = BODIES.get(route)
    return caller.call(method, path, body, **changes)


def caller_of(world: World, route: str, **broken: Any) -> Client:
    claims = inbox_of("ana") if route in inbox.ROUTES.by_key else OPERATOR
    return Client(world.without(**broken), claims)


class Broken:
    """A store that fails whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise self._error

        return fail


def broken(error: Exception) -> dict[str, Any]:
    return dict.fromkeys(("registry", "directory", "requests", "notices", "queues"), Broken(error))


# ---------------------------------------------------------------- every documented status happens


def registered(world: World) -> None:
    world.ports.registry.put_workspace(a_workspace(), None)
    world.ports.registry.put_definition(a_definition(), None)


def in_history(world: World) -> None:
    registered(world)
    accepted(world.ports, NOW, "inv-42", an_entry("ana", CHAT))


def in_inbox(world: World) -> None:
    told(world.ports, NOW, "inv-42")


def dead_lettered(world: World) -> None:
    problem = Problem(field="", code="not_processed", message="it failed again and again")
    world.ports.requests.put(a_queued_request("inv-42", problems=(problem,)), None)


def failed(world: World) -> None:
    in_history(world)
    contributors = (a_contributor(id_of("inv-42")),)
    notice = a_notice(a_delivery(DeliveryState.FAILED), notice_id=NoticeId(id_of("inv-42")), contributors=contributors)
    world.ports.notices.put(notice, None)


def suspended(world: World) -> None:
    world.ports.registry.put_workspace(a_workspace(status=WorkspaceStatus.SUSPENDED), None)
    world.ports.registry.put_definition(a_definition(), None)


def nothing(_: World) -> None:
    """Nothing is there."""


WS = "/v1/workspaces/{ws}"
NOTICE = f"{WS}/notices/{{recipient}}/{{notice_id}}"
HAPPENS: Mapping[tuple[str, int], Callable[[World], None]] = {
    (f"PUT {WS}", 200): nothing,
    (f"PUT {WS}/people/{{person}}", 200): registered,
    (f"PUT {WS}/people/{{person}}", 404): nothing,
    (f"GET {WS}/definitions", 200): registered,
    (f"GET {WS}/definitions", 404): nothing,
    (f"PUT {WS}/definitions/{{key}}", 200): registered,
    (f"PUT {WS}/definitions/{{key}}", 404): nothing,
    (f"GET {WS}/definitions/{{key}}", 200): registered,
    (f"GET {WS}/definitions/{{key}}", 404): nothing,
    (f"DELETE {WS}/definitions/{{key}}", 204): registered,
    (f"DELETE {WS}/definitions/{{key}}", 404): nothing,
    (f"DELETE {WS}/definitions/{{key}}", 409): suspended,
    (f"POST {WS}/requests", 200): registered,
    (f"POST {WS}/requests", 202): nothing,
    (f"GET {WS}/requests", 200): in_history,
    (f"GET {WS}/requests", 404): nothing,
    (f"GET {WS}/requests/{{request_id}}", 200): in_history,
    (f"GET {WS}/requests/{{request_id}}", 404): nothing,
    (f"POST {WS}/requests/{{request_id}}/reprocess", 202): dead_lettered,
    (f"POST {WS}/requests/{{request_id}}/reprocess", 404): nothing,
    (f"POST {WS}/requests/{{request_id}}/reprocess", 409): in_history,
    (f"POST {WS}/withdrawals", 200): nothing,
    (f"GET {NOTICE}", 200): in_history,
    (f"GET {NOTICE}", 404): nothing,
    (f"POST {NOTICE}/deliveries/{{channel}}/retry", 202): failed,
    (f"POST {NOTICE}/deliveries/{{channel}}/retry", 404): nothing,
    (f"POST {NOTICE}/deliveries/{{channel}}/retry", 409): in_history,
    (f"GET {WS}/deliveries", 200): failed,
    (f"GET {WS}/deliveries", 404): nothing,
    (f"POST {WS}/deliveries/retry", 200): failed,
    (f"POST {WS}/deliveries/retry", 404): nothing,
    ("GET /v1/inbox", 200): in_inbox,
    ("GET /v1/inbox/unread", 200): nothing,
    ("POST /v1/inbox/{notice_id}/read", 204): in_inbox,
    ("POST /v1/inbox/{notice_id}/read", 404): nothing,
    ("POST /v1/inbox/read_all", 204): nothing,
}
LOSING = {
    f"PUT {WS}": nothing,
    f"PUT {WS}/people/{{person}}": registered,
    f"PUT {WS}/definitions/{{key}}": registered,
    f"POST {WS}/withdrawals": in_history,
    "POST /v1/inbox/{notice_id}/read": in_inbox,
}
"""Routes whose only refusal is a race that they keep losing."""
BY_THE_GATEWAY = {401}
FOR_ALL = {400, 403, 413, 422, 500, 503}


def test_every_documented_status_happens_in_a_test_here() -> None:
    documented = {
        (key, int(status)) for key, operation, _ in contract.operations() for status in operation["responses"]
    }
    happens = {*HAPPENS, *((route, 409) for route in LOSING)}
    assert {item for item in documented if item[1] not in FOR_ALL | BY_THE_GATEWAY} == happens


@pytest.mark.parametrize(("route", "status"), HAPPENS)
def test_a_documented_status_happens(world: World, route: str, status: int) -> None:
    HAPPENS[route, status](world)
    changes = {"query": {"dry_run": "true"}} if (route, status) == (f"POST {WS}/requests", 200) else {}
    assert make(caller_of(world, route), route, **changes).status == status


class Losing:
    """A store where somebody else always writes first."""

    def __init__(self, store: object) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        def lose(*_: object, **__: object) -> None:
            raise Conflict

        return lose if name.startswith(("put", "commit")) else getattr(self._store, name)


@pytest.mark.parametrize("route", LOSING)
def test_a_race_lost_again_and_again_is_a_conflict(world: World, route: str) -> None:
    LOSING[route](world)
    stores = {name: Losing(getattr(world.ports, name)) for name in ("registry", "directory", "requests", "notices")}
    body = {**BODIES[route], "request_key": "inv-42"} if route.endswith("withdrawals") else None
    answer = make(caller_of(world, route, **stores), route, body)
    assert (answer.status, answer.problems) == (409, [("", "conflict")])


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize("route", operators.ROUTES.by_key)
@pytest.mark.parametrize(
    "claims", [None, {}, inbox_of("ana"), {"scope": "notify/operator2"}, {"scope": "", "scp": "[notify/inbox]"}]
)
def test_operators_routes_need_the_operators_scope(world: World, route: str, claims: dict[str, str] | None) -> None:
    answer = make(Client(world.api, claims), route)
    assert (answer.status, answer.problems) == (403, [("", "scope_missing")])


def test_a_token_is_looked_at_before_anything_else(world: World) -> None:
    caller = Client(world.api, {})
    assert caller.call("PUT", "/v1/workspaces/a!", raw="{", query={"x": "1"}).status == 403


def test_an_event_without_claims_is_forbidden(world: World, operator: Client) -> None:
    answer = operator.call("GET", "/v1/workspaces/acme/requests", requestContext={"requestId": "x"})
    assert answer.status == 403


# ---------------------------------------------------------------- paths and queries


@pytest.mark.parametrize("route", [route for route in ROUTES if "{ws}" in route])
@pytest.mark.parametrize("name", ["a#b", "a b", "-a", ".", "é", "a" * 65, "%61", "a%2Fb", "a\n"])
def test_a_workspace_that_can_not_be_is_named(world: World, route: str, name: str) -> None:
    registered(world)
    answer = make(caller_of(world, route), route, names={"ws": name})
    assert (answer.status, answer.problems) == (422, [("workspace_id", "invalid_identifier")])


@pytest.mark.parametrize(
    ("route", "name", "field"),
    [
        (f"PUT {WS}/people/{{person}}", "person", "person"),
        (f"PUT {WS}/definitions/{{key}}", "key", "definition"),
        (f"GET {WS}/definitions/{{key}}", "key", "definition"),
        (f"DELETE {WS}/definitions/{{key}}", "key", "definition"),
        (f"GET {NOTICE}", "recipient", "recipient"),
        (f"POST {NOTICE}/deliveries/{{channel}}/retry", "recipient", "recipient"),
    ],
)
def test_every_name_in_a_path_that_can_not_be_is_named(world: World, route: str, name: str, field: str) -> None:
    answer = make(caller_of(world, route), route, names={"ws": "!", name: "--"})
    assert (answer.status, answer.problems) == (
        422,
        [("workspace_id", "invalid_identifier"), (field, "invalid_identifier")],
    )


def test_the_headquarters_is_a_recipient_and_no_person(world: World, operator: Client) -> None:
    registered(world)
    assert operator.put("/v1/workspaces/acme/people/-", {"name": "HQ"}).status == 422
    assert operator.get(f"/v1/workspaces/acme/notices/-/{id_of('inv-42')}").status == 404


@pytest.mark.parametrize("route", ROUTES)
def test_a_query_parameter_that_a_route_does_not_know_is_named(world: World, route: str) -> None:
    answer = make(caller_of(world, route), route, query={"colour": "red", "\ud800": "x"})
    assert (answer.status, answer.problems) == (422, [("colour", "unknown_parameter"), ("?", "unknown_parameter")])


@pytest.mark.parametrize("route", WITH_A_CURSOR)
def test_a_cursor_that_no_list_gave_out_is_refused(world: World, route: str) -> None:
    registered(world)
    answer = make(caller_of(world, route), route, query={"cursor": "bm9uc2Vuc2U"})
    assert (answer.status, answer.problems) == (400, [("cursor", "invalid_cursor")])


@pytest.mark.parametrize("route", WITH_A_CURSOR)
def test_every_list_has_a_limit(world: World, route: str) -> None:
    registered(world)
    in_inbox(world)
    assert make(caller_of(world, route), route, query={"limit": "200"}).status == 200
    answer = make(caller_of(world, route), route, query={"limit": "201"})
    assert (answer.status, answer.problems) == (422, [("limit", "out_of_range")])


def test_a_route_that_the_function_does_not_serve_is_not_found(world: World) -> None:
    event = {
        "routeKey": "$default",
        "requestContext": {"authorizer": {"jwt": {"claims": dict(OPERATOR)}}},
        "isBase64Encoded": False,
    }
    answer = serve(operators.ROUTES, event, world.api, "invocation-1")
    assert (answer["statusCode"], json.loads(answer["body"])["errors"][0]["code"]) == (404, "route_not_found")


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize("route", WITH_A_BODY)
@pytest.mark.parametrize(
    "raw", ["", " ", "{", "nothing", "{'a': 1}", "[1,]", "NaN", '{"a": Infinity}', "[" * 100_000, '{"a": 1} 2']
)
def test_a_body_that_is_no_json_is_refused(world: World, route: str, raw: str) -> None:
    registered(world)
    answer = make(caller_of(world, route), route, raw=raw)
    assert (answer.status, answer.problems) == (400, [("", "not_json")])


@pytest.mark.parametrize("route", WITH_A_BODY)
def test_a_body_that_is_not_utf_8_is_refused(world: World, route: str) -> None:
    answer = make(caller_of(world, route), route, raw="/w==", isBase64Encoded=True)
    assert (answer.status, answer.problems) == (400, [("", "not_json")])


@pytest.mark.parametrize("route", WITH_A_BODY)
def test_a_body_above_the_limit_is_too_large_and_one_at_the_limit_is_read(world: World, route: str) -> None:
    registered(world)
    answer = make(caller_of(world, route), route, raw=f'"{"a" * (BODY_BYTES_MAX - 1)}"')
    assert (answer.status, answer.problems) == (413, [("", "too_large")])
    answer = make(caller_of(world, route), route, raw=f'"{"a" * (BODY_BYTES_MAX - 2)}"')
    assert (answer.status, answer.problems) == (422, [("", "type")])


@pytest.mark.parametrize("route", WITH_A_BODY)
@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ('{"a": 1, "a": 2}', "repeated_field"),
        ('{"a": "\\ud800"}', "invalid_text"),
        ('{"a": 1e999}', "out_of_range"),
        (f'{{"a": {"9" * 5_000}}}', "out_of_range"),
    ],
)
def test_what_can_be_written_and_not_be_kept_is_named(world: World, route: str, raw: str, code: str) -> None:
    registered(world)
    answer = make(caller_of(world, route), route, raw=raw)
    assert (answer.status, answer.problems) == (422, [("a", code)])


@pytest.mark.parametrize("route", WITH_A_BODY)
def test_a_body_in_base_64_is_the_same_body(world: World, route: str) -> None:
    registered(world)
    answer = make(caller_of(world, route), route, raw=base64(json.dumps(BODIES[route])), isBase64Encoded=True)
    assert answer.status in {200, 202, 204}


def test_a_hundred_problems_are_named_at_most(operator: Client) -> None:
    answer = operator.put("/v1/workspaces/acme", {f"field-{number}": None for number in range(500)})
    assert (answer.status, len(answer.problems)) == (422, 100)
    assert answer.body["detail"] == "add this field (and 99 more)"


# ---------------------------------------------------------------- failing


@pytest.mark.parametrize("route", ROUTES)
def test_a_failure_of_ours_is_recorded_and_tells_nothing_of_what_is_inside(world: World, route: str) -> None:
    answer = make(caller_of(world, route, **broken(RuntimeError("Ana owes 42"))), route)
    assert (answer.status, answer.problems) == (500, [("", "internal")])
    assert answer.body == {
        "type": "urn:notify:problem:internal",
        "title": "The call failed",
        "status": 500,
        "detail": "our fault, and recorded; name the instance when you report it",
        "instance": "urn:notify:call:invocation-1",
        "errors": answer.body["errors"],
    }
    [(event, fields)] = world.telemetry.alarms
    assert (event, fields["error"]) == ("call_failed", "RuntimeError")
    assert str(fields["where"]).startswith("test_every_route:")
    assert "owes" not in json.dumps([world.telemetry.alarms, world.telemetry.events])


@pytest.mark.parametrize("route", ROUTES)
def test_a_store_out_of_reach_asks_to_try_again(world: World, route: str) -> None:
    answer = make(caller_of(world, route, **broken(StoreUnavailable("throttled"))), route)
    assert (answer.status, answer.problems) == (503, [("", "unavailable")])
    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize("route", ROUTES)
def test_every_call_leaves_one_line_that_names_its_route_and_nobody(world: World, route: str) -> None:
    make(caller_of(world, route), route)
    [(event, fields)] = world.telemetry.events
    assert event == next(
        table.by_key[route].serve.__name__ for table in (operators.ROUTES, inbox.ROUTES) if route in table.by_key
    )
    assert fields.keys() == {"status"}


def test_what_is_answered_is_for_nobody_else_to_keep(world: World) -> None:
    in_inbox(world)
    assert world.inbox("ana").get("/v1/inbox").headers == {
        "cache-control": "no-store",
        "content-type": "application/json",
    }


def test_a_refusal_is_a_problem_document(operator: Client) -> None:
    answer = operator.get("/v1/workspaces/acme/requests", limit="0")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.body == {
        "type": "urn:notify:problem:invalid",
        "title": "Something has to be corrected",
        "status": 422,
        "detail": "a whole number from 1 to 200",
        "instance": "urn:notify:call:invocation-1",
        "errors": [{"field": "limit", "code": "out_of_range", "message": "a whole number from 1 to 200"}],
    }
