"""JSON Schema for a publication's data: checking a schema when it is registered, and data against it.

A schema can't make a check slow or endless: its regular expressions run in linear time, its references stay within it
and never lead back to themselves, and its size with all references written out is bounded.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from jsonschema_rs import (
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    RegexOptions,
    ValidationError,
    ValidationErrorKind,
    Validator,
)

from notify_core.domain.definition import RESERVED_FIELD, Definition
from notify_core.domain.limits import (
    PATTERN_BYTES_MAX,
    PROBLEMS_MAX,
    SCHEMA_BYTES_MAX,
    SCHEMA_DEPTH_MAX,
    SCHEMA_STEPS_MAX,
    SUBSCHEMAS_MAX,
)
from notify_core.domain.memo import Memo
from notify_core.domain.problem import Path, Problem, ProblemCode, problem

_QUOTED_CHARACTERS_MAX: Final = 200
_VALIDATORS: Final[Mapping[str, type[Validator]]] = {
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "http://json-schema.org/draft-07/schema": Draft7Validator,
}
_NEWEST: Final = "https://json-schema.org/draft/2020-12/schema"
_MOVING: Final = ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "$id")
"""What would make a reference lead elsewhere than its pointer says."""


# ---------------------------------------------------------------- schemas


def check_schema(schema: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Whether it is a JSON Schema that data can be checked against; fields begin with `schema`."""
    for check in (_check_bounds, _check_meaning, _check_purpose):
        if problems := tuple(check(schema)):
            return problems
    return ()


