"""Cursors: only what a list gave out opens it again."""

import pytest

from notify_core.api.cursors import CursorInvalid, Cursors

POSITION = {"at": "2026-11-30T10:00:00+00:00", "id": "3q2~7wXlTn0mBvR5cYk9aQ"}
SCOPE = ("GET /v1/inbox", "acme", "ana")


@pytest.fixture
def cursors() -> Cursors:
    return Cursors(lambda: b"a secret of the tests")


def test_a_cursor_opens_the_list_that_gave_it_out(cursors: Cursors) -> None:
    assert cursors.open(SCOPE, cursors.sign(SCOPE, POSITION)) == POSITION


def test_a_position_of_any_text_comes_back_as_it_was(cursors: Cursors) -> None:
    position = {"key": "facture é ☃ \x00"}
    assert cursors.open(SCOPE, cursors.sign(SCOPE, position)) == position


def test_a_cursor_fits_into_a_query_unescaped(cursors: Cursors) -> None:
    assert set(cursors.sign(SCOPE, POSITION)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    "scope",
    [
        ("GET /v1/inbox", "acme", "bob"),
        ("GET /v1/inbox", "other", "ana"),
        ("GET /v1/elsewhere", "acme", "ana"),
        ("GET /v1/inbox", "acme"),
        ("GET /v1/inbox", "acmeana", ""),
        ("GET /v1/inbox", "acme", "ana", ""),
    ],
)
def test_a_cursor_opens_no_other_list(cursors: Cursors, scope: tuple[str, ...]) -> None:
    with pytest.raises(CursorInvalid):
        cursors.open(scope, cursors.sign(SCOPE, POSITION))


def test_every_altered_character_is_noticed(cursors: Cursors) -> None:
    cursor = cursors.sign(SCOPE, POSITION)
    for place in range(len(cursor)):
        other = "A" if cursor[place] != "A" else "B"
        with pytest.raises(CursorInvalid):
            cursors.open(SCOPE, cursor[:place] + other + cursor[place + 1 :])


@pytest.mark.parametrize(
    "cursor",
    ["", "A", "nonsense", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "é", "!" * 40, "A" * 3_000, "{}", "\x00", "\ud800"],
)
def test_what_no_list_gave_out_opens_nothing(cursors: Cursors, cursor: str) -> None:
    with pytest.raises(CursorInvalid):
        cursors.open(SCOPE, cursor)


@pytest.mark.parametrize("added", ["=", " ", "\n", "%", "AA"])
def test_a_cursor_has_one_spelling(cursors: Cursors, added: str) -> None:
    with pytest.raises(CursorInvalid):
        cursors.open(SCOPE, cursors.sign(SCOPE, POSITION) + added)


def test_another_secret_opens_nothing(cursors: Cursors) -> None:
    with pytest.raises(CursorInvalid):
        Cursors(lambda: b"another secret").open(SCOPE, cursors.sign(SCOPE, POSITION))


def test_the_secret_is_read_when_it_is_needed_and_not_before() -> None:
    def unreadable() -> bytes:
        raise PermissionError

    cursors = Cursors(unreadable)
    with pytest.raises(PermissionError):
        cursors.sign(SCOPE, POSITION)
