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

from agnostics.bench.store_records import records
from agnostics.bench.store_writing import new_recorder, seconds_of
from agnostics.store import Recorder, Store
from agnostics.store.records import CompletionRecord
from agnostics.task import Task

PER_S = 5000
"""Verifications that a step records for each second of it: what a rack verifies; two processors come to two hundred."""
STEP_S = 1.0
"""What a step takes that records nothing: long enough to have all that is given at its beginning stored in it."""
_HASHED = bytes(1 << 19)
_COUNTING = "print(flush=True)\nwhile True: sum(number * number for number in range(1000))"


@dataclass(frozen=True, slots=True)
class StepCost:
    """What something costs a step, as shares of the time of a step without it: medians over steps.

    `giving` is spent in giving the recorder what is to be stored, and in `waiting` the step's other work waits for its
    turn: for Python's lock, which the recorder needs to pack what its process gets, and for a processor. `longer` is
    how much longer the step takes by the clock, and `between` has its true median with 95 % certainty: it is these two,
    and that a processor computes more slowly while its neighbour is busy. `flush` is how long a checkpoint at the
    step's end would wait.
    """

    giving: float
    waiting: float
    longer: float
    between: tuple[float, float]
    flush: float

    @property
    def taken(self) -> float:
        """The share of the step's time that goes to recording."""
        return self.giving + self.waiting


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
        return _cost(partial(_recording, recorder, tasks), steps)


def neighbour_cost(steps: int) -> StepCost:
    """What it costs a step that another process does nothing but count: what a busy processor does to the other."""
    return _cost(_beside_counting, steps)


def nothing_cost(steps: int) -> StepCost:
    """What nothing costs a step: how far from zero this measures."""
    return _cost(_quiet, steps)


def _cost(act: Callable[[int, int], _Step], steps: int) -> StepCost:
    """Compare each step of `act` with the two quiet ones around it: a machine's speed drifts."""
    rounds = max(1, round(50 * STEP_S / seconds_of(lambda: _work(50))))
    quiet, acting = [_quiet(rounds, 0)], list[_Step]()
    for number in range(steps):
        acting.append(act(rounds, number))
        quiet.append(_quiet(rounds, number))
    walls = [fmean((before.wall, after.wall)) for before, after in pairwise(quiet)]
    waits = [fmean((before.waiting, after.waiting)) for before, after in pairwise(quiet)]

    def shares(times: Iterable[float]) -> list[float]:
        return sorted(time / wall for time, wall in zip(times, walls, strict=True))

    longer = shares(step.wall - wall for step, wall in zip(acting, walls, strict=True))
    return StepCost(
        giving=median(shares(step.giving for step in acting)),
        waiting=median(shares(step.waiting - wait for step, wait in zip(acting, waits, strict=True))),
        longer=median(longer),
        between=_between(longer),
        flush=median(shares(step.flush for step in acting)),
    )


def _between(ordered: Sequence[float]) -> tuple[float, float]:
    """Where the median lies of what `ordered` was drawn from: between ranks that a fair coin seldom reaches."""
    middle, reach = (len(ordered) - 1) / 2, 0.98 * sqrt(len(ordered))
    return ordered[max(0, floor(middle - reach))], ordered[min(len(ordered) - 1, ceil(middle + reach))]


def _quiet(rounds: int, _number: int) -> _Step:
    running = time.thread_time()
    wall = seconds_of(lambda: _work(rounds))
    return _Step(wall, waiting=wall - (time.thread_time() - running))


def _recording(recorder: Recorder, tasks: Sequence[Task], rounds: int, number: int) -> _Step:
    made = list(records(tasks, round(PER_S * STEP_S), seed=number))
    giving = seconds_of(lambda: _give(recorder, made, number))
    work = _quiet(rounds, number)
    return _Step(giving + work.wall, work.waiting, giving, flush=seconds_of(recorder.flush))


def _give(recorder: Recorder, made: Iterable[CompletionRecord], step: int) -> None:
    for record in made:
        recorder.completion(record)
    recorder.step(step, {"reward": 0.5})


def _beside_counting(rounds: int, number: int) -> _Step:
    with subprocess.Popen([sys.executable, "-c", _COUNTING], stdout=subprocess.PIPE) as counting:
        assert counting.stdout
        counting.stdout.readline()
        try:
            return _quiet(rounds, number)
        finally:
            counting.kill()


def _work(rounds: int) -> None:
    """What a step does: long calls that leave Python to others, as of a model, with some Python between them."""
    for _ in range(rounds):
        hashlib.sha256(_HASHED).digest()
        sum(number * number for number in range(1000))