def _check_bounds(schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Whether it is small, and leads nowhere else."""
    if len(json.dumps(schema)) > SCHEMA_BYTES_MAX:
        yield problem("schema", ProblemCode.TOO_LARGE, f"it may have {SCHEMA_BYTES_MAX} bytes at most")
    elif _dialect(schema) not in _VALIDATORS:
        known = ", ".join(_VALIDATORS)
        yield problem("schema.$schema", ProblemCode.NOT_ALLOWED, f"leave it out, or use one of: {known}")
    else:
        yield from _check_references(schema)


def _check_references(schema: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        count = _Measure(schema).size().count
    except _BadReference as bad:
        yield bad.problem
        return
    if count > SUBSCHEMAS_MAX:
        message = f"with its references written out it has {count} parts; use {SUBSCHEMAS_MAX} at most"
        yield problem("schema", ProblemCode.TOO_LARGE, message)


def _check_meaning(schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Whether JSON Schema itself knows what it says."""
    try:
        _compile(schema)
    except ValidationError as error:
        yield problem(("schema", *error.instance_path), ProblemCode.INVALID_SCHEMA, _schema_remedy(error))
    except ValueError:
        yield problem("schema", ProblemCode.INVALID_SCHEMA, "this is no JSON Schema; check it with any validator")


def _check_purpose(schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Whether the data of a publication can satisfy it."""
    if "object" not in schema.get("type", ["object"]):  # a type's name, or a list of them
        yield problem("schema.type", ProblemCode.NOT_ALLOWED, 'the data is an object: use "object"')
    if RESERVED_FIELD in schema.get("properties", {}):
        message = "templates call the person who is told so; choose another name"
        yield problem(f"schema.properties.{RESERVED_FIELD}", ProblemCode.RESERVED_FIELD, message)


def _dialect(schema: Mapping[str, Any]) -> object:
    dialect = schema.get("$schema", _NEWEST)
    return dialect.removesuffix("#") if isinstance(dialect, str) else None


def _schema_remedy(error: ValidationError) -> str:
    match error.kind:
        case ValidationErrorKind.Format(format="regex"):
            return "write a regular expression without look-around, back references and very large repetitions"
        case kind:
            return f"JSON Schema doesn't allow this value here ({kind.name})"


class _BadReference(Exception):
    """A reference that the platform doesn't follow."""

    def __init__(self, path: Path, code: ProblemCode, message: str) -> None:
        self.problem = problem(("schema", *path), code, message)


@dataclass(frozen=True, slots=True)
class _Size:
    """How many objects a part of a schema holds, and how deep they nest, with every reference written out."""

    count: int = 0
    depth: int = 0


class _Measure:
    """Measures a schema, taking every object in it for a schema; _BadReference for what it doesn't follow."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._known: dict[str, _Size] = {}

    def size(self) -> _Size:
        """The size of the whole schema."""
        return self._size(self._root, (), frozenset({"#"}))

    def _size(self, value: object, path: Path, within: frozenset[str]) -> _Size:
        if isinstance(value, list):
            parts = [(str(index), part) for index, part in enumerate(cast("list[object]", value))]
            return self._sum(0, parts, path, within)
        if not isinstance(value, dict):
            return _Size()
        fields = cast("dict[str, object]", value)
        self._check_names(fields, path)
        whole = self._sum(1, list(fields.items()), path, within)
        reference = fields.get("$ref")
        if not isinstance(reference, str):
            return whole
        referred = self._follow(reference, (*path, "$ref"), within)
        return self._checked(_Size(whole.count + referred.count, max(whole.depth, referred.depth + 1)), path)

    def _sum(self, own: int, parts: list[tuple[str, object]], path: Path, within: frozenset[str]) -> _Size:
        sizes = [self._size(part, (*path, name), within) for name, part in parts]
        count = own + sum(size.count for size in sizes)
        return self._checked(_Size(count, 1 + max((size.depth for size in sizes), default=0)), path)

    def _checked(self, size: _Size, path: Path) -> _Size:
        if len(path) + size.depth > SCHEMA_DEPTH_MAX:
            message = f"with its references written out it nests deeper than {SCHEMA_DEPTH_MAX} levels; simplify it"
            raise _BadReference((), ProblemCode.TOO_DEEP, message)
        return size

    def _check_names(self, fields: Mapping[str, object], path: Path) -> None:
        for name in _MOVING:
            if isinstance(fields.get(name), (str, bool)) and (path or name != "$id"):
                message = "name what is referred to under $defs, and refer to it as #/$defs/name"
                raise _BadReference((*path, name), ProblemCode.INVALID_REFERENCE, message)

    def _follow(self, reference: str, path: Path, within: frozenset[str]) -> _Size:
        if reference in within:
            message = "write the schema without recursion: this leads back to itself"
            raise _BadReference(path, ProblemCode.INVALID_REFERENCE, message)
        if reference not in self._known:
            self._known[reference] = self._size(self._target(reference, path), path, within | {reference})
        return self._known[reference]

    def _target(self, reference: str, path: Path) -> object:
        """The part that a pointer leads to; with a percent sign validators go elsewhere: they read `%61` as `a`."""
        value: object = self._root
        head, *steps = reference.split("/")
        for step in steps:
            name = step.replace("~1", "/").replace("~0", "~")
            value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
        if head != "#" or not steps or value is None or "%" in reference:
            message = "refer to a part of this schema, as #/$defs/name; nothing else is read"
            raise _BadReference(path, ProblemCode.INVALID_REFERENCE, message)
        return value


# ---------------------------------------------------------------- data


def check_data(definition: Definition, data: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Everything that is wrong with the data, a hundred problems at most; their messages don't quote it."""
    compiled = _COMPILED.of(definition)
    value = dict(data)
    if compiled.validator.is_valid(value):
        return ()
    problems = (problem for error in _errors(compiled, value) for problem in _problems_of(error))
    return tuple(islice(problems, PROBLEMS_MAX))


def _errors(compiled: "_CompiledSchema", value: dict[str, Any]) -> Iterator[ValidationError]:
    """All errors where listing them is cheap, else the first: each one copies the values that it is about."""
    if compiled.subschemas * _count_values(value) <= SCHEMA_STEPS_MAX:
        yield from compiled.validator.iter_errors(value)
        return
    try:
        compiled.validator.validate(value)
    except ValidationError as error:
        yield error


def _count_values(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count_values, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return 1 + sum(map(_count_values, cast("list[object]", value)))
    return 1


def _problems_of(error: ValidationError) -> Iterator[Problem]:
    path = ("data", *error.instance_path)
    match error.kind:
        case ValidationErrorKind.Required(property=name):
            yield problem((*path, name), ProblemCode.REQUIRED, "add this field")
        case (
            ValidationErrorKind.AdditionalProperties(unexpected=names)
            | ValidationErrorKind.UnevaluatedProperties(unexpected=names)
        ):
            for name in names:
                yield problem((*path, name), ProblemCode.UNKNOWN_FIELD, "remove this field")
        case kind:
            code, remedy = _REMEDIES.get(kind.name, _OTHER)
            yield problem(path, code, remedy(kind.as_dict()))


_Remedy = Callable[[Mapping[str, Any]], str]


def _quoted(value: object) -> str:
    """Something of the schema, shortened."""
    return json.dumps(value, ensure_ascii=False)[:_QUOTED_CHARACTERS_MAX]


_OTHER: Final[tuple[ProblemCode, _Remedy]] = (
    ProblemCode.NOT_ALLOWED,
    lambda _: "correct it as the definition's schema asks",
)
_REMEDIES: Final[Mapping[str, tuple[ProblemCode, _Remedy]]] = {
    "type": (ProblemCode.TYPE, lambda about: f"its type has to be {' or '.join(about['types'])}"),
    "enum": (ProblemCode.NOT_ALLOWED, lambda about: f"use one of {_quoted(about['options'])}"),
    "const": (ProblemCode.NOT_ALLOWED, lambda about: f"use {_quoted(about['expected_value'])}"),
    "format": (ProblemCode.FORMAT, lambda about: f"write it in the format {about['format']}"),
    "pattern": (ProblemCode.PATTERN, lambda about: f"match the pattern {_quoted(about['pattern'])}"),
    "multipleOf": (ProblemCode.OUT_OF_RANGE, lambda about: f"use a multiple of {about['multiple_of']}"),
    "minLength": (ProblemCode.TOO_SHORT, lambda about: f"use at least {_quoted(about['limit'])} characters"),
    "maxLength": (ProblemCode.TOO_LONG, lambda about: f"use at most {_quoted(about['limit'])} characters"),
    "minimum": (ProblemCode.TOO_SMALL, lambda about: f"use at least {_quoted(about['limit'])}"),
    "exclusiveMinimum": (ProblemCode.TOO_SMALL, lambda about: f"use more than {_quoted(about['limit'])}"),
    "maximum": (ProblemCode.TOO_LARGE, lambda about: f"use at most {_quoted(about['limit'])}"),
    "exclusiveMaximum": (ProblemCode.TOO_LARGE, lambda about: f"use less than {_quoted(about['limit'])}"),
    "minItems": (ProblemCode.TOO_FEW, lambda about: f"list at least {_quoted(about['limit'])} items"),
    "maxItems": (ProblemCode.TOO_MANY, lambda about: f"list at most {_quoted(about['limit'])} items"),
    "minProperties": (ProblemCode.TOO_FEW, lambda about: f"use at least {_quoted(about['limit'])} fields"),
    "maxProperties": (ProblemCode.TOO_MANY, lambda about: f"use at most {_quoted(about['limit'])} fields"),
    "falseSchema": (ProblemCode.NOT_ALLOWED, lambda _: "remove it: the definition's schema allows nothing here"),
    "uniqueItems": (ProblemCode.NOT_UNIQUE, lambda _: "list every item only once"),
}


# ---------------------------------------------------------------- compiling


@dataclass(frozen=True, slots=True)
class _CompiledSchema:
    """A schema ready for use, with its size."""

    validator: Validator
    subschemas: int


def _compile(schema: Mapping[str, Any]) -> _CompiledSchema:
    """Raises ValueError (ValidationError among them) for what is no schema."""
    validator = _VALIDATORS[str(_dialect(schema))](
        dict(schema),
        validate_formats=True,
        offline=True,
        pattern_options=RegexOptions(size_limit=PATTERN_BYTES_MAX, dfa_size_limit=PATTERN_BYTES_MAX),
    )
    return _CompiledSchema(validator, _Measure(schema).size().count)


_COMPILED: Final = Memo[Mapping[str, Any], _CompiledSchema](lambda definition: definition.schema, _compile)
