"""Slack's Web API: the methods that a notifying app calls, refusing what Slack refuses."""

from hashlib import sha256
from typing import Final

from infra.local.simulator.faults import POST, FaultBook, Target, reply_under
from infra.local.simulator.ground_truth import GroundTruth
from infra.local.simulator.settings import Settings
from infra.local.simulator.slack_call import Call, Payload, Refused, next_cursor, read_call
from infra.local.simulator.slack_conversations import (
    Conversation,
    Conversations,
    Post,
    Span,
    conversation_for_post,
    conversation_for_reading,
    direct_conversation,
    is_user,
)
from infra.local.simulator.slack_rate import SlackRateLimit
from infra.local.simulator.slack_rules import TEXT_CHARACTERS_MAX, are_too_long, block_errors, metadata_error
from infra.local.simulator.wire import Answer, Reply, Request, as_list, as_object, broken_answer, json_answer

_NOTHING: Final[Payload] = {}
BOT_ID: Final = "B0NOTIFY"
BOT_USER_ID: Final = "U0NOTIFY"


class SlackDialect:
    """How Slack words its failures: nearly all of them in a 200."""

    def throttled(self, retry_after: int) -> Answer:
        """A 429 with `Retry-After` seconds."""
        headers = (("Retry-After", str(retry_after)),)
        return json_answer({"ok": False, "error": "ratelimited"}, status=429, headers=headers)

    def unavailable(self) -> Answer:
        """An error that says that nothing was done."""
        return self.refused("service_unavailable")

    def broken(self, status: int) -> Answer:
        """A page instead of JSON."""
        return broken_answer(status)

    def refused(self, code: str) -> Answer:
        """`ok: false`."""
        return json_answer({"ok": False, "error": code})


class SlackApi:
    """The Slack of every workspace."""

    def __init__(self, *, faults: FaultBook, messages: GroundTruth) -> None:
        self._faults = faults
        self._messages = messages
        self._conversations = Conversations()
        self._rate = SlackRateLimit()
        self._dialect = SlackDialect()
        self._methods = {
            POST: self._post_message,
            "auth.test": self._auth_test,
            "conversations.history": self._history,
            "conversations.open": self._open,
            "users.info": self._user_info,
            "users.list": self._user_list,
        }

    def respond(self, request: Request, settings: Settings) -> Reply:
        """The reply to one call, under the rate limit and the faults that meet it."""
        try:
            call = read_call(request)
        except Refused as refusal:
            return json_answer(refusal.payload)
        if call.method == POST:
            wait = self._rate.seconds_to_wait(call.team, settings.slack_rate)
            if wait is not None:
                return self._dialect.throttled(wait)
        fault = self._faults.take(call.method, _target(call))
        return reply_under(fault, lambda: self._perform(call), self._dialect)

    def clear(self) -> None:
        """Forgets conversations and rates."""
        self._conversations.clear()
        self._rate.clear()

    def _perform(self, call: Call) -> Answer:
        try:
            method = self._methods.get(call.method, _unknown_method)
            return json_answer({"ok": True, **method(call)})
        except Refused as refusal:
            return json_answer(refusal.payload)

    def _auth_test(self, call: Call) -> Payload:
        return {
            "url": f"https://{call.team}.slack.com/",
            "team": call.team,
            "user": "notify",
            "team_id": _team_id(call.team),
            "user_id": BOT_USER_ID,
            "bot_id": BOT_ID,
            "is_enterprise_install": False,
        }

    def _user_info(self, call: Call) -> Payload:
        return {"user": _user(_known_user(call.text("user")), call.team)}

    def _user_list(self, call: Call) -> Payload:
        users = self._conversations.users(call.team)
        start, limit = call.cursor("user") or 0, call.limit()
        page = [_user(user, call.team) for user in users[start : start + limit]]
        more = start + limit < len(users)
        return {"members": page, **next_cursor("user", start + limit if more else None)}

    def _open(self, call: Call) -> Payload:
        users = [user for user in call.text("users").split(",") if user]
        if not users:
            raise Refused("users_list_not_supplied")
        if len(users) > 1:
            raise Refused("invalid_user_combination")
        conversation = direct_conversation(_known_user(users[0]))
        self._conversations.meet(call.team, conversation.target.to)
        return {"channel": {"id": conversation.id}}

    def _history(self, call: Call) -> Payload:
        conversation = conversation_for_reading(call.text("channel"))
        if conversation is None:
            raise Refused("channel_not_found")
        span = Span(
            oldest_us=call.microseconds("oldest"),
            latest_us=call.microseconds("latest"),
            inclusive=call.flag("inclusive"),
        )
        posts = self._conversations.history(call.team, conversation, span)
        if (before := call.cursor("next_ts")) is not None:
            posts = [post for post in posts if post.at_us < before]
        limit = call.limit()
        page, rest = posts[-limit:][::-1], posts[:-limit]
        shown = [_as_shown(post, all_metadata=call.flag("include_all_metadata")) for post in page]
        cursor = next_cursor("next_ts", page[-1].at_us if rest else None)
        return {"messages": shown, "has_more": bool(rest), "pin_count": 0, **cursor}

    def _post_message(self, call: Call) -> Payload:
        conversation = conversation_for_post(call.text("channel"))
        if conversation is None:
            raise Refused("channel_not_found")
        text, blocks, metadata = call.text("text"), _blocks(call), _metadata(call)
        _check_length(call, text)
        message: Payload = {
            "type": "message",
            "user": BOT_USER_ID,
            "bot_id": BOT_ID,
            "team": _team_id(call.team),
            "text": text,
        }
        message |= {} if blocks is None else {"blocks": blocks}
        message |= {} if metadata is None else {"metadata": metadata}
        return self._put(call.team, conversation, message)

    def _put(self, team: str, conversation: Conversation, message: Payload) -> Payload:
        if conversation.target.channel == "chat":
            self._conversations.meet(team, conversation.target.to)
        ts = self._conversations.post(team, conversation, message)
        self._messages.record(
            channel=conversation.target.channel,
            to=conversation.target.to,
            text=str(message["text"]),
            blocks=message.get("blocks"),
            delivery_id=_delivery_id(message.get("metadata")),
        )
        return {"channel": conversation.id, "ts": ts, "message": message | {"ts": ts}}


