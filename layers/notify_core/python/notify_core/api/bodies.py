"""Bodies: the JSON of a call, and what it amounts to; Refusal with everything that is wrong with it.

The modules that read them are imported for the first that is read: they load pydantic, a third of what a start imports.
"""

from typing import TYPE_CHECKING, Final, TypeVar, cast

from notify_core.api.call import Call
from notify_core.api.refusal import Kind, Refusal, refusal
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person, Workspace
from notify_core.domain.identifiers import DefinitionKey, PersonId, WorkspaceId
from notify_core.domain.problem import Problem
from notify_core.domain.request import InvalidPublication, Publication, Withdrawal
from notify_core.messages.json_text import NotJson, find_faults, read_json

if TYPE_CHECKING:
    from notify_core.messages.calls import ReadAllBody, RetryBody

Value = TypeVar("Value")

BODY_BYTES_MAX: Final = 256 * 1024
"""The largest body read; as a message it stays below a queue's 1 MiB, however its characters are escaped."""


def json_of(call: Call) -> object:
    """The JSON value in the body.

    Raises:
        Refusal: it is too large, no JSON, or holds what can be written in JSON and not be kept.
    """
    if len(call.body) > BODY_BYTES_MAX:
        raise refusal(Kind.TOO_LARGE, "", "too_large", f"a body may have {BODY_BYTES_MAX} bytes at most")
    try:
        value = read_json(call.body.decode())
    except UnicodeDecodeError as error:
        raise refusal(Kind.BAD_REQUEST, "", "not_json", "the body isn't UTF-8") from error
    except NotJson as error:
        raise refusal(Kind.BAD_REQUEST, "", "not_json", str(error)) from error
    if faults := find_faults(value):
        raise Refusal(Kind.INVALID, *faults)
    return value


def _accepted(parsed: Value | tuple[Problem, ...]) -> Value:
    if isinstance(parsed, tuple):
        raise Refusal(Kind.INVALID, *cast("tuple[Problem, ...]", parsed))
    return parsed


# ---------------------------------------------------------------- publishing and withdrawing


def publication_in(body: object, workspace: WorkspaceId) -> Publication | InvalidPublication:
    """The publication in the body of `POST …/requests`; an invalid one is a request too."""
    from notify_core.messages.publications import parse_publication

    parsed = parse_publication(body, workspace)
    if isinstance(parsed, tuple):
        raise Refusal(Kind.INVALID, *parsed)
    return parsed


def withdrawal_in(body: object, workspace: WorkspaceId) -> Withdrawal:
    """The withdrawal in the body of `POST …/withdrawals`."""
    from notify_core.messages.publications import parse_withdrawal

    return _accepted(parse_withdrawal(body, workspace))


# ---------------------------------------------------------------- registering


def workspace_in(body: object, workspace: WorkspaceId) -> Workspace:
    """The workspace in the body of `PUT …/{ws}`."""
    from notify_core.messages.registry import parse_workspace

    return _accepted(parse_workspace(body, workspace))


def person_in(body: object, workspace: WorkspaceId, person: PersonId) -> Person:
    """The person in the body of `PUT …/people/{person}`."""
    from notify_core.messages.registry import parse_person

    return _accepted(parse_person(body, workspace, person))


def definition_in(body: object, workspace: WorkspaceId, key: DefinitionKey) -> Definition:
    """The definition in the body of `PUT …/definitions/{key}`, in no version yet."""
    from notify_core.messages.definitions import parse_definition

    return _accepted(parse_definition(body, workspace, key))


# ---------------------------------------------------------------- the rest


def read_all_body(call: Call) -> "ReadAllBody":
    """The body of `POST /v1/inbox/read_all`."""
    from notify_core.messages.calls import ReadAllBody
    from notify_core.messages.fields import read_body

    return _accepted(read_body(ReadAllBody, json_of(call)))


def retry_body(call: Call) -> "RetryBody":
    """The body of `POST …/deliveries/retry`."""
    from notify_core.messages.calls import RetryBody
    from notify_core.messages.fields import read_body

    return _accepted(read_body(RetryBody, json_of(call)))
