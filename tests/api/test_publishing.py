"""Publishing, previewing, withdrawing and reprocessing over HTTP: equal to the queue, and a preview stores nothing."""

import json
from datetime import timedelta
from typing import Any

import pytest

from notify_core.application.ports import Message, QueueName, StoreUnavailable
from notify_core.application.record_dead_publication import record_dead_publication
from notify_core.domain.channel import Channel
from notify_core.domain.directory import WorkspaceStatus
from notify_core.domain.request import Publication
from notify_core.messages.publications import parse_message
from tests.api.client import Answered, Client
from tests.api.conftest import World
from tests.application.world import World as Platform

PATH = "/v1/workspaces/acme"
REQUESTS = f"{PATH}/requests"


def publication(key: str = "k1", **changes: Any) -> dict[str, Any]:
    """A publication to ana, as a producer sends it over HTTP."""
    return {
        "version": 1,
        "definition": "invoice.overdue",
        "request_key": key,
        "published_at": "2026-11-30T12:00:00Z",
        "data": {"number": "42"},
        "audience": {"people": ["ana"]},
        **changes,
    }


def withdrawal(key: str | None = "k1", **changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "definition": "invoice.overdue",
        "request_key": key,
        "withdrawn_at": "2026-11-30T12:00:00Z",
        **changes,
    }


def preview(caller: Client, body: object) -> Any:
    answer = caller.post(REQUESTS, body, dry_run="true")
    assert answer.status == 200
    return answer.body


@pytest.fixture(autouse=True)
def registered(platform: Platform) -> None:
    platform.register_people("ana", "bob")
    platform.register_definition("console", "chat", "text")


def outcome(platform: Platform, caller: Client, published: Answered) -> Any:
    """The request that a publication became."""
    platform.run()
    return caller.get(f"{REQUESTS}/{published.body['request_id']}").body


# ---------------------------------------------------------------- publishing


def test_a_publication_is_in_the_queue_before_it_is_answered(world: World, operator: Client) -> None:
    answer = operator.post(REQUESTS, publication())
    assert answer.status == 202
    assert world.queues.take(QueueName.REQUESTS) == [
        Message(body={"type": "publish", "workspace_id": "acme", **publication()}, group="acme")
    ]


def test_a_publication_gets_its_outcome_under_the_id_answered(platform: Platform, producer: Client) -> None:
    published = producer.post(REQUESTS, publication())
    assert producer.get(f"{REQUESTS}/{published.body['request_id']}").status == 404
    request = outcome(platform, producer, published)
    assert (request["state"], request["request_key"]) == ("open", "k1")
    assert [notice["status"] for notice in request["notices"]] == ["delivering"]
    assert len(platform.chat.reached) == 1


def test_publishing_over_http_and_by_the_queue_is_the_same(platform: Platform, producer: Client) -> None:
    body = {"type": "publish", "workspace_id": "acme", **publication()}
    platform.queues.put(QueueName.REQUESTS, json.dumps(body))
    platform.run()
    by_queue = producer.get(f"{REQUESTS}/{platform.id_of('k1')}").body
    published = producer.post(REQUESTS, publication())
    assert outcome(platform, producer, published) == by_queue
    assert producer.post(REQUESTS, body).body == published.body
    assert len(platform.chat.reached) == 1


