"""Calls that nobody thought of: whatever follows the document is served as it says, and what breaks it is refused."""

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance, unsupported_method

from notify_core.adapters.memory import FixedClock, memory_ports
from notify_core.api.routing import Api
from tests.api import contract
from tests.api.builders import CHAT, CONSOLE, accepted, stored
from tests.api.conftest import CURSORS, NOW
from tests.api.gateway import TOKEN, Gateway
from tests.builders import a_definition, a_person, a_workspace, an_entry

NOT_OURS = [
    # A cursor that no list gave out, templates that don't fit the channels: more than a schema can say is refused.
    positive_data_acceptance,
    # The gateway says 404 for a method that a path doesn't have.
    unsupported_method,
]


def _gateway() -> Gateway:
    clock = FixedClock(NOW)
    ports = memory_ports(clock)
    ports.registry.put_workspace(a_workspace(), None)
    ports.registry.put_definition(a_definition(), None)
    ports.directory.put_person(a_person(), None)
    stored(ports, accepted(ports, NOW, "inv-42", an_entry("ana", CONSOLE, CHAT)))
    return Gateway(Api(ports=ports, cursors=CURSORS))


document = schemathesis.openapi.from_dict(contract.DOCUMENT)
document.app = _gateway()


class Token:
    """Gives every call the token, but those that are tried without."""

    def get(self, _case: object, _context: object) -> str:
        return TOKEN

    def set(self, case: schemathesis.Case, token: str, _context: object) -> None:
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}


document.auth()(Token)


@document.parametrize()
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_every_call_is_answered_as_documented(case: schemathesis.Case) -> None:
    case.call_and_validate(excluded_checks=NOT_OURS)
