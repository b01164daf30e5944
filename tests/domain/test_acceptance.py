from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from notify_core.domain.acceptance import (
    accepted,
    bounded,
    cancelled,
    check_registered,
    deferred,
    expired,
    expiry,
    expiry_reason,
    ordering,
    queued_row,
    rejected,
    told_nobody,
    waiting_due_at,
    with_difference,
)
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition, DefinitionState
from notify_core.domain.delivery_lifecycle import DeliveryReason, DeliveryState
from notify_core.domain.directory import Workspace, WorkspaceStatus
from notify_core.domain.identifiers import RequestId
from notify_core.domain.lifecycle import Actor, ForbiddenMove
from notify_core.domain.problem import Problem
from notify_core.domain.request import Audience, Exclusion, InvalidPublication, Publication, Request
from notify_core.domain.request_lifecycle import RequestEvent, RequestReason, RequestState
from tests.builders import (
    ACME,
    DEADLINE,
    INVOICE,
    NOON,
    a_definition,
    a_publication,
    a_queued_request,
    a_request,
    a_tombstone,
    a_workspace,
    an_entry,
    at,
    planned,
)

ALERT = a_definition(channels=(Channel.SLACK_SYSTEM,))
REPLACING = a_definition(replace_previous=True)
FOLDING = a_definition(fold_within=timedelta(hours=1))
TO_HQ = Audience(hq=True)
MALFORMED = InvalidPublication(
    workspace_id=ACME, definition=INVOICE, request_key="inv-42:1", request_id=RequestId("r"), problems=()
)


# ---------------------------------------------------------------- registration


@pytest.mark.parametrize(
    ("workspace", "definition", "problem"),
    [
        (None, a_definition(), ("workspace_id", "unknown_workspace")),
        (
            a_workspace(status=WorkspaceStatus.SUSPENDED),
            a_definition(),
            ("workspace_id", "workspace_suspended"),
        ),
        (a_workspace(), None, ("definition", "unknown_definition")),
        (a_workspace(), a_definition(state=DefinitionState.RETIRED), ("definition", "definition_retired")),
    ],
    ids=["unknown_workspace", "suspended_workspace", "unknown_definition", "retired_definition"],
)
def test_a_publication_needs_an_operational_workspace_and_an_active_definition(
    workspace: Workspace | None, definition: Definition | None, problem: tuple[str, str]
) -> None:
    problems = check_registered(a_publication(), workspace, definition)
    assert [(item.field, item.code) for item in problems] == [problem]


@pytest.mark.parametrize(
    ("definition", "publication", "problems"),
    [
        (a_definition(), a_publication(), []),
        (REPLACING, a_publication(replacement_key="inv-42"), []),
        (FOLDING, a_publication(fold_key="inv"), []),
        (FOLDING, a_publication(), []),
        (ALERT, a_publication(audience=TO_HQ), []),
        (a_definition(), a_publication(audience=None), []),
        (REPLACING, a_publication(), [("replacement_key", "required")]),
        (a_definition(), a_publication(replacement_key="inv-42"), [("replacement_key", "not_allowed")]),
        (a_definition(), a_publication(fold_key="inv"), [("fold_key", "not_allowed")]),
        (a_definition(), a_publication(audience=TO_HQ), [("audience", "audience_mismatch")]),
        (ALERT, a_publication(), [("audience", "audience_mismatch")]),
        (
            a_definition(),
            a_publication(replacement_key="k", fold_key="f", not_before=DEADLINE, audience=TO_HQ),
            [
                ("replacement_key", "not_allowed"),
                ("fold_key", "not_allowed"),
                ("not_before", "contradictory_times"),
                ("audience", "audience_mismatch"),
            ],
        ),
    ],
    ids=[
        "plain",
        "replaces",
        "folds",
        "folding_is_left_to_the_producer",
        "alert",
        "audience_is_judged_later",
        "replaces_nothing",
        "replaces_needlessly",
        "folds_needlessly",
        "people_definition_to_headquarters",
        "alert_to_people",
        "all_at_once",
    ],
)
def test_a_publication_has_the_keys_and_the_audience_that_its_definition_wants(
    definition: Definition, publication: Publication, problems: list[tuple[str, str]]
) -> None:
    found = check_registered(publication, a_workspace(), definition)
    assert [(item.field, item.code) for item in found] == problems


