"""A filter, test or function that the engine doesn't have is found when a definition is registered."""

from dataclasses import replace
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from minijinja import TemplateError

from notify_core.domain.channel import Channel
from notify_core.domain.definition_checks import check_definition
from notify_core.domain.problem import Problem
from notify_core.domain.rendering.engine import PLAIN, CannotRender, Engine
from notify_core.domain.rendering.words import unknown_words
from tests.builders import a_definition


@pytest.mark.parametrize(
    ("source", "unknown"),
    [
        ("{{ amount|currency }}", ["filter currency"]),
        ("{{ amount | upper | nope(1) | lower }}", ["filter nope"]),
        ("{% filter nope %}x{% endfilter %}", ["filter nope"]),
        ("{%- filter upper -%}x{%- endfilter -%}", []),
        ("{% set x = a|nope %}{{ a if a is string else b|title }}", ["filter nope"]),
        ("{% if never %}{{ a|nope }}{% endif %}", ["filter nope"]),
        ("{{ a|safe }} {{ a|e }}", ["filter safe", "filter e"]),
        ("{{ a|nope }} {{ b|nope }}", ["filter nope"]),
        ("{{ \"}} |nope\" }} {{ 'x|nope' }} {{ 'it\\'s|nope' }}", []),
        ("{# |nope #}{% raw %}{{ a|nope }}{% endraw %}text |nope is nope or f()", []),
        ("{% if a is oddd %}{% endif %}{% if a is not defined %}{% endif %}", ["test oddd"]),
        ("{{ a.is }} {{ {'is': 1}['is'] }} {{ a is in(b) }}", []),
        ("{{ today() }} {{ range(3) }}", ["function today"]),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1) }}", []),
        ("{% for i in xs if i is even %}{{ loop.cycle('a', 'b') }}{% endfor %}", []),
        ("{{ not (a) }} {{ a and (b) or (c) }}{% if (a) %}{% endif %}{% for x in (a) %}{% endfor %}", []),
        ("{{ filter or 'none' }} {{ filter is defined }} {{ filter if filter else 'all' }}", []),
        ("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}x{% endmacro %}{{ a() }}", []),
        ("{{ round }} {{ amount |  round(1) }} {{ amount |\n  round(1) }}", []),
        ("{{a|upper}}{%if a is odd%}{%endif%}", []),
        ("{{a|nope}}{%if a is oddd%}{%endif%}", ["filter nope", "test oddd"]),
        ("{{ 'a'is oddd }}", ["test oddd"]),
        ("{{ a|nope }}{{ today() }}", ["filter nope", "function today"]),
        ("{{ betrag|währung }}", ["filter währung"]),
        ("{{ a|first.name }} {{ (a|first).name }} {{ a is odd . b }}", ["filter first.name", "test odd.b"]),
        ("{{ {'fr': {'paid': 'payé'}}[a][b]|nope }}", ["filter nope"]),
        ("{{ {1: {2: {3: 4}}}|length }} {{ {1: {2: {3: 4}}}|nope }}", ["filter nope"]),
        ("{{ {'a': {'b': '}}'}} }} |nope {{ {} }} |nope", []),
        ("{# {% raw %} #}{{ a|nope }}{{ '{% endraw %}' }}", ["filter nope"]),
        ("{% raw %}{# '{% endraw %}{{ a|nope }}", ["filter nope"]),
        ("{{ a.upper() }}", []),  # a method is a matter of the data
        ("{{ xs|map('nope') }} {{ xs | map ( \"nope2\" ) | join }}", ["filter nope", "filter nope2"]),
        (
            "{{ xs|map('upper')|join }} {{ xs|map(attribute='nope')|join }} {{ xs|map('replace', 'a', 'nope')|join }}",
            [],
        ),
        ("{{ xs|select('nope')|list }} {{ xs|reject('nope2', 1)|list }}", ["test nope", "test nope2"]),
        ("{{ xs|selectattr('nope')|list }} {{ xs|select('odd')|reject('divisibleby', 2)|list }}", []),
        ("{{ xs|selectattr('a', 'nope')|list }} {{ xs|rejectattr(name, 'nope2', 1) }}", ["test nope", "test nope2"]),
        ("{% filter map('nope') %}x{% endfilter %}{% set y = xs|map('nope2') %}", ["filter nope", "filter nope2"]),
        ("{{ \"xs|map('nope')\" }} {{ 'it\\'s|map(\"nope\")' }} {{ map('nope') if map is defined }}", ["function map"]),
        ("{{ xs|map('0|nope') }} {{ xs|map(name) }} {{ xs|mapper('nope') }}", ["filter mapper"]),
    ],
)
def test_unknown_words_are_found_in_code_alone(source: str, unknown: list[str]) -> None:
    engine = Engine()
    engine.add("field", source, PLAIN)
    assert engine.unknown_words(source) == unknown


