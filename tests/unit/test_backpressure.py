"""Backpressure on those who submit jobs."""

from __future__ import annotations

from threading import Thread

from agnostics.sandbox.backpressure import Backpressure


def test_a_blocked_caller_resumes_at_half_capacity() -> None:
    permits = Backpressure(4)
    assert all(permits.acquire(timeout_s=0) for _ in range(4))
    assert not permits.acquire(timeout_s=0.01)
    acquired: list[bool] = []
    blocked = Thread(target=lambda: acquired.append(permits.acquire(timeout_s=10)))
    blocked.start()
    for _ in range(2):
        permits.release()
    blocked.join(timeout=10)
    assert acquired == [True]


def test_a_free_permit_is_acquired_without_waiting() -> None:
    permits = Backpressure(2)
    assert permits.acquire(timeout_s=0)
    permits.release()
    assert permits.acquire(timeout_s=0)
    assert permits.acquire(timeout_s=0)
    assert not permits.acquire(timeout_s=0)
