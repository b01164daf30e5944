"""How large DynamoDB says an item is, by its documented rules ("DynamoDB item sizes and formats")."""

from collections.abc import Mapping
from typing import Any, Final

Item = Mapping[str, Mapping[str, Any]]
"""Attributes in DynamoDB's own form: `{"pk": {"S": "R#acme#1"}}`."""

STORED_OVERHEAD_BYTES: Final = 100
"""What is stored, and paid for by the month, beside each item; an index entry has as much."""
_DOCUMENT_BYTES: Final = 3
_ELEMENT_BYTES: Final = 1


def item_bytes(item: Item) -> int:
    """Attribute names and values."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def value_bytes(value: Mapping[str, Any]) -> int:
    """A value without its name; numbers take a byte for two significant digits, and one more."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _number_bytes(content)
        case "B":
            return len(content)
        case "BOOL" | "NULL":
            return 1
        case "SS" | "NS" | "BS":
            return sum(value_bytes({kind[0]: element}) for element in content)
        case "L":
            return _DOCUMENT_BYTES + sum(_ELEMENT_BYTES + value_bytes(element) for element in content)
        case "M":
            return _DOCUMENT_BYTES + item_bytes(content) + _ELEMENT_BYTES * len(content)
        case _:
            raise ValueError(f"DynamoDB has no type {kind}")


def _number_bytes(digits: str) -> int:
    significant = len(digits.lstrip("-").replace(".", "").strip("0"))
    return (significant + 1) // 2 + 1 + digits.startswith("-")
