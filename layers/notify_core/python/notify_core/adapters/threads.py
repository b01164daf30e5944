"""Doing several things at once, in threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Final, TypeVar

from notify_core.application.ports import STORE_CALLS_AT_ONCE

T = TypeVar("T")

WORKERS: Final = 32


class ThreadGather:
    """ports.Gather over one pool a process; its threads start when they are first needed.

    The caller works too: what no pool thread has begun yet, it runs itself. So it only ever waits for tasks
    that are running, and a task may gather again, to any depth, without a deadlock.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def __call__(self, tasks: Sequence[Callable[[], T]], *, at_once: int = STORE_CALLS_AT_ONCE) -> list[T]:
        """Each task's value, in order, once all have ended; the first failure is raised after that."""
        ends: list[Future[T]] = [Future() for _ in tasks]
        left = iter(list(zip(tasks, ends, strict=True)))
        helpers = [self._started().submit(_work_off, left) for _ in range(min(at_once, len(tasks)) - 1)]
        _work_off(left)
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


def _work_off(left: Iterator[tuple[Callable[[], T], Future[T]]]) -> None:
    """Run what is left, one after the other; several threads may share an iterator, and each task is one's."""
    for task, end in left:
        try:
            end.set_result(task())
        except BaseException as failure:  # noqa: BLE001  (raised again once every task has ended)
            end.set_exception(failure)
