"""Memory that is free goes back to the machine."""

from __future__ import annotations

import os
from pathlib import Path

from agnostics.util.heap import trim_heap

BLOCK, BLOCKS = 50_000, 4_000
"""Blocks of the heap, too small to be mapped on their own and too large for Python's own allocator."""


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_free_pages_below_one_in_use_are_given_back() -> None:
    blocks = [b"x" * BLOCK for _ in range(BLOCKS)]
    del blocks[:-1]
    before = resident_bytes()
    trim_heap()
    assert before - resident_bytes() > BLOCK * BLOCKS // 2
    assert len(blocks) == 1