@pytest.mark.parametrize(
    ("body", "state", "problem"),
    [
        (publication(data={}), "invalid", ("data.number", "required")),
        (publication(data=[]), "invalid", ("data", "type")),
        (publication(definition="unknown"), "invalid", ("definition", "unknown_definition")),
        (publication(audience=None), "invalid", ("audience", "type")),
        (publication(published_at="yesterday"), "invalid", ("published_at", "invalid_time")),
        (publication(published_at="2027-01-01T00:00:00Z"), "invalid", ("published_at", "in_future")),
        (publication(priority="high"), "invalid", ("priority", "unknown_field")),
        (publication(audience={"people": []}), "no_recipients", None),
        (publication(deadline="2026-11-30T11:00:00Z"), "expired", None),
    ],
)
def test_what_is_wrong_besides_the_identity_is_recorded(
    platform: Platform, producer: Client, body: dict[str, Any], state: str, problem: tuple[str, str] | None
) -> None:
    published = producer.post(REQUESTS, body)
    assert published.status == 202
    request = outcome(platform, producer, published)
    problems = [(item["field"], item["code"]) for item in request["problems"]]
    assert (request["state"], problems) == (state, [problem] if problem else [])


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, [("version", "required"), ("definition", "required"), ("request_key", "required")]),
        ([], [("", "type")]),
        ("publish", [("", "type")]),
        (publication(version=2), [("version", "not_allowed")]),
        (publication(version="1"), [("version", "not_allowed")]),
        (publication(version=True), [("version", "not_allowed")]),
        (publication(type="withdraw"), [("type", "not_allowed")]),
        (publication(workspace_id="other"), [("workspace_id", "not_allowed")]),
        (publication(workspace_id=None), [("workspace_id", "not_allowed"), ("workspace_id", "type")]),
        (publication(definition="a/b"), [("definition", "invalid_identifier")]),
        (publication(definition=7), [("definition", "type")]),
        (publication(""), [("request_key", "invalid_key")]),
        (publication("k" * 257), [("request_key", "invalid_key")]),
        (publication("\ud800"), [("request_key", "invalid_text")]),
        (publication(data={"number": "\udfff"}), [("data.number", "invalid_text")]),
    ],
)
@pytest.mark.parametrize("query", [{}, {"dry_run": "true"}])
def test_what_names_no_request_is_refused(
    platform: Platform, producer: Client, body: object, problems: list[tuple[str, str]], query: dict[str, str]
) -> None:
    answer = producer.post(REQUESTS, body, **query)
    assert (answer.status, answer.problems) == (422, problems)
    assert platform.queues.waiting == []


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (
            '{"version": 1, "definition": "d", "request_key": "a", "request_key": "b"}',
            ("request_key", "repeated_field"),
        ),
        ('{"version": 1, "definition": "d", "request_key": "k", "data": {"n": 1e999}}', ("data.n", "out_of_range")),
    ],
)
def test_what_json_can_say_and_a_message_cant_is_refused(
    platform: Platform, producer: Client, raw: str, problem: tuple[str, str]
) -> None:
    answer = producer.call("POST", REQUESTS, raw=raw)
    assert (answer.status, answer.problems) == (422, [problem])
    assert platform.queues.waiting == []


def test_a_publication_that_the_queue_does_not_take_is_not_answered_as_taken(
    platform: Platform, producer: Client
) -> None:
    def refuse(queue: QueueName, messages: list[Message]) -> None:
        raise StoreUnavailable("throttled")

    platform.queues.send = refuse  # type: ignore[method-assign]
    answer = producer.post(REQUESTS, publication())
    assert (answer.status, answer.problems) == (503, [("", "unavailable")])
    assert answer.headers["retry-after"] == "2"


def test_a_key_of_any_characters_is_a_key(platform: Platform, producer: Client) -> None:
    key = "facture №42 / é\u0000☃ #" + "x" * 200
    request = outcome(platform, producer, producer.post(REQUESTS, publication(key)))
    assert (request["state"], request["request_key"]) == ("open", key)


# ---------------------------------------------------------------- previewing


def test_a_preview_shows_each_recipients_texts_and_who_is_left_out(platform: Platform, producer: Client) -> None:
    platform.register_people("eve", active=False)
    platform.register_people("bob", phone=None)
    audience = {"people": ["bob", "ana", "eve", "zoe"], "teams": ["sales"]}
    assert preview(producer, publication(audience=audience)) == {
        "state": "open",
        "problems": [],
        "exclusions": [
            {"person": "eve", "reason": "inactive"},
            {"person": "zoe", "reason": "not_in_workspace"},
            {"team": "sales", "reason": "unknown_team"},
        ],
        "recipients": [
            {
                "recipient": "ana",
                "channels": [
                    shown("console", "delivered", {"title": "Invoice 42", "body": "For Ana"}),
                    shown("chat", "queued", {"text": "Invoice 42", "blocks": None}),
                    shown("text", "queued", {"body": "Invoice 42"}, segments=1),
                ],
            },
            {
                "recipient": "bob",
                "channels": [
                    shown("console", "delivered", {"title": "Invoice 42", "body": "For Bob"}),
                    shown("chat", "queued", {"text": "Invoice 42", "blocks": None}),
                    shown("text", "skipped", None, reason="no_address"),
                ],
            },
        ],
        "replaces": None,
        "folds": [],
    }


