"""Programs that ran out of time while they used little of the processor: run again, alone, before that counts.

What a program waits for may be its own doing (it sleeps) or the machine's (its children, or the disk, are kept waiting
by others). Only with nothing else running is it certain which.
"""

from __future__ import annotations

import signal
import time
from collections import deque

from agnostics.sandbox.protocol import Answer, Job, Outcome
from agnostics.sandbox.worker import Ticket
from agnostics.types.verification import Verdict

LITTLE = 0.5
"""A run that computed for less than this part of its limit may have been kept waiting."""
LONG = 5.0
"""So may one that computed for less than its limit, but was there for this many times as long."""
PATIENCE_S = 10.0
"""How long a suspect waits for the pool to be idle before other work is held back for it."""


class Suspects:
    """Those that wait to be run again, and the one that is."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, Ticket]] = deque()
        self._running: Ticket | None = None

    @property
    def running(self) -> Ticket | None:
        """The one whose turn it is: nothing else may begin."""
        return None if self._running is None or self._running.future.done() else self._running

    @property
    def tickets(self) -> list[Ticket]:
        """Those that wait."""
        return [ticket for _, ticket in self._waiting]

    @property
    def due(self) -> float:
        """When other work is to be held back for them."""
        return self._waiting[0][0] + PATIENCE_S if self._waiting else float("inf")

    def add(self, ticket: Ticket) -> None:
        """Keep a ticket until the pool is idle."""
        ticket.alone = True
        self._waiting.append((time.monotonic(), ticket))

    def take_first(self) -> Ticket:
        """Let the oldest have its turn."""
        _, self._running = self._waiting.popleft()
        return self._running


def is_suspect(job: Job, answer: Answer) -> bool:
    """Whether a time limit in `answer` may be the machine's fault."""
    runs = [(outcome, job.run_s) for outcome in answer.tests]
    if answer.compile:
        runs.append((answer.compile, job.compile_s))
    return any(_waited(outcome, limit_s) for outcome, limit_s in runs)


def _waited(outcome: Outcome, limit_s: float) -> bool:
    used, lasted = outcome.cpu_ms / 1000 / limit_s, outcome.wall_ms / 1000 / limit_s
    stopped = outcome.verdict is Verdict.TIME_LIMIT and outcome.signal != signal.SIGXCPU
    return stopped and (used < LITTLE or (used < 1 and lasted > LONG))
