"""Publications and withdrawals, as they come from the queue `requests` and over HTTP."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import AfterValidator, Field, model_validator

from notify_core.domain.definition import RESERVED_FIELD
from notify_core.domain.identifiers import DefinitionKey, WorkspaceId, is_identifier, is_key, request_id
from notify_core.domain.limits import AUDIENCE_ENTRIES_MAX, DATA_BYTES_MAX, PROBLEMS_MAX, REASON_CHARACTERS_MAX
from notify_core.domain.problem import Problem, ProblemCode, problem
from notify_core.domain.request import Audience, InvalidPublication, Malformed, Publication, Withdrawal
from notify_core.messages.fields import (
    IDENTIFIER_REMEDY,
    KEY_REMEDY,
    Body,
    Identifier,
    Key,
    Moment,
    Time,
    read_body,
    read_time,
    refused,
)
from notify_core.messages.json_text import NotJson, read_json, repeated_names

PUBLISH, WITHDRAW = "publish", "withdraw"
VERSION: Final = 1


# ---------------------------------------------------------------- models


class _AudienceBody(Body):
    """Whom a publication names."""

    people: list[Identifier] = Field(default_factory=list, max_length=AUDIENCE_ENTRIES_MAX)
    teams: list[Identifier] = Field(default_factory=list, max_length=AUDIENCE_ENTRIES_MAX)
    roles: list[Identifier] = Field(default_factory=list, max_length=AUDIENCE_ENTRIES_MAX)
    hq: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        entries = len(self.people) + len(self.teams) + len(self.roles)
        if entries > AUDIENCE_ENTRIES_MAX:
            raise refused(ProblemCode.TOO_MANY, f"name at most {AUDIENCE_ENTRIES_MAX} people, teams and roles in all")
        if entries and self.hq:
            raise refused(
                ProblemCode.NOT_ALLOWED, "hq stands alone: publish once for people, once for the headquarters"
            )
        return self


def _check_data(data: dict[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))
    if size > DATA_BYTES_MAX:
        raise refused(ProblemCode.TOO_LARGE, f"shorten it to {DATA_BYTES_MAX} bytes; it has {size}")
    return data


class _PublicationBody(Body):
    """A publication; the field `data.recipient` is the templates' own."""

    type: Literal["publish"]
    version: Literal[1]
    workspace_id: Identifier
    definition: Identifier
    request_key: Key
    published_at: Moment
    data: Annotated[dict[str, Any], AfterValidator(_check_data)]
    audience: _AudienceBody
    not_before: Time | None = None
    deadline: Time | None = None
    replacement_key: Key | None = None
    fold_key: Key | None = None


class _WithdrawalBody(Body):
    """A withdrawal by one of two keys."""

    type: Literal["withdraw"]
    version: Literal[1]
    workspace_id: Identifier
    definition: Identifier
    withdrawn_at: Moment
    request_key: Key | None = None
    replacement_key: Key | None = None
    reason: str | None = Field(default=None, max_length=REASON_CHARACTERS_MAX)


# ---------------------------------------------------------------- from the queue


def parse_message(body: str) -> Publication | InvalidPublication | Withdrawal | Malformed:
    """What a message of the queue asks for; one that names no request is malformed, whatever else is wrong with it."""
    try:
        value = read_json(body)
    except NotJson as error:
        return Malformed(reason=str(error))
    if not isinstance(value, dict):
        return Malformed(reason="the body isn't a JSON object")
    fields = cast("dict[str, Any]", value)
    parse = {PUBLISH: _parse_publish, WITHDRAW: _parse_withdraw}.get(_text(fields.get("type")))
    if parse is None or "type" in repeated_names(fields):
        return Malformed(reason=f"type is neither {PUBLISH} nor {WITHDRAW}")
    if not _is_version(fields):
        return Malformed(reason=f"version isn't {VERSION}")
    return parse(fields)


def _parse_publish(fields: dict[str, Any]) -> Publication | InvalidPublication | Malformed:
    unnamed = _check_identity(fields)
    return _malformed(PUBLISH, unnamed) if unnamed else _publication(fields)


