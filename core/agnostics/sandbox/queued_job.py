"""A job in the pool: its frame, the slot that it needs, and the future of its result."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field

from agnostics.sandbox.protocol import Job, JobResult, encode
from agnostics.types.language import Language

WATCHDOG_EXTRA_S = 30.0
_BUSY_MACHINE_FACTOR = 10
"""On a busy machine a run may take this many times its limit, and a second (harness/run.c)."""
_HARNESS_MB = 32


@dataclass(eq=False)
class QueuedJob:
    """A job from its submission to its result."""

    language: Language
    job: Job
    future: Future[JobResult] = field(default_factory=Future)
    frame: bytearray = field(init=False)
    key: str = field(init=False)
    """The slot key: jobs run in slots with the same key only."""
    limits: tuple[int, int] = field(init=False)
    """The slot's memory (MiB, streams included) and number of processes, enough for program and compiler."""
    attempts: int = 0
    exclusive: bool = False
    """True if it must run while no other job does (timeout_retry.py)."""

    def __post_init__(self) -> None:
        self.frame = encode(self.job)
        self.key = slot_key(self.language)
        self.limits = _slot_limits(self.job, len(self.frame))
        self.future.set_running_or_notify_cancel()

    @property
    def watchdog_s(self) -> float:
        """The time after which a harness that has not returned the result is taken for dead."""
        runs = [self.job.run_s] * len(self.job.tests) + ([self.job.compile_s] if self.job.compile else [])
        return sum(_BUSY_MACHINE_FACTOR * limit_s + 1 for limit_s in runs) + WATCHDOG_EXTRA_S

    def data_limit_mb(self, unenforced: tuple[str, ...]) -> int:
        """RLIMIT_DATA for the program if the slot has no memory limit of its own; 0 for none.

        It is twice the limit that the harness then watches, because a failed allocation looks like any other error of
        the program.
        """
        return 2 * self.job.memory_mb if "memory" in unenforced else 0


def slot_key(language: Language) -> str:
    """The key of a language's slots; languages with the same key share slots."""
    return f"{language.name}\n{language.container.base_image}\n{language.image_instructions()}"


def _slot_limits(job: Job, frame_bytes: int) -> tuple[int, int]:
    compiles = job.compile is not None
    streams_mb = (2 * frame_bytes + 2 * job.output_bytes) >> 20
    overhead_mb = _HARNESS_MB + -(-streams_mb // 32) * 32
    memory_mb = max(job.memory_mb, job.compile_mb) if compiles else job.memory_mb
    return memory_mb + overhead_mb, max(job.processes, 64) if compiles else job.processes
