"""Who may call what: the gateway enforces the scopes, and the function looks at the claims again."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from notify_core.api.refusal import Kind, refusal
from notify_core.domain.identifiers import Recipient, WorkspaceId, is_identifier


class Scope(StrEnum):
    """What a token may be good for."""

    OPERATOR = "notify/operator"
    INBOX = "notify/inbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose inbox a token opens."""

    workspace_id: WorkspaceId
    recipient: Recipient


def check_scope(claims: Mapping[str, str], scope: Scope) -> None:
    """Refuse a token without the scope; `scope` is separated by spaces, `scp` comes as `[a b]` or the same way."""
    granted = f"{claims.get('scope', '')} {claims.get('scp', '').strip('[]')}".split()
    if scope not in granted:
        raise refusal(Kind.FORBIDDEN, "", "scope_missing", f"the token needs the scope {scope}")


def owner_of(claims: Mapping[str, str]) -> Owner:
    """The person that a token speaks for, in their workspace: nothing else in a call has a say in it."""
    workspace, person = claims.get("workspace_id", ""), claims.get("sub", "")
    if not (is_identifier(workspace) and is_identifier(person)):
        raise refusal(
            Kind.FORBIDDEN, "", "owner_missing", "the token needs the claims workspace_id and sub, both identifiers"
        )
    return Owner(workspace_id=WorkspaceId(workspace), recipient=Recipient(person))
