"""The cost of recording for a training step: steps with and without recording, alternating."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil, floor, sqrt
from statistics import fmean, median

from agnostics.store import Recorder, Store
from agnostics.store.records import CompletionRecord
from agnostics.types.task import Task

from agnostics_benchmarks.store_records import records
from agnostics_benchmarks.store_writing import new_recorder, seconds_of

PER_S = 5000
"""Verifications per second of a step: the rate of a rack of machines; two processors reach two hundred."""
STEP_S = 1.0
"""The duration of a step without recording: long enough for the records queued at its start to be stored in it."""
Records = Sequence[CompletionRecord]

_HASHED = bytes(1 << 19)
_COUNTING = "print(flush=True)\nwhile True: sum(number * number for number in range(1000))"


@dataclass(frozen=True, slots=True)
class StepCost:
    """The cost of an activity for a step, as fractions of the time of a step without it: medians over steps.

    `longer` is the increase of its wall-clock time, and `between` the 95 % confidence interval of that median. Parts of
    it are `giving`, the time to queue the records, and `waiting`, the time in which the step's other work waits for the
    GIL, which the recorder needs to encode records, and for a processor. The rest is that a processor is slower while
    its neighbour is busy. `flush` is the time that a checkpoint at the step's end would wait.
    """

    longer: float
    between: tuple[float, float]
    giving: float
    waiting: float
    flush: float


@dataclass(frozen=True, slots=True)
class _Step:
    """The seconds of a step: in total, with its work not running, queueing records, and a flush after it."""

    wall: float
    waiting: float
    giving: float = 0.0
    flush: float = 0.0


def recording_cost(store: Store, tasks: Sequence[Task], steps: int) -> StepCost:
    """The cost of recording into `store`."""
    with new_recorder(store) as recorder:
        return _cost(partial(_recording, recorder), tasks, steps)


def neighbour_cost(tasks: Sequence[Task], steps: int) -> StepCost:
    """The cost of another process that only counts: the effect of a busy neighbouring processor."""
    return _cost(_beside_counting, tasks, steps)


def nothing_cost(tasks: Sequence[Task], steps: int) -> StepCost:
    """The cost of nothing: the error of this measurement."""
    return _cost(_quiet, tasks, steps)


def _cost(act: Callable[[Records, int], _Step], tasks: Sequence[Task], steps: int) -> StepCost:
    """Compare each step of `act` with the two quiet ones around it: a machine's speed drifts.

    Records are generated before every step, so that the memory is in the same state whether it records them or not.
    """
    rounds = max(1, round(50 * STEP_S / seconds_of(lambda: _work(50))))

    def step(act: Callable[[Records, int], _Step], seed: int) -> _Step:
        return act(list(records(tasks, round(PER_S * STEP_S), seed)), rounds)

    quiet, acting = [step(_quiet, 0)], list[_Step]()
    for seed in range(1, 2 * steps, 2):
        acting.append(step(act, seed))
        quiet.append(step(_quiet, seed + 1))
    walls = [fmean((before.wall, after.wall)) for before, after in pairwise(quiet)]
    waits = [fmean((before.waiting, after.waiting)) for before, after in pairwise(quiet)]

    def fractions(times: Iterable[float]) -> list[float]:
        return sorted(time / wall for time, wall in zip(times, walls, strict=True))

    longer = fractions(step.wall - wall for step, wall in zip(acting, walls, strict=True))
    return StepCost(
        longer=median(longer),
        between=_between(longer),
        giving=median(fractions(step.giving for step in acting)),
        waiting=median(fractions(step.waiting - wait for step, wait in zip(acting, waits, strict=True))),
        flush=median(fractions(step.flush for step in acting)),
    )


def _between(ordered: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median of the distribution of `ordered`, between binomial ranks."""
    middle, reach = (len(ordered) - 1) / 2, 0.98 * sqrt(len(ordered))
    return ordered[max(0, floor(middle - reach))], ordered[min(len(ordered) - 1, ceil(middle + reach))]


def _quiet(_records: Records, rounds: int) -> _Step:
    running = time.thread_time()
    wall = seconds_of(lambda: _work(rounds))
    return _Step(wall, waiting=wall - (time.thread_time() - running))


def _recording(recorder: Recorder, batch: Records, rounds: int) -> _Step:
    giving = seconds_of(lambda: _give(recorder, batch))
    work = _quiet(batch, rounds)
    return _Step(giving + work.wall, work.waiting, giving, flush=seconds_of(recorder.flush))


def _give(recorder: Recorder, batch: Records) -> None:
    for record in batch:
        recorder.completion(record)
    recorder.step(batch[-1].step, {"reward": 0.5})


def _beside_counting(batch: Records, rounds: int) -> _Step:
    with subprocess.Popen([sys.executable, "-c", _COUNTING], stdout=subprocess.PIPE) as counting:
        assert counting.stdout
        counting.stdout.readline()
        try:
            return _quiet(batch, rounds)
        finally:
            counting.kill()


def _work(rounds: int) -> None:
    """The work of a step: long calls that release the GIL, as those of a model, with some Python between them."""
    for _ in range(rounds):
        hashlib.sha256(_HASHED).digest()
        sum(number * number for number in range(1000))
