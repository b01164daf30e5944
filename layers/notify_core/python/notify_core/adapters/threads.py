"""Doing several things at once, in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final, TypeVar

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

    def __call__(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Each task's value, in order, once all have ended; the first failure is raised after that."""
        if not tasks:
            return []
        if len(tasks) == 1:
            return [tasks[0]()]
        pool = self._started()
        others = [(task, pool.submit(task)) for task in tasks[1:]]
        ended = [_run(tasks[0]), *(_finish(task, future) for task, future in others)]
        return [future.result() for future in ended]

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


def _finish(task: Callable[[], T], future: Future[T]) -> Future[T]:
    if future.cancel():
        return _run(task)
    future.exception()
    return future


def _run(task: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(task())
    except Exception as failure:  # noqa: BLE001  (raised again once every task has ended)
        future.set_exception(failure)
    return future
