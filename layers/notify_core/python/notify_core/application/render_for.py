"""Rendering a definition's text for a person."""

from collections.abc import Mapping

from notify_core.domain.channel import Channel
from notify_core.domain.definition import Definition
from notify_core.domain.directory import Person
from notify_core.domain.rendering import Content, render


def render_for(
    definition: Definition,
    channel: Channel,
    data: Mapping[str, object],
    person: Person | None,
    *,
    others: int = 0,
) -> Content:
    """A person's text on a channel (nobody's for an HQ alert); CannotRender names what is wrong."""
    name, locale = (person.name, person.locale) if person else ("", None)
    return render(definition, channel, data, name=name, locale=locale, others=others)
