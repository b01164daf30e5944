import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.domain.identifiers import (
    DefinitionKey,
    NoticeId,
    RequestId,
    WorkspaceId,
    delivery_id,
    digest,
    fold_id,
    generation_notice_id,
    generation_of,
    head_id,
    is_identifier,
    is_key,
    request_id,
    shard_of,
    unfolded_notice_id,
)

DIGEST = re.compile(r"[A-Za-z0-9_~]{22}")
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=256)


@pytest.mark.parametrize("text", ["a", "0", "Acme", "invoice.overdue", "a-b_c.d", "a" * 64])
def test_an_identifier_begins_with_a_letter_or_a_digit_and_has_64_characters_at_most(text: str) -> None:
    assert is_identifier(text)


@pytest.mark.parametrize(
    "text", ["", "-", ".a", "_a", "a" * 65, "a b", "a#b", "a/b", "a%2Fb", "é", "a\n", "a\x00", "٣", "a😀"]
)
def test_anything_else_is_no_identifier(text: str) -> None:
    assert not is_identifier(text)


@pytest.mark.parametrize(
    "text", ["x", "inv-42:1", "# / %2F", "schlüssel", "😀", "x" * 256, "\x00", " ", "\ud7ff", "\ue000"]
)
def test_a_key_is_any_text_of_1_to_256_characters(text: str) -> None:
    assert is_key(text)


@pytest.mark.parametrize(
    "text",
    ["", "x" * 257, chr(0xD800), chr(0xDFFF), "a\udc00b"],
    ids=["empty", "too_long", "first_half", "last_half", "half_within"],
)
def test_a_key_is_neither_empty_nor_too_long_nor_half_a_character(text: str) -> None:
    assert not is_key(text)


def test_identifiers_never_change_from_one_version_of_the_code_to_the_next() -> None:
    assert request_id(WorkspaceId("acme"), DefinitionKey("invoice.overdue"), "inv-42:1") == "0JA4AzPOah47NMFsNPH~ng"
    assert head_id(DefinitionKey("invoice.overdue"), "inv-42") == "~7w7uP17qVE11Wf2kBZUlw"
    assert fold_id(DefinitionKey("invoice.overdue"), "inv-42") == "EZ_8OzIOLdNykhZy2qBPQg"
    assert delivery_id("acme", "ana", "notice", "chat") == "TRXCP4tUPrqp10OVkFF1UA"
    assert shard_of("inv-42", 1_000) == 7


@given(st.lists(KEYS, min_size=1, max_size=4))
def test_a_digest_is_22_characters_that_are_safe_in_urls_and_keys(fields: list[str]) -> None:
    assert DIGEST.fullmatch(digest(*fields))


@given(KEYS, KEYS, st.integers(0, 256))
def test_fields_cut_elsewhere_give_another_digest(first: str, second: str, cut: int) -> None:
    whole = first + second
    cut %= len(whole) + 1
    other = (whole[:cut], whole[cut:])
    assert (digest(first, second) == digest(*other)) is ((first, second) == other)


def test_what_looks_like_a_length_does_not_deceive() -> None:
    assert len({digest("1:a", "b"), digest("1:a1:b"), digest("a", "b"), digest("1", "a1", "b"), digest("ab")}) == 5


def test_a_digest_has_its_purpose_in_it() -> None:
    definition = DefinitionKey("d")
    same_fields = {
        request_id(WorkspaceId("d"), definition, "k"),
        head_id(definition, "k"),
        fold_id(definition, "k"),
    }
    assert len(same_fields) == 3


def test_an_unfolded_notice_is_called_as_its_request_and_is_no_generation() -> None:
    notice = unfolded_notice_id(RequestId("abc~_XYZ0123456789abcd"))
    assert (notice, generation_of(notice)) == ("abc~_XYZ0123456789abcd", 0)


def test_generations_sort_in_their_order_and_tell_it() -> None:
    notices = [generation_notice_id("fold", number) for number in (1, 2, 9, 10, 11, 99, 100, 99_999, 100_000)]
    assert notices[0] == "fold.000001"
    assert all(earlier < later for earlier, later in pairwise(notices))
    assert [generation_of(NoticeId(notice)) for notice in notices] == [1, 2, 9, 10, 11, 99, 100, 99_999, 100_000]


def test_a_shard_is_one_of_the_shards_and_rows_are_spread_over_them() -> None:
    rows = [shard_of(f"request-{number}", 8) for number in range(4_000)]
    assert set(rows) == set(range(8))
    assert min(rows.count(shard) for shard in range(8)) > 400
    assert {shard_of(f"request-{number}", 1) for number in range(50)} == {0}
