"""The operators' routes of the registry: workspaces, people and definitions."""

from typing import Any, Final, cast

from notify_core.api.bodies import definition_in, json_of, person_in, workspace_in
from notify_core.api.call import Answer, Call
from notify_core.api.lists import limit_of, list_answer, position_of
from notify_core.api.paths import definition_of, person_of, workspace_of
from notify_core.api.refusal import Kind, refusal
from notify_core.api.registry_shapes import (
    definition_json,
    definition_summary_json,
    person_json,
    workspace_json,
)
from notify_core.api.routing import Api
from notify_core.application.read_definitions import list_definitions, read_definition
from notify_core.application.refusals import definition_not_found
from notify_core.application.register_definition import register_definition
from notify_core.application.register_person import register_person
from notify_core.application.register_workspace import register_workspace
from notify_core.application.retire_definition import RetireRefusal, retire_definition

VERSION_DIGITS_MAX: Final = 9


def put_workspace(call: Call, api: Api) -> Answer:
    """Register a workspace."""
    body = json_of(call)
    wanted = workspace_in(body, workspace_of(call))
    shards = cast("dict[str, Any]", body).get("shards")
    return Answer(status=200, body=workspace_json(register_workspace(wanted, shards, api.ports)))


def put_person(call: Call, api: Api) -> Answer:
    """Register a person."""
    wanted = person_in(json_of(call), workspace_of(call), person_of(call))
    return Answer(status=200, body=person_json(register_person(wanted, api.ports)))


def put_definition(call: Call, api: Api) -> Answer:
    """Register a version of a definition."""
    wanted = definition_in(json_of(call), workspace_of(call), definition_of(call))
    return Answer(status=200, body={"version": register_definition(wanted, api.ports).version})


def get_definition(call: Call, api: Api) -> Answer:
    """A definition as it is now, or one of its versions."""
    definition = read_definition(workspace_of(call), definition_of(call), _version_of(call), api.ports)
    return Answer(status=200, body=definition_json(definition))


def _version_of(call: Call) -> int | None:
    text = call.asked("version")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) <= VERSION_DIGITS_MAX and int(text)):
        raise refusal(Kind.INVALID, "version", "out_of_range", "a whole number from 1")
    return int(text)


def get_definitions(call: Call, api: Api) -> Answer:
    """The definitions in the order of their keys."""
    workspace = workspace_of(call)
    position = position_of(call, api, (workspace,))
    page = list_definitions(workspace, position, limit_of(call), api.ports)
    items = [definition_summary_json(definition) for definition in page.items]
    return list_answer(call, api, (workspace,), items, page.position)


def delete_definition(call: Call, api: Api) -> Answer:
    """Retire a definition."""
    match retire_definition(workspace_of(call), definition_of(call), api.ports):
        case RetireRefusal.NOT_FOUND:
            raise definition_not_found()
        case RetireRefusal.WORKSPACE_SUSPENDED:
            message = "the workspace is suspended: make it operational first"
            raise refusal(Kind.REFUSED, "workspace_id", "workspace_suspended", message)
        case _:
            return Answer(status=204)
