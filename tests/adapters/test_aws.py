"""How AWS's clients are made, and what carries their calls."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import URLLib3Session
from botocore.session import Session

from notify_core.adapters import aws, dynamodb, kept_connections, secrets, sms, sqs
from notify_core.adapters.aws import KeptSession, client_config, create_client
from notify_core.settings import SettingUnusable
from tests.adapters.loopback import Behaviour, Ended, Provider, answer, close, cut, hang, reset

SERVICES = ("dynamodb", "sqs", "secretsmanager", "pinpoint-sms-voice-v2")
SECRET = answer(200, {"SecretString": "xoxb-1"})


@dataclass
class Gathered:
    """A connection that nothing leaves."""

    sent: bytes = b""

    def sendall(self, sent: bytes) -> None:
        self.sent += sent


def session() -> Session:
    session = Session()
    session.set_credentials("test", "test")
    return session


def client(url: str | None = None, *, tries_max: int = 1, service: str = "secretsmanager") -> Any:
    config = client_config(connect_seconds=0.3, read_seconds=0.3, tries_max=tries_max)
    return create_client(session(), service, config, endpoint_url=url, region_name="eu-central-1")


def read(called: Any) -> str:
    return called.get_secret_value(SecretId="a")["SecretString"]


@pytest.mark.parametrize(
    "config", [dynamodb.CLIENT_CONFIG, secrets.CLIENT_CONFIG, sms.CLIENT_CONFIG, sqs.CLIENT_CONFIG]
)
def test_no_client_does_what_nobody_needs(config: Any) -> None:
    """Checks what the product itself has built, or composes a user agent for each call."""
    assert (config.parameter_validation, config.user_agent) == (False, "notify-platform")


# ---------------------------------------------------------------- where it is called


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1"])
@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("dynamodb", "PutItem"),
        ("sqs", "SendMessageBatch"),
        ("secretsmanager", "GetSecretValue"),
        ("pinpoint-sms-voice-v2", "SendTextMessage"),
    ],
)
def test_a_client_s_own_address_is_the_one_that_its_rules_give(service: str, operation: str, region: str) -> None:
    """The clients ask the rules no more: they call the address that they were made with."""
    client: Any = session().create_client(service, region_name=region)
    context: dict[str, Any] = {}
    model = client.meta.service_model.operation_model(operation)
    address, headers, properties = client._resolve_endpoint_ruleset(model, {}, context)  # noqa: SLF001  (the rules' own answer)
    assert (address, headers, properties, context) == (client.meta.endpoint_url, {}, {}, {})


@pytest.mark.parametrize(("setting", "are_asked"), [("AWS_USE_DUALSTACK_ENDPOINT", True), ("AWS_MAX_ATTEMPTS", False)])
def test_rules_that_a_setting_changes_are_still_asked(
    monkeypatch: pytest.MonkeyPatch, setting: str, are_asked: bool
) -> None:
    monkeypatch.setenv(setting, "true" if setting.endswith("ENDPOINT") else "2")
    assert (client()._ruleset_resolver is not None) == are_asked  # noqa: SLF001  (it decides before any call)


def test_a_call_goes_where_the_client_was_made_for(provider: Provider) -> None:
    provider.does(SECRET)
    assert read(client(provider.url)) == "xoxb-1"
    (request,) = provider.requests
    assert (request.path, request.headers["x-amz-target"]) == ("/api/", "secretsmanager.GetSecretValue")
    assert request.headers["host"] == provider.url.split("/")[2]
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 ")


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("variables", "session"),
    [
        ({}, KeptSession),
        ({"https_proxy": "http://127.0.0.1:3128"}, URLLib3Session),
        ({"https_proxy": "http://127.0.0.1:3128", "no_proxy": ".amazonaws.com"}, KeptSession),
        ({"http_proxy": "http://127.0.0.1:3128"}, KeptSession),
        ({"no_proxy": "169.254.169.254"}, KeptSession),
    ],
)
def test_a_proxy_is_left_to_botocore(
    service: str, variables: dict[str, str], session: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert type(client(service=service, tries_max=3)._endpoint.http_session) is session  # noqa: SLF001


@pytest.mark.parametrize(("tries_max", "connections"), [(1, 2), (3, 1)])
def test_behind_a_proxy_a_call_that_cannot_be_repeated_has_a_connection_of_its_own(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, tries_max: int, connections: int
) -> None:
    monkeypatch.setenv("http_proxy", provider.url.removesuffix("/api/"))
    provider.does(SECRET)
    called = client("http://secrets.invalid/", tries_max=tries_max)
    assert [read(called) for _ in range(2)] == ["xoxb-1"] * 2
    assert provider.connections == connections
    assert provider.requests[0].path == "http://secrets.invalid/"


def test_however_an_address_is_written_its_host_is_signed_and_called(provider: Provider) -> None:
    provider.does(SECRET)
    url = provider.url.replace("127.0.0.1", "who:what@LocalHost")
    assert read(client(url)) == "xoxb-1"
    assert provider.requests[0].headers["host"] == provider.url.split("/")[2].replace("127.0.0.1", "localhost")


# ---------------------------------------------------------------- over which connection


def test_calls_in_a_row_share_a_connection(provider: Provider) -> None:
    provider.does(SECRET)
    called = client(provider.url)
    assert [read(called) for _ in range(5)] == ["xoxb-1"] * 5
    assert (len(provider.requests), provider.connections) == (5, 1)


def test_each_connection_has_one_call_at_a_time(provider: Provider) -> None:
    numbers = count()

    def numbered(connection: socket.socket) -> None:
        time.sleep(0.002)
        answer(200, {"SecretString": str(next(numbers))})(connection)

    provider.does(numbered)
    called = client(provider.url)
    with ThreadPoolExecutor(8) as pool:
        texts = set(pool.map(lambda _: read(called), range(100)))
    assert texts == set(map(str, range(100)))
    assert provider.connections <= 8


@pytest.mark.parametrize(("tries_max", "seconds", "connections"), [(1, 4.9, 1), (1, 5.1, 2), (3, 59, 1), (3, 61, 2)])
def test_an_old_connection_is_trusted_longer_where_a_call_can_be_made_again(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, tries_max: int, seconds: float, connections: int
) -> None:
    """It may have died while the function was frozen: then what was sent over it is unknown."""
    now = [0.0]

    class Clocked(kept_connections.KeptConnections):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options, monotonic=lambda: now[0])

    monkeypatch.setattr(aws, "KeptConnections", Clocked)
    provider.does(SECRET)
    called = client(provider.url, tries_max=tries_max)
    read(called)
    now[0] += seconds
    read(called)
    assert provider.connections == connections


@pytest.mark.parametrize("fault", [hang, reset])
def test_connections_that_died_together_cost_one_try(provider: Provider, fault: Behaviour) -> None:
    """All that were kept while the function was frozen are as dead as the first."""
    meeting = Barrier(5, timeout=5)

    def together(connection: socket.socket) -> None:
        meeting.wait()
        SECRET(connection)

    provider.does(together)
    called = client(provider.url, tries_max=2)
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda _: read(called), range(5)))
    provider.does(fault, SECRET)
    assert [read(called) for _ in range(3)] == ["xoxb-1"] * 3
    assert (provider.connections, len(provider.requests)) == (6, 9)


@pytest.mark.parametrize("status", [102, 103, 204, 304])
def test_what_comes_behind_an_answer_without_content_is_nobody_s(provider: Provider, status: int) -> None:
    def twice(connection: socket.socket) -> None:
        answer(status, "")(connection)
        answer(200, {"SecretString": "another's"})(connection)

    provider.does(twice, SECRET)
    called = client(provider.url)
    with suppress(ClientError, KeyError):
        read(called)
    assert read(called) == "xoxb-1"


def test_what_comes_behind_an_answer_is_nobody_s(tls_provider: Provider, tls_certificate: str) -> None:
    """In one record: then it waits in no socket, but in the library."""

    def twice(connection: socket.socket) -> None:
        both = Gathered()
        SECRET(both)  # type: ignore[arg-type]
        answer(200, {"SecretString": "another's" * 1_000})(both)  # type: ignore[arg-type]
        connection.sendall(both.sent)

    tls_provider.does(twice, SECRET)
    connections = kept_connections.KeptConnections(tls_provider.url, timeout_seconds=1, bundle=tls_certificate)
    contents = [connections.call("POST", "/", b"{}", {})[1] for _ in range(2)]
    assert contents == [b'{"SecretString": "xoxb-1"}'] * 2


def test_a_request_is_sent_in_one_piece(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    send = socket.socket.sendall
    monkeypatch.setattr(
        kept_connections,
        "socket",
        type("Watched", (socket.socket,), {"sendall": lambda *a: sent.append(a[1]) or send(*a)}),
    )
    provider.does(SECRET)
    read(client(provider.url))
    (piece,) = sent
    assert piece.endswith(b'{"SecretId": "a"}')


def test_a_client_that_is_closed_ends_its_connections(provider: Provider) -> None:
    provider.does(SECRET)
    called = client(provider.url)
    read(called)
    called.close()
    assert provider.ended.acquire(timeout=5)
    assert read(called) == "xoxb-1"
    assert provider.connections == 2


# ---------------------------------------------------------------- what goes wrong on the way


def sized(length: int) -> Behaviour:
    """An answer whose length nobody can hold."""
    return answer(200, "{}", content_length=str(length))


def close_after_answer(connection: socket.socket) -> None:
    SECRET(connection)
    raise Ended


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (reset, ConnectionClosedError),
        (close, ConnectionClosedError),
        (cut, ConnectionClosedError),
        (lambda connection: connection.sendall(b"no HTTP\r\n\r\n"), ConnectionClosedError),
        (sized(10**20), HTTPClientError),
        (hang, ReadTimeoutError),
    ],
)
def test_a_call_that_may_have_arrived_says_so_and_is_made_again(
    provider: Provider, fault: Behaviour, error: type[Exception]
) -> None:
    provider.does(fault, SECRET)
    with pytest.raises(error):
        read(client(provider.url))
    provider.does(fault, SECRET)
    assert read(client(provider.url, tries_max=2)) == "xoxb-1"


def test_a_connection_that_the_service_ended_is_not_used_again(provider: Provider) -> None:
    provider.does(close_after_answer, SECRET)
    called = client(provider.url)
    read(called)
    assert provider.ended.acquire(timeout=5)
    assert read(called) == "xoxb-1"


@pytest.mark.parametrize(
    ("where", "error"), [("closed_url", EndpointConnectionError), ("deaf_url", ConnectTimeoutError)]
)
def test_what_no_connection_came_about_for_was_never_sent(
    request: pytest.FixtureRequest, where: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"127\.0\.0\.1"):
        read(client(request.getfixturevalue(where)))


def test_all_addresses_of_a_name_share_the_time_to_connect(
    deaf_url: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with eight addresses, none of which answers, would take eight times as long."""
    (deaf,), (heard,) = (
        socket.getaddrinfo("127.0.0.1", int(url.split(":")[2].split("/")[0]), type=socket.SOCK_STREAM)
        for url in (deaf_url, provider.url)
    )
    unknown = (99, *deaf[1:])  # of a family that no system has
    timeouts: list[float] = []

    class Watched(socket.socket):
        def connect(self, address: Any) -> None:
            timeouts.append(self.gettimeout() or 0)
            super().connect(address)

    def call(*addresses: object) -> str:
        monkeypatch.setattr(kept_connections, "getaddrinfo", lambda *_, **__: addresses)
        return read(client("http://many.invalid/"))

    monkeypatch.setattr(kept_connections, "socket", Watched)
    with pytest.raises(ConnectTimeoutError):
        call(*[deaf] * 8)
    assert timeouts[:3] == pytest.approx([0.15, 0.075, 0.0375], abs=0.02)
    assert len(timeouts) == 8
    provider.does(SECRET)
    assert call(deaf, deaf, deaf, heard) == call(unknown, heard) == "xoxb-1"
    with pytest.raises(EndpointConnectionError):
        call()