NAMES = st.sampled_from(["upper", "lower", "title", "nope", "default", "odd", "defined", "range", "length", "x"])
CODE = st.lists(
    st.sampled_from(
        [
            "{{{{ x|{} }}}}",
            "{{{{x|{} }}}}",
            "{{{{ x|first.{} }}}}",
            "{{{{ {{'a': {{'b': x}}}}|{} }}}}",
            "{{{{ 'a'|{} }}}}",
            "{{{{ x is {} }}}}",
            "{{{{ '|x'|{} }}}}",
            "{{% filter {} %}}y{{% endfilter %}}",
            "{{{{ [x]|map('{}')|list }}}}",
            "{{{{ [x]|reject('{}')|list }}}}",
            "{{{{ [x]|selectattr('a', '{}')|list }}}}",
        ]
    ).flatmap(lambda code: NAMES.map(code.format)),
    min_size=1,
    max_size=4,
).map(" ".join)


@given(CODE)
def test_whatever_would_be_unknown_while_rendering_is_found_before(source: str) -> None:
    engine = Engine()
    name = engine.add("field", source, PLAIN)
    try:
        engine.render(name, {"x": 1})
    except CannotRender as error:
        is_unknown = any(" is unknown" in item.message for item in error.problems)
    else:
        is_unknown = False
        assert engine.unknown_words(source) == []
    if is_unknown:
        assert engine.unknown_words(source) != []


def test_a_definition_with_an_unknown_filter_is_refused_with_its_place() -> None:
    chat = {
        "text": "{{ number|upper }}",
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "{{ x|nope }}"}}],
    }
    console = {"title": "T", "body": "B", "locales": {"fr": {"title": "{{ x|nope }}", "body": "{{ x is nope }}"}}}
    definition = replace(
        a_definition(channels=(Channel.CONSOLE, Channel.CHAT)), templates={Channel.CONSOLE: console, Channel.CHAT: chat}
    )
    assert check_definition(definition) == (
        Problem(field="templates.console.locales.fr.title", code="invalid_template", message="there is no filter nope"),
        Problem(field="templates.console.locales.fr.body", code="invalid_template", message="there is no test nope"),
        Problem(field="templates.chat.blocks.0.text.text", code="invalid_template", message="there is no filter nope"),
    )


def test_a_template_of_many_parts_is_gone_through_once() -> None:
    """Asking the engine for the unset names reads the whole template: not once for each part."""
    asked: list[str] = []

    class Asked:
        def undeclared_variables_in_str(self, source: str) -> set[str]:
            asked.append(source)
            return {"nope"}

        def eval_expr(self, expression: str) -> None:
            raise TemplateError(expression)

    list(unknown_words("{{ nope() }}" * 100, Asked()))  # type: ignore[arg-type]
    assert len(asked) == 1


@pytest.mark.parametrize(
    "source", ["{{{{ x{} }}}}", "{{{{ x|{}upper }}}}", "{{% if x{} %}}{{% endif %}}", "{{{{ x|map({}'upper') }}}}"]
)
def test_blanks_are_looked_through_once(source: str) -> None:
    """Hundredths of a second, even for ten times what a template may hold; it was many seconds."""
    began = process_time()
    assert Engine().unknown_words(source.format(" " * 40_000)) == []
    assert process_time() - began < 2
