"""How fast a recorder writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice

from agnostics.store import Recorder, Store
from agnostics.store.records import CompletionRecord
from agnostics.types.task import Task

from agnostics_benchmarks.store_records import LANGUAGE, records

_CHUNK = 20_000


def write_rates(store: Store, tasks: Sequence[Task], rows: int, seed: int) -> Iterator[float]:
    """Write a run of `rows` verifications: how many are written a second, for each 20,000 of them."""
    made = records(tasks, rows, seed)
    with new_recorder(store) as recorder:
        while chunk := list(islice(made, _CHUNK)):
            yield len(chunk) / seconds_of(partial(_write, recorder, chunk))


@contextmanager
def new_recorder(store: Store) -> Iterator[Recorder]:
    """The recorder of a new run, when its process is there: that takes half a second once in a run."""
    run = store.start_run(kind="train", config={}, language=LANGUAGE, model="bench", dataset="bench", seed=0)
    with store.out_of_process_recorder(run) as recorder:
        recorder.step(0, {"reward": 0.5})
        recorder.flush()
        yield recorder


def _write(recorder: Recorder, chunk: Iterable[CompletionRecord]) -> None:
    for record in chunk:
        recorder.completion(record)
    recorder.flush()


def seconds_of(act: Callable[[], None]) -> float:
    """What `act` takes, by the clock."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun
