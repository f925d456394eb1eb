"""A limit on processor time, for what must not be quadratic: a busy machine does not make it fail."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def processor_time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block once this process has used `seconds` of processor time in it."""

    def stop(*_: object) -> NoReturn:
        raise TimeoutError(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
