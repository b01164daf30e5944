"""What a deploy can choose: the CDK context (`cdk deploy -c key=value`), read and checked once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from constructs import Node
from pydantic import TypeAdapter, ValidationError

TEXTS: Final = TypeAdapter(dict[str, str])
"""A JSON object whose values are texts."""


class ContextInvalid(ValueError):
    """A context value is missing or can't be used; the message says which and what to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices of one deploy."""

    issuer_url: str
    audience: str = "notify"
    protect: bool = False
    """Whether tables refuse to be deleted, and outlive the stack."""
    schedules: bool = True
    local: bool = False
    hq_channel: str = ""
    slack_base_url: str = "https://slack.com/api/"
    sms_origination_identity: str = ""
    sms_configuration_set: str = ""
    alarm_email: str = ""
    """Who is told of alarms; nobody, if empty."""
    inbox_origins: tuple[str, ...] = ()
    """The web sites whose pages may call the inbox from a browser; none, if empty."""
    concurrency_max: int | None = None
    """A ceiling on every function's own maximum: a small machine can't run fifty at once."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables added to every function, locally only: endpoints, for one."""


def read_settings(node: Node) -> Settings:
    """The settings in a construct's context.

    Raises:
        ContextInvalid: a value is missing or malformed.
    """
    local = _flag(node, "local", default=False)
    return Settings(
        issuer_url=_issuer_url(node, local=local),
        audience=_text(node, "audience", default="notify"),
        protect=_flag(node, "protect", default=False),
        schedules=_flag(node, "schedules", default=True),
        local=local,
        hq_channel=_text(node, "hq_channel"),
        slack_base_url=_slack_base_url(node),
        sms_origination_identity=_text(node, "sms_origination_identity"),
        sms_configuration_set=_text(node, "sms_configuration_set"),
        alarm_email=_alarm_email(node),
        inbox_origins=_inbox_origins(node, local=local),
        concurrency_max=_concurrency_max(node),
        environment=_environment(node, local=local),
    )


def _text(node: Node, key: str, *, default: str = "") -> str:
    value = node.try_get_context(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ContextInvalid(f"context {key}: expected text, got {value!r}")
    return value


def _flag(node: Node, key: str, *, default: bool) -> bool:
    value = node.try_get_context(key)
    if value is None:
        return default
    if value in {True, "true"}:
        return True
    if value in {False, "false"}:
        return False
    raise ContextInvalid(f"context {key}: expected true or false, got {value!r}")


def _issuer_url(node: Node, *, local: bool) -> str:
    value = _text(node, "issuer_url")
    if value.startswith("https://") or (local and value.startswith("http://")):
        return value
    raise ContextInvalid(
        "context issuer_url: pass the OpenID issuer whose tokens the HTTP API accepts, "
        f"as -c issuer_url=https://…, got {value!r}"
    )


def _slack_base_url(node: Node) -> str:
    value = _text(node, "slack_base_url", default="https://slack.com/api/")
    if value.endswith("/"):
        return value
    raise ContextInvalid(f"context slack_base_url: it must end in a slash, got {value!r}")


def _alarm_email(node: Node) -> str:
    value = _text(node, "alarm_email")
    if not value or re.fullmatch(r"[^@\s]+@[^@\s]+", value):
        return value
    raise ContextInvalid(f"context alarm_email: expected an e-mail address, got {value!r}")


def _inbox_origins(node: Node, *, local: bool) -> tuple[str, ...]:
    text = _text(node, "inbox_origins")
    origins = tuple(text.split(",")) if text else ()
    scheme = "https?" if local else "https"
    for origin in origins:
        if not re.fullmatch(rf"{scheme}://[a-z0-9.-]+(:[0-9]{{1,5}})?", origin):
            raise ContextInvalid(
                "context inbox_origins: list the web sites whose pages call the inbox, as "
                f"https://app.example.com,https://example.org, without a path or a star, got {origin!r}"
            )
    return origins


def _concurrency_max(node: Node) -> int | None:
    value = node.try_get_context("concurrency_max")
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 2:  # noqa: PLR2004 - the least that an event source mapping takes
        raise ContextInvalid(f"context concurrency_max: expected a whole number from 2, got {value!r}")
    return number


def _environment(node: Node, *, local: bool) -> Mapping[str, str]:
    text = _text(node, "environment", default="{}")
    try:
        value = TEXTS.validate_json(text)
    except ValidationError:
        raise ContextInvalid(f"context environment: expected a JSON object of texts, got {text!r}") from None
    if value and not local:
        raise ContextInvalid("context environment: only a local stack takes it; leave it out")
    return value
