"""How AWS is called: one configuration for every service's client, over connections that are kept."""

from collections.abc import Iterator
from functools import partial
from http.client import HTTPException
from ssl import SSLError
from typing import TYPE_CHECKING, Any, Final
from urllib.error import URLError
from urllib.parse import SplitResult, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ReadTimeoutError,
)
from botocore.exceptions import SSLError as BotoSSLError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from notify_core.adapters.kept_connections import KeptConnections, trust
from notify_core.domain.limits import CONNECTION_IDLE_SECONDS_MAX, REPEATED_CONNECTION_IDLE_SECONDS_MAX
from notify_core.settings import SettingUnusable

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

    Raises:
        SettingUnusable: no certificates are where the environment says that they are.
    """
    client: Any = session.create_client(service, config=config, **options)
    if _rules_give_its_own_address(client):
        client._ruleset_resolver = None  # noqa: SLF001  (else every call asks them again, at a twentieth of it)
    address, endpoint = str(client.meta.endpoint_url), client._endpoint  # noqa: SLF001  (botocore has no other way)
    trusted, proxies = endpoint.http_session._verify, get_environ_proxies(address)  # noqa: SLF001  (a file, or True)
    scheme, bundle = urlsplit(address).scheme, None if trusted is True else trusted
    if scheme == "https":
        _read(bundle)
    if scheme not in proxies:
        endpoint.http_session = KeptSession(config, bundle=bundle)
    elif not _is_repeated(config):
        endpoint.http_session = _FreshSession(config, verify=trusted, proxies=proxies)
    return client


def _read(bundle: str | None) -> None:
    """Read the certificates, once: the first calls of a process come at once, and each would."""
    try:
        trust(bundle)
    except OSError as error:
        what = f"AWS_CA_BUNDLE or REQUESTS_CA_BUNDLE is {bundle!r}: name a file with certificates ({error.strerror})"
        raise SettingUnusable(what) from error


def _is_repeated(config: Any) -> bool:  # noqa: ANN401  (its options have no types)
    return bool(config.retries["total_max_attempts"] > 1)


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
        self._bundle = bundle
        self._servers: dict[str, KeptConnections] = {}

    def send(self, request: Any) -> AWSResponse:  # noqa: ANN401  (an AWSPreparedRequest, whose types are too wide)
        """Make one call, whatever its answer.

        Raises:
            EndpointConnectionError, ConnectTimeoutError: nothing was sent.
            SSLError, HTTPClientError (ReadTimeoutError, ConnectionClosedError and others): it may have been sent.
        """
        url = urlsplit(str(request.url))
        path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        try:
            answer, content = self._connections(url).call(request.method, path, request.body, request.headers)
        except Exception as error:
            raise _fault(error, request.url) from error
        headers: Any = answer.headers.items()
        return AWSResponse(request.url, answer.status, headers, _Content(content))

    def _connections(self, url: SplitResult) -> KeptConnections:
        server = f"{url.scheme}://{url.netloc}"
        if (found := self._servers.get(server)) is not None:
            return found
        made = KeptConnections(
            server,
            timeout_seconds=self._config.read_timeout,
            connect_seconds=self._config.connect_timeout,
            idle_seconds_max=_idle_seconds_max(self._config),
            bundle=self._bundle,
        )
        return self._servers.setdefault(server, made)

    def close(self) -> None:
        """End the connections that no call is using."""
        for connections in list(self._servers.values()):
            connections.close()


class _FreshSession:
    """botocore's own session, made anew for each request.

    It keeps connections for ever, and what is sent over a dead one and can't be repeated would be unknown.
    """

    def __init__(self, config: Any, **options: Any) -> None:  # noqa: ANN401  (botocore's, without types)
        options["timeout"] = (config.connect_timeout, config.read_timeout)
        self._make = partial(URLLib3Session, **options)

    def send(self, request: Any) -> AWSResponse:  # noqa: ANN401  (botocore's)
        session = self._make()
        try:
            return session.send(request)
        finally:
            session.close()

    def close(self) -> None:
        """Nothing is kept."""


class _Content:
    """An answer's content, as botocore asks for it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def _idle_seconds_max(config: Any) -> float:  # noqa: ANN401  (its options have no types)
    return REPEATED_CONNECTION_IDLE_SECONDS_MAX if _is_repeated(config) else CONNECTION_IDLE_SECONDS_MAX


def _fault(error: Exception, url: str) -> BotoCoreError:
    """What botocore calls a fault on the way."""
    cause = error.reason if isinstance(error, URLError) else error
    about: dict[str, Any] = {"endpoint_url": url, "error": cause}
    if isinstance(cause, SSLError):
        return BotoSSLError(**about)
    if isinstance(error, URLError):
        return ConnectTimeoutError(**about) if isinstance(cause, TimeoutError) else EndpointConnectionError(**about)
    if isinstance(cause, TimeoutError):
        return ReadTimeoutError(**about)
    if isinstance(cause, (OSError, HTTPException)):
        return ConnectionClosedError(**about)
    return HTTPClientError(error=cause)
