"""What recording costs a training step: steps that record and steps that do not, by turns."""

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
"""Verifications that a step records for each second of it: what a rack verifies; two processors come to two hundred."""
STEP_S = 1.0
"""What a step takes that records nothing: long enough to have all that is given at its beginning stored in it."""
Records = Sequence[CompletionRecord]

_HASHED = bytes(1 << 19)
_COUNTING = "print(flush=True)\nwhile True: sum(number * number for number in range(1000))"


@dataclass(frozen=True, slots=True)
class StepCost:
    """What something costs a step, as shares of the time of a step without it: medians over steps.

    `longer` is how much longer the step takes by the clock, and `between` has its true median with 95 % certainty. Of
    that, `giving` is spent in giving the recorder what is to be stored, and in `waiting` the step's other work waits
    for its turn: for Python's lock, which the recorder needs to pack what its process gets, and for a processor. The
    rest is that a processor computes more slowly while its neighbour is busy. `flush` is how long a checkpoint at the
    step's end would wait.
    """

    longer: float
    between: tuple[float, float]
    giving: float
    waiting: float
    flush: float


@dataclass(frozen=True, slots=True)
class _Step:
    """The seconds of a step: all of it, its work when that does not run, giving, and a flush after it."""

    wall: float
    waiting: float
    giving: float = 0.0
    flush: float = 0.0


def recording_cost(store: Store, tasks: Sequence[Task], steps: int) -> StepCost:
    """What it costs a step to record into `store`."""
    with new_recorder(store) as recorder:
        return _cost(partial(_recording, recorder), tasks, steps)


def neighbour_cost(tasks: Sequence[Task], steps: int) -> StepCost:
    """What it costs a step that another process does nothing but count: what a busy processor does to the other."""
    return _cost(_beside_counting, tasks, steps)


def nothing_cost(tasks: Sequence[Task], steps: int) -> StepCost:
    """What nothing costs a step: how far from zero this measures."""
    return _cost(_quiet, tasks, steps)


def _cost(act: Callable[[Records, int], _Step], tasks: Sequence[Task], steps: int) -> StepCost:
    """Compare each step of `act` with the two quiet ones around it: a machine's speed drifts.

    Every step finds records that were just made, so that the same lies in memory whether it records them or not.
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

    def shares(times: Iterable[float]) -> list[float]:
        return sorted(time / wall for time, wall in zip(times, walls, strict=True))

    longer = shares(step.wall - wall for step, wall in zip(acting, walls, strict=True))
    return StepCost(
        longer=median(longer),
        between=_between(longer),
        giving=median(shares(step.giving for step in acting)),
        waiting=median(shares(step.waiting - wait for step, wait in zip(acting, waits, strict=True))),
        flush=median(shares(step.flush for step in acting)),
    )


def _between(ordered: Sequence[float]) -> tuple[float, float]:
    """Where the median lies of what `ordered` was drawn from: between ranks that a fair coin seldom reaches."""
    middle, reach = (len(ordered) - 1) / 2, 0.98 * sqrt(len(ordered))
    return ordered[max(0, floor(middle - reach))], ordered[min(len(ordered) - 1, ceil(middle + reach))]


def _quiet(_made: Records, rounds: int) -> _Step:
    running = time.thread_time()
    wall = seconds_of(lambda: _work(rounds))
    return _Step(wall, waiting=wall - (time.thread_time() - running))


def _recording(recorder: Recorder, made: Records, rounds: int) -> _Step:
    giving = seconds_of(lambda: _give(recorder, made))
    work = _quiet(made, rounds)
    return _Step(giving + work.wall, work.waiting, giving, flush=seconds_of(recorder.flush))


def _give(recorder: Recorder, made: Records) -> None:
    for record in made:
        recorder.completion(record)
    recorder.step(made[-1].step, {"reward": 0.5})


def _beside_counting(made: Records, rounds: int) -> _Step:
    with subprocess.Popen([sys.executable, "-c", _COUNTING], stdout=subprocess.PIPE) as counting:
        assert counting.stdout
        counting.stdout.readline()
        try:
            return _quiet(made, rounds)
        finally:
            counting.kill()


def _work(rounds: int) -> None:
    """What a step does: long calls that leave Python to others, as of a model, with some Python between them."""
    for _ in range(rounds):
        hashlib.sha256(_HASHED).digest()
        sum(number * number for number in range(1000))
