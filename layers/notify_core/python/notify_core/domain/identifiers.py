"""Identifiers, and how one is derived from another.

Derived identifiers are digests of length-prefixed fields, so two different tuples never collide by concatenation.
"""

import re
from base64 import urlsafe_b64encode
from functools import lru_cache
from hashlib import sha256
from typing import Final, NewType

WorkspaceId = NewType("WorkspaceId", str)
DefinitionKey = NewType("DefinitionKey", str)
PersonId = NewType("PersonId", str)
RequestId = NewType("RequestId", str)
NoticeId = NewType("NoticeId", str)
DeliveryId = NewType("DeliveryId", str)
ClaimId = NewType("ClaimId", str)
Recipient = NewType("Recipient", str)
"""A person, or `HQ` for an alert that has no recipient."""

HQ: Final = Recipient("-")
IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
KEY_LENGTH_MAX: Final = 256
_GENERATION_DIGITS: Final = 6


def is_identifier(text: str) -> bool:
    """Whether a workspace, definition, person, team or role may be called so."""
    return IDENTIFIER.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Whether it can be a request, replacement or fold key: 1 to 256 characters, encodable as UTF-8."""
    return 1 <= len(text) <= KEY_LENGTH_MAX and not any("\ud800" <= character <= "\udfff" for character in text)


def digest(*fields: str) -> str:
    """128 bits over length-prefixed fields, as 22 characters of `A-Za-z0-9_~`, safe in a URL and in a key."""
    encoded = [field.encode() for field in fields]
    hashed = sha256(b"".join(b"%d:%b" % (len(field), field) for field in encoded)).digest()
    return urlsafe_b64encode(hashed[:16]).decode().rstrip("=").replace("-", "~")


def request_id(workspace: WorkspaceId, definition: DefinitionKey, request_key: str) -> RequestId:
    """The identity of a publication, whoever processes it and however often."""
    return RequestId(digest("request", workspace, definition, request_key))


def head_id(definition: DefinitionKey, replacement_key: str) -> str:
    """The replacement head of a key, within its workspace."""
    return digest("head", definition, replacement_key)


def unfolded_notice_id(request: RequestId) -> NoticeId:
    """The notice that a request gives each of its recipients when it isn't folded."""
    return NoticeId(request)


def fold_id(definition: DefinitionKey, fold_key: str) -> str:
    """What all generations of a folded notice begin with, within their workspace and recipient."""
    return digest("fold", definition, fold_key)


def generation_notice_id(fold: str, generation: int) -> NoticeId:
    """The n-th notice of a fold key, from 1; later generations sort later."""
    return NoticeId(f"{fold}.{generation:0{_GENERATION_DIGITS}d}")


def generation_of(notice: NoticeId) -> int:
    """The generation in a folded notice's id; 0 for an unfolded one."""
    _, dot, generation = notice.partition(".")
    return int(generation) if dot else 0


@lru_cache(maxsize=1024)
def delivery_id(workspace: str, recipient: str, notice: str, channel: str) -> DeliveryId:
    """The opaque identity of one channel of one notice, shown to providers and kept in their evidence."""
    return DeliveryId(digest("delivery", workspace, recipient, notice, channel))


def shard_of(identifier: str, shards: int) -> int:
    """The index shard of a row, from 0: spreads a workspace over that many index partitions."""
    return int.from_bytes(sha256(identifier.encode()).digest()[:4]) % shards