def _parse_withdraw(fields: dict[str, Any]) -> Withdrawal | Malformed:
    withdrawal = _withdrawal(fields)
    return withdrawal if isinstance(withdrawal, Withdrawal) else _malformed(WITHDRAW, withdrawal)


def _malformed(kind: str, problems: tuple[Problem, ...]) -> Malformed:
    """Names fields of ours only: what else stands in a message is content."""
    known = _PublicationBody.model_fields.keys() | _WithdrawalBody.model_fields.keys()
    facts = [f"{problem.field if problem.field in known else 'a field'} ({problem.code})" for problem in problems]
    return Malformed(reason=f"{kind}: {', '.join(dict.fromkeys(facts))}")


# ---------------------------------------------------------------- over HTTP


def parse_publication(
    body: object, workspace_id: WorkspaceId
) -> Publication | InvalidPublication | tuple[Problem, ...]:
    """A publication into the workspace of the path; problems where it names no request."""
    fields = _filled(body, PUBLISH, workspace_id)
    if isinstance(fields, tuple):
        return fields
    problems = (*_check_kind(fields, PUBLISH, workspace_id), *_check_identity(fields))
    return tuple(dict.fromkeys(problems)) or _publication(fields)


def parse_withdrawal(body: object, workspace_id: WorkspaceId) -> Withdrawal | tuple[Problem, ...]:
    """A withdrawal in the workspace of the path, or everything that is wrong with it."""
    fields = _filled(body, WITHDRAW, workspace_id)
    if isinstance(fields, tuple):
        return fields
    return _check_kind(fields, WITHDRAW, workspace_id) or _withdrawal(fields)


def _filled(body: object, kind: str, workspace_id: WorkspaceId) -> dict[str, Any] | tuple[Problem, ...]:
    """The body with what the path has said already."""
    if not isinstance(body, dict):
        return (problem("", ProblemCode.TYPE, "send a JSON object"),)
    fields = cast("dict[str, Any]", body)
    for name, value in (("type", kind), ("workspace_id", workspace_id)):
        if name not in fields:
            fields = fields | {name: value}
    return fields


def _check_kind(fields: Mapping[str, Any], kind: str, workspace_id: WorkspaceId) -> tuple[Problem, ...]:
    expected = {
        "type": (kind, f"leave it out, or use {kind}"),
        "workspace_id": (workspace_id, "use the path's workspace, or leave it out"),
    }
    problems = [
        problem(name, ProblemCode.NOT_ALLOWED, message)
        for name, (value, message) in expected.items()
        if fields[name] != value
    ]
    if not _is_version(fields):
        code = ProblemCode.NOT_ALLOWED if "version" in fields else ProblemCode.REQUIRED
        problems.append(problem("version", code, f"use {VERSION}"))
    return tuple(problems)


# ---------------------------------------------------------------- identity

_IDENTITY: Final = {
    "workspace_id": (is_identifier, ProblemCode.INVALID_IDENTIFIER, IDENTIFIER_REMEDY),
    "definition": (is_identifier, ProblemCode.INVALID_IDENTIFIER, IDENTIFIER_REMEDY),
    "request_key": (is_key, ProblemCode.INVALID_KEY, KEY_REMEDY),
}


def _check_identity(fields: dict[str, Any]) -> tuple[Problem, ...]:
    """Whether the publication names its request beyond doubt."""
    problems: list[Problem] = []
    for name, (is_right, code, remedy) in _IDENTITY.items():
        value = fields.get(name)
        if name not in fields:
            problems.append(problem(name, ProblemCode.REQUIRED, "add this field"))
        elif name in repeated_names(fields):
            problems.append(problem(name, ProblemCode.REPEATED_FIELD, "name every field only once"))
        elif not isinstance(value, str):
            problems.append(problem(name, ProblemCode.TYPE, "this has to be text"))
        elif not is_right(value):
            problems.append(problem(name, code, remedy))
    return tuple(problems)


def _is_version(fields: Mapping[str, Any]) -> bool:
    version = fields.get("version")
    return type(version) is int and version == VERSION


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- to the domain


