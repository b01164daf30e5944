"""Seeded mutations of the product: code changed in place for a while, so that whoever judges it has to notice.

A mutation names what it changes by its address, and the text that it replaces there. Code that has moved since makes it
fail aloud, so a catalogue can't go stale in silence.
"""

import __future__

import ast
import builtins
import dis
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

ROOT = "notify_core."
Patch = Callable[[], AbstractContextManager[None]]


class Stale(LookupError):
    """What a mutation changes isn't there any more."""


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A seeded bug: which rule it breaks, and how the product is changed while it applies."""

    name: str
    rule: str
    apply: Patch


def mutation(name: str, rule: str, *patches: Patch) -> Mutation:
    """A mutation of one or several patches, applied together."""

    @contextmanager
    def apply() -> Iterator[None]:
        with ExitStack() as stack:
            for patch in patches:
                stack.enter_context(patch())
            yield

    return Mutation(name=name, rule=rule, apply=apply)


def edit(address: str, *replacements: tuple[str, str]) -> Patch:
    """Replace texts in the source of a function, a method or a property: `application.tasks:message_of`.

    Each text has to stand there exactly once. Every reference to the function runs the changed code, wherever it was
    imported to.
    """

    @contextmanager
    def patch() -> Iterator[None]:
        function = _function(address)
        before = function.__code__
        function.__code__ = _changed(function, address, replacements)
        try:
            yield
        finally:
            function.__code__ = before

    return patch


def constant(name: str, value: object) -> Patch:
    """Give a named number of `domain.limits`, or another name of the same in every module, another value."""

    @contextmanager
    def patch() -> Iterator[None]:
        holders = [module for module in _modules() if name in vars(module)]
        if not holders:
            raise Stale(f"no module has a {name}")
        before = [vars(module)[name] for module in holders]
        for module in holders:
            setattr(module, name, value)
        try:
            yield
        finally:
            for module, was in zip(holders, before, strict=True):
                setattr(module, name, was)

    return patch


def _modules() -> list[Any]:
    return [module for name, module in list(sys.modules.items()) if name.startswith(ROOT) and module is not None]


def _function(address: str) -> FunctionType:
    module, _, path = address.partition(":")
    found: Any = import_module(ROOT + module)
    for name in path.split("."):
        try:
            found = inspect.getattr_static(found, name)
        except AttributeError as missing:
            raise Stale(f"{address} is gone") from missing
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or inspect.unwrap(found)
    if not isinstance(found, FunctionType):
        raise Stale(f"{address} is no function")
    return found


def _changed(function: FunctionType, address: str, replacements: tuple[tuple[str, str], ...]) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in replacements:
        if source.count(old) != 1:
            raise Stale(f"{address} has {old!r} {source.count(old)} times, not once")
        source = source.replace(old, new)
    tree = ast.parse(source)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list.clear()
    scope = dict(function.__globals__)
    compiled = compile(tree, f"<{address} mutated>", "exec", flags=__future__.annotations.compiler_flag)
    exec(compiled, scope)
    code = scope[function.__name__].__code__
    if code.co_freevars != function.__code__.co_freevars:
        raise Stale(f"{address} is a closure")
    if unknown := _globals_of(code) - function.__globals__.keys() - vars(builtins).keys():
        raise Stale(f"{address} knows no {', '.join(sorted(unknown))}")
    return code


def _globals_of(code: CodeType) -> set[str]:
    """The global names that a code reads, its inner functions included: a slip here would look like a bug found."""
    names = {item.argval for item in dis.get_instructions(code) if item.opname == "LOAD_GLOBAL"}
    return names.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))
