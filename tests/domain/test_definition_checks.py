"""Registering a definition: what can't work is refused, with every reason at once."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState
from notify_core.domain.definition_checks import check_definition, content_fingerprint
from tests.builders import a_definition, at

CONSOLE, CHAT, TEXT, HQ_CHANNEL = Channel.CONSOLE, Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM
SHOWN = {"title": "T", "body": "B"}
FOLDS = {"fold_within": timedelta(hours=1)}


def found(**changes: Any) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in check_definition(a_definition(**changes))]


def found_in(channel: Channel, template: Any, **changes: Any) -> list[tuple[str, str]]:
    return found(channels=(channel,), templates={channel: template}, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"title": "t" * 200, "category": "c" * 64},
        {"channels": (CONSOLE,), "templates": {CONSOLE: SHOWN | {"locales": None}}},
        {"channels": (HQ_CHANNEL,), "templates": {HQ_CHANNEL: {"text": "Down"}}},
        {"expires_after": timedelta(minutes=1)},
        {"expires_after": timedelta(days=90)},
        {"fold_within": timedelta(minutes=1)},
        {"fold_within": timedelta(days=30)},
        {"schema": {}},
    ],
)
def test_a_definition_that_works_has_no_problems(changes: dict[str, Any]) -> None:
    assert found(**changes) == []


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"title": " "}, [("title", "empty")]),
        ({"title": "t" * 201}, [("title", "too_long")]),
        ({"category": ""}, [("category", "invalid_identifier")]),
        ({"category": "a b"}, [("category", "invalid_identifier")]),
        ({"category": "c" * 65}, [("category", "invalid_identifier")]),
        ({"channels": (), "templates": {}}, [("channels", "too_few")]),
        (
            {"channels": (CONSOLE, CONSOLE), "templates": {CONSOLE: SHOWN}},
            [("channels", "not_unique")],
        ),
        (
            {"channels": (CONSOLE, HQ_CHANNEL), "templates": {CONSOLE: SHOWN, HQ_CHANNEL: {"text": "x"}}},
            [("channels", "not_allowed")],
        ),
        ({"schema": {"type": "nothing"}}, [("schema.type", "invalid_schema")]),
        ({"expires_after": timedelta(seconds=59)}, [("expires_after", "out_of_range")]),
        ({"expires_after": timedelta(days=90, seconds=1)}, [("expires_after", "out_of_range")]),
        ({"expires_after": timedelta(0)}, [("expires_after", "out_of_range")]),
        ({"fold_within": timedelta(seconds=59)}, [("fold.within", "out_of_range")]),
        ({"fold_within": timedelta(0)}, [("fold.within", "out_of_range")]),
        ({"fold_within": timedelta(days=31)}, [("fold.within", "out_of_range")]),
        (
            {"channels": (HQ_CHANNEL,), "templates": {HQ_CHANNEL: {"text": "x"}}, **FOLDS},
            [("fold", "not_allowed")],
        ),
        ({"templates": {CONSOLE: SHOWN, CHAT: {"text": "x"}}}, [("templates.text", "required")]),
        (
            {"channels": (CONSOLE,), "templates": {CONSOLE: SHOWN, CHAT: {"text": "x"}}},
            [("templates.chat", "unknown_field")],
        ),
    ],
)
def test_what_cannot_work_is_named(changes: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert found(**changes) == problems


@pytest.mark.parametrize(
    ("channel", "template", "problems"),
    [
        (CONSOLE, {"title": "T"}, [("body", "required")]),
        (CONSOLE, {"title": "T", "body": None}, [("body", "type")]),
        (CONSOLE, {"title": "T", "body": 7}, [("body", "type")]),
        (CONSOLE, {"title": " ", "body": "B"}, [("title", "empty")]),
        (CONSOLE, SHOWN | {"text": "x"}, [("text", "unknown_field")]),
        (CONSOLE, SHOWN | {"body": "x" * 4_001}, [("body", "too_long")]),
        (CONSOLE, SHOWN | {"body": "{{ x"}, [("body", "invalid_template")]),
        (CONSOLE, SHOWN | {"body": "{% if x %}"}, [("body", "invalid_template")]),
        (CONSOLE, SHOWN | {"locales": []}, [("locales", "type")]),
        (CONSOLE, SHOWN | {"locales": {"french": SHOWN}}, [("locales.french", "format")]),
        (CONSOLE, SHOWN | {"locales": {"": SHOWN}}, [("locales", "format")]),
        (CONSOLE, SHOWN | {"locales": {"fr": []}}, [("locales.fr", "type")]),
        (CONSOLE, SHOWN | {"locales": {"fr": {"title": "T"}}}, [("locales.fr.body", "required")]),
        (CONSOLE, SHOWN | {"locales": {"fr": SHOWN | {"locales": {}}}}, [("locales.fr.locales", "unknown_field")]),
        (CONSOLE, SHOWN | {"locales": {"fr-CA": SHOWN, "FR-ca": SHOWN}}, [("locales.FR-ca", "not_unique")]),
        (
            CONSOLE,
            SHOWN | {"locales": {"fr": {"title": "{{", "body": "B"}}},
            [("locales.fr.title", "invalid_template")],
        ),
        (TEXT, {"body": "{{ x|"}, [("body", "invalid_template")]),
        (TEXT, {}, [("body", "required")]),
        (CHAT, {"blocks": None}, [("text", "required")]),
        (CHAT, {"text": "x", "blocks": {}}, [("blocks", "type")]),
        (CHAT, {"text": "x", "blocks": "{{ blocks }}"}, [("blocks", "type")]),
        (CHAT, {"text": "x", "blocks": []}, [("blocks", "out_of_range")]),
        (CHAT, {"text": "x", "blocks": [{"type": "divider"}] * 51}, [("blocks", "out_of_range")]),
        (CHAT, {"text": "x", "blocks": ["divider"]}, [("blocks.0", "type")]),
        (CHAT, {"text": "x", "blocks": [{"text": "x"}]}, [("blocks.0", "type")]),
        (
            CHAT,
            {"text": "x", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "{{"}}]},
            [("blocks.0.text.text", "invalid_template")],
        ),
        (
            CHAT,
            {"text": "x", "blocks": [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 4_001}]}]},
            [("blocks.0.fields.0.text", "too_long")],
        ),
        (HQ_CHANNEL, {"body": "x"}, [("body", "unknown_field"), ("text", "required")]),
    ],
)
def test_what_is_wrong_with_templates_is_named(
    channel: Channel, template: Any, problems: list[tuple[str, str]]
) -> None:
    place = f"templates.{channel.value}"
    assert found_in(channel, template) == [(f"{place}.{field}", code) for field, code in problems]


def test_a_definition_that_folds_keeps_a_block_free() -> None:
    template = {"text": "x", "blocks": [{"type": "divider"}] * 50}
    assert found_in(CHAT, template) == []
    assert found_in(CHAT, template, **FOLDS) == [("templates.chat.blocks", "out_of_range")]


def test_all_templates_together_have_a_limit() -> None:
    locales = {f"fr-{number:03}": {"title": "T", "body": "B" * 3_900} for number in range(40)}
    assert found_in(CONSOLE, SHOWN | {"locales": locales}) == [("templates", "too_large")]


def test_a_syntax_error_names_its_line() -> None:
    (problem,) = check_definition(a_definition(channels=(TEXT,), templates={TEXT: {"body": "one\ntwo {{ x }\nthree"}}))
    assert problem.message == "line 2: unexpected `}`, expected end of variable block"


def test_everything_wrong_is_told_at_once() -> None:
    assert found(title="", category="", schema={"type": 1}, expires_after=timedelta(0), templates={}) == [
        ("title", "empty"),
        ("category", "invalid_identifier"),
        ("schema.type", "invalid_schema"),
        ("templates.console", "required"),
        ("templates.chat", "required"),
        ("templates.text", "required"),
        ("expires_after", "out_of_range"),
    ]


# ---------------------------------------------------------------- the same content


def test_the_same_content_is_one_however_it_is_written_and_wherever_it_stands() -> None:
    definition = a_definition(schema={"type": "object", "required": ["a", "b"]})
    rewritten = replace(
        definition,
        schema=json.loads('{"required": ["a", "b"], "type": "object"}'),
        version=7,
        state=DefinitionState.RETIRED,
        retired_at=at(days=1),
    )
    assert content_fingerprint(rewritten) == content_fingerprint(definition)


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Other"},
        {"category": "other"},
        {"critical": True},
        {"channels": (CHAT, CONSOLE, TEXT)},
        {"schema": {"const": 1}},
        {"schema": {"const": True}},
        {"templates": {CONSOLE: SHOWN}},
        {"expires_after": timedelta(days=6)},
        {"replace_previous": True},
        {"fold_within": timedelta(hours=1)},
    ],
)
def test_other_content_is_another(changes: dict[str, Any]) -> None:
    assert content_fingerprint(a_definition(**changes)) != content_fingerprint(a_definition())


def test_one_and_true_are_two_things_in_a_schema() -> None:
    one, true = (content_fingerprint(a_definition(schema={"const": value})) for value in (1, True))
    assert one != true
