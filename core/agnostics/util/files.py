"""Atomic writes: a file appears under its name when it is complete, or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agnostics.types.errors import AgnosticsError


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends; if the block raises, `path` stays as it was.

    The data goes to a file beside `path` whose name holds the process and the thread, so that several may write.
    Raises AgnosticsError if the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror or error}; make room there, or name another file") from error
    finally:
        partial.unlink(missing_ok=True)


def atomic_write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8; see `atomic_write` for what it raises."""
    with atomic_write(path) as file:
        file.write(text.encode())
