"""Which request's program goes to the sandbox next, and how many may be there: the clients take turns."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from agnostics.sandbox.backpressure import MAX_WAITING_BYTES

QUEUE_S = 0.25
"""Programs are queued ahead for about this long: it is what a new client waits for at most before its turns begin."""
MIN_PER_SLOT, MAX_PER_SLOT = 2, 64
_WEIGHT = 1 / 16
"""The weight of the last program in the mean time of programs."""


@dataclass(eq=False, slots=True)
class _Waiter:
    size: int
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Admission:
    """A bound on the programs in the sandbox and its queue, in number and in bytes. For one event loop.

    Each client asks for one program at a time, and those who wait are served in order: so a long stream gets no more
    turns than a short one. The first program of each slot is admitted whatever its size.
    """

    def __init__(self, slots: int, max_bytes: int = MAX_WAITING_BYTES) -> None:
        self.programs = 0
        self.bytes = 0
        self._slots = slots
        self._max_bytes = max_bytes
        self._mean_s = QUEUE_S / 4
        self._waiting: deque[_Waiter] = deque()

    @property
    def waiting(self) -> int:
        """The number of clients that wait."""
        return len(self._waiting)

    @property
    def capacity(self) -> int:
        """The most programs that may be admitted at once: fewer if they take long."""
        per_slot = min(max(int(QUEUE_S / max(self._mean_s, 1e-6)), MIN_PER_SLOT), MAX_PER_SLOT)
        return per_slot * self._slots

    async def acquire(self, size: int) -> None:
        """Wait for the turn of a program of `size` bytes."""
        if not self._waiting and self._fits(size):
            self._take(size)
            return
        waiter = _Waiter(size)
        self._waiting.append(waiter)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            if waiter.granted.cancelled():
                self._forget(waiter)
            else:  # the turn came just before
                self.release(size)
            raise

    def release(self, size: int, run_s: float | None = None) -> None:
        """A program of `size` bytes has ended; it ran for `run_s`, if it ran."""
        self.programs -= 1
        self.bytes -= size
        if run_s is not None:
            self._mean_s += _WEIGHT * (run_s - self._mean_s)
        self._grant()

    def _grant(self) -> None:
        while self._waiting and self._fits(self._waiting[0].size):
            waiter = self._waiting.popleft()
            if not waiter.granted.cancelled():
                self._take(waiter.size)
                waiter.granted.set_result(None)

    def _forget(self, waiter: _Waiter) -> None:
        """Remove one who waits no more; those behind may fit."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        self._grant()

    def _take(self, size: int) -> None:
        self.programs += 1
        self.bytes += size

    def _fits(self, size: int) -> bool:
        below = self.programs < self.capacity and self.bytes + size <= self._max_bytes
        return below or self.programs < self._slots
