"""The time and the random identifiers of the real world."""

from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from os import urandom

from notify_core.domain.identifiers import ClaimId


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The time now, aware, UTC."""
        return datetime.now(tz=UTC)


def new_claim_id() -> ClaimId:
    """96 random bits as 16 characters of `A-Za-z0-9_~`: no two claims ever share one."""
    return ClaimId(urlsafe_b64encode(urandom(12)).decode().replace("-", "~"))
