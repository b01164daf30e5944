"""What was asked of the platform and what it answered, each with the time it began and the time it was over."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from notify_core.application.refusals import NotFound
from notify_core.application.withdraw_request import WithdrawalAnswer
from notify_core.domain.limits import STORE_TIMEOUT_SECONDS
from notify_core.domain.request import InvalidPublication, Malformed, Publication, Withdrawal
from notify_core.domain.request_lifecycle import RequestState
from tests.simulation.kernel import Kernel, Process

_LATE = timedelta(seconds=STORE_TIMEOUT_SECONDS)
"""How long after its caller gave up a write may still land."""


@dataclass(eq=False, kw_only=True)
class Operation:
    """One call of the platform; `asked` is what it named, `answer` what came back, None where nothing did."""

    kind: str
    """process, bury, withdraw, withdraw_key, read or retire."""
    asked: Any
    began: datetime
    process: Process
    answer: Any = None
    answered_at: datetime | None = None
    failed_at: datetime | None = None

    @property
    def over_at(self) -> datetime:
        """When its effect, if it had one, was certainly there."""
        if self.answered_at is not None:
            return self.answered_at
        gone_at = self.failed_at or self.process.root.died_at
        return datetime.max.replace(tzinfo=self.began.tzinfo) if gone_at is None else gone_at + _LATE


@dataclass(eq=False)
class Operations:
    """Every operation of a run, in the order in which they began."""

    kernel: Kernel
    all: list[Operation] = field(default_factory=list[Operation])
    _running: dict[Process, Operation] = field(default_factory=dict[Process, Operation])

    @contextmanager
    def of_message(self, parsed: Publication | InvalidPublication | Withdrawal | Malformed) -> Iterator[None]:
        """A message from the producers' queue is processed."""
        match parsed:
            case Withdrawal():
                kind = "withdraw" if parsed.request_key is not None else "withdraw_key"
            case Malformed():
                yield
                return
            case _:
                kind = "process"
        with self.during(kind, parsed) as operation:
            yield
            if operation.answered_at is None:
                self.answer(operation, "later" if kind == "process" else None)

    @contextmanager
    def of_dead_message(self, parsed: Publication | InvalidPublication | Withdrawal | Malformed) -> Iterator[None]:
        """A dead letter is recorded: what that comes to isn't said."""
        if not isinstance(parsed, Publication | InvalidPublication):
            with self.of_message(parsed):
                yield
            return
        with self.during("bury", parsed):
            yield

    @contextmanager
    def during(self, kind: str, asked: Any) -> Iterator[Operation]:
        """An operation of the process that runs; it never ends where the process dies."""
        process = self.kernel.current
        operation = Operation(kind=kind, asked=asked, began=self.kernel.at, process=process)
        self.all.append(operation)
        self._running[process] = operation
        try:
            yield operation
        except NotFound:
            self.answer(operation, None)
            raise
        except Exception:
            operation.failed_at = self.kernel.at
            raise
        else:
            if operation.answered_at is None:
                operation.failed_at = self.kernel.at
        finally:
            self._running.pop(process, None)

    def answer(self, operation: Operation, answer: Any) -> None:
        """Its answer, known from now on."""
        operation.answer, operation.answered_at = answer, self.kernel.at

    def heard(self, metric: str, dimensions: Mapping[str, str]) -> None:
        """What the platform counts tells how the operation of the process went, as soon as it is written."""
        operation = self._running.get(self.kernel.current) if self._running else None
        if operation is None or operation.answered_at is not None:
            return
        match operation.kind, metric:
            case "process", "request_moves" if dimensions["state"] != RequestState.QUEUED:
                self.answer(operation, dimensions["state"])
            case "process", "publications_repeated":
                self.answer(operation, "repeated")
            case (("withdraw" | "withdraw_key"), "withdrawals"):
                self.answer(operation, WithdrawalResultOnly(dimensions["result"]))
            case (("withdraw" | "withdraw_key"), "messages_malformed"):
                self.answer(operation, WithdrawalResultOnly("refused"))
            case _:
                pass


@dataclass(frozen=True, slots=True)
class WithdrawalResultOnly:
    """The answer to a withdrawal of which only the result is heard."""

    result: str


def answer_of(answer: WithdrawalAnswer, keys: Mapping[str, tuple[str, str]]) -> object:
    """A withdrawal's answer as the specification knows it: result, definition and request key by id, state."""
    key = None if answer.request_id is None else keys[answer.request_id]
    return str(answer.result), key, None if answer.state is None else str(answer.state)
