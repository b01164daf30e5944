"""Workspaces and people, as operators register them."""

import re
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from notify_core.domain.directory import Person, Workspace, WorkspaceStatus
from notify_core.domain.identifiers import PersonId, WorkspaceId
from notify_core.domain.limits import MEMBERSHIPS_MAX, NAME_CHARACTERS_MAX, OPT_OUTS_MAX, SHARDS_MAX
from notify_core.domain.locales import is_locale
from notify_core.domain.problem import Problem, ProblemCode, problem
from notify_core.messages.fields import (
    Body,
    Identifier,
    PersonalChannel,
    SentChannel,
    checked,
    read_body,
)

_SLACK_USER: Final = re.compile(r"[UW][A-Z0-9]{1,31}")
_PHONE: Final = re.compile(r"\+[1-9][0-9]{6,14}")


def _is_slack_user(text: str) -> bool:
    return _SLACK_USER.fullmatch(text) is not None


def _is_phone(text: str) -> bool:
    return _PHONE.fullmatch(text) is not None


def _is_timezone(text: str) -> bool:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False
    return True


def _says_something(text: str) -> bool:
    return bool(text.strip())


_Name = Annotated[
    str,
    Field(max_length=NAME_CHARACTERS_MAX),
    checked(_says_something, ProblemCode.EMPTY, "write a name"),
]
_Locale = Annotated[str, checked(is_locale, ProblemCode.FORMAT, "name a language as in fr or fr-CA")]
_Timezone = Annotated[
    str, checked(_is_timezone, ProblemCode.FORMAT, "name a time zone of the IANA database, as Europe/Paris")
]
_SlackUser = Annotated[
    str, checked(_is_slack_user, ProblemCode.FORMAT, "use the person's id in Slack, as U0123ABCD, not their name")
]
_Phone = Annotated[
    str, checked(_is_phone, ProblemCode.FORMAT, "write the number in E.164: + and country code, as +33612345678")
]


class _WorkspaceBody(Body):
    """A workspace; shards left out stay as they are."""

    name: _Name
    status: Literal["operational", "suspended"] = "operational"
    channels: list[PersonalChannel]
    shards: int | None = Field(default=None, ge=1, le=SHARDS_MAX)


class _PersonBody(Body):
    """A person; what is left out is null, and a person is active until told otherwise."""

    name: _Name
    active: bool = True
    locale: _Locale | None = None
    timezone: _Timezone | None = None
    slack_user_id: _SlackUser | None = None
    phone: _Phone | None = None
    teams: list[Identifier] = Field(default_factory=list, max_length=MEMBERSHIPS_MAX)
    roles: list[Identifier] = Field(default_factory=list, max_length=MEMBERSHIPS_MAX)
    opt_outs: dict[Identifier, list[SentChannel]] = Field(default_factory=dict, max_length=OPT_OUTS_MAX)


def parse_workspace(body: object, workspace_id: WorkspaceId) -> Workspace | tuple[Problem, ...]:
    """A workspace to be registered, or everything that is wrong with it; shards left out are 1."""
    fields = read_body(_WorkspaceBody, body)
    if isinstance(fields, tuple):
        return fields
    return Workspace(
        workspace_id=workspace_id,
        name=fields.name,
        status=WorkspaceStatus(fields.status),
        channels=frozenset(fields.channels),
        shards=fields.shards or 1,
    )


def parse_person(body: object, workspace_id: WorkspaceId, person_id: PersonId) -> Person | tuple[Problem, ...]:
    """A person to be registered, or everything that is wrong with it."""
    fields = read_body(_PersonBody, body)
    if isinstance(fields, tuple):
        return fields
    teams, roles = dict.fromkeys(fields.teams), dict.fromkeys(fields.roles)
    if len(teams) + len(roles) > MEMBERSHIPS_MAX:
        message = f"name at most {MEMBERSHIPS_MAX} teams and roles in all"
        return (problem("teams", ProblemCode.TOO_MANY, message),)
    return Person(
        workspace_id=workspace_id,
        person_id=person_id,
        name=fields.name,
        active=fields.active,
        locale=fields.locale,
        timezone=fields.timezone,
        slack_user_id=fields.slack_user_id,
        phone=fields.phone,
        teams=tuple(teams),
        roles=tuple(roles),
        opt_outs={category: tuple(dict.fromkeys(channels)) for category, channels in fields.opt_outs.items()},
    )
