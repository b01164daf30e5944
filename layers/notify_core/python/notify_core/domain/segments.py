"""How a text message travels: the characters it is sent in, and the parts it is cut into.

Sources: 3GPP TS 23.038 (alphabet) and 23.040 (concatenation).
"""

import unicodedata
from collections.abc import Iterable
from typing import Final

_GSM_7: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM_7_DOUBLE: Final = frozenset("\f^{}\\[~]|€")
"""They take two septets: an escape, then the character."""
_GSM_7_ALL: Final = _GSM_7 | _GSM_7_DOUBLE
_GSM_7_ALONE, _GSM_7_JOINED = 160, 153
_UCS_2_ALONE, _UCS_2_JOINED = 70, 67
_BASIC_PLANE_LAST: Final = "\uffff"

_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u2039\u203a", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys(
            "\t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        **dict.fromkeys("\u00ad\u200b\u2060\ufeff", ""),
        **dict.fromkeys("\u2028\u2029", "\n"),
        "\u2026": "...",
    }
)
_CONTROLS: Final = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], None) | {0x0A: "\n"}


def normalise(text: str) -> str:
    """The text with typographic quotes, dashes and spaces made plain, so that one of them doesn't double its price.

    Characters that join others (in emoji, in Persian) stay; controls but the line break go.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", lines).translate(_PLAIN).translate(_CONTROLS).strip()


def count_segments(text: str) -> int:
    """In how many parts the text is sent, and paid for; a character of two units isn't split between parts."""
    if _GSM_7_ALL.issuperset(text):
        return _count((2 if character in _GSM_7_DOUBLE else 1 for character in text), _GSM_7_ALONE, _GSM_7_JOINED)
    return _count((2 if character > _BASIC_PLANE_LAST else 1 for character in text), _UCS_2_ALONE, _UCS_2_JOINED)


def _count(units: Iterable[int], alone: int, joined: int) -> int:
    total, parts, used = 0, 1, 0
    for unit in units:
        total += unit
        if used + unit > joined:
            parts, used = parts + 1, 0
        used += unit
    return parts if total > alone else 1
