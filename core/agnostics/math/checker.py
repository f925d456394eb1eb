"""The checker: (prediction, gold answer) -> equality, in slots of the sandbox that are killed at their time limit."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Self

from agnostics.math.compiled import packages_for
from agnostics.math.effort import is_too_hard
from agnostics.math.language import checker_language
from agnostics.math.normaliser import normalise
from agnostics.math.numbers import close, values
from agnostics.sandbox.factory import open_pool
from agnostics.sandbox.job_codec import job_for
from agnostics.sandbox.modes import Backends
from agnostics.sandbox.protocol import Job, JobResult, RunResult
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Comparison, Task, Test
from agnostics.types.verification import Verdict

MAX_CHARACTERS = 10_000
"""The length of an answer above which only an equal text is equal to it."""
MAX_BATCH = 16
"""The most pairs in one job, which brings the packages to the slot once. Each pair has a fork and limits of its own."""
JOBS_PER_SLOT = 2
"""One runs while the next one waits in the slot."""


class Equality(StrEnum):
    """The result of a comparison."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """It was stopped at a limit, or the sandbox failed: nothing is known of the prediction."""


_VERDICTS = {f"{equality}\n".encode(): equality for equality in (Equality.EQUAL, Equality.DIFFERENT)}


@dataclass(eq=False, frozen=True)
class _Check:
    pair: str
    """The prediction and the gold answer as JSON, the input of the slot's program."""
    future: Future[Equality] = field(default_factory=Future)


class MathChecker:
    """Compares answers in a pool of warm slots. A context manager.

    `sandbox`, `slots` and `backends` are those of `Verifier`. The first one on a machine takes some seconds to compile
    the packages of the slots, in docker mode after the image is built. Raises UsageError for an unknown sandbox and
    MissingRequirement for one that does not work or has no Python, and without the packages of the extra `math`.
    """

    def __init__(self, sandbox: str = "auto", slots: int | None = None, backends: Backends | None = None) -> None:
        self._pool = open_pool(sandbox, slots, backends)
        with ExitStack() as stack:
            stack.callback(self._pool.close)
            self._language = checker_language(packages_for(self._pool))
            stack.pop_all()
        self._waiting: deque[_Check] = deque()
        self._running = 0
        self._lock = threading.Lock()

    @property
    def mode(self) -> str:
        """The name of the sandbox backend in use."""
        return self._pool.mode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End every slot; what was not compared yet raises AgnosticsError. Safe to call twice."""
        self._pool.close()

    def submit(self, prediction: str, gold: str) -> Future[Equality]:
        """Compare two answers in LaTeX. Never blocks; the future raises AgnosticsError if the checker is closed."""
        equality = _compare_texts(prediction, gold)
        if equality is None:
            return self._submit_to_slot(prediction, gold)
        decided: Future[Equality] = Future()
        decided.set_result(equality)
        return decided

    def _submit_to_slot(self, prediction: str, gold: str) -> Future[Equality]:
        check = _Check(json.dumps([prediction, gold]))
        check.future.set_running_or_notify_cancel()
        self._waiting.append(check)
        self._start_jobs()
        return check.future

    def _start_jobs(self) -> None:
        while batch := self._next_batch():
            try:
                job = self._pool.submit_now(self._language, _job(self._language, batch))
            except AgnosticsError as error:
                self._finish(batch, error)
            else:
                job.add_done_callback(partial(self._job_done, batch))

    def _next_batch(self) -> list[_Check]:
        """The pairs of the next job: few while few are waiting, so that all slots share them."""
        with self._lock:
            free = JOBS_PER_SLOT * self._pool.size - self._running
            if free <= 0 or not self._waiting:
                return []
            self._running += 1
            size = min(MAX_BATCH, -(-len(self._waiting) // free))
            return [self._waiting.popleft() for _ in range(size)]

    def _job_done(self, batch: Sequence[_Check], job: Future[JobResult]) -> None:
        error = job.exception()
        self._finish(batch, error if error else job.result())
        self._start_jobs()

    def _finish(self, batch: Sequence[_Check], result: JobResult | BaseException) -> None:
        with self._lock:
            self._running -= 1
        if isinstance(result, BaseException):
            for check in batch:
                check.future.set_exception(result)
            return
        runs: Sequence[RunResult | None] = result.tests or [None] * len(batch)
        for check, run in zip(batch, runs, strict=True):
            check.future.set_result(_equality(run))


def _compare_texts(prediction: str, gold: str) -> Equality | None:
    """What the normal spellings tell in linear time, without a slot; None if they do not."""
    if max(len(prediction), len(gold)) > MAX_CHARACTERS:
        return Equality.EQUAL if prediction == gold else Equality.DIFFERENT
    given, known = normalise(prediction), normalise(gold)
    if given == known:
        return Equality.EQUAL
    pairs = [(one, other) for one in values(given) for other in values(known)]
    if not pairs:
        return Equality.DIFFERENT if is_too_hard(prediction, gold) else None
    return Equality.EQUAL if any(close(one, other) for one, other in pairs) else Equality.DIFFERENT


def _job(language: Language, batch: Sequence[_Check]) -> Job:
    tests = tuple(Test(input=check.pair, output="") for check in batch)
    task = Task(id="answers", tests=tests, compare=Comparison(mode="nothing"))
    return job_for(language, "", task, stop_on_failure=False)


def _equality(run: RunResult | None) -> Equality:
    """The verdict of a slot: all that its program has printed, if it ended by itself."""
    if run is None or run.verdict is not Verdict.ACCEPTED:
        return Equality.UNKNOWN
    return _VERDICTS.get(run.stdout, Equality.UNKNOWN)
