"""The division of CPU threads between sampling and training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from agnostics.rollout.engine_loop import EngineLoop


@contextmanager
def shared_cpu_threads(engine: EngineLoop) -> Iterator[Callable[[], None]]:
    """Half of the threads for sampling and half for training, which happen at the same time; afterwards all for each.

    With all threads for each, they would wait for each other: a step of a small model on two cores takes half as long
    again. The trainer calls the yielded function now and then: it takes all threads once the engine is idle.
    """
    all_threads = torch.get_num_threads()
    half = max(1, all_threads // 2)

    def reclaim_if_idle() -> None:
        if not engine.is_busy:
            torch.set_num_threads(all_threads)

    try:
        torch.set_num_threads(half)
        engine.set_num_threads(half)
        yield reclaim_if_idle
        engine.set_num_threads(all_threads)
    finally:
        torch.set_num_threads(all_threads)
