"""The platform's HTTP API, as `docs/openapi.yaml` has it."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final, cast
from urllib.parse import quote, urlencode
from urllib.request import HTTPErrorProcessor, OpenerDirector, ProxyHandler, Request, build_opener

from notify_cli.failures import Failure
from notify_cli.stack import is_loopback

Json = Mapping[str, Any]
"""A JSON object."""

TIMEOUT_SECONDS: Final = 35
"""A little more than the gateway's own."""
TRIES_MAX: Final = 3
RETRY_AFTER_SECONDS_MAX: Final = 10
PAGE_ITEMS_MAX: Final = 200
_OK: Final = range(200, 300)
_NOT_SERVED: Final = frozenset({429, 502, 503, 504})
NOT_FOUND: Final = 404
_GATEWAY_REMEDIES: Final[Mapping[int, str]] = {
    401: "The token isn't valid, or no longer: take a new one (locally `make up` writes one), "
    "and give it as NOTIFY_TOKEN or --token",
    403: "The token doesn't have the scope that this needs: notify/operator, or notify/inbox for an inbox",
    404: "There is no such route: is the API's address right?",
    429: "Too many calls at once: try again in a moment",
}
"""What to do about the gateway's own answers, which name no field."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; `retry_after` is the header, in seconds."""

    status: int
    body: bytes
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """One API with one token."""

    url: str
    token: str | None = field(default=None, repr=False)

    def get(self, *path: str, **query: str | int | None) -> Json:
        """Read something."""
        return self.call("GET", path, query=query)

    def put(self, *path: str, body: Json) -> Json:
        """Register something."""
        return self.call("PUT", path, body)

    def post(self, *path: str, body: Json | None = None, repeat: bool = False, **query: str | None) -> Json:
        """Do something; with `repeat` a call that got no answer is made again, for it changes nothing twice."""
        return self.call("POST", path, body, query=query, repeat=repeat)

    def pages(self, *path: str, limit: int | None, **query: str | None) -> Iterator[Json]:
        """The items of a list over its pages, up to a limit or its end."""
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            size = PAGE_ITEMS_MAX if left is None else min(left, PAGE_ITEMS_MAX)
            page = self.get(*path, limit=size, cursor=cursor, **query)
            yield from page["items"]
            left = None if left is None else left - len(page["items"])
            cursor = page["cursor"]
            if cursor is None:
                return

    def call(
        self,
        method: str,
        path: tuple[str, ...],
        body: Json | None = None,
        *,
        query: Mapping[str, str | int | None] | None = None,
        repeat: bool = True,
    ) -> Json:
        """Make a call below `/v1`; an empty answer is an empty object.

        Raises:
            Failure: it was refused, or not answered.
        """
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.url}/v1/{'/'.join(quote(part, safe='') for part in path)}"
        return exchange(method, f"{url}?{urlencode(asked)}" if asked else url, body, token=self.token, repeat=repeat)


def exchange(method: str, url: str, body: Json | None = None, *, token: str | None, repeat: bool) -> Json:
    """Make a call to any address and give the JSON object answered.

    Raises:
        Failure: it was refused, or not answered.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json, application/problem+json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    request = Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)  # noqa: S310
    for tries_left in reversed(range(TRIES_MAX if repeat else 1)):
        try:
            answer = _open(request)
        except (OSError, HTTPException) as error:
            if not tries_left:
                raise _unanswered(url, error, repeat=repeat) from None
            time.sleep(1)
            continue
        if answer.status not in _NOT_SERVED or not tries_left:
            return _accepted(answer)
        time.sleep(_pause_seconds(answer))
    raise AssertionError("the last try returns or raises")


def _open(request: Request) -> Answer:
    with _opener(request.full_url).open(request, timeout=TIMEOUT_SECONDS) as response:
        return Answer(response.status, response.read(), response.headers.get("Retry-After"))


class _AsTheyAre(HTTPErrorProcessor):
    """Gives every answer as it is; nothing is redirected, so a token stays with the address that it was given for."""

    def http_response(self, request: Request, response: Any) -> Any:  # noqa: ANN401, ARG002 - urllib's
        return response

    https_response = http_response


def _opener(url: str) -> OpenerDirector:
    return build_opener(_AsTheyAre, *([ProxyHandler({})] if is_loopback(url) else []))


def _pause_seconds(answer: Answer) -> int:
    asked = answer.retry_after or ""
    return min(int(asked), RETRY_AFTER_SECONDS_MAX) if asked.isdecimal() else 1


def _accepted(answer: Answer) -> Json:
    try:
        content: object = json.loads(answer.body) if answer.body else {}
    except ValueError:
        content = None
    is_object = isinstance(content, dict)
    if answer.status in _OK and is_object:
        return cast("Json", content)
    raise _refused(answer.status, cast("Json", content) if is_object else {})


def _refused(status: int, content: Json) -> Failure:
    problems = [problem for problem in content.get("errors") or () if "code" in problem]
    if problems:
        title = str(content.get("title", "The call was refused"))
        return Failure(title, _instance(status, content), problems, status)
    remedy = _GATEWAY_REMEDIES.get(status, "Is the API's address right?")
    return Failure(f"The API answered {status} {content.get('message', '')}".rstrip(), remedy, (), status)


def _instance(status: int, content: Json) -> str:
    """What names a failed call in the platform's logs."""
    is_ours = status >= 500  # noqa: PLR2004 - HTTP's
    return f"In the logs it is {content.get('instance', '')}" if is_ours else ""


def _unanswered(url: str, error: Exception, *, repeat: bool) -> Failure:
    origin = "/".join(url.split("/", 3)[:3])
    reason = getattr(error, "reason", None) or error
    doubt = "Is it running, and its address right?"
    if not repeat:
        doubt += " The call may have been served all the same: look before you repeat it"
    return Failure(f"No answer from {origin} ({reason})", doubt)
