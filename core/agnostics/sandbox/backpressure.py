"""Backpressure: a bound on the number of unfinished jobs, which blocks those who submit more."""

from __future__ import annotations

from threading import Condition


class Backpressure:
    """A semaphore of `capacity` permits; blocked callers resume at half capacity.

    The submitting thread then wakes once for many jobs instead of once for each, and interrupts less often the programs
    that run on the same processors.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._acquired = 0
        self._blocked = 0
        self._half_free = Condition()

    def acquire(self, timeout_s: float) -> bool:
        """Take a permit, and block while there is none; False if the wait timed out."""
        with self._half_free:
            if self._acquired >= self._capacity and not self._wait(timeout_s):
                return False
            self._acquired += 1
            return True

    def release(self) -> None:
        """Return a permit."""
        with self._half_free:
            self._acquired -= 1
            if self._blocked and self._acquired <= self._capacity // 2:
                self._half_free.notify_all()

    def _wait(self, timeout_s: float) -> bool:
        self._blocked += 1
        try:
            return self._half_free.wait_for(lambda: self._acquired <= self._capacity // 2, timeout_s)
        finally:
            self._blocked -= 1
