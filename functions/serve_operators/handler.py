"""Serves the operators: workspaces, people, definitions, requests, notices and deliveries."""

from collections.abc import Mapping
from typing import Any

from notify_core.api.cursors import Cursors
from notify_core.api.operators import ROUTES
from notify_core.api.routing import Api, serve
from notify_core.wiring import Context, cursor_key, entry, ports


@entry
def handler(event: Mapping[str, Any], context: Context) -> Mapping[str, Any]:
    """Answer one call."""
    return serve(ROUTES, event, Api(ports=ports(), cursors=Cursors(cursor_key)), context.aws_request_id)
