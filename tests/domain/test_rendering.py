"""Rendering: what each channel shows, what is escaped for it, and that no template can do harm."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import notify_core
from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.notice import ConsoleContent
from notify_core.domain.problem import Problem
from notify_core.domain.rendering import CannotRender, ChatContent, Content, TextContent, render
from tests.builders import a_definition

CONSOLE, CHAT, TEXT, HQ_CHANNEL = Channel.CONSOLE, Channel.CHAT, Channel.TEXT, Channel.SLACK_SYSTEM
HOSTILE = "<!channel> & <https://evil.example|bank>"
ESCAPED = "&lt;!channel&gt; &amp; &lt;https://evil.example|bank&gt;"
QUOTED = """It's "n/a" & <b>"""
QUOTED_ESCAPED = """It's "n/a" &amp; &lt;b&gt;"""


def chat(text: str, *, blocks: list[Any] | None = None, **changes: Any) -> Definition:
    return a_definition(channels=(CHAT,), templates={CHAT: {"text": text, "blocks": blocks}}, **changes)


def console(title: str = "Title", body: str = "Body") -> Definition:
    return a_definition(channels=(CONSOLE,), templates={CONSOLE: {"title": title, "body": body}})


def text(body: str) -> Definition:
    return a_definition(channels=(TEXT,), templates={TEXT: {"body": body}})


def in_chat(template: str, **data: Any) -> str:
    content = render(chat(template), CHAT, data, "Ana", None)
    assert isinstance(content, ChatContent)
    return content.text


def problem_in_chat(template: str, **data: Any) -> Problem:
    with pytest.raises(CannotRender) as refused:
        in_chat(template, **data)
    (problem,) = refused.value.problems
    return problem


def refused(definition: Definition, channel: Channel, **data: Any) -> tuple[Problem, ...]:
    with pytest.raises(CannotRender) as cannot:
        render(definition, channel, data, "Ana", None)
    return cannot.value.problems


def too_long(field: str, message: str) -> Problem:
    return Problem(field=field, code="too_long", message=message)


# ---------------------------------------------------------------- what is shown


@pytest.mark.parametrize(
    ("channel", "content"),
    [
        (CONSOLE, ConsoleContent(title="Invoice 42", body="Dear Ana & co", category="billing")),
        (CHAT, ChatContent(text="Invoice 42 for Ana &amp; co")),
        (TEXT, TextContent(body="Invoice 42, Ana & co", segments=1)),
    ],
)
def test_a_channel_shows_the_data_and_the_recipients_name(channel: Channel, content: Content) -> None:
    definition = a_definition(
        templates={
            CONSOLE: {"title": "Invoice {{ number }}", "body": "Dear {{ recipient.name }}"},
            CHAT: {"text": "Invoice {{ number }} for {{ recipient.name }}"},
            TEXT: {"body": "Invoice {{ number }}, {{ recipient.name }}"},
        }
    )
    assert render(definition, channel, {"number": "42"}, "Ana & co", None) == content


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{ s }}", "text"),
        ("{{ n }}", "7"),
        ("{{ f }}", "1.5"),
        ("{{ big }}", "99999999999999999999999999999999999999"),
        ("{{ yes }} {{ no }}", "true false"),
        ("[{{ nothing }}]", "[]"),
        ("{{ l }}", '[1, "é"]'),
        ("{{ o }}", '{"a": [1], "b": null}'),
        ("{% for x in l %}{{ x }};{% endfor %}", "1;é;"),
        ("{% for name, value in o|items %}{{ name }}={{ value }} {% endfor %}", "a=[1] b="),
        ("{{ l|length }} {{ l[0] }} {{ l[-1] }} {{ o.a[0] }} {{ l|join('+') }}", "2 1 é 1 1+é"),
        ("{{ l|tojson }} {{ o|tojson }}", '[1, "é"] {"a": [1], "b": null}'),
        ("{% if l %}some{% endif %}{% if not empty %} none{% endif %}", "some none"),
        ("{{ s|upper }} {{ n + 1 }} {{ missing|default('-') }}", "TEXT 8 -"),
        ("{% if missing is defined %}here{% else %}gone{% endif %}", "gone"),
        ("{{ o.a is sequence }} {{ o is mapping }} {{ 'a' in o }} {{ 'z' in o }}", "true true true false"),
        ("{% macro row(x) %}<{{ x }}>{% endmacro %}{{ row(n) }}", "<7>"),
        ("{{ order['items'][0] }} {{ order.items|length }} {{ values }}", "pen 1 9"),
        ("{{ keys }}{{ values }}", "89"),
        ("{{ o|length }} {{ l ~ o }} {{ [1, 'é'] == l }}", '2 [1, "é"]{"a": [1], "b": null} true'),
        ("{# a comment #}done", "done"),
        ("{# every mark #}{% if n %}{{ n }}{% endif %}", "7"),
    ],
)
def test_values_are_shown_as_a_reader_expects(template: str, shown: str) -> None:
    data: dict[str, Any] = {
        "s": "text",
        "n": 7,
        "f": 1.5,
        "big": 10**38 - 1,
        "yes": True,
        "no": False,
        "nothing": None,
        "l": [1, "é"],
        "o": {"a": [1], "b": None},
        "empty": [],
        "order": {"items": ["pen"]},
        "keys": 8,
        "values": 9,
    }
    assert in_chat(template, **data) == shown


