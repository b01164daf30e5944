"""Reaching a platform: which one, with which token, and what is said when it isn't reached."""

import json
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Notify
from tests.cli.platform import Platform

HISTORY = ("history", "-w", "acme")
JSON = {"content-type": "application/json"}


def words(text: str) -> str:
    """What a person reads, without frames and line breaks."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made, without making them."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


# ---------------------------------------------------------------- which platform


def test_without_any_it_says_how_to_name_one(bare: Notify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = bare(*HISTORY)
    assert done.code == 2
    assert "no platform is known: there is no .local/stack.json. Start a local one with `make up`" in words(done.err)


def test_the_local_one_is_found_where_it_is_started(
    bare: Notify, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "stack.json").write_text(json.dumps(platform.stack))
    monkeypatch.chdir(tmp_path)
    assert bare(*HISTORY).code == 0


def test_a_real_one_is_named_by_its_address_and_token(bare: Notify, platform: Platform) -> None:
    assert bare(*HISTORY, "--api-url", f"{platform.url}/", "--token", platform.operator_token()).code == 0


def test_two_platforms_are_one_too_many(bare: Notify, platform: Platform, stack: Path) -> None:
    done = bare(*HISTORY, "--stack", str(stack), "--api-url", platform.url)
    assert (done.code, platform.calls) == (2, [])
    assert "leave out one of them" in words(done.err)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "can't be read as JSON"),
        ("[]", "doesn't describe a platform"),
        ('{"api_url": 7}', "api_url has to be text"),
        ('{"queues": ["requests"]}', "queues has to be an object"),
        ('{"api_url": "file:///etc"}', "is no address of an API"),
        ("{}", "this asks the API: give --api-url and --token"),
        ('{"api_url": "https://api.example"}', "give an operator's token as NOTIFY_TOKEN or --token"),
    ],
)
def test_a_file_that_describes_none_is_refused(bare: Notify, stack: Path, text: str, says: str) -> None:
    stack.write_text(text)
    done = bare(*HISTORY, "--stack", str(stack))
    assert done.code == 2
    assert says in words(done.err)


def test_a_workspace_has_to_be_named(notify: Notify) -> None:
    done = notify("history", NOTIFY_WORKSPACE="")
    assert done.code == 2
    assert "--workspace or NOTIFY_WORKSPACE" in words(done.err)


# ---------------------------------------------------------------- tokens


def test_no_token_is_ever_shown(bare: Notify, platform: Platform) -> None:
    secret = "s3cret-t0ken"
    calls = [
        bare(*HISTORY, "--api-url", platform.url, NOTIFY_TOKEN=secret),
        bare(*HISTORY, "--api-url", platform.url, "--json", NOTIFY_TOKEN=secret),
        bare(*HISTORY, "--api-url", platform.url, NOTIFY_TOKEN=f"{secret}\n{secret}"),
        bare(*HISTORY, "--api-url", platform.url, NOTIFY_TOKEN=f"{secret}é"),
        bare(*HISTORY, "--api-url", "http://127.0.0.1:1", NOTIFY_TOKEN=secret),
        bare("history", "--help", NOTIFY_TOKEN=secret),
    ]
    assert [done.code for done in calls] == [1, 1, 2, 2, 1, 0]
    assert [secret in done.out + done.err for done in calls] == [False] * 6


@pytest.mark.parametrize(
    ("status", "message", "says"),
    [
        (401, "Unauthorized", "The token isn't valid, or no longer"),
        (403, "Forbidden", "notify/operator"),
        (404, "Not Found", "is the API's address right?"),
        (418, "Teapot", "The API answered 418 Teapot"),
    ],
)
def test_what_the_gateway_refuses_has_a_remedy(
    platform: Platform, notify: Notify, status: int, message: str, says: str
) -> None:
    platform.replies = [(status, JSON, json.dumps({"message": message}))]
    done = notify("history")
    assert done.code == 1
    assert says in done.err


def test_a_token_without_the_scope_is_refused(bare: Notify, platform: Platform) -> None:
    token = platform.simulator.token(sub="ana", scope="notify/inbox", workspace_id="acme")
    done = bare(*HISTORY, "--api-url", platform.url, NOTIFY_TOKEN=token)
    assert (done.code, done.err.splitlines()[0]) == (1, "The token doesn't allow this call")


def test_a_token_goes_nowhere_else(platform: Platform, notify: Notify) -> None:
    platform.replies = [(302, {"location": f"{platform.url}/elsewhere"}, "")]
    done = notify("history")
    assert (done.code, len(platform.calls)) == (1, 1)
    assert "The API answered 302" in done.err


# ---------------------------------------------------------------- what isn't answered


def test_what_is_not_served_yet_is_asked_again(platform: Platform, notify: Notify, pauses: list[float]) -> None:
    platform.replies = [(503, {**JSON, "retry-after": "2"}, "{}"), (429, JSON, "{}")]
    assert notify("history").code == 0
    assert (len(platform.calls), pauses) == (3, [2, 1])


def test_what_is_never_served_is_given_up(platform: Platform, notify: Notify, pauses: list[float]) -> None:
    platform.replies = [(503, {**JSON, "retry-after": "3600"}, "{}")] * 9
    done = notify("history")
    assert (done.code, len(platform.calls), pauses) == (1, 3, [10, 10])


def test_a_failure_of_the_platform_is_named_as_its_logs_do(platform: Platform, notify: Notify) -> None:
    problem = {"field": "", "code": "internal", "message": "our fault, and recorded"}
    document = {"title": "The call failed", "instance": "urn:notify:call:invocation-1", "errors": [problem]}
    platform.replies = [(500, JSON, json.dumps(document))]
    done = notify("history")
    assert done.err.splitlines() == [
        "The call failed. In the logs it is urn:notify:call:invocation-1",
        "  our fault, and recorded (internal)",
    ]


def test_nobody_there_is_told_with_the_address(bare: Notify, pauses: list[float]) -> None:
    done = bare(*HISTORY, "--api-url", "http://127.0.0.1:1/stage", "--token", "t")
    assert (done.code, pauses) == (1, [1, 1])
    assert done.err.startswith("No answer from http://127.0.0.1:1 (")
    assert "Is it running, and its address right?" in done.err


def test_an_answer_that_is_not_the_platforms_is_not_taken_for_one(platform: Platform, notify: Notify) -> None:
    platform.replies = [(200, {"content-type": "text/html"}, "<html>")]
    done = notify("history")
    assert (done.code, done.out) == (1, "")
    assert "Is the API's address right?" in done.err


def test_a_proxy_of_the_developers_is_not_asked_for_this_machine(platform: Platform, notify: Notify) -> None:
    assert notify("history", http_proxy="http://127.0.0.1:1").code == 0
    assert len(platform.calls) == 1
