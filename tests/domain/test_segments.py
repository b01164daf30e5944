"""Text messages: which characters they travel in, and how many parts that takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.domain.segments import count_segments, normalise


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        # A character of two septets isn't split: 76 of them fill 152 of 153.
        ("€" * 152, 2),
        ("€" * 153, 3),
        ("a" * 152 + "€" + "a" * 6, 1),
        ("a" * 152 + "€" + "a" * 7, 2),
        ("a" * 152 + "€" + "a" * 151, 2),
        ("a" * 152 + "€" + "a" * 152, 3),
        ("[]{}\\^~|" * 10, 1),
        ("[]{}\\^~|" * 10 + "a", 2),
        ("Èéùìò ÅåÆæßÉ ÄÖÑÜ§¿äöñüà\n@£$¥", 1),
        ("ç" * 70, 1),
        ("ç" * 71, 2),
        ("a" * 70 + "ç", 2),
        ("ç" * 134, 2),
        ("ç" * 135, 3),
        ("\uffff" * 70, 1),
        ("😀" * 35, 1),
        ("😀" * 36, 2),
        # A pair of units isn't split either: 33 of them fill 66 of 67.
        ("😀" * 66, 2),
        ("😀" * 67, 3),
        ("ж" * 1_600, 24),
    ],
)
def test_parts_are_counted_as_they_are_paid_for(text: str, segments: int) -> None:
    assert count_segments(text) == segments


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("‘It’s’ “fine” „so“ «là» ‹x›", '\'It\'s\' "fine" "so" "là" \'x\''),
        ("2020–2026 — a‑b − 1", "2020-2026 - a-b - 1"),
        ("wait…", "wait..."),
        ("12\u00a0000\u202f€\u2009x\u3000y", "12 000 € x y"),
        ("in\u200bvisi\u00adble\ufeff\u2060", "invisible"),
        ("e\u0301te\u0301", "été"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("tab\there\x00\x07\x7f\x9b", "tab here"),
        ("  padded \n", "padded"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_typography_is_made_plain_and_what_joins_characters_stays(text: str, plain: str) -> None:
    assert normalise(text) == plain


def test_one_typographic_quote_no_longer_doubles_the_price() -> None:
    text = "It’s due" + "." * 140
    assert (count_segments(text), count_segments(normalise(text))) == (3, 1)


@given(st.text())
def test_a_plain_text_is_plain_already(text: str) -> None:
    plain = normalise(text)
    assert normalise(plain) == plain


@given(st.text(max_size=400), st.text(max_size=20))
def test_a_longer_text_never_takes_fewer_parts(text: str, more: str) -> None:
    assert count_segments(text + more) >= count_segments(text)
