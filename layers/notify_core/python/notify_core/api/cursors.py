"""Cursors: where a list goes on, signed so that nobody can make one up or carry it to another list."""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from notify_core.domain.identifiers import digest

_SIGNATURE_BYTES: Final = 16
_LENGTH_MAX: Final = 2_048


class CursorInvalid(ValueError):
    """A cursor that this list never gave out."""


@dataclass(frozen=True, slots=True)
class Cursors:
    """Signs and opens cursors by HMAC-SHA256; `key` gives the secret, read when it is first needed."""

    key: Callable[[], bytes]

    def sign(self, scope: Sequence[str], position: Mapping[str, str]) -> str:
        """A cursor for a position in the list that the scope names: its route, owner and filters."""
        payload = json.dumps(position, separators=(",", ":"), sort_keys=True).encode()
        return urlsafe_b64encode(self._signature(scope, payload) + payload).decode().rstrip("=")

    def open(self, scope: Sequence[str], cursor: str) -> Mapping[str, str]:
        """The position in a cursor of the list that the scope names.

        Raises:
            CursorInvalid: it was altered, or given out for another list.
        """
        signed = _decoded(cursor)
        signature, payload = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(scope, payload)):
            raise CursorInvalid("signature")
        position: Mapping[str, str] = json.loads(payload)
        return position

    def _signature(self, scope: Sequence[str], payload: bytes) -> bytes:
        signed = digest("cursor", *scope).encode() + payload
        return hmac.new(self.key(), signed, sha256).digest()[:_SIGNATURE_BYTES]


def _decoded(cursor: str) -> bytes:
    if len(cursor) > _LENGTH_MAX:
        raise CursorInvalid("length")
    try:
        decoded = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError as error:
        raise CursorInvalid("encoding") from error
    # One cursor, one spelling: characters outside the alphabet would be skipped without a word.
    if urlsafe_b64encode(decoded).decode().rstrip("=") != cursor:
        raise CursorInvalid("encoding")
    return decoded
