"""Refusals of what is no operation of a session: a few of them are events, so that a flood is no flood of events."""

from __future__ import annotations

import threading
from collections import Counter

from agnostics.referee.referee import Referee
from agnostics.referee.replies import Reply

PAUSE_S = 0.05
"""The time for which a refused request keeps its connection, which bounds their rate."""
_RECORDED_AT_FIRST = 10
"""Refusals for one reason that are an event each; of the later ones those are whose number is a power of two."""


class Refusals:
    """Refuses in the name of `referee`. Safe to use from several threads."""

    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self._lock = threading.Lock()
        self._counts = Counter[str]()

    def refuse(self, operation: str, reason: str, text: str) -> Reply:
        """The refusal of a request, which the referee records if it is one of the few."""
        with self._lock:
            self._counts[reason] += 1
            count = self._counts[reason]
        if count <= _RECORDED_AT_FIRST or count & (count - 1) == 0:
            self._referee.refuse(operation, reason, text)
        return Reply("refused", f"refused: {text}", {"operation": operation, "reason": reason})