def test_every_problem_tells_what_to_do() -> None:
    publication = a_publication(replacement_key="k", fold_key="f", not_before=DEADLINE, audience=TO_HQ)
    suspended, retired = WorkspaceStatus.SUSPENDED, DefinitionState.RETIRED
    found = (
        *check_registered(publication, None, None),
        *check_registered(publication, a_workspace(status=suspended), None),
        *check_registered(publication, a_workspace(), None),
        *check_registered(publication, a_workspace(), a_definition(state=retired)),
        *check_registered(publication, a_workspace(), a_definition()),
        *check_registered(a_publication(), a_workspace(), REPLACING),
    )
    assert [item.message for item in found] == [
        "register the workspace first",
        "the workspace is suspended; ask its operator",
        "register the definition in this workspace first",
        "the definition is retired; register it again to use it",
        "leave it out: the definition doesn't replace",
        "leave it out: the definition doesn't fold",
        "it must lie before the deadline and expires_after",
        'name people, teams or roles; {"hq": true} goes with the channels ["slack_system"] alone',
        "the definition replaces: name what is replaced",
    ]


def test_a_malformed_publication_is_asked_for_no_keys() -> None:
    assert check_registered(MALFORMED, a_workspace(), REPLACING) == ()


@pytest.mark.parametrize(
    ("not_before", "is_problem"),
    [(DEADLINE - timedelta(microseconds=1), False), (DEADLINE, True)],
    ids=["just_before", "at_its_expiry"],
)
def test_a_publication_has_to_be_due_before_it_expires(not_before: datetime, *, is_problem: bool) -> None:
    found = check_registered(a_publication(not_before=not_before), a_workspace(), a_definition())
    assert bool(found) is is_problem


# ---------------------------------------------------------------- deadlines


@pytest.mark.parametrize(
    ("deadline", "expires_at", "reason"),
    [
        (None, DEADLINE, RequestReason.AGE),
        (at(hours=1), at(hours=1), RequestReason.DEADLINE),
        (DEADLINE, DEADLINE, RequestReason.DEADLINE),
        (at(days=8), DEADLINE, RequestReason.AGE),
    ],
    ids=["no_deadline", "sooner", "equal", "later"],
)
def test_a_request_expires_by_its_deadline_or_its_age_whichever_is_first(
    deadline: datetime | None, expires_at: datetime, reason: RequestReason
) -> None:
    assert expiry(a_publication(deadline=deadline), a_definition()) == (expires_at, reason)
    assert expiry_reason(a_queued_request(deadline=deadline, expires_at=expires_at)) is reason


def test_publications_of_one_key_are_ordered_by_time_then_by_id() -> None:
    first, second, third = (
        ordering(NOON, RequestId("b")),
        ordering(at(seconds=1), RequestId("a")),
        ordering(at(seconds=1), RequestId("c")),
    )
    assert sorted([third, first, second]) == [first, second, third]


def test_a_hundred_problems_are_told_each_once_in_the_order_found() -> None:
    problems = [Problem(field=f"data.{number}", code="type", message="a text") for number in range(120)]
    assert bounded((*problems[:2], *problems)) == tuple(problems[:100])


# ---------------------------------------------------------------- rows

NEW = queued_row(a_publication(), None, a_workspace(), now=at(seconds=1))
PROBLEM = Problem(field="data.number", code="required", message="name the invoice")
EVE = Exclusion(kind="person", name="eve", reason="not_in_workspace")


def closed(row: Request, state: RequestState, **changes: object) -> Request:
    return replace(
        row,
        state=state,
        version=row.version + 1,
        closed_at=at(seconds=2),
        due_at=None,
        data=None,
        audience=None,
        **changes,
    )


