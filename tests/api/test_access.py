"""Who may: only the claims of the token have a say."""

import pytest

from notify_core.api.access import Owner, Scope, check_scope, owner_of
from notify_core.api.refusal import Kind, Refusal
from notify_core.domain.identifiers import Recipient, WorkspaceId


@pytest.mark.parametrize(
    "claims",
    [
        {"scope": "notify/operator"},
        {"scope": "openid notify/operator email"},
        {"scp": "[notify/operator openid]"},
        {"scp": "notify/operator"},
    ],
)
def test_a_token_with_the_scope_may(claims: dict[str, str]) -> None:
    check_scope(claims, Scope.OPERATOR)


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"scope": ""},
        {"scope": "notify/inbox"},
        {"scope": "notify/operators"},
        {"scope": "notify/operator/read"},
        {"scope": "NOTIFY/OPERATOR"},
        {"scope": "notify/operator,notify/inbox"},
        {"scopes": "notify/operator"},
        {"scp": "[notify/inbox]"},
    ],
)
def test_a_token_without_the_scope_may_not(claims: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        check_scope(claims, Scope.OPERATOR)
    assert refused.value.kind is Kind.FORBIDDEN


def test_an_inbox_is_that_of_the_claims() -> None:
    claims = {"workspace_id": "acme", "sub": "ana", "scope": "notify/inbox"}
    assert owner_of(claims) == Owner(workspace_id=WorkspaceId("acme"), recipient=Recipient("ana"))


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"sub": "ana"},
        {"workspace_id": "acme"},
        {"workspace_id": "", "sub": "ana"},
        {"workspace_id": "acme#other", "sub": "ana"},
        {"workspace_id": "acme", "sub": "-"},
        {"workspace_id": "acme", "sub": "ana#bob"},
        {"workspace_id": "acme", "sub": "a" * 65},
        {"workspace_id": "acme\n", "sub": "ana"},
    ],
)
def test_claims_that_name_no_person_open_no_inbox(claims: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        owner_of(claims)
    assert refused.value.kind is Kind.FORBIDDEN
