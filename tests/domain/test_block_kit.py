"""Slack's limits on blocks: what would be refused is a problem first, and what passes is taken by Slack's own rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.local.simulator.slack_rules import are_too_long, block_errors
from notify_core.domain.problem import Problem, ProblemCode
from notify_core.domain.rendering.block_kit import check_blocks, with_more

Block = dict[str, Any]


def text_of(length: int, kind: str = "mrkdwn") -> Block:
    return {"type": kind, "text": "x" * length}


def header(length: int) -> Block:
    return {"type": "header", "text": text_of(length, "plain_text")}


def section(length: int, **more: Any) -> Block:
    return {"type": "section", "text": text_of(length), **more}


def fields(count: int, length: int) -> Block:
    return {"type": "section", "fields": [text_of(length)] * count}


def context(count: int, length: int) -> Block:
    return {"type": "context", "elements": [text_of(length)] * count}


def button(text: int = 5, **more: Any) -> Block:
    return {"type": "button", "text": text_of(text, "plain_text"), **more}


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def found(*blocks: Block, folds: bool = False) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in check_blocks(list(blocks), "b", folds=folds)]


@pytest.mark.parametrize(
    ("at_most", "beyond", "field", "code"),
    [
        (header(150), header(151), "b.0.text.text", "too_long"),
        (section(3_000), section(3_001), "b.0.text.text", "too_long"),
        (fields(10, 900), fields(11, 900), "b.0.fields", "too_many"),
        (fields(1, 2_000), fields(1, 2_001), "b.0.fields.0.text", "too_long"),
        (context(10, 900), context(11, 900), "b.0.elements", "too_many"),
        (context(1, 3_000), context(1, 3_001), "b.0.elements.0.text", "too_long"),
        (actions(*[button()] * 25), actions(*[button()] * 26), "b.0.elements", "too_many"),
        (actions(button(75)), actions(button(76)), "b.0.elements.0.text.text", "too_long"),
        (
            actions(button(action_id="i" * 255)),
            actions(button(action_id="i" * 256)),
            "b.0.elements.0.action_id",
            "too_long",
        ),
        (
            actions(button(url="u" * 3_000)),
            actions(button(url="u" * 3_001)),
            "b.0.elements.0.url",
            "too_long",
        ),
        (
            actions(button(value="v" * 2_000)),
            actions(button(value="v" * 2_001)),
            "b.0.elements.0.value",
            "too_long",
        ),
        (section(1, block_id="i" * 255), section(1, block_id="i" * 256), "b.0.block_id", "too_long"),
        (section(1, accessory=button(75)), section(1, accessory=button(76)), "b.0.accessory.text.text", "too_long"),
        (section(1), section(0), "b.0.text.text", "empty"),
        (actions(button(url="u")), actions(button(url=" ")), "b.0.elements.0.url", "empty"),
    ],
)
def test_what_slack_refuses_in_a_block_is_a_problem(at_most: Block, beyond: Block, field: str, code: str) -> None:
    assert (found(at_most), block_errors([at_most])) == ([], [])
    assert found(beyond) == [(field, code)]


@pytest.mark.parametrize(
    ("block", "field", "code", "message"),
    [
        (header(151), "b.0.text.text", ProblemCode.TOO_LONG, "shorten it to 150 characters; it has 151"),
        (context(11, 1), "b.0.elements", ProblemCode.TOO_MANY, "list at most 10 of them"),
        (
            section(0),
            "b.0.text.text",
            ProblemCode.EMPTY,
            "Slack refuses an empty text here; leave the block out, or fill it",
        ),
    ],
)
def test_a_problem_of_a_block_says_what_to_do(block: Block, field: str, code: ProblemCode, message: str) -> None:
    assert list(check_blocks([block], "b", folds=False)) == [Problem(field=field, code=code, message=message)]


def test_what_has_no_limit_of_its_own_is_left_as_it_is() -> None:
    runs = [{"type": "text", "text": "x" * 5_000}, *[{"type": "text", "text": ""}] * 30]
    rich_text = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": runs}]}
    assert (found(rich_text), block_errors([rich_text])) == ([], [])


@pytest.mark.parametrize(("folds", "most"), [(False, 50), (True, 49)])
def test_a_definition_that_folds_keeps_a_block_for_how_many_more_there_are(*, folds: bool, most: int) -> None:
    divider = {"type": "divider"}
    assert found(*[divider] * most, folds=folds) == []
    assert list(check_blocks([divider] * (most + 1), "b", folds=folds)) == [
        Problem(field="b", code=ProblemCode.TOO_MANY, message=f"use at most {most} blocks")
    ]


@pytest.mark.parametrize(("folds", "room"), [(False, 12_000), (True, 11_900)])
def test_all_texts_together_have_a_limit_and_a_definition_that_folds_keeps_some_of_it(
    *, folds: bool, room: int
) -> None:
    """Every text counts, names of types too, and a block for 20; a flag doesn't."""

    def blocks(characters: int) -> list[Block]:
        first = section(characters - 4 * (20 + len("section") + len("mrkdwn")) - 3 * 2_960)
        first["text"]["verbatim"] = True
        return [first, *[section(2_960)] * 3]

    assert (found(*blocks(room), folds=folds), are_too_long(list(blocks(room)))) == ([], False)
    assert list(check_blocks(blocks(room + 1), "b", folds=folds)) == [
        Problem(
            field="b",
            code=ProblemCode.TOO_LONG,
            message=f"shorten the blocks to {room} characters in all, not {room + 1}",
        )
    ]


def test_how_many_more_there_are_is_said_below_and_within_the_limits() -> None:
    blocks: list[Any] = [section(1) for _ in range(50)]
    shown = with_more(blocks, "(and 9 more)")
    line = {"type": "context", "elements": [{"type": "mrkdwn", "text": "(and 9 more)"}]}
    assert (len(shown), shown[:49], shown[49]) == (50, blocks[:49], line)
    assert block_errors(list(shown)) == []


_lengths = st.integers(min_value=0, max_value=3_200)
_block = st.one_of(
    st.builds(header, st.integers(min_value=0, max_value=200)),
    st.builds(section, _lengths),
    st.builds(fields, st.integers(min_value=1, max_value=12), st.integers(min_value=0, max_value=2_100)),
    st.builds(context, st.integers(min_value=1, max_value=12), _lengths),
    st.builds(lambda text, count: actions(*[button(text)] * count), st.integers(0, 80), st.integers(1, 27)),
    st.just({"type": "divider"}),
)


@given(st.lists(_block, min_size=1, max_size=55), st.booleans())
def test_what_has_no_problem_is_taken_by_slack_even_with_the_line_below(blocks: list[Any], folds: bool) -> None:
    if found(*blocks, folds=folds):
        return
    shown = with_more(blocks, "(and 49 more)") if folds else blocks
    assert (block_errors(list(shown)), are_too_long(list(shown))) == ([], False)
