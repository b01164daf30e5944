"""JSON over HTTP to loopback, whatever proxy the environment names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

TIMEOUT_SECONDS: Final = 40
REFUSED: Final = 400


class Refused(OSError):
    """The server answered with an error status; the message holds its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered."""

    status: int
    content: bytes

    def json(self) -> Any:  # noqa: ANN401 - JSON
        """The content as JSON; None when it is empty."""
        return json.loads(self.content) if self.content else None


def request(method: str, url: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
    """What the server answers, whatever its status; a body is sent as JSON, bytes as they are.

    Raises:
        OSError: no answer.
    """
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    with _opener.open(Request(url, data, sent, method=method), timeout=TIMEOUT_SECONDS) as response:
        return Answer(status=response.status, content=response.read())


def get(url: str) -> Any:  # noqa: ANN401 - JSON
    """The JSON that the server gives.

    Raises:
        OSError: no answer, or an error status.
    """
    return _accepted("GET", url, request("GET", url))


def post(url: str, body: object) -> Any:  # noqa: ANN401 - JSON
    """The JSON that the server gives for a JSON body.

    Raises:
        OSError: no answer, or an error status.
    """
    return _accepted("POST", url, request("POST", url, body))


def answers(url: str) -> bool:
    """Whether a server answers there."""
    try:
        get(url)
    except (OSError, HTTPException, ValueError):
        return False
    return True


def _accepted(method: str, url: str, answer: Answer) -> Any:  # noqa: ANN401 - JSON
    if answer.status >= REFUSED:
        raise Refused(f"{method} {url} was refused with {answer.status}: {answer.content.decode(errors='replace')}")
    return answer.json()


class _AsTheyAre(HTTPErrorProcessor):
    """Gives answers with an error status like any other."""

    def http_response(self, request: Request, response: Any) -> Any:  # noqa: ANN401, ARG002 - urllib's
        return response


_opener = build_opener(ProxyHandler({}), _AsTheyAre)
