"""Backpressure on those who submit jobs."""

from __future__ import annotations

from threading import Thread

from agnostics.sandbox.backpressure import Backpressure
from agnostics.sandbox.protocol import Job


def acquire_in_thread(permits: Backpressure, size: int, acquired: list[int]) -> Thread:
    """A thread that waits for a permit and notes its size."""
    thread = Thread(target=lambda: acquired.append(size * permits.acquire(size, timeout_s=10)))
    thread.start()
    return thread


def test_a_blocked_caller_resumes_at_half_capacity() -> None:
    permits = Backpressure(4)
    assert all(permits.acquire(1, timeout_s=0) for _ in range(4))
    assert not permits.acquire(1, timeout_s=0.01)
    acquired: list[int] = []
    blocked = acquire_in_thread(permits, 1, acquired)
    for _ in range(2):
        permits.release(1)
    blocked.join(timeout=10)
    assert acquired == [1]


def test_a_free_permit_is_acquired_without_waiting() -> None:
    permits = Backpressure(2)
    assert permits.acquire(1, timeout_s=0)
    permits.release(1)
    assert permits.acquire(1, timeout_s=0)
    assert permits.acquire(1, timeout_s=0)
    assert not permits.acquire(1, timeout_s=0)


def test_large_jobs_block_long_before_the_capacity_is_reached() -> None:
    permits = Backpressure(100, max_bytes=10)
    assert all(permits.acquire(3, timeout_s=0) for _ in range(3))
    assert not permits.acquire(3, timeout_s=0)
    assert permits.acquire(1, timeout_s=0)


def test_a_caller_blocked_by_bytes_resumes_once_half_of_them_are_free() -> None:
    permits = Backpressure(100, max_bytes=12)
    assert all(permits.acquire(4, timeout_s=0) for _ in range(3))
    acquired: list[int] = []
    blocked = acquire_in_thread(permits, 2, acquired)
    permits.release(4)
    blocked.join(timeout=0.05)
    assert acquired == []
    permits.release(4)
    blocked.join(timeout=10)
    assert acquired == [2]


def test_a_job_larger_than_the_budget_waits_until_it_is_alone() -> None:
    permits = Backpressure(100, max_bytes=10)
    assert permits.acquire(1, timeout_s=0)
    assert not permits.acquire(50, timeout_s=0)
    acquired: list[int] = []
    blocked = acquire_in_thread(permits, 50, acquired)
    permits.release(1)
    blocked.join(timeout=10)
    assert acquired == [50]
    assert not permits.acquire(1, timeout_s=0)


def test_every_slot_may_have_a_job_whatever_its_size() -> None:
    permits = Backpressure(100, always=3, max_bytes=10)
    assert all(permits.acquire(50, timeout_s=0) for _ in range(3))
    assert not permits.acquire(1, timeout_s=0)


def test_draining_ends_once_every_permit_is_returned() -> None:
    permits = Backpressure(100)
    assert all(permits.acquire(1) for _ in range(60))
    drained = Thread(target=permits.drain)
    drained.start()
    for _ in range(59):
        permits.release(1)
    drained.join(timeout=0.05)
    assert drained.is_alive()
    permits.release(1)
    drained.join(timeout=10)
    assert not drained.is_alive()


def test_the_size_of_a_job_counts_its_files_and_every_test() -> None:
    job = Job(
        files={"a": b"x" * 100, "b": b"y" * 50},
        compile=None,
        execute=["./a"],
        environment={},
        tests=[(b"1" * 1000, b"2" * 500)] * 4,
        run_s=1,
        compile_s=1,
        memory_mb=64,
        compile_mb=64,
        processes=1,
        output_bytes=9,
    )
    assert 150 + 6000 < job.size < 150 + 6000 + 4 * 4096
    empty = job.without_data()
    assert (sorted(empty.files), empty.tests) == (["a", "b"], [(b"", b"")] * 4)