def _unknown_method(call: Call) -> Payload:
    raise Refused("unknown_method", req_method=call.method)


def _target(call: Call) -> Target | None:
    user = call.text("user") or call.text("users")
    if is_user(user):
        return Target(channel="chat", to=user)
    conversation = conversation_for_post(call.text("channel"))
    return None if conversation is None else conversation.target


def _blocks(call: Call) -> list[object] | None:
    given = call.structure("blocks", error="invalid_blocks_format")
    if given is None:
        return None
    blocks = as_list(given)
    if blocks is None:
        raise Refused("invalid_blocks_format")
    if errors := block_errors(blocks):
        messages = [f"[ERROR] {error}" for error in errors]
        raise Refused("invalid_blocks", errors=errors, response_metadata={"messages": messages})
    if are_too_long(blocks):
        raise Refused("msg_blocks_too_long")
    return blocks


def _metadata(call: Call) -> object:
    metadata = call.structure("metadata", error="invalid_metadata_format")
    error = None if metadata is None else metadata_error(metadata)
    if error is not None:
        raise Refused(error)
    return metadata


def _check_length(call: Call, text: str) -> None:
    if not (text.strip() or call.arguments.get("blocks") or call.arguments.get("attachments")):
        raise Refused("no_text")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise Refused("msg_too_long")


def _delivery_id(metadata: object) -> str | None:
    payload = as_object((as_object(metadata) or {}).get("event_payload")) or {}
    delivery_id = payload.get("delivery_id")
    return None if delivery_id is None else str(delivery_id)


def _as_shown(post: Post, *, all_metadata: bool) -> Payload:
    metadata = as_object(post.message.get("metadata"))
    if metadata is None or all_metadata:
        return post.message
    # Slack keeps the payload of an event type that the app's manifest doesn't declare to itself.
    return post.message | {"metadata": {"event_type": metadata["event_type"], "event_payload": _NOTHING}}


def _known_user(user: str) -> str:
    if not is_user(user):
        raise Refused("user_not_found")
    return user


def _user(user: str, team: str) -> Payload:
    name = user.lower()
    return {
        "id": user,
        "team_id": _team_id(team),
        "name": name,
        "real_name": name,
        "deleted": False,
        "is_bot": user == BOT_USER_ID,
        "profile": {"real_name": name, "display_name": name},
    }


def _team_id(team: str) -> str:
    return "T" + sha256(team.encode()).hexdigest()[:10].upper()
