"""Registering a definition: what can't work is refused, with every reason at once."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from notify_core.domain.channel import Channel
from notify_core.domain.definition import DefinitionState, content_of
from notify_core.domain.definition_checks import check_definition
from tests.builders import a_definition, at

CONSOLE, CHAT, TEXT, HQ_CHANNEL = Channel.CONSOLE, Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM
SHOWN = {"title": "T", "body": "B"}
FOLDS = {"fold_within": timedelta(hours=1)}


Found = tuple[str, str, str]
"""A problem's field, its code and its message."""


def found(**changes: Any) -> list[Found]:
    problems = check_definition(a_definition(**changes))
    return [(problem.field, problem.code, problem.message) for problem in problems]


def found_in(channel: Channel, template: Any, **changes: Any) -> list[Found]:
    return found(channels=(channel,), templates={channel: template}, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"title": "t" * 200, "category": "c" * 64},
        {"channels": (CONSOLE,), "templates": {CONSOLE: SHOWN | {"locales": None}}},
        {"channels": (CONSOLE,), "templates": {CONSOLE: {"title": "T", "body": "B" * 4_000}}},
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


IDENTIFIER = "1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": " "}, ("title", "empty", "say what the notification is about")),
        ({"title": "t" * 201}, ("title", "too_long", "use at most 200 characters")),
        ({"category": ""}, ("category", "invalid_identifier", IDENTIFIER)),
        ({"category": "a b"}, ("category", "invalid_identifier", IDENTIFIER)),
        ({"category": "c" * 65}, ("category", "invalid_identifier", IDENTIFIER)),
        ({"channels": (), "templates": {}}, ("channels", "too_few", "name at least one channel")),
        (
            {"channels": (CONSOLE, CONSOLE), "templates": {CONSOLE: SHOWN}},
            ("channels", "not_unique", "name every channel only once"),
        ),
        (
            {"channels": (CONSOLE, HQ_CHANNEL), "templates": {CONSOLE: SHOWN, HQ_CHANNEL: {"text": "x"}}},
            (
                "channels",
                "not_allowed",
                "slack_system stands alone: it tells the headquarters, the other channels tell people",
            ),
        ),
        (
            {"schema": {"type": "nothing"}},
            ("schema.type", "invalid_schema", "JSON Schema doesn't allow this value here (anyOf)"),
        ),
        ({"expires_after": timedelta(seconds=59)}, ("expires_after", "out_of_range", "use PT1M to P90D")),
        ({"expires_after": timedelta(days=90, seconds=1)}, ("expires_after", "out_of_range", "use PT1M to P90D")),
        ({"expires_after": timedelta(0)}, ("expires_after", "out_of_range", "use PT1M to P90D")),
        ({"fold_within": timedelta(seconds=59)}, ("fold.within", "out_of_range", "use PT1M to P30D")),
        ({"fold_within": timedelta(0)}, ("fold.within", "out_of_range", "use PT1M to P30D")),
        ({"fold_within": timedelta(days=30, seconds=1)}, ("fold.within", "out_of_range", "use PT1M to P30D")),
        (
            {"channels": (HQ_CHANNEL,), "templates": {HQ_CHANNEL: {"text": "x"}}, **FOLDS},
            ("fold", "not_allowed", "an alert to the headquarters doesn't fold; leave it out"),
        ),
        (
            {"templates": {CONSOLE: SHOWN, CHAT: {"text": "x"}}},
            ("templates.text", "required", "add the templates of text, or take it off the channels"),
        ),
        (
            {"channels": (CONSOLE,), "templates": {CONSOLE: SHOWN, CHAT: {"text": "x"}}},
            ("templates.chat", "unknown_field", "remove it, or add it to the channels"),
        ),
    ],
)
def test_what_cannot_work_is_named_with_its_remedy(changes: dict[str, Any], problem: Found) -> None:
    assert found(**changes) == [problem]


NO_BLOCKS = "list Block Kit blocks, or use null"
NO_BLOCK = "write a block: an object with its type"


