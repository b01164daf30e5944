"""A store call as a line that a person can read."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from notify_core.application.ports import Head, NoticeKey, Page
from notify_core.domain.definition import Definition
from notify_core.domain.directory import ChannelState, Person
from notify_core.domain.notice import Delivery, Notice
from notify_core.domain.request import Request

_LISTED_MAX = 4
_TEXT_MAX = 60
_DIGEST_LENGTH = 22


def told_call(label: str, args: tuple[Any, ...], value: Any, *, conflicts: bool = False) -> str:
    """What a call asked for and what it came to."""
    store, method = label.split(".")
    if method == "commit":
        text = "commits " + "; ".join(told_change(write.new, write.was) for write in args[0])
    elif method.startswith(("put", "repair")):
        text = f"writes {told_change(*args)}"
    elif method.startswith("mark"):
        text = f"marks {told(args[1])} as read up to {told(args[2].read_up_to)}"
    else:
        asked = ", ".join(told(item) for item in args[1:] or args)
        return f"reads {store} {method}({asked}): {told(value)}"
    return f"{text} - CONFLICT" if conflicts else text


def told_change(new: Any, was: Any) -> str:
    """A write: the row, and what moves."""
    if isinstance(new, Notice) and isinstance(was, Notice):
        states = {item.channel: str(item.state) for item in was.deliveries}
        moves = [
            f"{item.channel} {states[item.channel]} -> {_state(item)}"
            for item in new.deliveries
            if states.get(item.channel) != str(item.state)
        ]
        if new.ended is not was.ended:
            moves.append(f"ends {new.ended}")
        return f"{_name(new)} {', '.join(moves) or 'again'}"
    if isinstance(new, Request) and isinstance(was, Request) and new.state is not was.state:
        return f"{told(new)} (was {was.state})"
    return told(new)


def told(value: object) -> str:
    """A row, or a list of rows, in a few words."""
    return _TELLERS.get(type(value), _text)(value)


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 3]}..."


def _key(value: str) -> str:
    return f"..{value[-4:]}" if len(value) == _DIGEST_LENGTH else value


def _list(value: Sequence[object]) -> str:
    more = f", {len(value) - _LISTED_MAX} more" if len(value) > _LISTED_MAX else ""
    return f"[{', '.join(told(item) for item in value[:_LISTED_MAX])}{more}]"


def _request(value: Request) -> str:
    reason = f"({value.reason})" if value.reason else ""
    due = f", due {told(value.due_at)}" if value.due_at else ""
    return f"request {value.request_key} v{value.version} {value.state}{reason}{due}"


def _notice(value: Notice) -> str:
    return f"{_name(value)} {', '.join(f'{item.channel}={_state(item)}' for item in value.deliveries)}"


def _head(value: Head) -> str:
    until = f", withdrawn until {told(value.withdrawn_at)}" if value.withdrawn_at else ""
    return f"head {value.replacement_key} v{value.version}: {told(value.current)}{until}"


def _channel(value: ChannelState) -> str:
    gate = f"open, probe {told(value.probe_at)}" if value.open_since else "closed"
    blocked = f", blocked until {told(value.blocked_until)}" if value.blocked_until else ""
    return f"circuit of {value.channel} v{value.version} {gate}{blocked}"


def _name(notice: Notice) -> str:
    ended = f" {notice.ended}" if notice.ended else ""
    return f"notice {notice.recipient}/{notice.notice_id[-4:]} v{notice.version}{ended}"


def _state(item: Delivery) -> str:
    return f"{item.state}({item.reason})" if item.reason else str(item.state)


_TELLERS: Mapping[type, Callable[[Any], str]] = {
    type(None): lambda _: "absent",
    str: _key,
    datetime: lambda at: f"{at:%m-%d %H:%M:%S}",
    tuple: _list,
    list: _list,
    dict: lambda rows: _list(list(rows.values())),
    Page: lambda page: _list(page.items),
    Request: _request,
    Notice: _notice,
    Head: _head,
    ChannelState: _channel,
    NoticeKey: lambda key: f"{key.recipient}/{key.notice_id[-4:]}",
    Person: lambda person: f"{person.person_id}{'' if person.active else ' (inactive)'}",
    Definition: lambda definition: f"definition {definition.key} v{definition.version} {definition.state}",
}