@pytest.mark.parametrize(
    ("locale", "title"),
    [
        (None, "Invoice"),
        ("en", "Invoice"),
        ("fr", "Facture"),
        ("fr-CA", "Facture (CA)"),
        ("FR-ca", "Facture (CA)"),
        ("fr-BE", "Facture"),
        ("zh-Hant-TW", "發票"),
        ("zh-Hans", "Invoice"),
        ("f", "Invoice"),
    ],
)
def test_a_reader_gets_their_language_else_a_wider_one_else_the_default(locale: str | None, title: str) -> None:
    definition = a_definition(
        templates={
            CONSOLE: {
                "title": "Invoice",
                "body": "-",
                "locales": {
                    "fr": {"title": "Facture", "body": "-"},
                    "fr-CA": {"title": "Facture (CA)", "body": "-"},
                    "zh-Hant": {"title": "發票", "body": "-"},
                },
            }
        }
    )
    content = render(definition, CONSOLE, {}, "Ana", locale)
    assert content == ConsoleContent(title=title, body="-", category="billing")


def test_a_console_title_is_one_line_and_nothing_is_escaped_there() -> None:
    content = render(console(" New\n  {{ x }} ", "\n{{ x }}\n"), CONSOLE, {"x": HOSTILE}, "Ana", None)
    assert content == ConsoleContent(title=f"New {HOSTILE}", body=HOSTILE, category="billing")


def test_a_text_message_is_made_plain_and_its_parts_are_counted() -> None:
    content = render(text("It’s {{ x }}…"), TEXT, {"x": "é" * 160}, "Ana", None)
    assert content == TextContent(body=f"It's {'é' * 160}...", segments=2)


