"""`notify workspace|person|definition put`: register from files; repeating it changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

from typer import Argument, BadParameter, Exit, Option

from notify_cli import messages
from notify_cli.api import Json
from notify_cli.failures import Failure
from notify_cli.names import check_identifier
from notify_cli.session import Session, with_session

STDIN: Final = "-"
Files = Annotated[
    list[str],
    Argument(metavar="FILE...", help="JSON files as the API takes them, each named for what it registers: ana.json."),
]
Name = Annotated[
    str | None, Option("--name", help="What a single file registers, if it isn't called so; needed for -.")
]


@with_session
def put_workspaces(session: Session, files: Files, *, name: Name = None) -> None:
    """Registers workspaces."""
    _put(
        session, files, name, lambda found: ("workspaces", found), lambda answer: f"{len(answer['channels'])} channels"
    )


@with_session
def put_people(session: Session, files: Files, *, name: Name = None) -> None:
    """Registers people of a workspace, with their teams and roles."""
    _put(session, files, name, lambda found: session.path("people", found), lambda answer: str(answer["name"]))


@with_session
def put_definitions(session: Session, files: Files, *, name: Name = None) -> None:
    """Registers definitions: the same content is the same version, other content the next."""
    _put(
        session,
        files,
        name,
        lambda found: session.path("definitions", found),
        lambda answer: f"version {answer['version']}",
    )


def _put(
    session: Session,
    files: list[str],
    name: str | None,
    place: Callable[[str], tuple[str, ...]],
    told: Callable[[Json], str],
) -> None:
    """Register each file; one that is refused keeps none of the others back, and the command fails at the end."""
    if name is not None and len(files) > 1:
        raise BadParameter("it goes with one file", param_hint="--name")
    bodies = [(_name_of(file, name), messages.read_object(messages.read_text(file, file), file)) for file in files]
    refused = 0
    with session.output.busy("Registering") as tell:
        for number, (found, body) in enumerate(bodies, 1):
            tell(f"{number} of {len(bodies)}: {found}")
            try:
                answer = session.api.put(*place(found), body=body)
            except Failure as failure:
                failure.title = f"{found}: {failure.title}"
                session.output.fail(failure)
                refused += 1
                continue
            _tell(session, found, answer, told)
    if refused:
        raise Exit(1)


def _tell(session: Session, name: str, answer: Json, told: Callable[[Json], str]) -> None:
    if session.output.as_json:
        session.output.line({"name": name, **answer})
    else:
        session.output.say(f"{name}: {told(answer)}")


def _name_of(file: str, name: str | None) -> str:
    if name is None and file == STDIN:
        raise BadParameter("say what the standard input registers", param_hint="--name")
    return check_identifier(name or Path(file).stem, file)
