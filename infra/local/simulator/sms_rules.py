"""What the SMS service refuses to take: the constraints of its own model, which comes with botocore."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape

from infra.local.simulator.wire import as_list, as_object

_E164: Final = re.compile(r"\+[1-9][0-9]{1,14}")
_TYPES: Final[dict[str, tuple[type, ...]]] = {"string": (str,), "integer": (int,), "boolean": (bool,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A parameter that breaks a constraint, and the `Reason` that the service gives for it."""

    name: str
    message: str
    reason: str = "FIELD_VALIDATION_FAILED"


def violations(parameters: dict[str, object]) -> list[Violation]:
    """What is wrong with the parameters of `SendTextMessage`."""
    broken = [Violation(name=name, message=message) for name, message in _broken(_input_shape(), parameters, "")]
    return broken or list(_broken_beyond_the_model(parameters))


def _broken_beyond_the_model(parameters: dict[str, object]) -> Iterator[Violation]:
    if not _E164.fullmatch(str(parameters["DestinationPhoneNumber"])):
        yield Violation(name="DestinationPhoneNumber", message="must be in E.164", reason="INVALID_PARAMETER")
    if parameters.get("MessageBody") is None:
        yield Violation(name="MessageBody", message="must not be null", reason="MISSING_PARAMETER")


@cache
def _input_shape() -> Shape:
    model = ServiceModel(Loader().load_service_model("pinpoint-sms-voice-v2", "service-2"))
    shape = model.operation_model("SendTextMessage").input_shape
    assert shape is not None
    return shape


def _broken(shape: Shape, value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(shape, StructureShape):
        yield from _broken_structure(shape, value, name)
    elif isinstance(shape, MapShape):
        yield from _broken_map(shape, value, name)
    elif isinstance(shape, ListShape):
        for item in as_list(value) or []:
            yield from _broken(shape.member, item, name)
    else:
        yield from _broken_scalar(shape, value, name)


def _broken_structure(shape: StructureShape, value: object, name: str) -> Iterator[tuple[str, str]]:
    given = as_object(value)
    if given is None:
        yield name, "must be a structure"
        return
    for missing in shape.required_members:
        if given.get(missing) is None:
            yield missing, "must not be null"
    for member, member_shape in shape.members.items():
        if given.get(member) is not None:
            yield from _broken(member_shape, given[member], member)


def _broken_map(shape: MapShape, value: object, name: str) -> Iterator[tuple[str, str]]:
    given = as_object(value)
    if given is None:
        yield name, "must be a map"
        return
    yield from _outside(shape, len(given), name)
    for key, item in given.items():
        yield from _broken(shape.key, key, name)
        yield from _broken(shape.value, item, name)


def _broken_scalar(shape: Shape, value: object, name: str) -> Iterator[tuple[str, str]]:
    types = _TYPES[shape.type_name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        yield name, f"must be of type {shape.type_name}"
    elif isinstance(shape, StringShape) and isinstance(value, str):
        yield from _outside(shape, len(value), name)
        if shape.enum and value not in shape.enum:
            yield name, f"must be one of {', '.join(shape.enum)}"
        if (pattern := shape.metadata.get("pattern")) and not re.fullmatch(pattern, value):
            yield name, f"must match {pattern}"
    elif isinstance(value, int):
        yield from _outside(shape, value, name)


def _outside(shape: Shape, size: int, name: str) -> Iterator[tuple[str, str]]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield name, f"must not be less than {least}"
    if most is not None and size > most:
        yield name, f"must not be more than {most}"
