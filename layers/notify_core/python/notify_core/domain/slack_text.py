"""Text as Slack reads it: three characters are markup and have to be escaped in what others wrote."""

from typing import Final

_ELLIPSIS: Final = "…"
_ENTITY_CHARACTERS: Final = len("&amp;")


def escape(text: str) -> str:
    """The text with `&`, `<` and `>` escaped: it can't mention anybody (`<!channel>`) nor hide a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, limit: int) -> str:
    """The text, where it is longer than `limit` characters ended by an ellipsis, never inside an entity or a link."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(_ELLIPSIS)]
    opened = kept.rfind("<")
    if opened > kept.rfind(">"):
        kept = kept[:opened]
    ampersand = kept.rfind("&", -_ENTITY_CHARACTERS)
    if ampersand >= 0 and ";" not in kept[ampersand:]:
        kept = kept[:ampersand]
    return kept.rstrip() + _ELLIPSIS