def test_a_new_row_holds_what_the_producer_asked_for_and_is_not_stored() -> None:
    publication = a_publication(not_before=at(hours=1), deadline=at(hours=2), replacement_key="inv-42", fold_key="inv")
    assert queued_row(publication, None, a_workspace(), now=at(seconds=1)) == Request(
        workspace_id=ACME,
        request_id=publication.request_id,
        definition=INVOICE,
        request_key="inv-42:1",
        state=RequestState.QUEUED,
        recorded_at=at(seconds=1),
        version=0,
        replacement_key="inv-42",
        fold_key="inv",
        published_at=NOON,
        not_before=at(hours=1),
        deadline=at(hours=2),
        data={"number": "42"},
        audience=Audience(people=("ana",)),
        content_hash="0123456789abcdef",
    )


def test_a_row_recorded_before_keeps_when_it_was_first_recorded_and_loses_its_problems() -> None:
    was = a_queued_request(recorded_at=at(days=-1), version=3, problems=(PROBLEM,))
    row = queued_row(a_publication(), was, a_workspace(), now=NOON)
    assert row == replace(was, problems=())


def test_a_repeat_with_other_content_is_noted_once_and_leaves_the_content() -> None:
    row = a_queued_request()
    noted = with_difference(row, "other", now=at(hours=1))
    assert noted == replace(row, differing_repeat_at=at(hours=1))
    assert with_difference(noted, "yet another", now=at(hours=2)) == noted


def test_a_repeat_that_is_the_same_or_meets_a_tombstone_differs_in_nothing() -> None:
    for row in (a_queued_request(), a_tombstone()):
        assert with_difference(row, "0123456789abcdef", now=at(hours=1)) == row


def test_a_row_lies_in_one_of_its_workspaces_shards() -> None:
    rows = [queued_row(a_publication(f"inv-{number}"), None, a_workspace(shards=4), now=NOON) for number in range(100)]
    assert {row.shard for row in rows} == {0, 1, 2, 3}
    assert queued_row(a_publication(), None, None, now=NOON).shard == 0


def test_a_malformed_publication_has_a_row_of_its_identity_alone() -> None:
    publication = InvalidPublication(
        workspace_id=ACME,
        definition=INVOICE,
        request_key="inv-42:1",
        request_id=RequestId("r"),
        problems=(PROBLEM,),
        content_hash="f",
    )
    assert queued_row(publication, None, a_workspace(), now=NOON) == Request(
        workspace_id=ACME,
        request_id=RequestId("r"),
        definition=INVOICE,
        request_key="inv-42:1",
        state=RequestState.QUEUED,
        recorded_at=NOON,
        content_hash="f",
    )


def test_an_invalid_request_keeps_its_problems_and_not_its_content() -> None:
    assert rejected(NEW, (PROBLEM, PROBLEM), (EVE,), now=at(seconds=2)) == closed(
        NEW, RequestState.INVALID, caused_by=Actor.PROCESSOR, problems=(PROBLEM,), exclusions=(EVE,)
    )


def test_a_request_for_nobody_keeps_who_was_excluded() -> None:
    assert told_nobody(NEW, (EVE,), now=at(seconds=2)) == closed(
        NEW, RequestState.NO_RECIPIENTS, caused_by=Actor.PROCESSOR, exclusions=(EVE,)
    )


@pytest.mark.parametrize("by", [Actor.PROCESSOR, Actor.SWEEP])
def test_a_request_past_its_deadline_expires_by_the_processor_or_a_sweep(by: Actor) -> None:
    assert expired(NEW, RequestReason.AGE, by=by, now=at(seconds=2)) == closed(
        NEW, RequestState.EXPIRED, caused_by=by, reason=RequestReason.AGE
    )


@pytest.mark.parametrize(
    ("event", "by", "reason"),
    [
        (RequestEvent.WITHDRAW, Actor.PRODUCER, RequestReason.WITHDRAWN),
        (RequestEvent.WITHDRAW, Actor.PROCESSOR, RequestReason.WITHDRAWN),
        (RequestEvent.REPLACE, Actor.REPLACEMENT, RequestReason.REPLACED_BEFORE_ACCEPTANCE),
    ],
)
def test_a_request_is_cancelled_before_its_acceptance(event: RequestEvent, by: Actor, reason: RequestReason) -> None:
    assert cancelled(NEW, event, by=by, reason=reason, now=at(seconds=2)) == closed(
        NEW, RequestState.CANCELLED, caused_by=by, reason=reason
    )


