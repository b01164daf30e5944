"""Languages as people and templates name them: BCP 47, as in `fr` or `fr-CA`."""

import re
from typing import Final

_LOCALE: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")


def is_locale(text: str) -> bool:
    """Whether a language may be named so."""
    return _LOCALE.fullmatch(text) is not None
