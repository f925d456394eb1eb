"""Output files of commands: checked before the work starts, and complete or absent."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from agnostics.types.errors import UsageError
from agnostics.util.files import atomic_write


def path_beside(path: Path, label: str) -> Path:
    """`tasks.jsonl` and "rejected" make `tasks.rejected.jsonl`."""
    return path.with_suffix(f".{label}{path.suffix}")


def require_writable(path: Path, force: bool, suffixes: Collection[str] = (".jsonl",)) -> Path:
    """`path`, if a file can be written there; called before the work, which may take long or cost money.

    Raises UsageError if it cannot, if its name ends in none of `suffixes`, or if a file exists and `force` is not set.
    """
    if path.suffix not in suffixes:
        raise UsageError(f"{path}: name a file that ends in {' or '.join(suffixes)}")
    if path.exists() and not force:
        raise UsageError(f"{path}: already there; name another, or write over it with --force")
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise UsageError(f"{path}: no file can be written in that folder; name another")
    return path


@contextmanager
def atomic_text_writer(path: Path) -> Iterator[TextIO]:
    """A text file in UTF-8 that replaces `path` when the block ends; see `atomic_write` for what it raises."""
    with atomic_write(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        yield text