# ---------------------------------------------------------------- escaping


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{ x }}", ESCAPED),
        ("<b>{{ x }}</b>", f"<b>{ESCAPED}</b>"),
        ("{{ x|upper }}", ESCAPED.upper().replace("&LT;", "&lt;").replace("&GT;", "&gt;").replace("&AMP;", "&amp;")),
        ("{{ x ~ '!' }}", f"{ESCAPED}!"),
        ("{{ [x, x]|join(' ') }}", f"{ESCAPED} {ESCAPED}"),
        ("{% set y %}*{{ x }}*{% endset %}{{ y }}", f"*{ESCAPED}*"),
        ("{% macro m(v) %}_{{ v }}_{% endmacro %}{{ m(x) }}", f"_{ESCAPED}_"),
        ("{{ {'k': x}.k }}", ESCAPED),
        ("{{ x|default('') }}", ESCAPED),
        ("{{ '%s'|format(x) }}", ESCAPED),
        ("{% autoescape false %}{{ x }}{% endautoescape %}", ESCAPED),
        ("{{ o.k }} {{ o['k'] }} {{ l[0] }}", f"{ESCAPED} {ESCAPED} {ESCAPED}"),
        ("{% for v in l %}{{ v }}{% endfor %}", ESCAPED),
        ("{% for k in keyed %}{{ k }}{% endfor %}", "&lt;k&gt;"),
        ("{% set y %}*{% endset %}{{ y|replace('*', quoted) }}", QUOTED_ESCAPED),
        ("{% set y %}<i>%s</i>{% endset %}{{ y|format(quoted) }}", f"<i>{QUOTED_ESCAPED}</i>"),
        ("{% set y %}a b{% endset %}{{ y|split|join(quoted) }}", f"a{QUOTED_ESCAPED}b"),
        ("{{ recipient.name }}", "Ana &lt;3"),
    ],
)
def test_whatever_way_a_value_is_shown_it_is_escaped_once(template: str, shown: str) -> None:
    data = {"x": HOSTILE, "o": {"k": HOSTILE}, "l": [HOSTILE], "keyed": {"<k>": 1}, "quoted": QUOTED}
    assert render(chat(template), CHAT, data, "Ana <3", None) == ChatContent(text=shown)


@given(st.text(), st.text())
def test_no_value_adds_markup_or_changes_the_blocks(value: str, name: str) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "- {{ x }} {{ recipient.name }}"}}]
    content = render(chat("- {{ x }}", blocks=blocks), CHAT, {"x": value}, name, None)
    assert isinstance(content, ChatContent)
    assert content.blocks is not None
    ((section,), shown) = content.blocks, content.blocks[0]["text"]
    assert (set(section), shown["type"]) == ({"type", "text"}, "mrkdwn")
    assert not set(content.text + shown["text"]) & set("<>")


def test_a_slack_address_keeps_its_parts_and_loses_its_brackets() -> None:
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": "Open {{ x }}"},
        "url": "https://acme.example/?q={{ x }}&from=chat",
        "value": "{{ x }}",
    }
    definition = chat("-", blocks=[{"type": "actions", "elements": [button]}])
    content = render(definition, CHAT, {"x": "a&b=<1> é"}, "Ana", None)
    assert isinstance(content, ChatContent)
    assert content.blocks == [
        {
            "type": "actions",
            "elements": [
                {
                    "type": "button",
                    "text": {"type": "plain_text", "text": "Open a&amp;b=&lt;1&gt; é"},
                    "url": "https://acme.example/?q=a&b=%3C1%3E%20%C3%A9&from=chat",
                    "value": "a&amp;b=&lt;1&gt; é",
                }
            ],
        }
    ]


def test_blocks_without_templates_and_values_that_are_no_text_stay_as_they_are() -> None:
    blocks: list[Any] = [
        {"type": "divider"},
        {"type": "section", "text": {"type": "mrkdwn", "text": "hi\n", "verbatim": True}},
    ]
    content = render(chat("{{ x }}", blocks=blocks), CHAT, {"x": "1"}, "Ana", None)
    assert content == ChatContent(text="1", blocks=blocks)


def test_only_what_holds_a_template_is_made_anew() -> None:
    fixed: list[Any] = [{"type": "divider"}, {"type": "section", "fields": [{"type": "mrkdwn", "text": "hi"}]}]
    changing = {"type": "section", "fields": fixed[1]["fields"], "text": {"type": "mrkdwn", "text": "{{ x }}"}}
    content = render(chat("-", blocks=fixed), CHAT, {}, "Ana", None)
    assert isinstance(content, ChatContent)
    assert content.blocks is fixed
    content = render(chat("-", blocks=[*fixed, changing]), CHAT, {"x": "1"}, "Ana", None)
    assert isinstance(content, ChatContent)
    assert content.blocks is not None
    assert content.blocks[2] == changing | {"text": {"type": "mrkdwn", "text": "1"}}
    assert content.blocks[0] is fixed[0]
    assert content.blocks[1] is fixed[1]
    assert content.blocks[2]["fields"] is changing["fields"]


