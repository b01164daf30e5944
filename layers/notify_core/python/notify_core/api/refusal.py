"""How the API says no: one exception, and its RFC 9457 body."""

from enum import Enum
from typing import Any

from notify_core.domain.limits import PROBLEMS_MAX
from notify_core.domain.problem import Problem


class Kind(Enum):
    """What can be wrong with a call: HTTP status, and the title that never changes."""

    BAD_REQUEST = (400, "The call can't be read")
    FORBIDDEN = (403, "The token doesn't allow this call")
    NOT_FOUND = (404, "There is no such thing")
    REFUSED = (409, "The present state doesn't allow this")
    TOO_LARGE = (413, "The body is too large")
    INVALID = (422, "Something has to be corrected")
    INTERNAL = (500, "The call failed")
    UNAVAILABLE = (503, "The call can't be served right now")

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.value[0]

    @property
    def title(self) -> str:
        """What this kind is, in a few words."""
        return self.value[1]


class Refusal(Exception):
    """A call that isn't served, with everything that its caller has to correct."""

    def __init__(self, kind: Kind, *problems: Problem) -> None:
        """Refuse a call for at least one problem."""
        super().__init__(kind, *problems)
        self.kind = kind
        self.problems = problems[:PROBLEMS_MAX]


def refusal(kind: Kind, field: str, code: str, message: str) -> Refusal:
    """A refusal for one problem; `field` is empty where the whole call is meant."""
    return Refusal(kind, Problem(field=field, code=code, message=message))


def problem_json(problem: Problem) -> dict[str, str]:
    """A problem, as in every answer that lists some."""
    return {"field": problem.field, "code": problem.code, "message": problem.message}


def details(refused: Refusal, invocation_id: str) -> dict[str, Any]:
    """The RFC 9457 body of a refusal; `instance` names the call as the logs do."""
    first, *others = refused.problems
    return {
        "type": f"urn:notify:problem:{refused.kind.name.lower()}",
        "title": refused.kind.title,
        "status": refused.kind.status,
        "detail": f"{first.message} (and {len(others)} more)" if others else first.message,
        "instance": f"urn:notify:call:{invocation_id}",
        "errors": [problem_json(problem) for problem in refused.problems],
    }
