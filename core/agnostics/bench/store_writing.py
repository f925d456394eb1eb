"""How fast a recorder writes, and what a training step pays for it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from itertools import islice
from statistics import median

from agnostics.bench.store_records import LANGUAGE, records
from agnostics.store import Recorder, Store
from agnostics.task import Task

RATES = (200, 5000)
"""Verifications a second that steps record: what two processors verify, and what a rack of them does."""
STEP_S = 0.5
BLOCK = 5
"""Steps that record, after as many that do not: a machine whose speed drifts changes nothing."""
_CHUNK = 20_000
_HASHED = bytes(1 << 19)


@dataclass(frozen=True, slots=True)
class StepCost:
    """What recording costs a step, as shares of the time of one that records nothing: medians of the blocks.

    `giving` is spent in giving the recorder what is to be stored, which is done first. `waiting` is how much longer the
    step's other work waits for its turn: for Python's lock, which the recorder needs to pack what its process gets, and
    for a processor. `slowdown` is how much longer that work takes, with what a busy neighbour makes of a processor's
    speed. `flush` is how long a checkpoint at the end of a block waits until everything is stored.
    """

    giving: float
    waiting: float
    slowdown: float
    flush: float

    @property
    def share(self) -> float:
        """The share of the step's time that recording takes from it."""
        return self.giving + self.waiting


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds that work took, and how many of them it was not running."""

    wall: float
    waited: float


def write_rates(store: Store, tasks: list[Task], rows: int, seed: int) -> Iterator[float]:
    """Write a run of `rows` verifications: how many are written a second, for each 20,000 of them."""
    made = records(tasks, rows, seed)
    with store.recorder_apart(_start(store)) as recorder:
        _await_start(recorder)
        while chunk := list(islice(made, _CHUNK)):
            begun = time.perf_counter()
            for record in chunk:
                recorder.completion(record)
            recorder.flush()
            yield len(chunk) / (time.perf_counter() - begun)


def step_cost(store: Store, tasks: list[Task], steps: int, per_s: int) -> StepCost:
    """Compare `steps` that record `per_s` verifications for each second of theirs with ones that record nothing."""
    rounds, size = _rounds_in(STEP_S), round(per_s * STEP_S)
    costs = list[StepCost]()
    with store.recorder_apart(_start(store)) as recorder:
        _await_start(recorder)
        for block in (range(first, min(first + BLOCK, steps)) for first in range(0, steps, BLOCK)):
            made = iter(list(records(tasks, len(block) * size, seed=block.start)))
            alone = _summed(_spent(rounds) for _ in block)
            giving, beside = 0.0, list[_Spent]()
            for step in block:
                begun = time.perf_counter()
                for record in islice(made, size):
                    recorder.completion(record)
                recorder.step(step, {"reward": 0.5})
                giving += time.perf_counter() - begun
                beside.append(_spent(rounds))
            both = _summed(beside)
            times = (giving, both.waited - alone.waited, both.wall - alone.wall, _seconds(recorder.flush) * len(block))
            costs.append(StepCost(*(seconds / alone.wall for seconds in times)))
    return StepCost(*(median(parts) for parts in zip(*map(astuple, costs), strict=True)))


def _start(store: Store) -> str:
    return store.start_run(kind="train", config={}, language=LANGUAGE, model="bench", dataset="bench", seed=0)


def _await_start(recorder: Recorder) -> None:
    """Return when the recorder's process is there, which takes it half a second once in a run."""
    recorder.step(0, {"reward": 0.5})
    recorder.flush()


def _rounds_in(seconds: float) -> int:
    """How much work takes that long when nothing is recorded."""
    return max(1, round(50 * seconds / _seconds(lambda: _work(50))))


def _work(rounds: int) -> None:
    """What a step does: long calls that leave Python to others, as of a model, with some Python between them."""
    for _ in range(rounds):
        hashlib.sha256(_HASHED).digest()
        sum(number * number for number in range(1000))


def _spent(rounds: int) -> _Spent:
    running = time.thread_time()
    wall = _seconds(lambda: _work(rounds))
    return _Spent(wall, wall - (time.thread_time() - running))


def _summed(parts: Iterable[_Spent]) -> _Spent:
    return _Spent(*map(sum, zip(*map(astuple, parts), strict=True)))


def _seconds(act: Callable[[], None]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun
