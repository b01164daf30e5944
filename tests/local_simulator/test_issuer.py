import json
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from joserfc import jwt
from joserfc.errors import ExpiredTokenError
from joserfc.jwk import KeySet

from infra.local.simulator.client import SimulatorClient, SimulatorRefused
from infra.local.simulator.server import SimulatorServer


def fetch(url: str) -> dict[str, Any]:
    with urlopen(url, timeout=5) as answer:
        return json.load(answer)


def keys_of(url: str) -> KeySet:
    return KeySet.import_key_set(fetch(fetch(f"{url}/.well-known/openid-configuration")["jwks_uri"]))


def test_the_issuer_is_discovered_at_its_own_address(simulator: SimulatorClient) -> None:
    assert fetch(f"{simulator.url}/.well-known/openid-configuration") == {
        "issuer": simulator.url,
        "jwks_uri": f"{simulator.url}/.well-known/jwks.json",
        "response_types_supported": ["token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def test_a_token_holds_what_was_asked_for_and_is_signed_by_a_published_key(
    simulator: SimulatorClient,
) -> None:
    now = int(time.time())
    encoded = simulator.token(workspace_id="acme", sub="ana", scope="notify/inbox", seconds=60)
    token = jwt.decode(encoded, keys_of(simulator.url), algorithms=["RS256"])
    issued = token.claims["iat"]
    assert now <= issued <= now + 30
    assert token.claims == {
        "iss": simulator.url,
        "aud": "notify",
        "client_id": "simulator",
        "sub": "ana",
        "scope": "notify/inbox",
        "workspace_id": "acme",
        "iat": issued,
        "exp": issued + 60,
    }


def test_an_operator_belongs_to_no_workspace(simulator: SimulatorClient) -> None:
    encoded = simulator.token(sub="ops", scope="notify/operator")
    claims = jwt.decode(encoded, keys_of(simulator.url)).claims
    assert "workspace_id" not in claims
    assert claims["exp"] - claims["iat"] == 3600


def test_negative_seconds_give_a_token_that_has_expired(simulator: SimulatorClient) -> None:
    encoded = simulator.token(sub="ana", scope="notify/inbox", seconds=-60)
    claims = jwt.decode(encoded, keys_of(simulator.url)).claims
    with pytest.raises(ExpiredTokenError):
        jwt.JWTClaimsRegistry().validate(claims)
    assert claims["iat"] <= claims["exp"]


@pytest.mark.parametrize("body", [{}, {"sub": "", "scope": "s"}, {"sub": "ana", "scope": "s", "seconds": "60"}])
def test_a_token_for_nobody_is_refused(simulator: SimulatorClient, body: dict[str, object]) -> None:
    with pytest.raises(SimulatorRefused, match="422"):
        simulator.ask("POST", "tokens", body)


def test_the_public_keys_hold_nothing_private(simulator: SimulatorClient) -> None:
    (key,) = fetch(f"{simulator.url}/.well-known/jwks.json")["keys"]
    assert key.keys() == {"kty", "n", "e", "kid", "use", "alg"}


def test_the_key_outlives_a_restart_in_a_file_of_its_owner_s(
    simulator: SimulatorClient, start: Callable[..., SimulatorServer], state_dir: Path
) -> None:
    server = start()
    try:
        assert keys_of(server.url).as_dict() == keys_of(simulator.url).as_dict()
    finally:
        server.stop()
    (file,) = state_dir.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
