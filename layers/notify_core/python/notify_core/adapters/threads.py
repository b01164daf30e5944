"""Doing several things at once, in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from time import monotonic
from typing import Final, TypeVar

from notify_core.application.ports import QUICK_TASKS_AT_ONCE

T = TypeVar("T")

WORKERS: Final = 32
QUICK_SECONDS: Final = 0.05
"""A task that takes longer waits for something: then all that are left are run at once."""


class ThreadGather:
    """ports.Gather over one pool a process; its threads start when they are first needed.

    The caller works too: what no pool thread has begun yet, it runs itself. So it only ever waits for tasks
    that are running, and a task may gather again, to any depth, without a deadlock.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def __call__(self, tasks: Sequence[Callable[[], T]], *, at_once: int = QUICK_TASKS_AT_ONCE) -> list[T]:
        """Each task's value, in order, once all have ended; the first failure is raised after that."""
        ends: list[Future[T]] = [Future() for _ in tasks]
        left = iter(list(enumerate(zip(tasks, ends, strict=True), start=1)))
        helpers: list[Future[None]] = []

        def work_off() -> None:
            for begun, (task, end) in left:  # shared by all that help: each task is one's
                seconds = _run(task, end)
                if seconds > QUICK_SECONDS:
                    get_help(len(tasks) - begun)

        def get_help(wanted: int) -> None:
            while len(helpers) < min(wanted, self._workers):
                helpers.append(self._started().submit(work_off))

        get_help(min(at_once, len(tasks)) - 1)
        work_off()
        for helper in helpers:
            helper.cancel()  # nothing is left for one that no thread has begun
        wait(ends)
        return [end.result() for end in ends]

    def _started(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="gather")
            return self._pool

    def close(self) -> None:
        """End the threads; the next call starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


def _run(task: Callable[[], T], end: Future[T]) -> float:
    """Run a task to its end; how many seconds it took."""
    began = monotonic()
    try:
        end.set_result(task())
    except BaseException as failure:  # noqa: BLE001  (raised again once every task has ended)
        end.set_exception(failure)
    return monotonic() - began
