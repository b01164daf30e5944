"""Lists: their limit, their cursor, and their form."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from notify_core.api.call import Answer, Call
from notify_core.api.cursors import CursorInvalid
from notify_core.api.refusal import Kind, refusal
from notify_core.api.routing import Api
from notify_core.domain.limits import PAGE_ITEMS, PAGE_ITEMS_MAX

PAGING: Final = ("cursor", "limit")
_DIGITS_MAX: Final = 9


def limit_of(call: Call) -> int:
    """How many items the call asks for."""
    text = call.asked("limit") or str(PAGE_ITEMS)
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
    if not is_number or not 1 <= int(text) <= PAGE_ITEMS_MAX:
        raise refusal(Kind.INVALID, "limit", "out_of_range", f"a whole number from 1 to {PAGE_ITEMS_MAX}")
    return int(text)


def position_of(call: Call, api: Api, scope: Sequence[str]) -> Mapping[str, str] | None:
    """Where the call's cursor goes on in the list that the scope names; None for its beginning."""
    cursor = call.asked("cursor")
    if cursor is None:
        return None
    try:
        return api.cursors.open((call.route, *scope), cursor)
    except CursorInvalid as error:
        raise refusal(
            Kind.BAD_REQUEST, "cursor", "invalid_cursor", "take it from this very list, with the same filters"
        ) from error


def list_answer(
    call: Call, api: Api, scope: Sequence[str], items: Sequence[Mapping[str, Any]], position: Mapping[str, str] | None
) -> Answer:
    """A page, with the cursor of the next one where the list goes on."""
    cursor = None if position is None else api.cursors.sign((call.route, *scope), position)
    return Answer(status=200, body={"items": items, "cursor": cursor})


def place_json(at: datetime, identity: str) -> dict[str, str]:
    """A place in a list ordered by time, then identity."""
    return {"at": at.isoformat(), "id": identity}


def place_at(position: Mapping[str, str]) -> datetime:
    """The time of a place."""
    return datetime.fromisoformat(position["at"])