# ---------------------------------------------------------------- what can't be rendered


@pytest.mark.parametrize(
    ("template", "variable"),
    [
        ("{{ nope }}", "nope"),
        ("{{ order.nope }}", "order.nope"),
        ("{{ order.nope.deeper }}", "order.nope"),
        ("{{ order['nope'] }}", "order['nope']"),
        ("{% for line in nope %}{% endfor %}", "nope"),
        ("{% if nope %}{% endif %}", "nope"),
        ("{{ order|attr('nope') }}", "order|attr('nope')"),
        ("{{ recipient.phone }}", "recipient.phone"),
        # A context is a Python dict: its methods are no variables.
        ("{{ items }}", "items"),
        ("{% for item in items %}{% endfor %}", "items"),
        ("{% macro m() %}{{ values }}{% endmacro %}{{ m() }}", "values"),
        ("{{ order.values }}", "order.values"),
        ("{{ order.__class__ }}", "order.__class__"),
        ("{{ self }}", "self"),
        ("{% set empty = not ([]|first) %}", "a value"),
    ],
)
def test_an_undefined_variable_is_named(template: str, variable: str) -> None:
    assert problem_in_chat(template, order={"id": 1}) == Problem(
        field="templates.chat.text",
        code="undefined_variable",
        message=f"{variable} isn't in the data: send it, or say what to show without it",
    )


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{{ 'a' * 1000000000 }}",
        "{{ 'a'|indent(1000000000, true) }}",
        "{{ '%1000000000d'|format(3) }}",
        "{{ '%.1000000000f'|format(3) }}",
        "{{ 'ab'|replace('', 'x' * 9999)|replace('', 'y' * 9999) }}",
        "{{ range(9999)|join('x' * 999) }}",
        "{{ [1]|batch(1000000000, 'x')|list }}",
        "{{ [1]|slice(1000000000)|list }}",
    ],
)
def test_a_template_that_takes_for_ever_is_stopped(template: str) -> None:
    assert problem_in_chat(template) == Problem(
        field="templates.chat.text",
        code="template_too_expensive",
        message="it takes too many steps; shorten its loops",
    )


_UNFIT = "line 1: the data doesn't fit the template (InvalidOperation)"
_CALLED = "it calls a value like a function; use filters instead"
_ALONE = "line 1: a template stands alone, and can't include another"


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", _UNFIT),
        ("{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", _UNFIT),
        ("{{ range(100000000) }}", _UNFIT),
        ("{{ x + 1 }}", _UNFIT),
        ("{{ 1 // 0 }}", _UNFIT),
        ("{{ clear() }}", _UNFIT),
        ("\n{{ x|nope }}", "line 2: filter nope is unknown"),
        ("{{ x|safe }}", "line 1: filter safe is unknown"),
        ("{{ list|map('nope') }}", "line 1: the data doesn't fit the template (UnknownFilter)"),
        ("{{ x is nope }}", "line 1: test nope is unknown"),
        ("{{ nope(x) }}", "line 1: nope is unknown"),
        ("{{ debug() }}", "line 1: debug is unknown"),
        ("{{ x.format(1) }}", "line 1: string has no method named format"),
        ("{{ order.clear() }}", _CALLED),
        ("{{ order.get('id') }}", _CALLED),
        ("{{ list.append(2) }}", _CALLED),
        ("{% include 'markup:0:templates.chat.text' %}", _ALONE),
        ("{% include x %}", _ALONE),
        ("{% import 'a' as a %}", _ALONE),
        ("{% extends 'a' %}", _ALONE),
    ],
)
def test_a_template_that_fails_is_a_problem_and_changes_nothing(template: str, message: str) -> None:
    data: dict[str, Any] = {"x": "S3CRET", "order": {"id": 1}, "list": [1]}
    before = deepcopy(data)
    problem = problem_in_chat(template, **data)
    assert problem == Problem(field="templates.chat.text", code="template_error", message=message)
    assert data == before


