"""What every command has: the options that name the platform, and what they amount to."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import BadParameter, Exit, Option

from notify_cli.api import Api
from notify_cli.failures import Failure
from notify_cli.names import check_identifier
from notify_cli.output import Output, open_output
from notify_cli.stack import Stack, find_stack

if TYPE_CHECKING:
    from notify_cli.queues import Queues

_PLATFORM: Any = {"rich_help_panel": "The platform"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One command's platform, workspace and output."""

    stack: Stack
    named_workspace: str | None
    output: Output

    @property
    def workspace(self) -> str:
        """The workspace named; BadParameter where none was."""
        if self.named_workspace is None:
            raise BadParameter("name the workspace with --workspace or NOTIFY_WORKSPACE")
        return check_identifier(self.named_workspace, "--workspace")

    @property
    def api(self) -> Api:
        """The API, with the operator's token; BadParameter where its address or token isn't known."""
        if self.stack.api_url is None:
            raise BadParameter("this asks the API: give --api-url and --token, or a file with --stack")
        if self.stack.token is None:
            raise BadParameter("this asks the API: give an operator's token as NOTIFY_TOKEN or --token")
        return Api(self.stack.api_url, self.stack.token)

    @property
    def queues(self) -> "Queues":
        """The queues."""
        from notify_cli.queues import Queues  # noqa: PLC0415 - boto3 takes longer to import than most commands take

        return Queues(self.stack)

    def path(self, *parts: str) -> tuple[str, ...]:
        """A place in the API, below the workspace."""
        return ("workspaces", self.workspace, *parts)

    def now(self) -> datetime:
        """The time now."""
        return datetime.now(tz=UTC)


def open_session(
    *,
    workspace: Annotated[
        str | None, Option("--workspace", "-w", envvar="NOTIFY_WORKSPACE", help="The workspace.", **_PLATFORM)
    ] = None,
    stack: Annotated[
        Path | None,
        Option(envvar="NOTIFY_STACK", help="A file that describes it; .local/stack.json unless told.", **_PLATFORM),
    ] = None,
    api_url: Annotated[
        str | None, Option(envvar="NOTIFY_API_URL", help="A real platform's API: the output ApiUrl.", **_PLATFORM)
    ] = None,
    token: Annotated[
        str | None,
        Option(envvar="NOTIFY_TOKEN", help="The token for the API; better in the variable than here.", **_PLATFORM),
    ] = None,
    requests_queue_url: Annotated[
        str | None,
        Option(
            envvar="NOTIFY_REQUESTS_QUEUE_URL",
            help="A real platform's queue: the output RequestsQueueUrl. AWS credentials as for any AWS tool.",
            **_PLATFORM,
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="JSON instead of tables, a document a line.")] = False,
) -> Session:
    """What the options common to all commands amount to."""
    found = find_stack(stack, api_url=api_url, token=token, requests_queue_url=requests_queue_url)
    return Session(stack=found, named_workspace=workspace, output=open_output(as_json=as_json))


def with_session(body: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function: its first argument is the session, whose options follow its own.

    A Failure is told, and exits with 1.
    """
    own = list(inspect.signature(body).parameters.values())[1:]
    shared = list(inspect.signature(open_session).parameters.values())

    def command(**given: Any) -> None:
        session = open_session(**{option.name: given.pop(option.name) for option in shared})
        try:
            body(session, **given)
        except Failure as failure:
            session.output.fail(failure)
            raise Exit(1) from None

    command.__name__, command.__doc__ = body.__name__, body.__doc__
    cast("Any", command).__signature__ = inspect.Signature(
        [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in (*own, *shared)]
    )
    return command
