from infra.layers import ROOT
from infra.specs import FUNCTIONS, FunctionSpec, Queue, looping
from notify_core.api import inbox, operators


def spec(folder: str, *, consumes: str = "", dead: str = "", sends: str = "") -> FunctionSpec:
    return FunctionSpec(
        folder=folder,
        timeout_seconds=1,
        tables={},
        consumes=tuple(map(Queue, consumes.split())),
        consumes_dead_letters=tuple(map(Queue, dead.split())),
        sends=tuple(map(Queue, sends.split())),
    )


def test_a_function_that_sends_to_its_own_queue_loops() -> None:
    assert looping([spec("deliver", consumes="chat", sends="chat")]) == {"deliver"}


def test_a_chain_that_ends_does_not_loop() -> None:
    assert looping([spec("process", consumes="requests", sends="chat"), spec("deliver", consumes="chat")]) == set()


def test_functions_that_send_in_a_circle_loop_and_their_guests_do_not() -> None:
    assert looping(
        [
            spec("serve", sends="requests"),
            spec("process", consumes="requests", sends="reconcile"),
            spec("reconcile", consumes="reconcile", sends="requests receipts"),
            spec("record", consumes="receipts"),
        ]
    ) == {"process", "reconcile"}


def test_a_message_that_fails_leads_back_through_the_dead_letters() -> None:
    assert looping([spec("deliver", consumes="chat"), spec("bury", dead="chat", sends="chat")]) == {"bury"}


def test_every_function_folder_is_in_the_table() -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/handler.py")}
    assert {spec.folder for spec in FUNCTIONS} == folders


def test_the_gateway_has_the_routes_that_the_functions_serve() -> None:
    served = {table.scope.value: set(table.by_key) for table in (operators.ROUTES, inbox.ROUTES)}
    assert {spec.scope: set(spec.routes) for spec in FUNCTIONS if spec.scope} == served