def test_a_problem_names_its_field_whatever_that_is_called() -> None:
    definition = chat("-", blocks=[{"type": "section", "text": {"type": "mrkdwn", "a:b": "{{ nope }}"}}])
    (problem,) = refused(definition, CHAT)
    assert (problem.field, problem.code) == ("templates.chat.blocks.0.text.a:b", "undefined_variable")


def test_fields_whose_places_read_alike_keep_their_own_texts() -> None:
    definition = chat("-", blocks=[{"type": "section", "a.b": "{{ x }}", "a": {"b": "not {{ x }}"}}])
    (block,) = render(definition, CHAT, {"x": "one"}, "Ana", None).blocks
    assert (block["a.b"], block["a"]["b"]) == ("one", "not one")


@pytest.mark.parametrize("template", ["{{ x", "{% if %}", "{% for %}", "{{ x | }}", "{% end %}", "{{ '"])
def test_a_template_that_cannot_be_read_is_a_problem(template: str) -> None:
    assert problem_in_chat(template, x=1).code == "invalid_template"


def test_all_problems_of_a_channel_are_told_at_once() -> None:
    definition = chat(
        "{{ a }}",
        blocks=[
            {"type": "section", "text": {"type": "mrkdwn", "text": "{{ b }}"}},
            {"type": "section", "text": {"type": "mrkdwn", "text": "{{ c|nope }}"}},
        ],
    )
    assert [(problem.field, problem.code) for problem in refused(definition, CHAT, c=1)] == [
        ("templates.chat.text", "undefined_variable"),
        ("templates.chat.blocks.0.text.text", "undefined_variable"),
        ("templates.chat.blocks.1.text.text", "template_error"),
    ]


def test_a_problem_in_another_language_names_that_language() -> None:
    translated = {"text": "Hi", "locales": {"fr": {"text": "{{ nope }}"}}}
    definition = a_definition(templates={CHAT: translated})
    assert render(definition, CHAT, {}, "Ana", "en") == ChatContent(text="Hi")
    with pytest.raises(CannotRender) as cannot:
        render(definition, CHAT, {}, "Ana", "fr-CA")
    assert [problem.field for problem in cannot.value.problems] == ["templates.chat.locales.fr.text"]


def test_what_cannot_be_read_in_one_language_leaves_the_others_alone() -> None:
    languages = {"fr": {"text": "Salut"}, "fr-CA": {"text": "{{"}}
    definition = a_definition(templates={CHAT: {"text": "Hi", "locales": languages}})
    assert render(definition, CHAT, {}, "Ana", None) == ChatContent(text="Hi")
    assert render(definition, CHAT, {}, "Ana", "fr") == ChatContent(text="Salut")
    with pytest.raises(CannotRender) as cannot:
        render(definition, CHAT, {}, "Ana", "fr-CA")
    assert [problem.field for problem in cannot.value.problems] == ["templates.chat.locales.fr-CA.text"]


