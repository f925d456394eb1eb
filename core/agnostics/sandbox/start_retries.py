"""Retries of slots that fail to start, with exponential backoff."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

MAX_START_FAILURES = 6
"""Failed starts in a row after which the jobs that wait for the slot fail."""
INITIAL_BACKOFF_S = 0.25
"""The pause after the first failed start; it doubles with each, 8 s in all, so that an engine has time to restart."""
PAUSES_S = tuple(INITIAL_BACKOFF_S * 2**failures for failures in range(MAX_START_FAILURES - 1))
"""The pauses between the starts of one slot."""


class StartRetries:
    """Failed starts in a row by slot key, and the time of the next attempt."""

    def __init__(self) -> None:
        self._failures: defaultdict[str, int] = defaultdict(int)
        self._retry_at: dict[str, float] = {}

    @property
    def times(self) -> Iterable[float]:
        """The times of the next attempts."""
        return self._retry_at.values()

    def may_start(self, key: str) -> bool:
        """True if no backoff is under way."""
        if self._retry_at.get(key, 0) > time.monotonic():
            return False
        self._retry_at.pop(key, None)
        return True

    def record_failure(self, key: str) -> bool:
        """Begin the next backoff; True once there were too many failures in a row."""
        self._failures[key] += 1
        self._retry_at[key] = time.monotonic() + INITIAL_BACKOFF_S * 2 ** (self._failures[key] - 1)
        return self._failures[key] >= MAX_START_FAILURES

    def record_success(self, key: str) -> None:
        """A slot works: the next failure is the first again."""
        self._failures.pop(key, None)

    def cancel(self, key: str) -> None:
        """No job waits for the slot: end its backoff."""
        self._retry_at.pop(key, None)

    def forget(self, key: str) -> None:
        """Forget the failures and the backoff."""
        self._failures.pop(key, None)
        self._retry_at.pop(key, None)
