"""Slack's conversations: who they are with, and what was posted in them."""

import re
import threading
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from hashlib import sha256

from infra.local.simulator.faults import Target

_USER = re.compile(r"U[A-Z0-9]{2,}")
_DIRECT = re.compile(r"D[A-Z0-9]{2,}")
_CHANNEL = re.compile(r"[CG][A-Z0-9]{2,}")
_CHANNEL_NAME = re.compile(r"#\S{1,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation and whom a post in it reaches."""

    id: str
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A posted message; `at_us` is the moment in its `ts`, in microseconds."""

    at_us: int
    message: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a conversation in microseconds, without its ends unless `inclusive`."""

    oldest_us: int | None = None
    latest_us: int | None = None
    inclusive: bool = False


@dataclass(slots=True)
class _Posts:
    by_conversation: dict[tuple[str, str], list[Post]] = field(default_factory=dict[tuple[str, str], list[Post]])
    users: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])


class Conversations:
    """Every workspace's conversations.

    A direct conversation is named after its user (`D1` is with `U1`), so its id outlives a restart.
    """

    def __init__(self) -> None:
        self._posts = _Posts()
        self._last_us = 0
        self._lock = threading.Lock()

    def post(self, team: str, conversation: Conversation, message: dict[str, object]) -> str:
        """Puts a message into a conversation and gives its `ts`, unique and rising."""
        with self._lock:
            at_us = self._last_us = max(time.time_ns() // 1000, self._last_us + 1)
            ts = f"{at_us // 1_000_000}.{at_us % 1_000_000:06d}"
            posts = self._posts.by_conversation.setdefault((team, conversation.id), [])
            posts.append(Post(at_us=at_us, message=message | {"ts": ts}))
            return ts

    def history(self, team: str, conversation: Conversation, span: Span) -> list[Post]:
        """The posts of a stretch, oldest first."""
        with self._lock:
            posts = self._posts.by_conversation.get((team, conversation.id), [])
            start, end = 0, len(posts)
            if span.oldest_us is not None:
                find = bisect_left if span.inclusive else bisect_right
                start = find(posts, span.oldest_us, key=_moment)
            if span.latest_us is not None:
                find = bisect_right if span.inclusive else bisect_left
                end = find(posts, span.latest_us, key=_moment)
            return posts[start:end]

    def meet(self, team: str, user: str) -> None:
        """Notes that the app has a conversation with this user."""
        with self._lock:
            self._posts.users[team, user] = None

    def users(self, team: str) -> list[str]:
        """The users met, in the order they were."""
        with self._lock:
            return [user for member_of, user in self._posts.users if member_of == team]

    def clear(self) -> None:
        """Forgets everything but the time."""
        with self._lock:
            self._posts = _Posts()


def is_user(text: str) -> bool:
    """Whether Slack would know a user by it."""
    return _USER.fullmatch(text) is not None


def direct_conversation(user: str) -> Conversation:
    """The conversation of the app with one user."""
    return Conversation(id=f"D{user[1:]}", target=Target(channel="chat", to=user))


def conversation_for_post(channel: str) -> Conversation | None:
    """Where a post to a user's, a conversation's or a channel's name goes; None when nobody is called so."""
    if is_user(channel):
        return direct_conversation(channel)
    if _CHANNEL_NAME.fullmatch(channel):
        identifier = "C" + sha256(channel.encode()).hexdigest()[:10].upper()
        return Conversation(id=identifier, target=Target(channel="slack_system", to=channel))
    return conversation_for_reading(channel)


def conversation_for_reading(channel: str) -> Conversation | None:
    """The conversation of this id; unlike a post, reading takes no user and no name."""
    if _DIRECT.fullmatch(channel):
        return direct_conversation(f"U{channel[1:]}")
    if _CHANNEL.fullmatch(channel):
        return Conversation(id=channel, target=Target(channel="slack_system", to=channel))
    return None


def _moment(post: Post) -> int:
    return post.at_us
