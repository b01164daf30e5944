import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.config import Config
from botocore.session import Session
from moto import mock_aws

from notify_core.adapters.aws import create_client
from notify_core.adapters.secrets import CLIENT_CONFIG, Secrets, SecretUnavailable
from tests.adapters.loopback import Provider, answer, reset

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


class Ticks:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def manager() -> "Iterator[SecretsManagerClient]":
    with mock_aws():
        yield Session().create_client("secretsmanager", config=CLIENT_CONFIG)  # type: ignore[misc]


def test_a_secret_is_its_text_and_an_absent_or_empty_one_is_none(manager: "SecretsManagerClient") -> None:
    manager.create_secret(Name="notify/slack/acme", SecretString=" xoxb-1\n")
    manager.create_secret(Name="notify/slack/empty", SecretString=" ")
    secrets = Secrets(manager)
    assert secrets.read("notify/slack/acme") == "xoxb-1"
    assert secrets.read("notify/slack/empty") is None
    assert secrets.read("notify/slack/none") is None


def test_a_value_and_its_absence_are_remembered_for_five_minutes(manager: "SecretsManagerClient") -> None:
    manager.create_secret(Name="a", SecretString="old")
    ticks = Ticks()
    secrets = Secrets(manager, monotonic=ticks)
    assert (secrets.read("a"), secrets.read("b")) == ("old", None)
    manager.put_secret_value(SecretId="a", SecretString="new")
    manager.create_secret(Name="b", SecretString="born")
    ticks.seconds += 299
    assert (secrets.read("a"), secrets.read("b")) == ("old", None)
    ticks.seconds += 1
    assert (secrets.read("a"), secrets.read("b")) == ("new", "born")


def test_a_refused_value_is_read_anew(manager: "SecretsManagerClient") -> None:
    manager.create_secret(Name="a", SecretString="old")
    secrets = Secrets(manager)
    assert secrets.read("a") == "old"
    manager.put_secret_value(SecretId="a", SecretString="new")
    secrets.forget("a", refused="old")
    assert secrets.read("a") == "new"


def test_a_value_renewed_meanwhile_is_not_forgotten_on_account_of_the_old_one(
    manager: "SecretsManagerClient",
) -> None:
    manager.create_secret(Name="a", SecretString="new")
    secrets = Secrets(manager)
    assert secrets.read("a") == "new"
    manager.put_secret_value(SecretId="a", SecretString="newer")
    secrets.forget("a", refused="old")
    assert secrets.read("a") == "new"


def client(aws: Session, url: str) -> "SecretsManagerClient":
    config = CLIENT_CONFIG.merge(Config(retries={"total_max_attempts": 1}))
    return create_client(aws, "secretsmanager", config, endpoint_url=url)  # type: ignore[no-any-return]


VALUE = answer(200, {"SecretString": "xoxb-1"})


def test_a_secret_that_was_never_read_and_cannot_be_is_unavailable(aws: Session, provider: Provider) -> None:
    provider.does(answer(400, {"__type": "AccessDeniedException"}), reset)
    secrets = Secrets(client(aws, provider.url))
    for _ in range(2):
        with pytest.raises(SecretUnavailable):
            secrets.read("a")


def test_a_value_that_cannot_be_renewed_is_used_on(aws: Session, provider: Provider) -> None:
    provider.does(VALUE, reset, reset, answer(200, {"SecretString": "xoxb-2"}))
    ticks = Ticks()
    secrets = Secrets(client(aws, provider.url), monotonic=ticks)
    assert secrets.read("a") == "xoxb-1"
    ticks.seconds += 300
    assert [secrets.read("a") for _ in range(5)] == ["xoxb-1"] * 5
    assert len(provider.requests) == 2
    ticks.seconds += 15
    assert secrets.read("a") == "xoxb-1"
    ticks.seconds += 15
    assert secrets.read("a") == "xoxb-2"


def test_many_threads_that_need_one_secret_ask_once(aws: Session, provider: Provider) -> None:
    def slowly(then: Callable[..., None]) -> Callable[..., None]:
        def behave(connection: object) -> None:
            time.sleep(0.1)
            then(connection)

        return behave

    provider.does(slowly(VALUE))
    secrets = Secrets(client(aws, provider.url))
    read: list[str | None] = []
    threads = [threading.Thread(target=lambda: read.append(secrets.read("a"))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == ["xoxb-1"] * 10
    assert len(provider.requests) == 1
