"""One slot as the pool sees it: what was sent to its harness, what has come back, and what it is good for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from agnostics.sandbox.backend import Slot
from agnostics.sandbox.protocol import Answer, Job, encode, limit_data, split
from agnostics.types.language import Language

LEAST_DEPTH, MOST_DEPTH = 2, 32
"""Jobs in a harness's hands: one runs while the next wait in its socket."""
IN_HAND_S = 0.05
"""Short jobs are handed out ahead for about this long, so that the pool's thread need not wake for each."""
PROGRAMS = 2000
"""Programs after which a slot is replaced by a fresh one."""
WATCHDOG_EXTRA_S = 30.0
_BEHIND_LIMIT = 10
"""A run may take this many times its limit, and a second, on a busy machine (harness/run.c)."""
_OWN_MB = 32


@dataclass(eq=False)
class Ticket:
    """A job on its way through the pool."""

    language: Language
    job: Job
    future: Future[Answer]
    frame: bytearray = field(init=False)
    key: str = field(init=False)
    """What a slot must be made for to take this job."""
    limits: tuple[int, int] = field(init=False)
    """The slot's memory (MiB), with room for the streams, and its processes: what program and compiler need."""
    attempts: int = 0
    alone: bool = False
    """Whether it is to run while nothing else does (suspects.py)."""

    def __post_init__(self) -> None:
        self.frame = encode(self.job)
        self.key = slot_key(self.language)
        self.limits = _slot_limits(self.job, len(self.frame))
        self.future.set_running_or_notify_cancel()

    @property
    def patience_s(self) -> float:
        """How long the harness may take before it is taken for dead."""
        runs = [self.job.run_s] * len(self.job.tests) + ([self.job.compile_s] if self.job.compile else [])
        return sum(_BEHIND_LIMIT * limit_s + 1 for limit_s in runs) + WATCHDOG_EXTRA_S

    def data_limit_mb(self, unenforced: tuple[str, ...]) -> int:
        """RLIMIT_DATA for the program, where the slot has no memory limit of its own; 0: none.

        Twice what the harness then watches, because an allocation that fails looks like any other error of the program.
        """
        return 2 * self.job.memory_mb if "memory" in unenforced else 0


def slot_key(language: Language) -> str:
    """Languages with the same key can share slots."""
    return f"{language.name}\n{language.container.base_image}\n{language.image_instructions()}"


def _slot_limits(job: Job, frame_bytes: int) -> tuple[int, int]:
    compiles = job.compile is not None
    streams_mb = (2 * frame_bytes + 2 * job.output_bytes) >> 20
    room_mb = _OWN_MB + -(-streams_mb // 32) * 32
    memory_mb = max(job.memory_mb, job.compile_mb) if compiles else job.memory_mb
    return memory_mb + room_mb, max(job.processes, 64) if compiles else job.processes


class Worker:
    """A running slot with its tickets in hand, in order; the first is being worked on."""

    def __init__(self, key: str, slot: Slot) -> None:
        self.key = key
        self.slot = slot
        self.tickets: deque[Ticket] = deque()
        self.limits: tuple[int, int] | None = None
        self.adjusting = False
        self.leaving = False
        self.programs = 0
        self.deadline = float("inf")
        self.pace_s = IN_HAND_S
        self._begun = 0.0
        self._out = bytearray()
        self._in = bytearray()
        slot.connection.setblocking(False)

    @property
    def idle(self) -> bool:
        return not self.tickets and not self.adjusting

    @property
    def worn(self) -> bool:
        return self.programs >= PROGRAMS

    @property
    def has_room(self) -> bool:
        return len(self.tickets) < self.depth and not (self.adjusting or self.leaving or self.worn)

    @property
    def depth(self) -> int:
        """How many jobs it may hold at once."""
        return max(LEAST_DEPTH, min(MOST_DEPTH, int(IN_HAND_S / self.pace_s)))

    @property
    def busy_s(self) -> float:
        """About how long it will be busy with the jobs in hand, the one that runs left out."""
        return (len(self.tickets) - 1) * self.pace_s

    @property
    def sending(self) -> bool:
        return bool(self._out)

    def give(self, ticket: Ticket) -> None:
        """Put a ticket into the harness's hands."""
        limit_data(ticket.frame, ticket.data_limit_mb(self.slot.unenforced))
        self._out += ticket.frame
        self.tickets.append(ticket)
        self.programs += 1
        if len(self.tickets) == 1:
            self._watch_first()
        self.send()

    def send(self) -> None:
        """Send what the socket takes. Raises OSError when the harness is gone."""
        while self._out:
            try:
                sent = self.slot.connection.send(self._out)
            except BlockingIOError:
                return
            del self._out[:sent]

    def receive(self) -> Iterable[bytes]:
        """The answers that have arrived. Raises OSError when the harness is gone."""
        try:
            data = self.slot.connection.recv(1 << 18)
        except BlockingIOError:
            return ()
        if not data:
            raise ConnectionResetError("the harness closed its connection")
        self._in += data
        return list(split(self._in))

    def take_first(self) -> Ticket:
        """The ticket that an answer belongs to: the oldest."""
        ticket = self.tickets.popleft()
        self.pace_s += (time.monotonic() - self._begun - self.pace_s) / 8
        self._watch_first()
        return ticket

    def _watch_first(self) -> None:
        self._begun = time.monotonic()
        self.deadline = self._begun + self.tickets[0].patience_s if self.tickets else float("inf")