def test_an_alert_to_the_headquarters_has_no_recipient_to_name() -> None:
    def alert(template: str) -> Definition:
        return a_definition(channels=(HQ_CHANNEL,), templates={HQ_CHANNEL: {"text": template}})

    assert render(alert("Down: {{ x }}"), HQ_CHANNEL, {"x": "<db>"}, "", None) == ChatContent(text="Down: &lt;db&gt;")
    with pytest.raises(CannotRender) as cannot:
        render(alert("{{ recipient.name }}"), HQ_CHANNEL, {}, "", None)
    assert [problem.code for problem in cannot.value.problems] == ["undefined_variable"]


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("definition", "channel", "length", "problem"),
    [
        (
            console("{{ x }}"),
            CONSOLE,
            200,
            too_long("templates.console.title", "shorten it to 200 characters; it comes out with 201"),
        ),
        (
            console("1234", "{{ x }}"),
            CONSOLE,
            4_092,
            too_long(
                "templates.console.body", "shorten it to 4096 bytes together with the title; it comes out with 4097"
            ),
        ),
        (
            chat("{{ x }}"),
            CHAT,
            4_000,
            too_long("templates.chat.text", "shorten it to 4000 characters; it comes out with 4001"),
        ),
        (
            text("{{ x }}"),
            TEXT,
            1_530,
            too_long(
                "templates.text.body",
                "shorten it to 10 parts; characters outside GSM-7 make parts shorter; it comes out with 11",
            ),
        ),
    ],
)
def test_what_comes_out_too_long_is_a_problem_of_its_template(
    definition: Definition, channel: Channel, length: int, problem: Problem
) -> None:
    render(definition, channel, {"x": "x" * length}, "Ana", None)
    assert refused(definition, channel, x="x" * (length + 1)) == (problem,)


def test_the_length_of_the_console_is_counted_in_bytes_as_it_is_stored() -> None:
    (problem,) = refused(console("é", "{{ x }}"), CONSOLE, x="é" * 2_048)
    assert problem.message == "shorten it to 4096 bytes together with the title; it comes out with 4098"


def test_the_length_of_chat_is_counted_after_escaping() -> None:
    (problem,) = refused(chat("{{ x }}"), CHAT, x="&" * 801)
    assert problem == too_long("templates.chat.text", "shorten it to 4000 characters; it comes out with 4005")


@pytest.mark.parametrize(("fold_within", "most"), [(None, 50), (timedelta(hours=1), 49)])
def test_blocks_have_a_place_to_spare_where_requests_are_folded(fold_within: timedelta | None, most: int) -> None:
    def of(blocks: int) -> Definition:
        return chat("-", blocks=[{"type": "divider"}] * blocks, fold_within=fold_within)

    render(of(most), CHAT, {}, "Ana", None)
    assert refused(of(most + 1), CHAT) == (
        Problem(field="templates.chat.blocks", code="too_many", message=f"use at most {most} blocks"),
    )


@pytest.mark.parametrize("body", ["ж" * 670, "€" * 760])
def test_a_text_message_has_ten_parts_at_most(body: str) -> None:
    content = render(text("{{ x }}"), TEXT, {"x": body}, "Ana", None)
    assert content == TextContent(body=body, segments=10)
    (problem,) = refused(text("{{ x }}"), TEXT, x=body + body[0])
    assert (problem.field, problem.code) == ("templates.text.body", "too_long")


@pytest.mark.parametrize(
    ("definition", "channel", "field"),
    [
        (console("{{ x }}"), CONSOLE, "templates.console.title"),
        (chat("{{ x }}"), CHAT, "templates.chat.text"),
        (text("{{ x }}"), TEXT, "templates.text.body"),
    ],
)
@pytest.mark.parametrize("value", ["", " \n\t", None])
def test_what_comes_out_empty_is_a_problem(
    definition: Definition, channel: Channel, field: str, value: str | None
) -> None:
    assert refused(definition, channel, x=value) == (
        Problem(field=field, code="empty", message="it comes out empty; send the data that fills it"),
    )


def test_a_console_body_may_come_out_empty() -> None:
    content = render(console("Title", "{{ x }}"), CONSOLE, {"x": ""}, "Ana", None)
    assert content == ConsoleContent(title="Title", body="", category="billing")


def test_values_are_counted_before_they_fill_the_memory() -> None:
    assert problem_in_chat("{{ x }}" * 500, x="x" * 30_000) == Problem(
        field="templates.chat.text",
        code="too_long",
        message="it shows more than 20000 characters of values; show fewer or shorter ones",
    )