@pytest.mark.parametrize(
    ("channel", "template", "problem"),
    [
        (CONSOLE, {"title": "T"}, ("body", "required", "add this template")),
        (CONSOLE, {"title": "T", "body": None}, ("body", "type", "write the template as text")),
        (CONSOLE, {"title": "T", "body": 7}, ("body", "type", "write the template as text")),
        (CONSOLE, {"title": " ", "body": "B"}, ("title", "empty", "write a template that shows something")),
        (CONSOLE, SHOWN | {"text": "x"}, ("text", "unknown_field", "remove it; the fields are title, body")),
        (
            CONSOLE,
            SHOWN | {"body": "x" * 4_001},
            ("body", "too_long", "shorten the template to 4000 characters"),
        ),
        (
            CONSOLE,
            SHOWN | {"body": "{{ x"},
            ("body", "invalid_template", "line 1: unexpected end of input, expected end of variable block"),
        ),
        (
            CONSOLE,
            SHOWN | {"body": "{% if x %}"},
            ("body", "invalid_template", "line 1: unexpected end of input, expected end of block"),
        ),
        (
            CONSOLE,
            SHOWN | {"locales": []},
            ("locales", "type", 'write an object of languages, as {"fr": {…}}'),
        ),
        (
            CONSOLE,
            SHOWN | {"locales": {"french": SHOWN}},
            ("locales.french", "format", "name a language as in fr or fr-CA"),
        ),
        (CONSOLE, SHOWN | {"locales": {"": SHOWN}}, ("locales", "format", "name a language as in fr or fr-CA")),
        (
            CONSOLE,
            SHOWN | {"locales": {"fr": []}},
            ("locales.fr", "type", "write the templates of this language as an object"),
        ),
        (
            CONSOLE,
            SHOWN | {"locales": {"fr": {"title": "T"}}},
            ("locales.fr.body", "required", "add this template"),
        ),
        (
            CONSOLE,
            SHOWN | {"locales": {"fr": SHOWN | {"locales": {}}}},
            ("locales.fr.locales", "unknown_field", "remove it; the fields are title, body"),
        ),
        (
            CONSOLE,
            SHOWN | {"locales": {"fr-CA": SHOWN, "FR-ca": SHOWN}},
            ("locales.FR-ca", "not_unique", "this language is there already, written differently"),
        ),
        (
            CONSOLE,
            SHOWN | {"locales": {"fr": {"title": "{{", "body": "B"}}},
            ("locales.fr.title", "invalid_template", "line 1: unexpected end of input, expected expression"),
        ),
        (
            TEXT,
            {"body": "{{ x|"},
            ("body", "invalid_template", "line 1: unexpected end of input, expected identifier"),
        ),
        (TEXT, {}, ("body", "required", "add this template")),
        (CHAT, {"blocks": None}, ("text", "required", "add this template")),
        (CHAT, {"text": "x", "blocks": {}}, ("blocks", "type", NO_BLOCKS)),
        (CHAT, {"text": "x", "blocks": "{{ blocks }}"}, ("blocks", "type", NO_BLOCKS)),
        (CHAT, {"text": "x", "blocks": []}, ("blocks", "out_of_range", "list 1 to 50 blocks, or use null")),
        (
            CHAT,
            {"text": "x", "blocks": [{"type": "divider"}] * 51},
            ("blocks", "out_of_range", "list 1 to 50 blocks, or use null"),
        ),
        (CHAT, {"text": "x", "blocks": ["divider"]}, ("blocks.0", "type", NO_BLOCK)),
        (CHAT, {"text": "x", "blocks": [{"text": "x"}]}, ("blocks.0", "type", NO_BLOCK)),
        (
            CHAT,
            {"text": "x", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "{{"}}]},
            (
                "blocks.0.text.text",
                "invalid_template",
                "line 1: unexpected end of input, expected expression",
            ),
        ),
        (
            CHAT,
            {"text": "x", "blocks": [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 4_001}]}]},
            ("blocks.0.fields.0.text", "too_long", "shorten the template to 4000 characters"),
        ),
        (
            HQ_CHANNEL,
            {"text": "x", "body": "x"},
            ("body", "unknown_field", "remove it; the fields are text, blocks"),
        ),
    ],
)
def test_what_is_wrong_with_templates_is_named_with_its_remedy(channel: Channel, template: Any, problem: Found) -> None:
    field, code, message = problem
    assert found_in(channel, template) == [(f"templates.{channel.value}.{field}", code, message)]


def test_fields_that_a_template_does_not_have_are_named_in_their_order() -> None:
    names = ["body", "heading", "footer", "image", "colour", "link"]
    problems = found_in(HQ_CHANNEL, {"text": "x"} | dict.fromkeys(names, "x"))
    assert [field for field, _, _ in problems] == [f"templates.slack_system.{name}" for name in names]


def test_templates_of_a_channel_too_many_do_not_hide_what_is_wrong_with_the_next() -> None:
    templates = {CHAT: {"text": "x"}, CONSOLE: {"title": "T"}}
    assert found(channels=(CONSOLE,), templates=templates) == [
        ("templates.chat", "unknown_field", "remove it, or add it to the channels"),
        ("templates.console.body", "required", "add this template"),
    ]


def test_a_definition_that_folds_keeps_a_block_free() -> None:
    template = {"text": "x", "blocks": [{"type": "divider"}] * 50}
    assert found_in(CHAT, template) == []
    message = "list 1 to 49 blocks, or use null"
    assert found_in(CHAT, template, **FOLDS) == [("templates.chat.blocks", "out_of_range", message)]


def test_all_templates_together_have_a_limit() -> None:
    def template(characters: int) -> dict[str, Any]:
        long = {f"fr-{number:03}": {"title": "T", "body": "B" * 3_900} for number in range(33)}
        return SHOWN | {"locales": {**long, "de": {"title": "T", "body": "B" * characters}}}

    characters = 128 * 1024 - len(json.dumps({CONSOLE: template(0)}))
    assert found_in(CONSOLE, template(characters)) == []
    message = "shorten them to 131072 bytes in all"
    assert found_in(CONSOLE, template(characters + 1)) == [("templates", "too_large", message)]


def test_a_syntax_error_names_its_line() -> None:
    (problem,) = check_definition(a_definition(channels=(TEXT,), templates={TEXT: {"body": "one\ntwo {{ x }\nthree"}}))
    assert problem.message == "line 2: unexpected `}`, expected end of variable block"


def test_everything_wrong_is_told_at_once() -> None:
    problems = found(title="", category="", schema={"type": 1}, expires_after=timedelta(0), templates={})
    assert [(field, code) for field, code, _ in problems] == [
        ("title", "empty"),
        ("category", "invalid_identifier"),
        ("schema.type", "invalid_schema"),
        ("templates.console", "required"),
        ("templates.chat", "required"),
        ("templates.text", "required"),
        ("expires_after", "out_of_range"),
    ]


def test_of_very_many_problems_the_first_hundred_are_told() -> None:
    problems = found_in(CONSOLE, SHOWN | {"locales": {f"language-{number}": SHOWN for number in range(101)}})
    assert [field for field, _, _ in problems] == [f"templates.console.locales.language-{n}" for n in range(100)]


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
    assert content_of(rewritten) == content_of(definition)


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
    assert content_of(a_definition(**changes)) != content_of(a_definition())


def test_one_and_true_are_two_things_in_a_schema() -> None:
    one, true = (content_of(a_definition(schema={"const": value})) for value in (1, True))
    assert one != true
