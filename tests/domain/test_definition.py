import pytest

from notify_core.domain.definition import DefinitionState
from tests.builders import a_definition

RETIRED = {"state": DefinitionState.RETIRED, "retired_version": 2, "version": 2}
AGAIN = {"retired_version": 2, "version": 3}


@pytest.mark.parametrize(
    ("changes", "pinned", "is_retired"),
    [
        ({}, 1, False),
        (RETIRED, 1, True),
        (RETIRED, 2, True),
        (RETIRED, None, True),
        (AGAIN, 1, True),
        (AGAIN, 2, True),
        (AGAIN, 3, False),
        (AGAIN, None, False),
    ],
    ids=["active", "older", "its_own", "unpinned", "older_than_again", "retired_before", "again", "unpinned_again"],
)
def test_a_retirement_holds_for_the_versions_that_it_retired(
    changes: dict[str, object], pinned: int | None, *, is_retired: bool
) -> None:
    assert a_definition(**changes).has_retired(pinned) is is_retired
