"""Files that commands write: never over another unasked, and never half."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO

from agnostics.types.errors import AgnosticsError, UsageError


def beside(path: Path, what: str) -> Path:
    """`tasks.jsonl` and "rejected" make `tasks.rejected.jsonl`."""
    return path.with_suffix(f".{what}{path.suffix}")


def writable(path: Path, force: bool, suffixes: Collection[str] = (".jsonl",)) -> Path:
    """`path`, where a file can be written; what is asked for may take long, so this is asked before.

    Raises UsageError where it cannot, its name ends in none of `suffixes`, or a file is there and writing over it is
    not forced.
    """
    if path.suffix not in suffixes:
        raise UsageError(f"{path}: name a file that ends in {' or '.join(suffixes)}")
    if path.exists() and not force:
        raise UsageError(f"{path}: already there; name another, or write over it with --force")
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise UsageError(f"{path}: no file can be written in that folder; name another")
    return path


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """A file of text to write; see `written_bytes`."""
    with written_bytes(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        yield text


@contextmanager
def written_bytes(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is there as `path` when all of it is. Raises AgnosticsError where there is no room."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror}; make room there, or name another file") from error
    finally:
        partial.unlink(missing_ok=True)