def _publication(fields: dict[str, Any]) -> Publication | InvalidPublication:
    body = read_body(_PublicationBody, fields)
    reserved = _check_reserved(fields.get("data"))
    if isinstance(body, tuple) or reserved:
        return _invalid(fields, (*(body if isinstance(body, tuple) else ()), *reserved)[:PROBLEMS_MAX])
    workspace, definition = WorkspaceId(body.workspace_id), DefinitionKey(body.definition)
    return Publication(
        workspace_id=workspace,
        definition=definition,
        request_key=body.request_key,
        request_id=request_id(workspace, definition, body.request_key),
        published_at=body.published_at,
        data=body.data,
        audience=_audience(body.audience),
        not_before=body.not_before,
        deadline=body.deadline,
        replacement_key=body.replacement_key,
        fold_key=body.fold_key,
        content_hash=content_hash(fields),
    )


def _invalid(fields: dict[str, Any], problems: tuple[Problem, ...]) -> InvalidPublication:
    workspace, definition = WorkspaceId(fields["workspace_id"]), DefinitionKey(fields["definition"])
    return InvalidPublication(
        workspace_id=workspace,
        definition=definition,
        request_key=fields["request_key"],
        request_id=request_id(workspace, definition, fields["request_key"]),
        problems=problems,
        content_hash=content_hash(fields),
    )


def _check_reserved(data: object) -> tuple[Problem, ...]:
    if not isinstance(data, dict) or RESERVED_FIELD not in data:
        return ()
    message = "templates call the person who is told so; choose another name"
    return (problem(f"data.{RESERVED_FIELD}", ProblemCode.RESERVED_FIELD, message),)


def _check_keys(body: _WithdrawalBody) -> tuple[Problem, ...]:
    """Whether it says what is withdrawn, in one way."""
    if body.request_key is None and body.replacement_key is None:
        message = "name what is withdrawn, by request_key or replacement_key"
        return (problem("request_key", ProblemCode.REQUIRED, message),)
    if body.request_key is not None and body.replacement_key is not None:
        message = "leave it out, or leave out request_key"
        return (problem("replacement_key", ProblemCode.NOT_ALLOWED, message),)
    return ()


def _audience(body: _AudienceBody) -> Audience:
    return Audience(people=tuple(body.people), teams=tuple(body.teams), roles=tuple(body.roles), hq=body.hq)


def _withdrawal(fields: dict[str, Any]) -> Withdrawal | tuple[Problem, ...]:
    body = read_body(_WithdrawalBody, fields)
    problems = body if isinstance(body, tuple) else _check_keys(body)
    if isinstance(body, tuple) or problems:
        return problems
    return Withdrawal(
        workspace_id=WorkspaceId(body.workspace_id),
        definition=DefinitionKey(body.definition),
        withdrawn_at=body.withdrawn_at,
        request_key=body.request_key,
        replacement_key=body.replacement_key,
        reason=body.reason,
    )


# ---------------------------------------------------------------- content

_TIMES: Final = ("not_before", "deadline")
_KEYS: Final = ("replacement_key", "fold_key")
_NAMES: Final = ("people", "teams", "roles")


def content_hash(fields: Mapping[str, Any]) -> str:
    """What is equal for two publications of a key that ask for the same, however they are written.

    Null is as good as absent, an empty list too, and names count once in any order; `published_at` doesn't count.
    """
    content = {
        "data": fields.get("data"),
        "audience": _plain_audience(fields.get("audience")),
        **{name: _plain_time(fields.get(name)) for name in _TIMES},
        **{name: fields.get(name) for name in _KEYS},
    }
    said = {name: value for name, value in content.items() if value is not None}
    try:
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        text = "nested too deeply"
    return sha256(text.encode()).hexdigest()


def _plain_time(value: object) -> object:
    at = read_time(value) if isinstance(value, str) else None
    return at.isoformat() if at else value


def _plain_audience(value: object) -> object:
    if not isinstance(value, dict):
        return value
    audience = cast("dict[str, object]", value)
    plain = {name: _plain_names(item) if name in _NAMES else item for name, item in audience.items()}
    return {name: item for name, item in plain.items() if item not in ([], False, None)}


def _plain_names(value: object) -> object:
    if not isinstance(value, list):
        return value
    names = cast("list[object]", value)
    texts = {name for name in names if isinstance(name, str)}
    return sorted(texts) if all(isinstance(name, str) for name in names) else names
