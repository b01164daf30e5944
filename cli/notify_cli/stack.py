"""Where a platform is: its API, its queues, and the keys to both."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from typer import BadParameter

LOCAL_FILE: Final = Path(".local/stack.json")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOW_TO_NAME_ONE: Final = (
    "Start a local one with `make up`, name a file with --stack or NOTIFY_STACK, "
    "or give --api-url and --token (and --requests-queue-url) for a real one."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A platform, local or real: what isn't known of it is None."""

    api_url: str | None = None
    token: str | None = field(default=None, repr=False)
    queues: Mapping[str, str] = field(default_factory=dict[str, str])
    """The URL of each queue, by its name."""
    endpoint_url: str | None = None
    """Where AWS is, if it isn't AWS itself."""
    region: str | None = None
    simulator_url: str | None = None


def find_stack(file: Path | None, *, api_url: str | None, token: str | None, requests_queue_url: str | None) -> Stack:
    """The platform that the options name: a real one by its addresses, else the one that a file describes.

    Raises:
        BadParameter: they name none, or two.
    """
    is_real = bool(api_url or requests_queue_url)
    if is_real and file is not None:
        raise BadParameter(f"{file} and the addresses given may be two platforms: leave out one of them")
    stack = _real(api_url, requests_queue_url) if is_real else read_stack(file or LOCAL_FILE)
    stack = replace(stack, token=token) if token else stack
    _check(stack)
    return stack if stack.api_url is None else replace(stack, api_url=stack.api_url.rstrip("/"))


def _real(api_url: str | None, requests_queue_url: str | None) -> Stack:
    return Stack(api_url=api_url, queues={"requests": requests_queue_url} if requests_queue_url else {})


def read_stack(file: Path) -> Stack:
    """The platform that a file like `.local/stack.json` describes; one without `endpoint_url` is in AWS itself.

    Raises:
        BadParameter: there is no such file, or it describes none.
    """
    try:
        told: object = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadParameter(f"no platform is known: there is no {file}. {_HOW_TO_NAME_ONE}") from None
    except (OSError, ValueError) as error:
        raise BadParameter(f"{file} can't be read as JSON: {error}") from None
    if not isinstance(told, dict):
        raise BadParameter(f"{file} doesn't describe a platform. {_HOW_TO_NAME_ONE}")
    return _described(cast("Mapping[str, Any]", told), file)


def _described(told: Mapping[str, Any], file: Path) -> Stack:
    queues: object = told.get("queues") or {}
    if not isinstance(queues, dict):
        raise BadParameter(f"{file}: queues has to be an object of URLs by queue")
    return Stack(
        api_url=_text(told, "api_url", file),
        token=_text(told, "operator_token", file),
        queues={name: str(url) for name, url in cast("Mapping[str, Any]", queues).items()},
        endpoint_url=_text(told, "endpoint_url", file),
        region=_text(told, "region", file),
        simulator_url=_text(told, "simulator_url", file),
    )


def _text(told: Mapping[str, Any], name: str, file: Path) -> str | None:
    value = told.get(name)
    if value is None or isinstance(value, str):
        return value or None
    raise BadParameter(f"{file}: {name} has to be text")


def _check(stack: Stack) -> None:
    if stack.api_url and urlsplit(stack.api_url).scheme not in {"http", "https"}:
        raise BadParameter(f"{stack.api_url} is no address of an API: it begins with https://", param_hint="--api-url")
    if stack.token and not (stack.token.isascii() and stack.token.isprintable() and " " not in stack.token):
        raise BadParameter("it has characters that no token has", param_hint="--token")


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    return urlsplit(url).hostname in _LOOPBACK
