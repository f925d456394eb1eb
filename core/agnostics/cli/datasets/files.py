"""Files that commands write: never over another unasked, and never half."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from agnostics.errors import AgnosticsError, UsageError


def beside(path: Path, what: str) -> Path:
    """`tasks.jsonl` and "rejected" make `tasks.rejected.jsonl`."""
    return path.with_suffix(f".{what}{path.suffix}")


def writable(path: Path, force: bool) -> Path:
    """`path`, where a file can be written; what is asked for may take long, so this is asked before.

    Raises UsageError where it cannot, or a file is there and writing over it is not forced.
    """
    if path.suffix != ".jsonl":
        raise UsageError(f"{path}: name a file that ends in .jsonl, for --dataset to take it")
    if path.exists() and not force:
        raise UsageError(f"{path}: already there; name another, or write over it with --force")
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise UsageError(f"{path}: no file can be written in that folder; name another")
    return path


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """A file to write, which is there as `path` when all of it is. Raises AgnosticsError where there is no room."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror}; make room there, or name another file") from error
    finally:
        partial.unlink(missing_ok=True)
