"""What an operator asked for and can't have."""

from notify_core.domain.problem import Problem


class NotFound(LookupError):
    """A thing that was named isn't there; `field` is the name that led nowhere."""

    def __init__(self, field: str, code: str, message: str) -> None:
        """Name what is missing, and what to do about it."""
        super().__init__(f"{field}: {message}")
        self.field, self.code, self.message = field, code, message


class Invalid(ValueError):
    """What was asked for has to be corrected first."""

    def __init__(self, *problems: Problem) -> None:
        """Name everything that has to be corrected."""
        super().__init__(*problems)
        self.problems = problems


def workspace_not_found() -> NotFound:
    """No workspace is registered under the name."""
    return NotFound("workspace_id", "workspace_not_found", "register the workspace first")


def definition_not_found() -> NotFound:
    """No definition was ever registered under the key."""
    return NotFound("definition", "definition_not_found", "the workspace has no definition of this key")


def request_not_found() -> NotFound:
    """No request of this id has been processed."""
    return NotFound("request_id", "request_not_found", "no publication of this id has been processed yet")


def notice_not_found() -> NotFound:
    """The recipient has no notice of this id."""
    return NotFound("notice_id", "notice_not_found", "the recipient has no notice of this id")


def definition_version_not_found() -> NotFound:
    """The definition has no such version."""
    return NotFound("version", "version_not_found", "the definition has no version of this number")
