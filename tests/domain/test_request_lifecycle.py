import pytest

from notify_core.domain.lifecycle import Actor, ForbiddenMove
from notify_core.domain.request import moved
from notify_core.domain.request_lifecycle import REQUEST_LIFECYCLE, RequestEvent, RequestState
from tests.builders import NOON, a_request
from tests.domain.tables import allowed, typed

MOVES = """
    accept       queued  open           processor
    defer        queued  queued         processor
    find_nobody  queued  no_recipients  processor
    reject       queued  invalid        processor
    expire       queued  expired        processor sweep
    withdraw     queued  cancelled      producer processor
    replace      queued  cancelled      replacement
    withdraw     open    superseded     producer
    replace      open    superseded     replacement
    settle       open    settled        sweep
    retire       open    cancelled      retirement
"""


def test_these_moves_and_no_others_are_allowed() -> None:
    assert set(allowed(REQUEST_LIFECYCLE, RequestState, RequestEvent)) == typed(MOVES)


def test_a_request_begins_queued() -> None:
    assert REQUEST_LIFECYCLE.initial == {"queued"}


def test_the_states_are_those_of_the_design() -> None:
    assert REQUEST_LIFECYCLE.states() == {
        "queued", "open", "settled", "no_recipients", "invalid", "expired", "cancelled", "superseded",
    }  # fmt: skip


def test_every_outcome_but_an_open_request_is_final() -> None:
    assert REQUEST_LIFECYCLE.final() == {
        "settled", "no_recipients", "invalid", "expired", "cancelled", "superseded",
    }  # fmt: skip


def refuses(source: RequestState, target: RequestState) -> bool:
    """Whether no event, whoever brings it, moves a request so."""
    request = a_request(state=source)
    for event in RequestEvent:
        for by in Actor:
            with pytest.raises(ForbiddenMove):
                moved(request, event, target, by=by, now=NOON)
    return True


def test_a_settled_request_is_excluded_from_withdrawal() -> None:
    assert refuses(RequestState.SETTLED, RequestState.SUPERSEDED)


def test_a_request_without_recipients_is_not_accepted_on_another_attempt() -> None:
    assert refuses(RequestState.NO_RECIPIENTS, RequestState.OPEN)


def test_correcting_an_invalid_request_takes_another_publication() -> None:
    assert refuses(RequestState.INVALID, RequestState.OPEN)


def test_repeated_queue_work_does_not_take_an_outcome_away() -> None:
    assert refuses(RequestState.OPEN, RequestState.QUEUED)
