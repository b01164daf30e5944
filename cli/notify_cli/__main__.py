"""`python -m notify_cli`: the same as `notify`."""

from notify_cli.app import app

app(prog_name="notify")
