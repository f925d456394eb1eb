"""Imports of large libraries."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection(*, freeze: bool = True) -> Iterator[None]:
    """Import in the block without collecting garbage; with `freeze`, what is there at its end is never searched again.

    Torch and vLLM make millions of objects that live as long as the process, and the collector would search them again
    and again: a quarter of the time of their import. A model that is there already must not be frozen: it would never
    be freed if a cycle holds it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if freeze:
            gc.freeze()
        if enabled:
            gc.enable()
