"""How fast a recorder writes, and what a training step pays for it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from agnostics.bench.store_records import LANGUAGE, records
from agnostics.store import Store
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
    """What recording costs a step, as shares of the time of one that records nothing.

    `write_share` is spent in giving the recorder what is to be stored, which is done first. `slowdown` is how much
    longer the step's other work takes, because the recorder's thread takes its turns at running Python, and its part of
    the machine. `flush` is how long a checkpoint at the end of a step waits until everything is stored.
    """

    write_share: float
    slowdown: float
    flush: float


def write_rates(store: Store, tasks: list[Task], rows: int, seed: int) -> Iterator[float]:
    """Write a run of `rows` verifications: how many are written a second, for each 20,000 of them."""
    made = records(tasks, rows, seed)
    with store.recorder(_start(store)) as recorder:
        while chunk := list(islice(made, _CHUNK)):
            begun = time.perf_counter()
            for record in chunk:
                recorder.completion(record)
            recorder.flush()
            yield len(chunk) / (time.perf_counter() - begun)


def step_cost(store: Store, tasks: list[Task], steps: int, per_s: int) -> StepCost:
    """Compare `steps` that record `per_s` verifications for each second of theirs with ones that record nothing."""
    rounds, size = _rounds_in(STEP_S), round(per_s * STEP_S)
    blocks = [range(first, min(first + BLOCK, steps)) for first in range(0, steps, BLOCK)]
    alone = working = writing = flushing = 0.0
    with store.recorder(_start(store)) as recorder:
        for block in blocks:
            made = iter(list(records(tasks, len(block) * size, seed=block.start)))
            alone += sum(_seconds(lambda: _work(rounds)) for _ in block)
            for step in block:
                begun = time.perf_counter()
                for record in islice(made, size):
                    recorder.completion(record)
                recorder.step(step, {"reward": 0.5})
                writing += time.perf_counter() - begun
                working += _seconds(lambda: _work(rounds))
            flushing += _seconds(recorder.flush)
    return StepCost(writing / alone, working / alone - 1, flushing / len(blocks) / (alone / steps))


def _start(store: Store) -> str:
    return store.start_run(kind="train", config={}, language=LANGUAGE, model="bench", dataset="bench", seed=0)


def _rounds_in(seconds: float) -> int:
    """How much work takes that long when nothing is recorded."""
    return max(1, round(50 * seconds / _seconds(lambda: _work(50))))


def _work(rounds: int) -> None:
    """What a step does: long calls that leave Python to others, as of a model, with some Python between them."""
    for _ in range(rounds):
        hashlib.sha256(_HASHED).digest()
        sum(number * number for number in range(1000))


def _seconds(act: Callable[[], None]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun
