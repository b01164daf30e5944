"""How a text travels: its encoding and the parts it is cut into (3GPP TS 23.038 and 23.040)."""

from dataclasses import dataclass
from typing import Final

_GSM_7: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM_7_DOUBLE: Final = frozenset("\f^{}\\[~]|€")


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel:
    """The encoding as the service's events name it, and the number of parts."""

    encoding: str
    parts: int


def travel_of(text: str) -> Travel:
    """How this text travels; a character that takes two units isn't split between parts."""
    if set(text) <= _GSM_7 | _GSM_7_DOUBLE:
        return Travel(encoding="GSM", parts=_parts([2 if c in _GSM_7_DOUBLE else 1 for c in text], 160, 153))
    return Travel(encoding="Unicode", parts=_parts([len(c.encode("utf-16-le")) // 2 for c in text], 70, 67))


def _parts(units: list[int], alone: int, joined: int) -> int:
    if sum(units) <= alone:
        return 1
    parts, used = 1, 0
    for unit in units:
        if used + unit > joined:
            parts, used = parts + 1, 0
        used += unit
    return parts
