"""The user's cache on this machine, and the locks of those who fill it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agnostics.types.errors import AgnosticsError

PATIENCE_S = 3600
"""How long another process may take to make what is wanted here too."""


def cache_folder() -> Path:
    """The folder of what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agnostics"


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """A block that makes `what` ("images"), in one process of this machine at a time.

    Raises AgnosticsError where another does not come to an end.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{what}.lock").open("w") as lock:
        deadline = time.monotonic() + PATIENCE_S
        while not _locked(lock.fileno()):
            if time.monotonic() > deadline:
                raise AgnosticsError(f"another process has been making {what} for {PATIENCE_S} s; end it and try again")
            time.sleep(0.1)
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
