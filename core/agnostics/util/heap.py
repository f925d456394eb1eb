"""The C library's heap."""

from __future__ import annotations

import ctypes


def trim_heap() -> None:
    """Give the free pages of the heap back to the machine; does nothing where the C library has no such call.

    The free pages below one that is in use stay with the process otherwise: in training they are gigabytes, kept while
    the engine samples.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
