"""What the environment can choose about the local stack."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from infra.layers import ROOT

TEXTS: Final = TypeAdapter(dict[str, str])
PORT: Final = 4566
CONCURRENCY_MAX: Final = 4
PORT_MAX: Final = 65_535


class OptionInvalid(ValueError):
    """An environment variable can't be used; the message names it and says what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The choices for one local stack."""

    folder: Path
    """Where its state is kept (NOTIFY_LOCAL_DIR): two stacks live side by side in two folders."""
    port: int
    """The emulator's port (NOTIFY_PORT)."""
    simulator_port: int | None
    """The simulator's port (NOTIFY_SIMULATOR_PORT); None: the one it had, or a free one."""
    schedules: bool
    """Whether the sweeps run by themselves (NOTIFY_SCHEDULES)."""
    enforce_iam: bool
    """Whether the functions can do only what their roles allow (NOTIFY_ENFORCE_IAM)."""
    concurrency_max: int
    """Invocations of one function at once (NOTIFY_CONCURRENCY): each is a process here."""
    function_environment: Mapping[str, str]
    """Variables for every function (NOTIFY_FUNCTION_ENVIRONMENT, JSON): endpoints, for one."""


def read_options(environment: Mapping[str, str]) -> Options:
    """The options in the environment's variables.

    Raises:
        OptionInvalid: a variable can't be used.
    """
    return Options(
        folder=Path(environment.get("NOTIFY_LOCAL_DIR") or ROOT / ".local").absolute(),
        port=_number(environment, "NOTIFY_PORT", 1, PORT_MAX) or PORT,
        simulator_port=_number(environment, "NOTIFY_SIMULATOR_PORT", 1, PORT_MAX),
        schedules=_flag(environment, "NOTIFY_SCHEDULES", default=True),
        enforce_iam=_flag(environment, "NOTIFY_ENFORCE_IAM", default=False),
        concurrency_max=_number(environment, "NOTIFY_CONCURRENCY", 2, 1000) or CONCURRENCY_MAX,
        function_environment=_texts(environment, "NOTIFY_FUNCTION_ENVIRONMENT"),
    )


def _number(environment: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    text = environment.get(name)
    if not text:
        return None
    if text.isdecimal() and least <= int(text) <= most:
        return int(text)
    raise OptionInvalid(f"{name}={text}: give a whole number from {least} to {most}")


def _flag(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environment.get(name)
    if not text:
        return default
    if text in {"true", "false"}:
        return text == "true"
    raise OptionInvalid(f"{name}={text}: give true or false")


def _texts(environment: Mapping[str, str], name: str) -> Mapping[str, str]:
    text = environment.get(name) or "{}"
    try:
        return TEXTS.validate_json(text)
    except ValidationError:
        raise OptionInvalid(f"{name}={text}: give a JSON object of texts") from None