def shown(
    channel: str, state: str, content: Any, *, reason: str | None = None, segments: int | None = None
) -> dict[str, Any]:
    return {"channel": channel, "state": state, "reason": reason, "content": content, "segments": segments}


def test_a_preview_stores_and_sends_nothing(platform: Platform, producer: Client) -> None:
    preview(producer, publication())
    preview(producer, publication(audience={"people": []}))
    preview(producer, publication(data={}))
    assert platform.ports.requests.get("acme", platform.id_of("k1")) is None
    assert platform.queues.waiting == []
    assert platform.inbox() == []
    assert producer.get(REQUESTS).body["items"] == []


def test_a_preview_of_a_long_text_counts_its_parts(platform: Platform, producer: Client) -> None:
    shape = {"type": "object"}
    platform.register_definition("text", key="long", schema=shape)
    body = preview(producer, publication(definition="long", data={"number": "é" * 180}))
    assert [channel["segments"] for channel in body["recipients"][0]["channels"]] == [2]


def test_a_preview_of_more_text_than_an_answer_holds_leaves_out_the_last_texts(
    platform: Platform, producer: Client
) -> None:
    names = [f"person-{number:03d}" for number in range(200)]
    platform.register_people(*names)
    blocks = [{"type": "section", "text": {"type": "plain_text", "text": "{{ number }}"}}] * 10
    platform.register_definition("chat", templates={Channel.CHAT: {"text": "{{ number }}", "blocks": blocks}})
    body = preview(producer, publication(data={"number": "中" * 1_000}, audience={"people": names}))
    shown_count = sum(recipient["channels"][0]["content"] is not None for recipient in body["recipients"])
    assert (len(body["recipients"]), len(json.dumps(body, ensure_ascii=False).encode()) < 4_500_000) == (200, True)
    assert 110 < shown_count < 140


def test_a_preview_for_a_person_of_another_language_is_in_it(platform: Platform, producer: Client) -> None:
    platform.register_people("ana", locale="fr-CA")
    platform.register_definition(
        "console",
        templates={
            Channel.CONSOLE: {
                "title": "Invoice {{ number }}",
                "body": "Overdue",
                "locales": {"fr": {"title": "Facture {{ number }}", "body": "En retard"}},
            }
        },
    )
    contents = [
        channel["content"]
        for recipient in preview(producer, publication(audience={"people": ["ana", "bob"]}))["recipients"]
        for channel in recipient["channels"]
    ]
    assert contents == [
        {"title": "Facture 42", "body": "En retard"},
        {"title": "Invoice 42", "body": "Overdue"},
    ]


def test_a_preview_names_all_problems_of_the_content_at_once(producer: Client) -> None:
    body = preview(producer, publication(data={"number": 42}, audience={"people": ["ana"]}))
    assert (body["state"], body["recipients"]) == ("invalid", [])
    assert [(item["field"], item["code"]) for item in body["problems"]] == [("data.number", "type")]


def test_a_preview_of_a_malformed_publication_names_what_would_be_recorded(producer: Client) -> None:
    body = preview(producer, publication(published_at="soon", audience={"people": "ana"}))
    assert (body["state"], body["recipients"]) == ("invalid", [])
    assert [(item["field"], item["code"]) for item in body["problems"]] == [
        ("published_at", "invalid_time"),
        ("audience.people", "type"),
    ]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"audience": {"people": []}}, "no_recipients"),
        ({"audience": {"people": ["zoe"]}}, "no_recipients"),
        ({"deadline": "2026-11-30T11:00:00Z"}, "expired"),
        ({"published_at": "2026-11-20T12:00:00Z"}, "expired"),
    ],
)
def test_a_preview_says_which_other_outcome_it_would_get(producer: Client, changes: dict[str, Any], state: str) -> None:
    body = preview(producer, publication(**changes))
    assert (body["state"], body["recipients"], body["problems"]) == (state, [], [])


def test_a_preview_in_a_suspended_or_unknown_workspace_is_invalid(platform: Platform, producer: Client) -> None:
    platform.register_workspace(status=WorkspaceStatus.SUSPENDED)
    assert [item["code"] for item in preview(producer, publication())["problems"]] == ["workspace_suspended"]
    unknown = producer.post("/v1/workspaces/nobody/requests", publication(), dry_run="true").body
    assert [item["code"] for item in unknown["problems"]] == ["unknown_workspace"]


