"""Doing several things at once, in threads."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Lock
from typing import Final, TypeVar

T = TypeVar("T")

WORKERS: Final = 32


def keep_to_one_cpu() -> None:
    """Have this thread, and those that it starts from now on, share one of the CPUs that it may use.

    The interpreter runs one thread at a time. Where threads that wait for answers sit on two CPUs, its lock changes
    CPUs with every call, at a sixth to a third of a worker's time. Nothing happens where the system doesn't allow it.
    """
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            cpus = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cpus[os.getpid() % len(cpus)]})  # processes of one machine spread over all


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
        if len(tasks) <= 1:
            return [task() for task in tasks]
        pool = self._started()
        others = [(task, pool.submit(task)) for task in tasks[1:]]
        ends = [_run(tasks[0]), *(_finish(task, future) for task, future in others)]
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


def _finish(task: Callable[[], T], future: Future[T]) -> Future[T]:
    """Wait for a task that a thread has begun, else run it."""
    if future.cancel():
        return _run(task)
    wait([future])
    return future


def _run(task: Callable[[], T]) -> Future[T]:
    end: Future[T] = Future()
    try:
        end.set_result(task())
    except BaseException as failure:  # noqa: BLE001  (raised again once every task has ended)
        end.set_exception(failure)
    return end
