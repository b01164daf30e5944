"""What crosses a wire, checked: from JSON to the domain's values, or to everything that is wrong with it.

What only registering needs stands in `messages.registry`, so that no queue's function loads it.
"""

from notify_core.messages.json_text import NotJson, read_json
from notify_core.messages.publications import content_hash, parse_message, parse_publication, parse_withdrawal

__all__ = [
    "NotJson",
    "content_hash",
    "parse_message",
    "parse_publication",
    "parse_withdrawal",
    "read_json",
]