def test_whatever_ends_a_request_that_waited_leaves_nothing_due() -> None:
    waiting = a_queued_request(due_at=at(minutes=1))
    by, reason = Actor.PRODUCER, RequestReason.WITHDRAWN
    assert [
        row.due_at
        for row in (
            rejected(waiting, (PROBLEM,), (), now=NOON),
            told_nobody(waiting, (), now=NOON),
            expired(waiting, RequestReason.AGE, by=Actor.SWEEP, now=NOON),
            cancelled(waiting, RequestEvent.WITHDRAW, by=by, reason=reason, now=NOON),
        )
    ] == [None] * 4


def test_an_accepted_request_holds_its_manifest_and_its_data_and_not_its_audience() -> None:
    row = replace(NEW, expires_at=DEADLINE, definition_version=3)
    assert accepted(row, (an_entry(),), (EVE,), replaces=RequestId("r"), now=at(seconds=2)) == replace(
        row,
        state=RequestState.OPEN,
        version=1,
        caused_by=Actor.PROCESSOR,
        accepted_at=at(seconds=2),
        manifest=(an_entry(),),
        exclusions=(EVE,),
        replaces=RequestId("r"),
        audience=None,
        due_at=at(seconds=92),
    )


def test_a_folded_request_is_looked_at_soon_though_nothing_is_to_be_sent() -> None:
    nobody = an_entry("ana", planned(Channel.TEXT, DeliveryState.SKIPPED, DeliveryReason.NO_ADDRESS))
    due_at = [
        accepted(replace(NEW, expires_at=DEADLINE, fold_key=fold_key), (nobody,), (), replaces=None, now=NOON).due_at
        for fold_key in ("f", None)
    ]
    assert due_at == [at(seconds=90), DEADLINE]


def test_a_request_cannot_be_accepted_before_its_deadline_is_known() -> None:
    with pytest.raises(ValueError, match="no expires_at"):
        accepted(NEW, (an_entry(),), (), replaces=None, now=NOON)


def test_a_request_has_one_outcome() -> None:
    for outcome in (
        lambda: accepted(a_request(), (an_entry(),), (), replaces=None, now=NOON),
        lambda: rejected(a_request(), (PROBLEM,), (), now=NOON),
        lambda: told_nobody(a_request(), (), now=NOON),
        lambda: expired(a_request(), RequestReason.AGE, by=Actor.SWEEP, now=NOON),
        lambda: deferred(a_request(not_before=at(hours=1)), now=NOON),
    ):
        with pytest.raises(ForbiddenMove):
            outcome()


# ---------------------------------------------------------------- waiting


@pytest.mark.parametrize(
    ("wait", "due_in"),
    [
        (timedelta(minutes=1), timedelta(minutes=1, seconds=30)),
        (timedelta(minutes=15), timedelta(minutes=15, seconds=30)),
        (timedelta(minutes=15, seconds=1), timedelta(minutes=13, seconds=1)),
        (timedelta(days=60), timedelta(days=60) - timedelta(minutes=2)),
    ],
    ids=["near", "as_far_as_a_message_waits", "just_farther", "far"],
)
def test_a_sweep_looks_after_a_near_time_and_ahead_of_a_far_one(wait: timedelta, due_in: timedelta) -> None:
    assert waiting_due_at(NOON + wait, now=NOON) == NOON + due_in


def test_a_request_that_waits_stays_queued_with_its_content() -> None:
    row = replace(NEW, not_before=at(days=3))
    assert deferred(row, now=NOON) == replace(row, version=1, caused_by=Actor.PROCESSOR, due_at=at(days=3, minutes=-2))


def test_a_request_without_a_time_has_nothing_to_wait_for() -> None:
    with pytest.raises(ValueError, match="no time to wait for"):
        deferred(NEW, now=NOON)