def test_a_preview_of_a_later_time_stays_queued_and_shows_what_will_be_sent(producer: Client) -> None:
    body = preview(producer, publication(not_before="2026-12-01T12:00:00Z"))
    assert body["state"] == "queued"
    assert [recipient["recipient"] for recipient in body["recipients"]] == ["ana"]


def test_a_preview_of_a_recorded_key_says_that_publishing_changes_nothing(platform: Platform, producer: Client) -> None:
    outcome(platform, producer, producer.post(REQUESTS, publication()))
    body = preview(producer, publication(data={"number": "43"}))
    assert (body["state"], body["recipients"]) == ("open", [])
    assert [(item["field"], item["code"]) for item in body["problems"]] == [("request_key", "already_recorded")]


def test_a_preview_names_the_request_that_it_would_replace(platform: Platform, producer: Client) -> None:
    platform.register_definition("console", replace_previous=True)
    first = producer.post(REQUESTS, publication("k1", replacement_key="inv-42"))
    assert preview(producer, publication("k2", replacement_key="inv-42"))["replaces"] is None
    outcome(platform, producer, first)
    later = publication("k2", replacement_key="inv-42", published_at="2026-11-30T12:00:01Z")
    assert preview(producer, later)["replaces"] == first.body["request_id"]
    earlier = publication("k3", replacement_key="inv-42", published_at="2026-11-30T11:59:59Z")
    body = preview(producer, earlier)
    assert (body["state"], body["replaces"]) == ("cancelled", None)


def test_a_preview_names_the_notices_that_it_would_fold_into(platform: Platform, producer: Client) -> None:
    platform.register_definition("console", fold_within=timedelta(hours=1))
    outcome(platform, producer, producer.post(REQUESTS, publication("k1", fold_key="inv-42")))
    audience = {"people": ["ana", "bob"]}
    folds = preview(producer, publication("k2", fold_key="inv-42", audience=audience))["folds"]
    notice_id = platform.inbox()[0].notice_id
    assert folds == [{"recipient": "ana", "notice_id": notice_id}]
    outcome(platform, producer, producer.post(REQUESTS, publication("k2", fold_key="inv-42", audience=audience)))
    assert len(platform.inbox()[0].contributors) == 2


def test_a_preview_after_the_fold_window_begins_a_notice_of_its_own(platform: Platform, producer: Client) -> None:
    platform.register_definition("console", fold_within=timedelta(hours=1))
    outcome(platform, producer, producer.post(REQUESTS, publication("k1", fold_key="inv-42")))
    platform.skip(hours=1)
    assert preview(producer, publication("k2", fold_key="inv-42"))["folds"] == []


def test_a_preview_of_an_alert_has_one_recipient_without_a_name(platform: Platform, producer: Client) -> None:
    platform.register_definition("slack_system", key="backup.failed")
    body = preview(producer, publication(definition="backup.failed", audience={"hq": True}))
    assert body["recipients"] == [
        {
            "recipient": None,
            "channels": [shown("slack_system", "queued", {"text": "Alert 42", "blocks": None})],
        }
    ]


@pytest.mark.parametrize("text", ["", "yes", "1", "TRUE", "true,true"])
def test_a_dry_run_is_true_or_false(platform: Platform, producer: Client, text: str) -> None:
    answer = producer.post(REQUESTS, publication(), dry_run=text)
    assert (answer.status, answer.problems) == (422, [("dry_run", "not_allowed")])
    assert platform.queues.waiting == []


def test_no_dry_run_is_a_publication(platform: Platform, producer: Client) -> None:
    assert producer.post(REQUESTS, publication(), dry_run="false").status == 202
    assert len(platform.queues.waiting) == 1


# ---------------------------------------------------------------- withdrawing


def withdraw(caller: Client, body: object) -> Any:
    answer = caller.post(f"{PATH}/withdrawals", body)
    assert answer.status == 200
    return answer.body


def test_a_withdrawal_names_who_was_stopped_and_who_had_been_told(platform: Platform, producer: Client) -> None:
    platform.register_people("bob", slack_user_id=None, phone=None)
    audience = {"people": ["ana", "bob"]}
    published = producer.post(REQUESTS, publication(audience=audience))
    outcome(platform, producer, published)
    platform.skip(minutes=1)
    assert withdraw(producer, withdrawal(reason="paid")) == {
        "result": "stopped",
        "request_id": published.body["request_id"],
        "state": "superseded",
        "recipients": [
            {"recipient": "ana", "result": "too_late", "channel": "chat", "since": "2026-11-30T12:00:00Z"},
            {"recipient": "bob", "result": "stopped", "channel": None, "since": None},
        ],
    }
    assert platform.unread("ana") == 0


