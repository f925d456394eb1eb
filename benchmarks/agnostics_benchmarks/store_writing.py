"""Write throughput of a recorder."""

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
    """Write a run of `rows` verifications; yields the rows per second of each 20,000."""
    generated = records(tasks, rows, seed)
    with new_recorder(store) as recorder:
        while chunk := list(islice(generated, _CHUNK)):
            yield len(chunk) / seconds_of(partial(_write, recorder, chunk))


@contextmanager
def new_recorder(store: Store) -> Iterator[Recorder]:
    """A recorder of a new run whose writer process has started, which takes half a second."""
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
    """The wall-clock time of `act`."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
