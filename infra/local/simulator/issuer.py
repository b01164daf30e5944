"""The OpenID issuer: its discovery document, its keys, and tokens for whoever asks on loopback."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

AUDIENCE: Final = "notify"
CLIENT_ID: Final = "simulator"
DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
KEYS_PATH: Final = "/.well-known/jwks.json"
_ALGORITHM: Final = "RS256"
_KEY_BITS: Final = 2048


class Issuer:
    """Signs with one RSA key, kept in a file so that an authorizer's cached keys outlive a restart."""

    def __init__(self, *, url: str, state_dir: Path) -> None:
        self._url = url
        self._key = _kept_key(state_dir / "issuer_key.pem")

    def discovery(self) -> dict[str, object]:
        """The OpenID configuration."""
        return {
            "issuer": self._url,
            "jwks_uri": f"{self._url}{KEYS_PATH}",
            "response_types_supported": ["token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [_ALGORITHM],
        }

    def keys(self) -> dict[str, object]:
        """The public keys."""
        return {**KeySet([self._key]).as_dict(private=False, use="sig", alg=_ALGORITHM)}

    def token(self, *, sub: str, scope: str, workspace_id: str | None, seconds: int) -> str:
        """A signed token that is valid for so many seconds; negative seconds give one that has expired."""
        now = int(time.time())
        claims: dict[str, object] = {
            "iss": self._url,
            "aud": AUDIENCE,
            "client_id": CLIENT_ID,
            "sub": sub,
            "scope": scope,
            "iat": min(now, now + seconds),
            "exp": now + seconds,
        }
        claims |= {} if workspace_id is None else {"workspace_id": workspace_id}
        return jwt.encode({"alg": _ALGORITHM, "typ": "JWT", "kid": self._key.kid}, claims, self._key)


def _kept_key(path: Path) -> RSAKey:
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written beside and linked, so that of two simulators that start at once both use the same whole key.
        fresh = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(RSAKey.generate_key(_KEY_BITS).as_pem(private=True))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(fresh)
        fresh.unlink()
    key = RSAKey.import_key(path.read_bytes())
    key.ensure_kid()
    return key
