"""What DynamoDB charges for a row, by its documented rules."""

from collections.abc import Mapping
from typing import Any

UNIT_BYTES = 1024


def item_size_bytes(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Attribute names and values, in DynamoDB's own form."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def write_units(size_bytes: int) -> int:
    """Units of one write, and the same again for each index whose entry it writes."""
    return -(-size_bytes // UNIT_BYTES)


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            digits = len(content.lstrip("-").replace(".", "").strip("0"))
            return (digits + 1) // 2 + 1 + content.startswith("-")
        case "BOOL" | "NULL":
            return 1
        case _:
            raise ValueError(f"no row of ours holds a {kind}")
