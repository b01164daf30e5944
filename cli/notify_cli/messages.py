"""The messages of a producer: publications and withdrawals, made of what was typed."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from typer import BadParameter

from notify_cli.names import check_identifier, check_key

VERSION: Final = 1
_AHEAD: Final = re.compile(r"\+([0-9]{1,9})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_TIME_RULE: Final = (
    "is no time: write one with an offset, as 2026-11-30T10:00:00Z, or one ahead, as +90s, +15m, +2h, +3d"
)


def publication(
    workspace: str,
    definition: str,
    request_key: str,
    *,
    published_at: datetime,
    data: Mapping[str, Any],
    audience: Mapping[str, Any],
    **optional: datetime | str | None,
) -> dict[str, Any]:
    """A publication; an optional field that is None is left out."""
    return {
        "type": "publish",
        "version": VERSION,
        "workspace_id": workspace,
        "definition": definition,
        "request_key": request_key,
        "published_at": published_at.isoformat(),
        "data": data,
        "audience": audience,
        **{name: _json(value) for name, value in optional.items() if value is not None},
    }


def _json(value: datetime | str) -> str:
    return value if isinstance(value, str) else value.isoformat()


def withdrawal(
    workspace: str, definition: str, *, by: str, key: str, withdrawn_at: datetime, reason: str | None
) -> dict[str, Any]:
    """A withdrawal by `request_key` or by `replacement_key`."""
    return {
        "type": "withdraw",
        "version": VERSION,
        "workspace_id": workspace,
        "definition": definition,
        by: key,
        "withdrawn_at": withdrawn_at.isoformat(),
        **({} if reason is None else {"reason": reason}),
    }


def audience(people: Sequence[str], teams: Sequence[str], roles: Sequence[str], *, hq: bool) -> Mapping[str, Any]:
    """Whom a publication names.

    Raises:
        BadParameter: nobody, or the headquarters beside others.
    """
    named = {"people": people, "teams": teams, "roles": roles}
    hints = {"people": "--person", "teams": "--team", "roles": "--role"}
    if hq and any(named.values()):
        raise BadParameter("it stands alone: publish once for people, once for the headquarters", param_hint="--hq")
    if not hq and not any(named.values()):
        raise BadParameter("say who is to be told: --person, --team, --role, or --hq")
    for kind, names in named.items():
        for name in names:
            check_identifier(name, hints[kind])
    return {"hq": True} if hq else {kind: list(names) for kind, names in named.items() if names}


def keys(replacement_key: str | None, fold_key: str | None) -> None:
    """Refuse keys that can't be any with BadParameter."""
    for key, hint in ((replacement_key, "--replacement-key"), (fold_key, "--fold-key")):
        if key is not None:
            check_key(key, hint)


def read_data(text: str) -> Mapping[str, Any]:
    """The data typed as JSON, or in a file named after `@` (`@-` is the standard input); else BadParameter."""
    if not text.startswith("@"):
        return read_object(text, "--data")
    return read_object(read_text(text[1:], "--data"), "--data")


def read_text(name: str, hint: str) -> str:
    """What a file holds; `-` is the standard input. BadParameter if it can't be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadParameter(f"{name} can't be read: {error}", param_hint=hint) from None


def read_object(text: str, hint: str) -> Mapping[str, Any]:
    """The JSON object in a text; else BadParameter."""
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise BadParameter(f"it isn't JSON: {error}", param_hint=hint) from None
    if not isinstance(value, dict):
        raise BadParameter("it has to be a JSON object", param_hint=hint)
    return cast("Mapping[str, Any]", value)


def read_time(text: str | None, hint: str, *, now: datetime) -> datetime | None:
    """A time with an offset, or so much ahead of now; else BadParameter."""
    if text is None:
        return None
    if ahead := _AHEAD.fullmatch(text):
        return _ahead(now, int(ahead[1]), ahead[2], text, hint)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise BadParameter(f"{text!r} {_TIME_RULE}", param_hint=hint)
    return at


def _ahead(now: datetime, count: int, unit: str, text: str, hint: str) -> datetime:
    try:
        return now + timedelta(**{_UNITS[unit]: count})
    except OverflowError:
        raise BadParameter(f"{text!r} leaves the calendar", param_hint=hint) from None
