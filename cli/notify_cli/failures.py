"""What can go wrong once a command is under way: it is told with its remedy, and the command exits with 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Failure(Exception):
    """Something was refused or failed; `problems` are the API's own, each with field, code and message."""

    title: str
    remedy: str = ""
    problems: Sequence[Mapping[str, str]] = ()
    status: int | None = None

    def __str__(self) -> str:
        """What happened and what to do, without the problems."""
        return f"{self.title}. {self.remedy}".rstrip() if self.remedy else self.title

    @property
    def codes(self) -> set[str]:
        """The problems' codes."""
        return {problem["code"] for problem in self.problems}

    def as_json(self) -> Mapping[str, Any]:
        """The same for machines."""
        return {
            "status": self.status,
            "title": self.title,
            "remedy": self.remedy or None,
            "errors": [dict(problem) for problem in self.problems],
        }
