"""How AWS is called: one configuration for every service's client, over connections that are kept."""

from collections.abc import Iterator
from http.client import HTTPException
from ssl import SSLError
from typing import TYPE_CHECKING, Any, Final
from urllib.error import URLError
from urllib.parse import urlsplit

from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.exceptions import SSLError as BotoSSLError
from botocore.utils import get_environ_proxies

from notify_core.adapters.kept_connections import KeptConnections
from notify_core.domain.limits import CONNECTION_IDLE_SECONDS_MAX, REPEATED_CONNECTION_IDLE_SECONDS_MAX

if TYPE_CHECKING:
    from botocore.session import Session

CONNECTIONS_MAX: Final = 32
"""As many as there are threads to use them."""


def client_config(*, connect_seconds: float, read_seconds: float, tries_max: int) -> Config:
    """What a service's one client of a process is made with.

    Without a user agent of one's own, botocore composes one for each call, at a sixth of the call's CPU.
    """
    return Config(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        retries={"total_max_attempts": tries_max, "mode": "standard"},
        max_pool_connections=CONNECTIONS_MAX,
        parameter_validation=False,
        user_agent="notify-platform",
    )


def create_client(session: "Session", service: str, config: Config, **options: Any) -> Any:  # noqa: ANN401  (botocore's)
    """A service's client, whose calls do nothing that every one of them would do again to the same end.

    Behind a proxy it has botocore's own connections; where the service's rules lead elsewhere, each call asks them.
    """
    client: Any = session.create_client(service, config=config, **options)
    if _rules_give_its_own_address(client):
        client._ruleset_resolver = None  # noqa: SLF001  (else every call asks them again, at a twentieth of it)
    if not get_environ_proxies(client.meta.endpoint_url):
        endpoint = client._endpoint  # noqa: SLF001  (botocore has no other way to have another session)
        trusted = endpoint.http_session._verify  # noqa: SLF001  (a file that the environment names, or True)
        endpoint.http_session = KeptSession(config, bundle=None if trusted is True else trusted)
    return client


def _rules_give_its_own_address(client: Any) -> bool:  # noqa: ANN401  (botocore's)
    """Whether a service's endpoint rules lead where the client calls without them; some settings make a difference."""
    model = client.meta.service_model
    about: dict[str, object] = {}
    found = client._resolve_endpoint_ruleset(model.operation_model(model.operation_names[0]), {}, about)  # noqa: SLF001
    return (*found, about) == (client.meta.endpoint_url, {}, {}, {})


class KeptSession:
    """What botocore sends a request with and gets its answer from, whole: its URLLib3Session over kept connections.

    urllib3 reads the certificates to trust again for each new connection, at the CPU of twenty calls, and costs a
    fifth of the other calls'; it keeps a connection however long the function was frozen.
    """

    def __init__(self, config: Any, *, bundle: str | None) -> None:  # noqa: ANN401  (its options have no types)
        self._config = config
        is_repeated = config.retries["total_max_attempts"] > 1
        self._idle_seconds_max = REPEATED_CONNECTION_IDLE_SECONDS_MAX if is_repeated else CONNECTION_IDLE_SECONDS_MAX
        self._bundle = bundle
        self._servers: dict[str, KeptConnections] = {}

    def send(self, request: Any) -> AWSResponse:  # noqa: ANN401  (an AWSPreparedRequest, whose types are too wide)
        """Make one call, whatever its answer.

        Raises:
            EndpointConnectionError, ConnectTimeoutError: nothing was sent.
            SSLError, ReadTimeoutError, ConnectionClosedError: it may have been sent.
        """
        url = urlsplit(str(request.url))
        path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        connections = self._connections(f"{url.scheme}://{url.netloc}")
        try:
            answer, content = connections.call(request.method, path, request.body, request.headers)
        except (OSError, HTTPException) as error:
            raise _fault(error, request.url) from error
        headers: Any = answer.headers.items()
        return AWSResponse(request.url, answer.status, headers, _Content(content))

    def _connections(self, server: str) -> KeptConnections:
        if (found := self._servers.get(server)) is not None:
            return found
        made = KeptConnections(
            server,
            timeout_seconds=self._config.read_timeout,
            connect_seconds=self._config.connect_timeout,
            idle_seconds_max=self._idle_seconds_max,
            bundle=self._bundle,
        )
        return self._servers.setdefault(server, made)

    def close(self) -> None:
        """End the connections that no call is using."""
        for connections in self._servers.values():
            connections.close()


class _Content:
    """An answer's content, as botocore asks for it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def _fault(error: OSError | HTTPException, url: str) -> BotoCoreError:
    """What botocore calls a fault on the way."""
    cause = error.reason if isinstance(error, URLError) else error
    about: dict[str, Any] = {"endpoint_url": url, "error": cause}
    if isinstance(cause, SSLError):
        return BotoSSLError(**about)
    if isinstance(error, URLError):
        return ConnectTimeoutError(**about) if isinstance(cause, TimeoutError) else EndpointConnectionError(**about)
    return ReadTimeoutError(**about) if isinstance(cause, TimeoutError) else ConnectionClosedError(**about)
