"""Problems: what a producer or an operator has to correct."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FIELD_CHARACTERS_MAX: Final = 200


class ProblemCode(StrEnum):
    """What can be wrong with a message, a person or a definition, as far as its content tells."""

    REQUIRED = "required"
    UNKNOWN_FIELD = "unknown_field"
    REPEATED_FIELD = "repeated_field"
    RESERVED_FIELD = "reserved_field"
    TYPE = "type"
    FORMAT = "format"
    PATTERN = "pattern"
    NOT_ALLOWED = "not_allowed"
    NOT_UNIQUE = "not_unique"
    EMPTY = "empty"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    TOO_FEW = "too_few"
    TOO_MANY = "too_many"
    TOO_SMALL = "too_small"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    OUT_OF_RANGE = "out_of_range"
    INVALID_IDENTIFIER = "invalid_identifier"
    INVALID_KEY = "invalid_key"
    INVALID_TIME = "invalid_time"
    INVALID_DURATION = "invalid_duration"
    INVALID_TEXT = "invalid_text"
    TOO_MANY_RECIPIENTS = "too_many_recipients"
    INVALID_SCHEMA = "invalid_schema"
    INVALID_REFERENCE = "invalid_reference"
    INVALID_TEMPLATE = "invalid_template"
    UNDEFINED_VARIABLE = "undefined_variable"
    TEMPLATE_TOO_EXPENSIVE = "template_too_expensive"
    TEMPLATE_ERROR = "template_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to correct: `field` is dotted (`data.number`), `code` is listed; `message` names the remedy."""

    field: str
    code: str
    message: str


Path = tuple[str | int, ...]
"""A place in JSON: names of fields and positions in lists."""


def problem(place: str | Path, code: ProblemCode, message: str) -> Problem:
    """A problem at a place, which is dotted already or a path."""
    field = place if isinstance(place, str) else field_path(*place)
    return Problem(field=field, code=code, message=message)


def field_path(*parts: str | int) -> str:
    """A place in JSON, dotted, fit to be stored: cut where it is very long, lone surrogates replaced."""
    dotted = ".".join(str(part) for part in parts if part != "")
    return dotted[:FIELD_CHARACTERS_MAX].encode(errors="replace").decode()
