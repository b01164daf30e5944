"""What crosses a wire, checked: from JSON to the domain's values, or to everything that is wrong with it."""

from notify_core.messages.json_text import NotJson, read_json
from notify_core.messages.publications import content_hash, parse_message, parse_publication, parse_withdrawal
from notify_core.messages.registry import parse_definition, parse_person, parse_workspace

__all__ = [
    "NotJson",
    "content_hash",
    "parse_definition",
    "parse_message",
    "parse_person",
    "parse_publication",
    "parse_withdrawal",
    "parse_workspace",
    "read_json",
]
