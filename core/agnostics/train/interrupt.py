"""Ctrl-C: at once where work may be dropped, later where a half-done update would be left behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While it is open, SIGINT and SIGTERM raise KeyboardInterrupt, or wait for the end of a `deferred` block.

    Only the first does so: what follows it (the checkpoint) is not interrupted.
    """

    def __init__(self) -> None:
        self._pending = False
        self._deferred = False
        self._raised = False
        self._before: dict[int, Any] = {}

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that is finished before an interrupt takes effect."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        if self._pending:
            self._raise()

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, *_: object) -> None:
        self._pending = True
        if not self._deferred:
            self._raise()

    def _raise(self) -> None:
        if not self._raised:
            self._raised = True
            raise KeyboardInterrupt
