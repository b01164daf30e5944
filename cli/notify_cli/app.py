"""The command `notify`: all of its commands in one table."""

from typing import Final

from typer import Typer

from notify_cli.commands.attention import attention
from notify_cli.commands.dead_letters import dead_letters
from notify_cli.commands.explain import explain
from notify_cli.commands.history import history
from notify_cli.commands.inbox import inbox
from notify_cli.commands.publish import publish
from notify_cli.commands.register import put_definitions, put_people, put_workspaces
from notify_cli.commands.reprocess import reprocess
from notify_cli.commands.request import request
from notify_cli.commands.retry import retry
from notify_cli.commands.watch import watch
from notify_cli.commands.withdraw import withdraw

_PRODUCE, _FOLLOW, _OPERATE, _REGISTER = "Publish", "Follow", "Operate", "Register"

app: Final = Typer(
    help="Publishes and withdraws, says what became of it and why, and retries what ran out of attempts.",
    epilog="Exit codes: 0 done; 1 refused or failed, with the reason; 2 not understood. More in docs/cli.md.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,  # a traceback may hold a token
)

for name, panel, command in (
    ("publish", _PRODUCE, publish),
    ("withdraw", _PRODUCE, withdraw),
    ("watch", _FOLLOW, watch),
    ("request", _FOLLOW, request),
    ("history", _FOLLOW, history),
    ("explain", _FOLLOW, explain),
    ("inbox", _FOLLOW, inbox),
    ("attention", _OPERATE, attention),
    ("retry", _OPERATE, retry),
    ("dead-letters", _OPERATE, dead_letters),
    ("reprocess", _OPERATE, reprocess),
):
    app.command(name, rich_help_panel=panel)(command)

for name, helps, command in (
    ("workspace", "Workspaces: the tenants.", put_workspaces),
    ("person", "People who can be told.", put_people),
    ("definition", "Definitions: the kinds of notification.", put_definitions),
):
    group = Typer(help=helps, no_args_is_help=True)
    group.command("put")(command)
    app.add_typer(group, name=name, rich_help_panel=_REGISTER)
