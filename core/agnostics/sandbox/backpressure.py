"""Backpressure: a bound on the number and the size of unfinished jobs, which blocks those who submit more."""

from __future__ import annotations

from threading import Condition

MAX_WAITING_BYTES = 64 << 20
"""The most that unfinished jobs may hold together, beyond one job for each slot."""


class Backpressure:
    """A semaphore of `capacity` permits of together `max_bytes`; blocked callers resume at half of either.

    The submitting thread then wakes once for many jobs instead of once for each, and interrupts less often the programs
    that run on the same processors. The first `always` permits are given whatever the size: so that no slot is idle
    for want of memory, and a job larger than `max_bytes` runs too.
    """

    def __init__(self, capacity: int, *, always: int = 1, max_bytes: int = MAX_WAITING_BYTES) -> None:
        self._capacity, self._always, self._max_bytes = capacity, always, max_bytes
        self._acquired = 0
        self._bytes = 0
        self._blocked = 0
        self._changed = Condition()

    def acquire(self, size: int, timeout_s: float | None = None) -> bool:
        """Take a permit of `size` bytes, and block while there is none; False if the wait timed out."""
        with self._changed:
            if not self._fits(size) and not self._wait(size, timeout_s):
                return False
            self._acquired += 1
            self._bytes += size
            return True

    def release(self, size: int) -> None:
        """Return a permit of `size` bytes."""
        with self._changed:
            self._acquired -= 1
            self._bytes -= size
            if self._blocked and (self._fits_half(0) or not self._acquired):
                self._changed.notify_all()

    def drain(self) -> None:
        """Block until every permit is returned."""
        with self._changed:
            self._blocked += 1
            self._changed.wait_for(lambda: not self._acquired)
            self._blocked -= 1

    def _fits(self, size: int) -> bool:
        below = self._acquired < self._capacity and self._bytes + size <= self._max_bytes
        return below or self._acquired < self._always

    def _fits_half(self, size: int) -> bool:
        below = self._acquired <= self._capacity // 2 and self._bytes + size <= self._max_bytes // 2
        return below or self._acquired < self._always

    def _wait(self, size: int, timeout_s: float | None) -> bool:
        self._blocked += 1
        try:
            return self._changed.wait_for(lambda: self._fits_half(size), timeout_s)
        finally:
            self._blocked -= 1
