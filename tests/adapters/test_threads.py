import os
import threading
import time
from collections.abc import Iterator

import pytest

from notify_core.adapters.threads import ThreadGather, keep_to_one_cpu


@pytest.fixture
def gather() -> Iterator[ThreadGather]:
    gather = ThreadGather(4)
    yield gather
    gather.close()


def test_values_come_in_the_order_of_their_tasks(gather: ThreadGather) -> None:
    def after(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    assert gather([lambda s=s: after(s) for s in (0.06, 0.0, 0.03)]) == [0.06, 0.0, 0.03]


def test_nothing_to_do_gives_nothing(gather: ThreadGather) -> None:
    assert gather([]) == []


def test_a_single_task_stays_in_its_thread(gather: ThreadGather) -> None:
    assert gather([threading.get_ident]) == [threading.get_ident()]


def test_tasks_run_at_the_same_time(gather: ThreadGather) -> None:
    meeting = threading.Barrier(5, timeout=5)
    gather([meeting.wait] * 5)


@pytest.mark.timeout(20)
def test_a_thread_that_is_ended_from_outside_ends_the_call(gather: ThreadGather) -> None:
    """SystemExit is no Exception, and whoever waits for its task must not wait for ever."""

    def leave() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        gather([lambda: time.sleep(0.05), leave, leave])


def test_the_first_failure_is_raised_once_every_task_has_ended(gather: ThreadGather) -> None:
    ended: list[str] = []

    def fail(text: str, seconds: float) -> None:
        time.sleep(seconds)
        ended.append(text)
        raise ValueError(text)

    with pytest.raises(ValueError, match="first"):
        gather(
            [
                lambda: ended.append("ok"),
                lambda: fail("first", 0.05),
                lambda: fail("second", 0.0),
                lambda: (time.sleep(0.1), ended.append("slow")),
            ]
        )
    assert sorted(ended) == ["first", "ok", "second", "slow"]


def test_a_failure_in_the_caller_s_own_thread_waits_for_the_others_too(gather: ThreadGather) -> None:
    ended: list[str] = []

    def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        gather([fail, lambda: (time.sleep(0.05), ended.append("slow"))])
    assert ended == ["slow"]


@pytest.mark.timeout(20)
def test_tasks_that_gather_again_never_wait_for_each_other(gather: ThreadGather) -> None:
    def count(depth: int) -> int:
        return 1 if depth == 0 else sum(gather([lambda: count(depth - 1)] * 5))

    assert count(4) == 5**4


@pytest.mark.timeout(20)
def test_a_gathering_task_still_has_its_tasks_run_at_the_same_time(gather: ThreadGather) -> None:
    meeting = threading.Barrier(3, timeout=5)
    assert len(gather([lambda: len(gather([meeting.wait] * 3)), lambda: 0])) == 2


@pytest.mark.timeout(20)
def test_many_callers_share_the_threads(gather: ThreadGather) -> None:
    results: list[list[int]] = []

    def call() -> None:
        results.append(gather([lambda n=n: (time.sleep(0.001), n)[1] for n in range(50)]))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert results == [list(range(50))] * 8
    assert sum(thread.name.startswith("gather") for thread in threading.enumerate()) <= 4


def test_threads_end_when_asked_and_begin_again_when_needed(gather: ThreadGather) -> None:
    assert gather([lambda: 1, lambda: 2]) == [1, 2]
    gather.close()
    gather.close()
    assert gather([lambda: 1, lambda: 2]) == [1, 2]


# ---------------------------------------------------------------- one CPU


@pytest.fixture
def cpus() -> Iterator[set[int]]:
    """Those that this thread may use, again afterwards."""
    allowed = os.sched_getaffinity(0)
    yield allowed
    os.sched_setaffinity(0, allowed)


def test_threads_share_one_of_the_cpus_that_their_process_may_use(gather: ThreadGather, cpus: set[int]) -> None:
    keep_to_one_cpu()
    together = threading.Barrier(5, timeout=5)
    used = gather([lambda: (together.wait(), os.sched_getaffinity(0))[1]] * 5)
    assert used == [used[0]] * 5
    assert len(used[0]) == 1
    assert used[0] <= cpus


def test_processes_spread_over_the_cpus(monkeypatch: pytest.MonkeyPatch, cpus: set[int]) -> None:
    used: set[int] = set()
    for pid in range(1000, 1000 + len(cpus)):
        os.sched_setaffinity(0, cpus)
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        keep_to_one_cpu()
        used |= os.sched_getaffinity(0)
    assert used == cpus


def test_a_system_that_has_no_such_thing_or_forbids_it_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, cpus: set[int]
) -> None:
    def forbid(*_: object) -> set[int]:
        raise PermissionError

    for forbidden in ("sched_setaffinity", "sched_getaffinity"):
        with monkeypatch.context() as patched:
            patched.setattr(os, forbidden, forbid)
            keep_to_one_cpu()
    with monkeypatch.context() as patched:
        patched.delattr(os, "sched_setaffinity")
        keep_to_one_cpu()
    assert os.sched_getaffinity(0) == cpus
