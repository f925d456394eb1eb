"""Ctrl-C: at once where work may be dropped, later where a half-done update would be left behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While it is open, SIGINT and SIGTERM raise KeyboardInterrupt, or wait for the end of a `deferred` block.

    Only the first does so: what follows it (the checkpoint) is not interrupted. In a `held` block they wait for the
    next `allowed` block: ranks, which have to be interrupted at the same place, agree there.
    """

    def __init__(self) -> None:
        self._pending = False
        self._deferred = False
        self._raised = False
        self._before: dict[int, Any] = {}

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that is finished before an interrupt takes effect."""
        with self._set(deferred=True):
            yield
        self._raise_if_due()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which interrupts take effect in `allowed` blocks only."""
        with self._set(deferred=True):
            yield

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A block that an interrupt ends at once, even one that came before it."""
        with self._set(deferred=False):
            self._raise_if_due()
            yield

    @contextmanager
    def _set(self, *, deferred: bool) -> Iterator[None]:
        before, self._deferred = self._deferred, deferred
        try:
            yield
        finally:
            self._deferred = before

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)  # as a launcher's thread may have left them
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, *_: object) -> None:
        self._pending = True
        self._raise_if_due()

    def _raise_if_due(self) -> None:
        if self._pending and not self._deferred and not self._raised:
            self._raised = True
            raise KeyboardInterrupt