def test_a_withdrawal_before_its_publication_stops_it_on_arrival(platform: Platform, producer: Client) -> None:
    request_id = platform.id_of("k1")
    assert withdraw(producer, withdrawal()) == {
        "result": "on_arrival",
        "request_id": request_id,
        "state": "cancelled",
        "recipients": [],
    }
    request = outcome(platform, producer, producer.post(REQUESTS, publication()))
    assert (request["state"], request["reason"], request["notices"]) == ("cancelled", "withdrawn", [])


def test_a_withdrawal_of_what_had_ended_does_nothing_and_says_how_it_ended(
    platform: Platform, producer: Client
) -> None:
    outcome(platform, producer, producer.post(REQUESTS, publication(data={})))
    body = withdraw(producer, withdrawal())
    assert (body["result"], body["state"], body["recipients"]) == ("nothing", "invalid", [])


def test_a_withdrawal_by_replacement_key_ends_the_request_that_it_covers(platform: Platform, producer: Client) -> None:
    platform.register_definition("console", replace_previous=True)
    published = producer.post(REQUESTS, publication(replacement_key="inv-42"))
    outcome(platform, producer, published)
    body = withdraw(producer, withdrawal(None, replacement_key="inv-42"))
    assert (body["result"], body["request_id"]) == ("stopped", published.body["request_id"])
    ahead = withdraw(producer, withdrawal(None, replacement_key="inv-43"))
    assert (ahead["result"], ahead["request_id"], ahead["state"]) == ("on_arrival", None, None)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        (withdrawal(None), [("request_key", "required")]),
        (withdrawal("k1", replacement_key="k2"), [("replacement_key", "not_allowed")]),
        (withdrawal(withdrawn_at="now"), [("withdrawn_at", "invalid_time")]),
        (withdrawal(withdrawn_at="2026-11-30T12:05:01Z"), [("withdrawn_at", "in_future")]),
        (withdrawal(version=3), [("version", "not_allowed")]),
        (withdrawal(type="publish"), [("type", "not_allowed")]),
        (withdrawal(workspace_id="other"), [("workspace_id", "not_allowed")]),
        (withdrawal(definition=""), [("definition", "invalid_identifier")]),
        (withdrawal(force=True), [("force", "unknown_field")]),
    ],
)
def test_what_is_wrong_with_a_withdrawal_is_named(
    producer: Client, body: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    answer = producer.post(f"{PATH}/withdrawals", body)
    assert (answer.status, answer.problems) == (422, problems)


def test_a_withdrawal_of_a_clock_a_little_ahead_is_taken(producer: Client) -> None:
    assert withdraw(producer, withdrawal(withdrawn_at="2026-11-30T12:05:00Z"))["result"] == "on_arrival"


# ---------------------------------------------------------------- reprocessing


def test_a_dead_lettered_publication_is_processed_again(platform: Platform, producer: Client) -> None:
    published = producer.post(REQUESTS, publication())
    message = platform.queues.receive()
    assert message is not None
    dead_lettered = parse_message(message.body)
    assert isinstance(dead_lettered, Publication)
    record_dead_publication(dead_lettered, platform.ports)
    path = f"{REQUESTS}/{published.body['request_id']}"
    dead = producer.get(path).body
    assert (dead["state"], len(dead["problems"])) == ("queued", 1)
    answer = producer.post(f"{path}/reprocess")
    assert (answer.status, answer.body) == (202, published.body)
    assert outcome(platform, producer, published)["state"] == "open"
    again = producer.post(f"{path}/reprocess")
    assert (again.status, again.problems) == (409, [("request_id", "not_dead_lettered")])


def test_what_was_never_processed_is_not_processed_again(platform: Platform, producer: Client) -> None:
    for request_id in (platform.id_of("k1"), "nonsense"):
        answer = producer.post(f"{REQUESTS}/{request_id}/reprocess")
        assert (answer.status, answer.problems) == (404, [("request_id", "request_not_found")])
