"""How a request is named at the terminal: by its id, or as DEFINITION/KEY."""

import re
from dataclasses import dataclass
from typing import Final

from typer import BadParameter

from notify_core.domain.identifiers import DefinitionKey, WorkspaceId, is_identifier, is_key, request_id

_ID: Final = re.compile(r"[A-Za-z0-9_~]{22}")
_FOLDED_NOTICE: Final = re.compile(rf"{_ID.pattern}\.[0-9]{{6,}}")
IDENTIFIER_RULE: Final = "1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit"


@dataclass(frozen=True, slots=True)
class FoldedNotice:
    """The id of a notice that stands for several requests."""

    notice_id: str


def id_of(workspace: str, definition: str, request_key: str) -> str:
    """The id that the platform derives from a publication's identity.

    Raises:
        BadParameter: it can't be the identity of a publication.
    """
    check_identifier(workspace, "--workspace")
    check_identifier(definition, "DEFINITION")
    check_key(request_key, "KEY")
    return request_id(WorkspaceId(workspace), DefinitionKey(definition), request_key)


def resolve_request(workspace: str, name: str) -> str:
    """The id of a request named by it, or as DEFINITION/KEY.

    Raises:
        BadParameter: it is neither.
    """
    if _ID.fullmatch(name):
        return name
    definition, slash, request_key = name.partition("/")
    if slash:
        return id_of(workspace, definition, request_key)
    raise BadParameter(f"{name!r} is no request id (22 characters) and not DEFINITION/KEY")


def resolve_subject(workspace: str, name: str) -> str | FoldedNotice:
    """What is to be explained: a request (its only notice has the same id), or a folded notice."""
    return FoldedNotice(name) if _FOLDED_NOTICE.fullmatch(name) else resolve_request(workspace, name)


def check_identifier(text: str, hint: str) -> str:
    """The text, if a workspace, definition, person, team or role may be called so; else BadParameter."""
    if not is_identifier(text):
        raise BadParameter(f"{text!r} has to be {IDENTIFIER_RULE}", param_hint=hint)
    return text


def check_key(text: str, hint: str) -> str:
    """The text, if it can be a request, replacement or fold key; else BadParameter."""
    if not is_key(text):
        raise BadParameter("it has to have 1 to 256 characters", param_hint=hint)
    return text
