"""Slack's markup: what others wrote can't use it, and a cut never breaks it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_core.domain.slack_text import cut, escape


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a & b", "a &amp; b"),
        ("<!channel>", "&lt;!channel&gt;"),
        ("<@U0ANA> <https://evil.example|bank>", "&lt;@U0ANA&gt; &lt;https://evil.example|bank&gt;"),
        ("&amp;", "&amp;amp;"),
        ("plain *bold*", "plain *bold*"),
    ],
)
def test_what_others_wrote_mentions_nobody_and_hides_no_link(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(
    ("text", "limit", "shortened"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("ab &amp; cd", 11, "ab &amp; cd"),
        ("ab &amp; cd", 10, "ab &amp;…"),
        ("ab &amp; cd", 9, "ab &amp;…"),
        ("ab &amp; cd", 8, "ab…"),
        ("ab &amp; cd", 4, "ab…"),
        ("see <https://a.example|here> now", 20, "see…"),
        ("see <https://a.example|here> now", 29, "see <https://a.example|here>…"),
        ("see <https://a.example|a> or <https://b.example|b>", 40, "see <https://a.example|a> or…"),
        ("<https://a.example|a> or <https://b.example|b> now", 49, "<https://a.example|a> or <https://b.example|b> n…"),
        ("a & b", 4, "a…"),
        # An ampersand of the template's own is no entity, and what follows it stays.
        ("Q & A for everybody", 12, "Q & A for e…"),
        ("a & &amp; b", 8, "a &…"),
        ("&lt;&gt;", 6, "&lt;…"),
        ("&amp; co", 4, "…"),
        ("😀😀😀", 2, "😀…"),
    ],
)
def test_a_cut_keeps_characters_entities_and_links_whole(text: str, limit: int, shortened: str) -> None:
    assert cut(text, limit) == shortened


@given(st.text(alphabet="ab &<>😀", max_size=60), st.integers(min_value=1, max_value=60))
def test_a_cut_of_escaped_text_stays_within_its_limit_and_well_formed(text: str, limit: int) -> None:
    shortened = cut(escape(text), limit)
    assert len(shortened) <= limit
    assert not re.search(r"&(?!amp;|lt;|gt;)", shortened)
