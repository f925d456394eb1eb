"""Ctrl-C: takes effect at once, or after the current step if that would leave a half-done update behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECOND_AFTER_S = 1.0
"""A terminal and a launcher may both send one Ctrl-C: a signal this soon after the first is the same."""
_ANNOUNCE_TIMEOUT_S = 5.0


class ForcedInterrupt(KeyboardInterrupt):
    """A second Ctrl-C: the run ends at once and writes no checkpoint."""


class InterruptHandler:
    """While it is open, SIGINT and SIGTERM raise KeyboardInterrupt, or wait for the end of a `deferred` block.

    A signal that has to wait is announced through `announce`, on a thread: the signal may have come while this one was
    printing, which cannot be done within itself. A second signal raises ForcedInterrupt, if it can. In a `held` block
    signals wait for the next `allowed` block: ranks have to stop at the same place, and agree there.
    """

    def __init__(self, announce: Callable[[str], None] = lambda _: None, *, can_be_forced: bool = True) -> None:
        self._announce = announce
        self._can_be_forced = can_be_forced
        self.terminated = False
        """True if the first signal was SIGTERM."""
        self._first_s: float | None = None
        self._deferred = False
        self._raised = False
        self._work = "the current step"
        self._previous: dict[int, Any] = {}
        self._announcing: threading.Thread | None = None

    @contextmanager
    def deferred(self, work: str = "the current step") -> Iterator[None]:
        """A block that is finished before an interrupt takes effect; `work` names it in the announcement."""
        with self._set(deferred=True, work=work):
            yield
        self._raise_if_due()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which interrupts take effect in `allowed` blocks only."""
        with self._set(deferred=True, work=self._work):
            yield

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A block that an interrupt ends at once, even one that came before it."""
        with self._set(deferred=False, work=self._work):
            self._raise_if_due()
            yield

    @contextmanager
    def _set(self, *, deferred: bool, work: str) -> Iterator[None]:
        before = self._deferred, self._work
        self._deferred, self._work = deferred, work
        try:
            yield
        finally:
            self._deferred, self._work = before

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)  # a launcher's thread may have left them blocked
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self._announcing:
            self._announcing.join(_ANNOUNCE_TIMEOUT_S)

    def _handle(self, number: int, _: object) -> None:
        now = time.monotonic()
        if self._first_s is not None:
            if self._can_be_forced and number == signal.SIGINT and now - self._first_s > _SECOND_AFTER_S:
                raise ForcedInterrupt
            return
        self._first_s = now
        self.terminated = number == signal.SIGTERM
        if self._deferred:
            self._announcing = threading.Thread(target=self._announce, args=[self._announcement()], daemon=True)
            self._announcing.start()
        self._raise_if_due()

    def _announcement(self) -> str:
        text = f"interrupted: finishing {self._work}, then writing a checkpoint"
        forced = "; a second Ctrl-C stops at once, and the run can be resumed from its last checkpoint"
        return text + (forced if self._can_be_forced else "")

    def _raise_if_due(self) -> None:
        if self._first_s is not None and not self._deferred and not self._raised:
            self._raised = True
            raise KeyboardInterrupt
