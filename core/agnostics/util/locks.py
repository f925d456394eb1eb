"""Locks between the processes of this machine."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agnostics.types.errors import AgnosticsError
from agnostics.util.paths import cache_folder

TIMEOUT_S = 3600
"""The longest wait for another process that holds the lock."""


@contextmanager
def exclusive_lock(name: str) -> Iterator[None]:
    """A lock that one process of this machine holds at a time, while it makes the `name` ("images").

    Raises AgnosticsError if another process holds it for longer than an hour.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        deadline = time.monotonic() + TIMEOUT_S
        while not _try_lock(lock.fileno()):
            if time.monotonic() > deadline:
                raise AgnosticsError(f"another process has been making {name} for {TIMEOUT_S} s; end it and try again")
            time.sleep(0.1)
        yield


@contextmanager
def file_lock(path: Path) -> Iterator[bool]:
    """A lock on the file `path`, which is created; gives False at once if another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        yield _try_lock(lock.fileno())


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
