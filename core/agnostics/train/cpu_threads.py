"""Who computes on how many of a processor's threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from agnostics.rollout.engine_loop import Sampler


@contextmanager
def divided_threads(sampler: Sampler) -> Iterator[Callable[[], None]]:
    """Half of the threads for sampling and half for learning, which happen at the same time; then all for each again.

    With all for each they would keep each other waiting: a step of a small model on two cores takes half as long again.
    Whoever learns calls what is yielded now and then: it gives them all threads once nothing is left to sample.
    """
    every = torch.get_num_threads()
    half = max(1, every // 2)

    def take_what_is_free() -> None:
        if not sampler.busy:
            torch.set_num_threads(every)

    try:
        torch.set_num_threads(half)
        sampler.use_threads(half)
        yield take_what_is_free
        sampler.use_threads(every)
    finally:
        torch.set_num_threads(every)
