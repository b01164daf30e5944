"""The operators' routes."""

from typing import Final

from notify_core.api.access import Scope
from notify_core.api.lists import PAGING
from notify_core.api.notices import get_deliveries, get_notice, post_retries, post_retry
from notify_core.api.registry import (
    delete_definition,
    get_definition,
    get_definitions,
    put_definition,
    put_person,
    put_workspace,
)
from notify_core.api.requests import get_request, get_requests, post_reprocess, post_request, post_withdrawal
from notify_core.api.routing import Route, routes

_WS: Final = "/v1/workspaces/{ws}"
_NOTICE: Final = f"{_WS}/notices/{{recipient}}/{{notice_id}}"

ROUTES: Final = routes(
    Scope.OPERATOR,
    (
        Route(f"PUT {_WS}", put_workspace),
        Route(f"PUT {_WS}/people/{{person}}", put_person),
        Route(f"GET {_WS}/definitions", get_definitions, PAGING),
        Route(f"PUT {_WS}/definitions/{{key}}", put_definition),
        Route(f"GET {_WS}/definitions/{{key}}", get_definition, ("version",)),
        Route(f"DELETE {_WS}/definitions/{{key}}", delete_definition),
        Route(f"POST {_WS}/requests", post_request, ("dry_run",)),
        Route(f"GET {_WS}/requests", get_requests, ("state", "definition", "dead_lettered", *PAGING)),
        Route(f"GET {_WS}/requests/{{request_id}}", get_request),
        Route(f"POST {_WS}/requests/{{request_id}}/reprocess", post_reprocess),
        Route(f"POST {_WS}/withdrawals", post_withdrawal),
        Route(f"GET {_NOTICE}", get_notice),
        Route(f"POST {_NOTICE}/deliveries/{{channel}}/retry", post_retry),
        Route(f"GET {_WS}/deliveries", get_deliveries, ("state", "reason", *PAGING)),
        Route(f"POST {_WS}/deliveries/retry", post_retries),
    ),
)
