"""The types of fields as they cross a wire, and how what is wrong with one is told."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from notify_core.domain.channel import Channel
from notify_core.domain.identifiers import KEY_LENGTH_MAX, is_identifier, is_key
from notify_core.domain.limits import PROBLEMS_MAX
from notify_core.domain.problem import Problem, ProblemCode, field_path, problem
from notify_core.messages.json_text import find_faults


class Body(BaseModel):
    """A JSON object: nothing is coerced, nothing unknown is let pass, and its model is built when it is first read."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


AnyBody = TypeVar("AnyBody", bound=Body)


def read_body(model: type[AnyBody], body: object) -> AnyBody | tuple[Problem, ...]:
    """The body as the model has it, or everything that is wrong with it, a hundred problems at most."""
    faults = find_faults(body)
    if any(fault.code == ProblemCode.TOO_DEEP for fault in faults):
        return faults
    try:
        value = model.model_validate(body)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        return tuple(dict.fromkeys([*faults, *map(_problem, found[:PROBLEMS_MAX])]))[:PROBLEMS_MAX]
    return faults or value


# ---------------------------------------------------------------- problems

_OWN: Final = "problem"
"""The type of the errors that our own checks raise."""
_KEY_OF_OBJECT: Final = "[key]"
"""Where pydantic says that a name, and not its value, is wrong."""
_REMEDIES: Final[Mapping[str, tuple[ProblemCode, str]]] = {
    "missing": (ProblemCode.REQUIRED, "add this field"),
    "extra_forbidden": (ProblemCode.UNKNOWN_FIELD, "remove this field, or correct its name"),
    "string_type": (ProblemCode.TYPE, "this has to be text"),
    "string_unicode": (ProblemCode.INVALID_TEXT, "send whole characters: half of a surrogate pair is none"),
    "bool_type": (ProblemCode.TYPE, "this has to be true or false"),
    "int_type": (ProblemCode.TYPE, "this has to be a whole number"),
    "list_type": (ProblemCode.TYPE, "this has to be a list"),
    "dict_type": (ProblemCode.TYPE, "this has to be an object"),
    "model_type": (ProblemCode.TYPE, "this has to be an object"),
    "literal_error": (ProblemCode.NOT_ALLOWED, "use {expected}"),
    "string_too_short": (ProblemCode.TOO_SHORT, "use at least {min_length} characters"),
    "string_too_long": (ProblemCode.TOO_LONG, "use at most {max_length} characters"),
    "too_long": (ProblemCode.TOO_MANY, "list at most {max_length}"),
    "greater_than_equal": (ProblemCode.OUT_OF_RANGE, "use at least {ge}"),
    "less_than_equal": (ProblemCode.OUT_OF_RANGE, "use at most {le}"),
}
_OTHER: Final = (ProblemCode.NOT_ALLOWED, "this value isn't allowed here")


def _problem(error: ErrorDetails) -> Problem:
    """One of pydantic's errors in our words; the value stays out."""
    field = field_path(*(part for part in error["loc"] if part != _KEY_OF_OBJECT))
    about = error.get("ctx", {})
    if error["type"] == _OWN:
        return problem(field, about["code"], about["remedy"])
    code, remedy = _REMEDIES.get(error["type"], _OTHER)
    return problem(field, code, remedy.format_map(about))


# ---------------------------------------------------------------- field types

Value = TypeVar("Value")


def refused(code: ProblemCode, remedy: str) -> PydanticCustomError:
    """What a validator raises: a code and its remedy."""
    return PydanticCustomError(_OWN, "{remedy}", {"code": code, "remedy": remedy})


def checked(is_right: Callable[[Value], bool], code: ProblemCode, remedy: str) -> AfterValidator:
    """Refuses values that aren't right, with a code and its remedy."""

    def check(value: Value) -> Value:
        if not is_right(value):
            raise refused(code, remedy)
        return value

    return AfterValidator(check)


def _read(read: Callable[[str], Value | None], code: ProblemCode, remedy: str) -> BeforeValidator:
    """Reads values that are written as text."""

    def validate(value: object) -> Value:
        found = read(value) if isinstance(value, str) else None
        if found is None:
            raise refused(code, remedy)
        return found

    return BeforeValidator(validate)


IDENTIFIER_REMEDY: Final = "1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit"
KEY_REMEDY: Final = f"use 1 to {KEY_LENGTH_MAX} characters"
TIME_REMEDY: Final = "write a time with an offset, as in 2026-11-30T10:00:00Z"

Identifier = Annotated[str, checked(is_identifier, ProblemCode.INVALID_IDENTIFIER, IDENTIFIER_REMEDY)]
Key = Annotated[str, checked(is_key, ProblemCode.INVALID_KEY, KEY_REMEDY)]

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_YEAR_LIMIT: Final = 9_000
"""Beyond it adding a span could leave the calendar."""


def read_time(text: str) -> datetime | None:
    """The time in an RFC 3339 text with an offset, in UTC; None where it isn't one."""
    if _TIME.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _is_near(at: datetime) -> bool:
    return at.year < _YEAR_LIMIT


Time = Annotated[datetime, _read(read_time, ProblemCode.INVALID_TIME, TIME_REMEDY)]
Moment = Annotated[Time, checked(_is_near, ProblemCode.INVALID_TIME, "correct the year")]
"""When something was done, as its doer's clock tells."""

_DURATION: Final = re.compile(
    r"P(?!$)(?:(?P<weeks>\d{1,5})W)?(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?!$)(?:(?P<hours>\d{1,7})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,10})S)?)?",
    re.ASCII,
)


def read_duration(text: str) -> timedelta | None:
    """The length in an ISO 8601 duration of whole weeks, days, hours, minutes and seconds; None where it isn't one."""
    found = _DURATION.fullmatch(text)
    return timedelta(**{unit: int(count) for unit, count in found.groupdict("0").items()}) if found else None


Duration = Annotated[
    timedelta,
    _read(
        read_duration,
        ProblemCode.INVALID_DURATION,
        "write a duration of weeks, days, hours, minutes and seconds, as in P7D or PT1H30M",
    ),
]


def _among(*channels: Channel) -> BeforeValidator:
    names = {channel.value: channel for channel in channels}
    return _read(names.get, ProblemCode.NOT_ALLOWED, f"use one of: {', '.join(names)}")


AnyChannel = Annotated[Channel, _among(*Channel)]
PersonalChannel = Annotated[Channel, _among(Channel.CONSOLE, Channel.CHAT, Channel.TEXT)]
SentChannel = Annotated[Channel, _among(Channel.CHAT, Channel.TEXT)]