# ---------------------------------------------------------------- folded


def test_what_is_folded_in_is_counted_in_chat_and_text_and_left_to_the_inbox_in_the_console() -> None:
    definition = a_definition(
        templates={
            CONSOLE: {"title": "T", "body": "B"},
            CHAT: {"text": "New", "blocks": [{"type": "divider"}]},
            TEXT: {"body": "New"},
        }
    )
    more = {"type": "context", "elements": [{"type": "mrkdwn", "text": "(and 3 more)"}]}
    assert [render(definition, channel, {}, "Ana", None, 3) for channel in (CONSOLE, CHAT, TEXT)] == [
        ConsoleContent(title="T", body="B", category="billing"),
        ChatContent(text="New (and 3 more)", blocks=[{"type": "divider"}, more]),
        TextContent(body="New (and 3 more)", segments=1),
    ]


@pytest.mark.parametrize(("full", "kept"), [("x" * 4_000, "x" * 3_985), ("&" * 800, "&amp;" * 797)])
def test_a_full_message_makes_room_for_how_many_more_there_are(full: str, kept: str) -> None:
    content = render(chat("{{ x }}"), CHAT, {"x": full}, "Ana", None, 59)
    assert content == ChatContent(text=f"{kept}… (and 59 more)")


@pytest.mark.parametrize(
    ("body", "kept"),
    [("x" * 1_530, 1_517), ("ж" * 670, 657), ("😀" * 330, 324), ("x" * 1_516 + " " + "x" * 13, 1_516)],
)
def test_a_full_text_message_stays_within_its_ten_parts(body: str, kept: int) -> None:
    content = render(text("{{ x }}"), TEXT, {"x": body}, "Ana", None, 9)
    assert content == TextContent(body=body[:kept] + " (and 9 more)", segments=10)


# ---------------------------------------------------------------- the engine


def test_other_templates_under_the_same_version_are_rendered_anew() -> None:
    assert [in_chat("one"), in_chat("two"), in_chat("one")] == ["one", "two", "one"]


def test_threads_render_side_by_side() -> None:
    definition = chat("{{ x }} for {{ recipient.name }}")
    with ThreadPoolExecutor(8) as pool:
        contents = list(pool.map(lambda n: render(definition, CHAT, {"x": n}, f"P{n}", None), range(400)))
    assert contents == [ChatContent(text=f"{n} for P{n}") for n in range(400)]


_NESTED = {
    "minus": "{{ " + "-" * 3_990 + "1 }}",
    "sum": "{{ 1" + "+1" * 1_990 + " }}",
    "fields": "{{ x" + ".a" * 1_990 + " }}",
    "filters": "{{ x" + "|e" * 1_990 + " }}",
    "brackets": "{{ " + "[" * 3_990 + " }}",
    "branches": "{% if 0 %}" + "{% elif 0 %}" * 330 + "{% endif %}",
}


@pytest.mark.parametrize("template", _NESTED.values(), ids=_NESTED.keys())
def test_the_longest_template_stays_far_from_the_end_of_a_stack(template: str) -> None:
    """In a process and on a thread of 2 MB, a quarter of the usual: an overflow would end the process."""
    assert len(template) <= 4_000
    program = (
        "import sys, threading\n"
        "from notify_core.domain.rendering.engine import Engine, CannotRender\n"
        "def run():\n"
        "    try:\n"
        "        engine = Engine()\n"
        "        engine.render(engine.add('f', sys.argv[1], 'plain'), {'x': 1})\n"
        "    except CannotRender:\n"
        "        pass\n"
        "    print('survived')\n"
        "threading.stack_size(2 * 1024 * 1024)\n"
        "thread = threading.Thread(target=run)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, template],
        env={"PYTHONPATH": str(Path(notify_core.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "survived\n")