def test_looking_a_name_up_leaves_the_time_to_connect(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def slowly(*args: Any, **options: Any) -> Any:
        time.sleep(0.4)
        return look_up(*args, **options)

    class Watched(socket.socket):
        def connect(self, address: Any) -> None:
            assert self.gettimeout() == pytest.approx(0.3, abs=0.1)
            super().connect(address)

    monkeypatch.setattr(kept_connections, "getaddrinfo", slowly)
    monkeypatch.setattr(kept_connections, "socket", Watched)
    provider.does(SECRET)
    assert read(client(provider.url)) == "xoxb-1"


def test_a_name_that_nobody_knows_is_told_nothing() -> None:
    with pytest.raises(EndpointConnectionError, match=r"nobody\.invalid"):
        read(client("http://nobody.invalid/"))


def test_a_server_without_a_trusted_certificate_is_told_nothing(tls_provider: Provider) -> None:
    with pytest.raises(SSLError, match="self-signed"):
        read(client(tls_provider.url))
    assert tls_provider.requests == []


# ---------------------------------------------------------------- whom it trusts


@pytest.mark.parametrize("setting", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_certificates_of_one_s_own_are_trusted(
    tls_provider: Provider, tls_certificate: str, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, tls_certificate)
    tls_provider.does(SECRET)
    assert read(client(tls_provider.url)) == "xoxb-1"


@pytest.mark.parametrize("place", ["nowhere.pem", "", "empty.pem"])
def test_certificates_that_are_not_there_are_told_of_when_the_client_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "empty.pem").write_text("")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / place))
    with pytest.raises(SettingUnusable, match=f"is '{tmp_path / place}': name a file with certificates"):
        client()
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    with pytest.raises(SettingUnusable):
        client()


def test_the_certificates_to_trust_are_read_once_for_all_connections(
    tls_provider: Provider, tls_certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", tls_certificate)
    made: list[object] = []
    make = kept_connections.create_default_context
    monkeypatch.setattr(
        kept_connections, "create_default_context", lambda **options: made.append(options) or make(**options)
    )
    tls_provider.does(close_after_answer)
    for _ in range(2):
        called = client(tls_provider.url)
        assert [read(called) for _ in range(2)] == ["xoxb-1"] * 2
    assert made == [{"cafile": tls_certificate}]


def test_options_of_a_call_reach_its_client(provider: Provider) -> None:
    """What is configured for the client holds for its connections."""
    provider.does(hang)
    config = client_config(connect_seconds=0.3, read_seconds=5, tries_max=1).merge(Config(read_timeout=0.1))
    called = create_client(session(), "secretsmanager", config, endpoint_url=provider.url, region_name="eu-central-1")
    begun = time.monotonic()
    with pytest.raises(ReadTimeoutError):
        read(called)
    assert time.monotonic() - begun < 2
